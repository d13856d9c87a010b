# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Links come up, stay as they are, and go without a trace."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"], "mtu": 9000}


def test_a_link_comes_up_and_goes(machine: Machine):
    before = machine.state()
    first = machine.links({**RAIL0, "rail_table": 100})
    assert first["changed"], first
    assert "inet 10.20.0.1/24" in machine.run("ip addr show rail0")
    assert machine.active("rail0") == "rdma-rail0"
    assert not machine.links({**RAIL0, "rail_table": 100})["changed"]
    gone = machine.absent()
    assert gone["changed"], gone
    assert machine.state() == before
    assert not machine.absent()["changed"]


ROUTED = {**RAIL0, "rail_table": 100, "routes": [{"to": "10.30.0.0/16", "via": "10.20.0.254"}]}


@pytest.mark.parametrize(
    "command",
    [
        "ip rule del table 100",
        "ip route flush table 100",
        "ip route del 10.30.0.0/16",
        "ip link set rail0 down",
        "nmcli connection add type ethernet con-name other ifname rail0 ethernet.mtu 9000 ipv4.method manual "
        "ipv4.addresses 10.20.0.1/24 ipv4.routes '10.30.0.0/16 10.20.0.254' && nmcli connection up other",
    ],
)
def test_what_somebody_took_away_comes_back(machine: Machine, command: str):
    machine.links(ROUTED)
    rules, routes = machine.run("ip rule"), machine.run("ip route show table 100; ip route show 10.30.0.0/16")
    assert "lookup 100" in rules
    assert routes.count("dev rail0") == 2
    assert not machine.call(check=True, links=[ROUTED])["changed"]
    machine.run(command)
    assert machine.call(check=True, links=[ROUTED])["changed"]
    again = machine.links(ROUTED)
    assert again["changed"], again
    assert machine.active("rail0") == "rdma-rail0"
    assert machine.run("ip rule") == rules
    assert machine.run("ip route show table 100; ip route show 10.30.0.0/16") == routes
    assert not machine.links(ROUTED)["changed"]


def test_a_rail_with_both_families_comes_up(machine: Machine):
    """NetworkManager 1.42 may forget the IPv4 address while it still probes for it, once the IPv6 address is there."""
    machine.admin("before", "rail0", "192.0.2.1/24")
    both = {**ROUTED, "addresses": ["10.20.0.1/24", "2001:db8::1/64"]}
    result = machine.links(both)
    assert "msg" not in result, result
    assert not machine.links(both)["changed"]
