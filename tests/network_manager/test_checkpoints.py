# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A change that is not confirmed, and the checkpoints and profiles of others."""

from __future__ import annotations

import json

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"], "rail_table": 100}
ROOT = "org.freedesktop.NetworkManager /org/freedesktop/NetworkManager org.freedesktop.NetworkManager"


def roll_back(machine: Machine, checkpoint: str) -> None:
    """As NetworkManager does when the time is over."""
    machine.run(f"busctl call {ROOT} CheckpointRollback o {checkpoint}")
    machine.await_device("rail0")


def test_what_was_not_rolled_back_is_not_said_to_be(machine: Machine):
    """NetworkManager was restarted meanwhile, so that it knows no checkpoint, and the link is up."""
    result = machine.call(links=[RAIL0])
    machine.restart_manager()
    assert machine.active("rail0") == "rdma-rail0"
    assert "msg" not in machine.call(confirm=result["checkpoint"])
    assert not machine.links(RAIL0)["changed"]


def test_a_checkpoint_that_somebody_closed_with_the_link_down_is_said(machine: Machine):
    result = machine.call(links=[RAIL0])
    machine.run(f"busctl call {ROOT} CheckpointDestroy o {result['checkpoint']}; nmcli device disconnect rail0")
    assert "is gone, and not all links are up" in machine.call(confirm=result["checkpoint"])["msg"]


@pytest.mark.parametrize("former", [[], [{**RAIL0, "rail_table": None}]])
def test_sysctls_of_a_change_that_was_rolled_back_go_back(machine: Machine, former):
    if former:
        machine.links(*former)
    before = machine.state()
    result = machine.call(links=[RAIL0])
    assert machine.run("cat /proc/sys/net/ipv4/conf/rail0/arp_ignore") == "1\n"
    roll_back(machine, result["checkpoint"])
    assert "has rolled the links back" in machine.call(confirm=result["checkpoint"])["msg"]
    after = machine.state()
    assert after["sysctl"] == before["sysctl"]
    assert "etc/sysctl.d/90-zerocopy-rdma-links.conf" not in after["files"]
    assert "msg" not in machine.links(RAIL0)
    assert machine.run("cat /proc/sys/net/ipv4/conf/rail0/arp_ignore") == "1\n"


def test_a_sysctl_that_somebody_has_set_since_does_not_go_back(machine: Machine):
    result = machine.call(links=[RAIL0])
    machine.run("echo 8 >/proc/sys/net/ipv4/conf/rail0/arp_ignore")
    roll_back(machine, result["checkpoint"])
    said = machine.call(confirm=result["checkpoint"])["msg"]
    assert "net/ipv4/conf/rail0/arp_ignore is 8, which somebody has set since, so it is kept" in said
    assert machine.run("cat /proc/sys/net/ipv4/conf/rail0/arp_ignore") == "8\n"


def test_another_tools_checkpoint_of_the_same_path_stays(machine: Machine):
    """NetworkManager counts from 1 again after a restart."""
    ours = machine.call(links=[RAIL0])["checkpoint"]
    machine.restart_manager()
    device = machine.run("nmcli -g GENERAL.DBUS-PATH device show rail0").strip()
    theirs = json.loads(machine.run(f"busctl --json=short call {ROOT} CheckpointCreate aouu 1 {device} 600 0"))["data"][
        0
    ]
    assert theirs == ours
    machine.call(confirm=ours)
    machine.links(RAIL0)
    machine.run(f"busctl call {ROOT} CheckpointAdjustRollbackTimeout ou {theirs} 600")


def test_a_profile_in_run_is_neither_lost_nor_made_permanent(machine: Machine):
    machine.run(
        "nmcli connection add save no type ethernet con-name admin ifname rail0 ipv4.method manual "
        "ipv4.addresses 192.0.2.1/24 ipv6.method link-local connection.autoconnect no && nmcli connection up admin"
    )
    before = machine.state()
    result = machine.call(links=[RAIL0])
    roll_back(machine, result["checkpoint"])
    machine.call(confirm=result["checkpoint"])
    machine.links(RAIL0)
    machine.absent()
    assert machine.state() == before


def test_a_volatile_profile_is_not_taken_down(machine: Machine):
    machine.run(
        f"busctl call {ROOT} AddAndActivateConnection2 'a{{sa{{sv}}}}ooa{{sv}}' 2 connection 3 id s admin "
        "type s 802-3-ethernet interface-name s rail0 ipv4 1 method s link-local "
        "$(nmcli -g GENERAL.DBUS-PATH device show rail0) / 1 persist s volatile"
    )
    machine.await_device("rail0", "connected")
    before = machine.state()
    for refused in (machine.links(RAIL0), machine.links(unmanaged=[{"mac": NICS["rail0"]}])):
        assert "connection 'admin' is active on it, and is volatile" in refused["msg"], refused
        assert machine.state() == before
