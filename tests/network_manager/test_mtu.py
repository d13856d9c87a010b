# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The MTU of a port, and of what is on it, is as before when ours is gone."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"]}


def mtu(machine: Machine, netdev: str) -> int:
    return int(machine.run(f"cat /sys/class/net/{netdev}/mtu"))


def test_the_mtu_of_a_first_run_without_carrier_comes_back(machine: Machine):
    """NetworkManager brings the link up later, and is restarted, so that it takes our MTU for the port's own."""
    machine.run("ip -n fabric link set rail0 down")
    before = machine.state()
    assert machine.links({**RAIL0, "mtu": 9000})["links"][0]["state"] == "no_carrier"
    machine.run("ip -n fabric link set rail0 up")
    machine.run("nmcli connection up rdma-rail0")
    machine.restart_manager()
    assert mtu(machine, "rail0") == 9000
    machine.absent()
    machine.run("ip -n fabric link set rail0 down")
    machine.await_device("rail0", "unavailable")
    assert machine.state() == before


def test_the_mtu_of_a_macvlan_comes_back(machine: Machine):
    machine.run("ip link set rail0 mtu 9000")
    machine.run(
        "ip link add tenant link rail0 mtu 9000 type macvlan && ip link add small link rail0 mtu 1000 type macvlan"
    )
    machine.run("ip -n fabric addr add 10.20.0.1/24 dev fabric")
    assert "everything was rolled back" in machine.links({**RAIL0, "mtu": 1500})["msg"]
    assert (mtu(machine, "rail0"), mtu(machine, "tenant")) == (9000, 9000)
    machine.run("ip -n fabric addr del 10.20.0.1/24 dev fabric")
    machine.links({**RAIL0, "mtu": 1500})
    assert (mtu(machine, "rail0"), mtu(machine, "tenant")) == (1500, 1500)
    machine.absent()
    assert [mtu(machine, name) for name in ("rail0", "tenant", "small")] == [9000, 9000, 1000]


def test_a_former_connection_that_is_back_by_itself_gets_the_mtu(machine: Machine):
    """It has none of its own; its address does not count as somebody else's."""
    machine.run("ip link set rail0 mtu 4000")
    machine.admin("before", "rail0", "192.0.2.1/24")
    before = machine.state()
    machine.links({**RAIL0, "mtu": 9000})
    machine.restart_manager()
    machine.run("nmcli connection up before")
    assert mtu(machine, "rail0") == 9000
    assert machine.absent()["warnings"] == []
    assert machine.state() == before
