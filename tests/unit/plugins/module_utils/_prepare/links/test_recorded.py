# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What NetworkManager and the kernel of the lab's guests said (fixtures/nm/README.md), and what is made of it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import interfaces, routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import bus, checkpoint, live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "nm"

# From the journal of a guest whose neighbour had the address.
CONFLICT = """\
<info>  [1795272860.4825] device (enp39s0.7): state change: config -> ip-config (reason 'none', managed-type: 'full')
<warn>  [1795272860.7408] device (enp39s0): IP address 192.168.39.77 cannot be configured because it is already in use \
in the network by host 52:54:00:77:02:01
<info>  [1795272860.7650] device (enp39s0): state change: ip-config -> failed (reason 'ip-config-unavailable', \
managed-type: 'full')
<warn>  [1795272860.8047] device (enp39s0): Activation: failed for connection 'zt1'
<info>  [1795272860.8866] device (enp39s0): state change: failed -> disconnected (reason 'none', managed-type: 'full')
"""
PROFILE = Profile("zt1", "11111111-2222-5333-8444-555555555501", "enp39s0", "", ("192.168.39.77/24",), 4000)


def objects(version: str) -> Dict[str, Any]:
    found: Dict[str, Any] = json.loads((FIXTURES / f"objects-{version}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("version", ["1.52", "1.58"])
def test_snapshot(version: str) -> None:
    snapshot = bus.interpret(objects(version))
    words = {name: bus.describe(device) for name, device in snapshot.devices.items()}
    assert words == {
        "lo": "connected (lo)",
        "enp0s3": "connected (management)",
        **dict.fromkeys(("enp39s0", "enp40s0", "enp66s0", "ens1", "rail0"), "disconnected"),
    }
    # The kernel configures the loopback device, a profile the management NIC.
    assert [entry.id for entry in snapshot.actives.values() if entry.external] == ["lo"]
    assert snapshot.checkpoints == {}


def test_an_old_busctl_is_named() -> None:
    def runner(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        # systemd 239, of RHEL 8.
        option = next(word for word in argv if word.startswith("--json"))
        return Completed(1, "", f"busctl: unrecognized option '{option}'\n")

    with pytest.raises(HostError, match=r"^busctl is too old: links need systemd 240 or newer\. "):
        bus.NetworkManager(runner).snapshot()


def test_an_old_networkmanager_is_refused() -> None:
    told = objects("1.52")
    told["/org/freedesktop/NetworkManager"]["org.freedesktop.NetworkManager"]["Version"]["data"] = "1.18.8"
    with pytest.raises(HostError, match=r"NetworkManager 1\.18\.8 is too old; links need 1\.20 or newer"):
        bus.interpret(told)


def test_links_and_addresses_of_the_kernel() -> None:
    recorded = json.loads((FIXTURES / "rtnetlink-6.12.json").read_text("utf-8"))
    links = interfaces.interpret(map(bytes.fromhex, recorded["links"]), map(bytes.fromhex, recorded["addresses"]))
    assert links["enp39s0"].mac == links["enp39s0"].hardware == "52:54:00:77:02:01"
    assert (links["enp39s0"].kind, links["enp39s0"].mtu, links["enp39s0"].carrier) == ("ethernet", 1500, True)
    assert links["enp39s0"].max_mtu == 9212
    assert (links["lo"].kind, links["lo"].mac) == (None, None)
    assert set(links["enp0s3"].addresses) >= {"10.77.0.11/24", "fe80::5054:ff:fe77:1/64"}


class Script:
    """Answers of the tools, in the order in which they are asked; keeps what was asked."""

    def __init__(self, answers: Dict[str, List[str]]) -> None:
        self.answers = answers
        self.asked: List[str] = []

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        name = next((name for name in self.answers if name in argv), None)
        self.asked.append(name or argv[0])
        if name is None:
            return Completed(0, "", "")
        queue = self.answers[name]
        text = queue.pop(0) if len(queue) > 1 else queue[0]
        return Completed(1, "", text) if text.startswith(("Call failed", "Failed to")) else Completed(0, text, "")


def managed(state: Optional[int], number: int = 9) -> str:
    """GetManagedObjects with PROFILE active on its netdev in this state; ``None``: not active."""
    told = objects("1.58")
    if state is not None:
        path = f"/org/freedesktop/NetworkManager/ActiveConnection/{number}"
        data = {"Id": PROFILE.id, "Uuid": PROFILE.uuid, "State": state, "StateFlags": 0}
        told[path] = {
            "org.freedesktop.NetworkManager.Connection.Active": {key: {"data": data[key]} for key in data},
        }
    return json.dumps({"data": [told]})


def activation(script: Script, interface: Interface) -> live.Activation:
    manager = bus.NetworkManager(script)
    return live.Activation(manager, lambda: {"enp39s0": interface}, [(PROFILE, None)])


def with_device(*states: Optional[int]) -> List[str]:
    """GetManagedObjects with a VLAN whose connection is in these states, one after the other; 0: there is none.

    ``None``: NetworkManager does not have the VLAN.
    """
    answers = []
    for state in states:
        told = json.loads(managed(state or None))["data"][0]
        if state is not None:
            active = "/org/freedesktop/NetworkManager/ActiveConnection/9" if state else "/"
            data = {"Interface": "lo", "State": 100 if state else 30, "ActiveConnection": active}
            device = {key: {"data": value} for key, value in data.items()}
            told["/org/freedesktop/NetworkManager/Devices/99"] = {"org.freedesktop.NetworkManager.Device": device}
        answers.append(json.dumps({"data": [told]}))
    return answers


def without_loopback(text: str) -> str:
    told = json.loads(text)
    (objects,) = told["data"]
    for path, entry in list(objects.items()):
        device = entry.get("org.freedesktop.NetworkManager.Device")
        if device and device["Interface"]["data"] == "lo" and not path.endswith("/99"):
            del objects[path]
    return json.dumps(told)


@pytest.mark.parametrize(
    ("states", "name", "asked"),
    [
        # Gone with its connection, as long as NetworkManager remembers that it made it.
        ((2, 3, None), "lo", ["GetManagedObjects"] * 4),
        ((2, 0, 0), "lo", ["GetManagedObjects"] * 4 + ["link"]),
        ((0, 0), "no-such-netdev", ["GetManagedObjects"] * 3),
    ],
    ids=["by NetworkManager", "by us", "by somebody"],
)
def test_a_netdev_of_ours_is_removed_where_networkmanager_leaves_it(
    monkeypatch: pytest.MonkeyPatch, states: Sequence[Optional[int]], name: str, asked: List[str]
) -> None:
    """``lo`` is a netdev that is there wherever this runs; the tool that removes it is played."""
    monkeypatch.setattr(live, "_PAUSE", 0)
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    answers = [without_loopback(text).replace('"lo"', f'"{name}"') for text in with_device(*states)]
    script = Script({"GetManagedObjects": answers, "link": [""]})
    live.remove_netdev(script, bus.NetworkManager(script), name)
    assert script.asked == asked


def test_a_netdev_that_stays_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    up, idle = (without_loopback(text) for text in with_device(2, 0))
    script = Script({"GetManagedObjects": [up], "link": [""]})
    with pytest.raises(HostError, match="NetworkManager does not take lo down"):
        live.remove_netdev(script, bus.NetworkManager(script), "lo")
    script = Script({"GetManagedObjects": [idle], "link": ["Failed to: Operation not permitted"]})
    with pytest.raises(HostError, match="ip link del lo: Failed to: Operation not permitted"):
        live.remove_netdev(script, bus.NetworkManager(script), "lo")


UP = Interface("enp39s0", mtu=4000, carrier=True, addresses=("192.168.39.77/24", "fe80::1/64"))
ACTIVE = json.dumps({"data": ["/org/freedesktop/NetworkManager/ActiveConnection/9"]})
CONNECTION = json.dumps({"data": ["/org/freedesktop/NetworkManager/Settings/9"]})


def test_a_connection_that_starts_by_itself_is_only_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    script = Script({"GetConnectionByUuid": [CONNECTION], "GetManagedObjects": [managed(1), managed(1), managed(2)]})
    activation(script, UP).run()
    assert script.asked == ["GetConnectionByUuid"] + ["GetManagedObjects"] * 3


@pytest.mark.parametrize("routed", [False, True])
def test_the_kernel_is_asked_once_a_turn_and_for_routes_only_if_there_shall_be_any(
    routed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    route = ("192.168.39.0/24", 100, None)
    device = bus.NmDevice("/d", "enp39s0", bus.ACTIVATED, bus.ActiveConnection("/a", PROFILE.uuid, "zt1", 2, False))
    wanted = [(replace(PROFILE, routes=(route,) if routed else ()), device), (PROFILE, device), (PROFILE, device)]
    asked: List[str] = []

    def told_interfaces() -> Dict[str, Interface]:
        asked.append("interfaces")
        return {"enp39s0": UP}

    def told_routes() -> routes.Present:
        asked.append("routes")
        return routes.Present(frozenset({(UP.index, *route)}))

    answers = {"GetConnectionByUuid": [CONNECTION], "GetManagedObjects": [managed(1), managed(1), managed(2)]}
    live.Activation(bus.NetworkManager(Script(answers)), told_interfaces, wanted, told_routes).run()
    # At the beginning, and in three turns.
    assert (asked.count("interfaces"), asked.count("routes")) == (1 + 3, 3 if routed else 0)


def test_a_connection_that_does_not_start_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    monkeypatch.setattr(live, "_GRACE", 0)
    answers = [managed(None), managed(1), managed(2)]
    script = Script({"GetConnectionByUuid": [CONNECTION], "GetManagedObjects": answers, "ActivateConnection": [ACTIVE]})
    activation(script, UP).run()
    assert script.asked.count("ActivateConnection") == 1


def test_a_connection_that_is_ending_is_not_taken_for_the_one_that_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    # It began by itself (8), was replaced by the one asked for (9), and both are there for a moment.
    both = json.loads(managed(3, 8))
    both["data"][0].update(json.loads(managed(1, 9))["data"][0])
    answers = [managed(1, 8), managed(3, 8), json.dumps(both), managed(2, 9)]
    script = Script({"GetConnectionByUuid": [CONNECTION], "GetManagedObjects": answers, "ActivateConnection": [ACTIVE]})
    activation(script, UP).run()
    assert script.asked.count("ActivateConnection") == 1


def test_who_has_the_address_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    answers = {
        "GetConnectionByUuid": [CONNECTION],
        "GetManagedObjects": [managed(1), managed(None), managed(1), managed(None)],
        "ActivateConnection": [ACTIVE],
        "--since": [CONFLICT],
    }
    with pytest.raises(HostError) as caught:
        activation(Script(answers), Interface("enp39s0", mtu=4000)).run()
    assert str(caught.value) == (
        "links: zt1: enp39s0 did not come up: address 192.168.39.77 is already used by 52:54:00:77:02:01"
    )


def test_a_link_that_is_up_without_its_mtu_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PAUSE", 0)
    monkeypatch.setattr(live, "_AFTERWARDS", 0)
    answers = {"GetConnectionByUuid": [CONNECTION], "GetManagedObjects": [managed(2)], "ActivateConnection": [ACTIVE]}
    script = Script(answers)
    with pytest.raises(HostError, match="did not come up: its MTU is 1500 instead of 4000"):
        activation(script, replace(UP, mtu=1500)).run()
    # A second time is worth a try.
    assert script.asked.count("ActivateConnection") == 1


@pytest.mark.parametrize(
    ("answer", "owner", "message"),
    [
        (
            "Call failed: The name org.freedesktop.NetworkManager was not provided by any .service files",
            False,
            "start it",
        ),
        ('Call failed: Name "org.freedesktop.NetworkManager" does not exist', False, "start it"),
        ("Call failed: Could not activate remote peer: startup job failed.", False, "start it"),
        ("Failed to connect to bus: No such file or directory", None, "start it"),
        ("Call failed: device 'ens1' is already included in checkpoint /x", True, "^device 'ens1' is already included"),
    ],
)
def test_what_the_bus_refuses(answer: str, owner: Optional[bool], message: str) -> None:
    told = answer if owner is None else json.dumps({"type": "b", "data": [owner]})
    with pytest.raises(HostError, match=message):
        bus.NetworkManager(Script({"GetManagedObjects": [answer], "NameHasOwner": [told]})).snapshot()


CHECKPOINT = "/org/freedesktop/NetworkManager/Checkpoint/3"


def with_checkpoint(*devices: int) -> str:
    told = objects("1.58")
    paths = [f"/org/freedesktop/NetworkManager/Devices/{number}" for number in devices]
    told[CHECKPOINT] = {
        "org.freedesktop.NetworkManager.Checkpoint": {"Devices": {"data": paths}, "Created": {"data": 5000}}
    }
    return json.dumps({"data": [told]})


def noted(root: Path, path: Optional[str], *devices: str) -> Ledger:
    ledger = Ledger(Files(str(root)), "nm_links")
    ledger.notes["checkpoint"] = {"path": path, "devices": list(devices), "seconds": 60, "since": 4900}
    return ledger


@pytest.mark.parametrize(
    ("path", "netdev", "until", "kept"),
    [
        (CHECKPOINT, "enp39s0", 5100, True),
        # Killed before it could note the path.
        (None, "enp39s0", None, True),
        # Somebody else's, which got the number after NetworkManager was restarted.
        (CHECKPOINT, "ens1", 5100, False),
        (CHECKPOINT, "enp39s0", 4950, False),
        ("/org/freedesktop/NetworkManager/Checkpoint/1", "enp39s0", 5100, False),
    ],
)
def test_only_our_own_checkpoint_of_a_killed_run_is_closed(
    tmp_path: Path, path: Optional[str], netdev: str, until: Optional[int], kept: bool
) -> None:
    script = Script({"GetManagedObjects": [with_checkpoint(4)], "CheckpointDestroy": [""]})
    ledger = noted(tmp_path, path, netdev)
    ledger.notes["checkpoint"].update({} if until is None else {"until": until})
    checkpoint.finish_earlier(ledger, script)
    assert ("CheckpointDestroy" in script.asked) == kept
    assert "checkpoint" not in ledger.notes


def test_confirming_too_late_is_an_error(tmp_path: Path) -> None:
    script = Script({"GetManagedObjects": [managed(None)]})
    ledger = noted(tmp_path, CHECKPOINT, "enp39s0")
    # The call had removed it, and here it is again.
    ledger.notes["checkpoint"]["profiles"] = {"/etc/x.nmconnection": []}
    ledger.files.write("/etc/x.nmconnection", Stored(b"", 0o600, os.geteuid(), os.getegid()))
    with pytest.raises(HostError, match="has rolled the links back, because this was not confirmed within 60 s"):
        checkpoint.confirm(ledger, script, CHECKPOINT)
    with pytest.raises(HostError, match="is not the checkpoint of the last call"):
        checkpoint.confirm(noted(tmp_path, CHECKPOINT, "enp39s0"), script, "/x")
