# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module, or NetworkManager, is killed at any D-Bus call: a rerun heals, and ``absent`` leaves nothing.

Of calls of one kind (interface and method) the first of a step is tried, and of all calls the last: in between,
NetworkManager is only asked again and again how far it is. After one call is the same moment as before the next, so
"after" is tried only where a call changes something.
"""

from __future__ import annotations

import signal
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0: Dict[str, Any] = {
    "name": "rdma-rail0",
    "mac": NICS["rail0"],
    "addresses": ["10.20.0.1/24"],
    "mtu": 9000,
    "rail_table": 100,
    "routes": [{"to": "10.30.0.0/16", "via": "10.20.0.254"}],
}
OTHER = {**RAIL0, "addresses": ["10.20.0.9/24"]}
READS = ("GetManagedObjects", "GetConnectionByUuid", "Filename")


class Steps:
    """Run, confirmation and ``absent``, each from where it begins."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._checkpoint = ""

    def prepare(self, step: str) -> None:
        if step != "run":
            self._checkpoint = self._machine.call(links=[RAIL0])["checkpoint"]
        if step == "absent":
            self.go("confirm")

    def go(self, step: str) -> Dict[str, Any]:
        if step == "run":
            return self._machine.call(links=[RAIL0])
        return self._machine.call(confirm=self._checkpoint) if step == "confirm" else self._machine.absent()


def _sample(calls: List[str]) -> Iterator[Tuple[int, str]]:
    """Numbers of the calls at which something is killed, and when."""
    for number, call in enumerate(calls, 1):
        if call not in calls[: number - 1] or number == len(calls):
            yield number, "before"
            if not call.endswith(READS) or number == len(calls):
                yield number, "after"


@pytest.mark.parametrize("victim", ["module", "manager"])
def test_killed_at_each_call(machine: Machine, victim: str):
    machine.admin("before", "rail0", "192.0.2.1/24", "ethernet.mtu 4000")
    before, steps, tried = machine.state(), Steps(machine), 0
    for step in ("run", "confirm", "absent"):
        steps.prepare(step)
        machine.calls()
        steps.go(step)
        calls = machine.calls()
        machine.absent()
        for number, when in _sample(calls):
            steps.prepare(step)
            machine.kill(number, when, victim)
            result = steps.go(step)
            machine.recover()
            where = f"{victim} {when} {number} of {step}, {calls[number - 1]}: {result}"
            tried += "killed" in result or "msg" in result
            if step != "absent":
                again = machine.links(RAIL0)
                assert "msg" not in again, f"{where}; {again}"
                assert not machine.call(check=True, links=[RAIL0])["changed"], where
            gone = machine.absent()
            assert not gone.get("warnings", gone), f"{where}; {gone}"
            assert machine.state() == before, where
    assert tried > 12


def leave_external(machine: Machine, *links: Dict[str, Any]) -> None:
    """NetworkManager is killed, and does not know afterwards that the addresses of rail0 are its own."""
    machine.links(*links)
    machine.stop_manager(signal.SIGKILL)
    machine.run("rm /run/NetworkManager/devices/$(cat /sys/class/net/rail0/ifindex)")
    machine.run("mv /etc/NetworkManager/system-connections/* /root")
    machine.start_manager()
    machine.run("mv /root/*.nmconnection /etc/NetworkManager/system-connections")
    assert "rail0:connected (externally)" in machine.run("nmcli -t -f DEVICE,STATE device")


def test_addresses_of_ours_are_not_taken_for_somebody_elses(machine: Machine):
    before = machine.state()
    leave_external(machine, RAIL0)
    assert "msg" not in machine.links(OTHER)
    shown = machine.run("ip -o -4 addr show rail0; ip rule")
    assert "10.20.0.9" in shown
    assert "10.20.0.1 " not in shown.replace("/", " ")
    machine.absent()
    assert machine.state() == before
    leave_external(machine, RAIL0)
    gone = machine.absent()
    assert gone["warnings"] == [], gone
    assert machine.state() == before


def test_what_somebody_configured_by_hand_is_not_taken(machine: Machine):
    """Beside our address, and a rule that differs by its priority alone."""
    leave_external(machine, RAIL0)
    machine.run("ip addr add 198.51.100.7/24 dev rail0; ip rule add from 10.20.0.1 table 100 priority 31000")
    assert "was configured by hand or by another tool" in machine.links(OTHER)["msg"]
    gone = machine.absent()
    assert gone["warnings"] == [
        "rail0 had MTU 1500 before it became a link; this is not restored: somebody has given it 198.51.100.7/24"
    ]
    assert "198.51.100.7/24" in machine.run("ip addr show rail0")
    assert "31000:" in machine.run("ip rule")
