# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A port that is no link any more, and what an admin has put on it since."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"], "mtu": 9000}
RAIL1 = {"name": "rdma-rail1", "mac": NICS["rail1"], "addresses": ["10.20.1.1/24"]}


def test_the_former_connection_comes_back(machine: Machine):
    machine.admin("before", "rail0", "192.0.2.1/24", "ethernet.mtu 4000")
    before = machine.state()
    machine.links(RAIL0, RAIL1)
    machine.links(RAIL1)
    assert machine.active("rail0") == "before"
    assert " mtu 4000 " in machine.run("ip link show rail0")
    machine.absent()
    assert machine.state() == before


def test_what_an_admin_uses_now_stays(machine: Machine):
    """A dropped link, and teardown: the port carries the default route by now, and nothing is done to it."""
    machine.admin("before", "rail0", "192.0.2.1/24", "connection.autoconnect no")
    machine.links(RAIL0, RAIL1)
    machine.admin("since", "rail0", "198.51.100.1/24", "ipv4.gateway 198.51.100.254", "ethernet.mtu 1400")
    address = machine.addresses("rail0")
    dropped = machine.links(RAIL1)
    assert dropped["warnings"] == [
        "rail0 had connection 'before' and MTU 1500 before it became a link; this is not restored: "
        "connection 'since' is active on it now"
    ]
    assert machine.active("rail0") == "since"
    assert machine.addresses("rail0") == address
    assert "default via 198.51.100.254 dev rail0" in machine.run("ip route")
    assert machine.absent()["warnings"] == []
    assert machine.active("rail0") == "since"
    assert machine.addresses("rail0") == address
    assert " mtu 1400 " in machine.run("ip link show rail0")


def test_what_the_node_needs_does_not_go_down(machine: Machine):
    machine.links(RAIL0, RAIL1)
    machine.run("ip route add default via 10.20.0.254 dev rail0")
    before = machine.state()
    for refused in (machine.links(RAIL1), machine.absent()):
        assert refused["msg"] == (
            "links: rdma-rail0: this connection cannot be taken down: rail0 carries the default route"
        )
        assert machine.state() == before


@pytest.mark.parametrize("how", ["dropped", "absent"])
def test_a_sysctl_that_an_admin_has_set_since_stays(machine: Machine, how: str):
    """Those that are still as we set them become what they were."""
    sysctls = "/proc/sys/net/ipv4/conf/rail0"
    machine.run(f"echo 1 >{sysctls}/arp_announce")
    machine.links({**RAIL0, "rail_table": 100}, RAIL1)
    values = f"cd {sysctls} && cat arp_announce arp_ignore rp_filter"
    former = machine.run("cat /proc/sys/net/ipv4/conf/default/arp_ignore").strip()
    assert machine.run(values).split() == ["2", "1", "2"]
    machine.run(f"echo 1 >{sysctls}/rp_filter")
    done = machine.links(RAIL1) if how == "dropped" else machine.absent()
    (said,) = done["warnings"]
    assert said.startswith("net/ipv4/conf/rail0/rp_filter is 1, which somebody has set since, so it is kept; it was ")
    assert machine.run(values).split() == ["1", former, "1"]
    # That was said once.
    again = machine.absent()
    assert again["warnings"] == []
    assert machine.run(values).split() == ["1", former, "1"]


def test_an_admins_connection_of_a_port_we_take_again_comes_back(machine: Machine):
    machine.admin("before", "rail0", "192.0.2.1/24")
    machine.links(RAIL0)
    machine.admin("since", "rail0", "198.51.100.1/24")
    machine.links(RAIL0)
    assert machine.active("rail0") == "rdma-rail0"
    machine.absent()
    assert machine.active("rail0") == "since"


def test_an_old_note_disconnects_nobody(machine: Machine):
    """Of a run that failed, with a port that was to be unmanaged."""
    machine.admin("before", "lan0", "192.0.2.1/24", "connection.autoconnect no")
    machine.run("nmcli connection modify before ipv4.method disabled ipv4.addresses '' && nmcli connection up before")
    machine.run("mv /usr/bin/udevadm /usr/bin/udevadm.away")
    failed = machine.call(unmanaged=[{"mac": NICS["lan0"]}])
    assert "udevadm" in failed["msg"], failed
    machine.run("mv /usr/bin/udevadm.away /usr/bin/udevadm")
    machine.admin("since", "lan0", "198.51.100.1/24")
    machine.links()
    machine.absent()
    assert machine.active("lan0") == "since"
