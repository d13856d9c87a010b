# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A port that a pod has, or that has another name by now, gets back what it had before us."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0: Dict[str, Any] = {
    "name": "rdma-rail0",
    "mac": NICS["rail0"],
    "addresses": ["10.20.0.1/24"],
    "mtu": 9000,
    "rail_table": 100,
}


def to_pod(machine: Machine) -> None:
    machine.run("ip netns add pod && ip link set rail0 netns pod && ip -n pod link set rail0 up")


def back(machine: Machine) -> None:
    """As drivers do it: the netdev is up again."""
    machine.run("ip -n pod link set rail0 netns 1 && ip link set rail0 up && ip netns del pod && udevadm settle")
    machine.await_device("rail0")


@pytest.mark.parametrize("former", ["", "ethernet.mtu 4000", "ethernet.mtu 1400 connection.autoconnect no"])
def test_a_port_that_was_in_a_pod_during_teardown_gets_all_back(machine: Machine, former: str):
    machine.admin("before", "rail0", "192.0.2.1/24", former)
    machine.run("echo 1 >/proc/sys/net/ipv4/conf/rail0/arp_announce")
    before = machine.state()
    mtu = machine.run("cat /sys/class/net/rail0/mtu").strip()
    machine.links(RAIL0)
    to_pod(machine)
    said = [
        f"rail0 ({NICS['rail0']}) is not on the host now, so what it had before it became a link (connection 'before', "
        f"MTU {mtu}, its sysctls) cannot be restored: repeat the run when it is back"
    ]
    gone = machine.absent()
    assert gone["warnings"] == said, gone
    again = machine.absent()
    assert (again["changed"], again["warnings"]) == (False, said)
    back(machine)
    assert machine.absent()["warnings"] == []
    assert machine.state() == before
    assert not machine.absent()["changed"]


def test_a_port_with_another_name_gets_all_back(machine: Machine):
    """Its former connection is not bound to the name, and another NIC has the old one."""
    machine.run(
        f"nmcli connection add type ethernet con-name before mac {NICS['rail0']} ifname '*' ipv4.method manual "
        "ipv4.addresses 192.0.2.1/24 ipv6.method link-local ethernet.mtu 4000 && nmcli connection up before"
    )
    before = machine.state()
    machine.links(RAIL0)
    machine.rename("rail0", "other")
    machine.rename("lan0", "rail0")
    if machine.active("other") != "rdma-rail0":
        machine.run("nmcli connection up rdma-rail0 ifname other")
    assert machine.absent()["warnings"] == []
    assert machine.active("other") == "before"
    assert machine.run("cat /sys/class/net/other/mtu /sys/class/net/rail0/mtu").split() == ["4000", "1500"]
    machine.rename("rail0", "lan0")
    machine.rename("other", "rail0")
    machine.run("nmcli connection up before ifname rail0")
    assert machine.state() == before


@pytest.mark.parametrize("is_managed", [True, False])
def test_an_unmanaged_port_comes_back_from_a_pod_unmanaged(machine: Machine, is_managed: bool):
    """As VFs do: no profile of the admin, an MTU of their own."""
    rules = machine.files / "etc/udev/rules.d/10-admin.rules"
    if not is_managed:
        rules.write_text(f'SUBSYSTEM=="net", ATTR{{address}}=="{NICS["rail0"]}", ENV{{NM_UNMANAGED}}="1"\n')
        machine.run("udevadm control --reload && udevadm trigger --action=add /sys/class/net/rail0 --settle")
        machine.stop_manager()
        machine.run("rm /run/NetworkManager/devices/$(cat /sys/class/net/rail0/ifindex)")
        machine.start_manager()
    machine.run("ip link set rail0 mtu 4000")
    state = machine.state()
    before = [state[key] for key in ("files", "connections", "devices", "rules")]
    wanted = [{"mac": NICS["rail0"]}]
    machine.links({**RAIL0, "mac": NICS["rail1"]}, unmanaged=wanted)
    assert "rail0:unmanaged" in machine.run("nmcli -t -f DEVICE,STATE device")
    to_pod(machine)
    assert not machine.links({**RAIL0, "mac": NICS["rail1"]}, unmanaged=wanted)["changed"]
    back(machine)
    assert "rail0:unmanaged" in machine.run("nmcli -t -f DEVICE,STATE device")
    machine.absent()
    machine.await_device("rail0", "disconnected" if is_managed else "unmanaged")
    after = machine.state()
    # The kernel gives a netdev that comes back a link-local address.
    assert [after[key] for key in ("files", "connections", "devices", "rules")] == before
    assert machine.run("cat /sys/class/net/rail0/mtu") == "4000\n"
