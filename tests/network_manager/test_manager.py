# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is said where NetworkManager does not run, has its profiles elsewhere, or finds an address in use."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"]}


def test_help_for_a_manager_that_does_not_run(machine: Machine):
    machine.links(RAIL0)
    machine.stop_manager()
    for result in (machine.links({**RAIL0, "mtu": 9000}), machine.absent()):
        assert result["msg"].startswith("NetworkManager is not running. If it manages this node's network, start it")


@pytest.mark.parametrize("is_first", [True, False])
def test_profiles_elsewhere(machine: Machine, is_first: bool):
    before = machine.state()
    if not is_first:
        machine.links(RAIL0)
    machine.run("mkdir /etc/profiles; printf '[keyfile]\\npath=/etc/profiles\\n' >/etc/NetworkManager/conf.d/path.conf")
    machine.restart_manager()
    meanwhile = machine.state()
    refused = machine.links({**RAIL0, "addresses": ["10.20.0.9/24"]})
    assert refused["msg"] == (
        "NetworkManager reads its profiles from /etc/profiles ([keyfile] path= in its configuration), but links are "
        "written to /etc/NetworkManager/system-connections, so nothing was changed: remove path= and restart "
        "NetworkManager"
    )
    assert machine.state() == meanwhile
    gone = machine.absent()
    assert "msg" not in gone, gone
    machine.run("rm -r /etc/profiles /etc/NetworkManager/conf.d/path.conf")
    machine.restart_manager()
    assert machine.state() == before


def test_who_has_the_address_is_said(machine: Machine):
    machine.run("ip -n fabric addr add 10.20.0.1/24 dev fabric")
    assert machine.links(RAIL0)["msg"] == (
        "links: rdma-rail0: rail0 did not come up: address 10.20.0.1 is already used by 02:00:00:00:ff:ff; everything "
        "was rolled back"
    )
