# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""NetworkManager over D-Bus, by ``busctl``: what it knows, checkpoints, loading and activating profiles.

Interfaces: org.freedesktop.NetworkManager(5) D-Bus API; enumerations from nm-dbus-interface.h.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

_SERVICE = "org.freedesktop.NetworkManager"
_ROOT = "/org/freedesktop/NetworkManager"
_BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
# Keyfiles, policy rules and checkpoints that delete new connections are all there since 1.20 (2019).
_OLDEST = (1, 20)
# The first whose busctl has --json.
_OLDEST_SYSTEMD = 240
_DELETE_NEW_CONNECTIONS = 2

UNMANAGED, UNAVAILABLE, DISCONNECTED, ACTIVATED = 10, 20, 30, 100
ACTIVE_ACTIVATED, ACTIVE_DEACTIVATING = 2, 3
_EXTERNAL = 0x80
# Of a profile (NM_SETTINGS_CONNECTION_FLAG_VOLATILE): it is deleted as soon as it is not active any more.
_VOLATILE = 0x4

# Of GetConnectionByUuid (src/core/settings/nm-settings.c).
_UNKNOWN = "No connection with the UUID was found"
# Since 1.44 a warning that says so, before that what its detection of conflicts saw.
_CONFLICTS = (
    re.compile(r"IP address (\S+) cannot be configured because .* by host (\S+)"),
    re.compile(r"IPv4 address (\S+) is used on network connected to interface .* from host (\S+)"),
)
_FAILED = re.compile(r"-> failed \(reason '([^']+)'")


@dataclass(frozen=True)
class ActiveConnection:
    """A connection that is active or becoming so.

    ``external``: NetworkManager only says so because of addresses that it did not give to the netdev. ``volatile``: the
    profile is deleted as soon as it is not active any more.
    """

    path: str
    uuid: str
    id: str
    state: int
    external: bool
    volatile: bool = False


@dataclass(frozen=True)
class NmDevice:
    path: str
    name: str
    state: int
    active: Optional[ActiveConnection] = None

    @property
    def managed(self) -> bool:
        return self.state > UNMANAGED


@dataclass(frozen=True)
class Checkpoint:
    """An open checkpoint: its netdevs, and when it was created (``CLOCK_BOOTTIME``, ms)."""

    devices: Tuple[str, ...]
    created: int


@dataclass(frozen=True)
class Snapshot:
    """What NetworkManager has, at one moment; ``checkpoints`` are by their paths."""

    devices: Dict[str, NmDevice] = field(default_factory=dict)
    actives: Dict[str, ActiveConnection] = field(default_factory=dict)
    checkpoints: Dict[str, Checkpoint] = field(default_factory=dict)

    def active(self, uuid: str) -> Optional[ActiveConnection]:
        """The profile's active connection; not one that is ending where another begins."""
        found = [entry for entry in self.actives.values() if entry.uuid == uuid]
        return min(found, key=lambda entry: entry.state) if found else None


def interpret(objects: Dict[str, Dict[str, Any]]) -> Snapshot:
    """The answer to GetManagedObjects of NetworkManager.

    :raises HostError: it is too old.
    """

    def of(path: str, interface: str) -> Dict[str, Any]:
        entry = objects.get(path, {}).get(f"{_SERVICE}{interface}", {})
        return {name: value["data"] for name, value in entry.items()}

    version = str(of(_ROOT, "").get("Version", "0"))
    if tuple(int(part) for part in re.findall(r"[0-9]+", version)[:2]) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise HostError(f"NetworkManager {version} is too old; links need {oldest} or newer")
    actives = {}
    for path in objects:
        told = of(path, ".Connection.Active")
        if told:
            external = bool(told.get("StateFlags", 0) & _EXTERNAL)
            flags = of(told.get("Connection", ""), ".Settings.Connection").get("Flags", 0)
            volatile = bool(flags & _VOLATILE) and not external
            actives[path] = ActiveConnection(path, told["Uuid"], told["Id"], told["State"], external, volatile)
    devices = {}
    for path in objects:
        told = of(path, ".Device")
        if told and told.get("Real", True):
            devices[path] = NmDevice(path, told["Interface"], told["State"], actives.get(told["ActiveConnection"]))
    checkpoints = {}
    for path in objects:
        told = of(path, ".Checkpoint")
        if told:
            names = sorted(devices[entry].name for entry in told["Devices"] if entry in devices)
            checkpoints[path] = Checkpoint(tuple(names), told.get("Created", 0))
    return Snapshot({entry.name: entry for entry in devices.values()}, actives, checkpoints)


_NOT_RUNNING = (
    "NetworkManager is not running. If it manages this node's network, start it (systemctl enable --now "
    "NetworkManager). If netplan or systemd-networkd does, configure the RDMA ports there and leave rdma_links_* unset"
)


class NetworkManager:
    """The running NetworkManager."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def _busctl(self, path: str, interface: str, method: str, *arguments: str, verb: str = "call") -> Any:
        """Data of a method's answer. :raises HostError: with the service's own message."""
        options = ["--json=short", "--auto-start=no", "--timeout=25", verb]
        done = self._run(["busctl", *options, _SERVICE, path, interface, method, *arguments], timeout=60)
        if done.rc == 127:
            raise HostError("busctl is missing; it comes with systemd, and NetworkManager is asked through it")
        if done.rc != 0 and "--json" in done.err:
            raise HostError(
                f"busctl is too old: links need systemd {_OLDEST_SYSTEMD} or newer. Configure the RDMA ports otherwise "
                "and leave rdma_links_* unset"
            )
        if done.rc != 0:
            reason = done.reason[len("Call failed: ") :] if done.reason.startswith("Call failed: ") else done.reason
            raise HostError(reason if self._runs() else _NOT_RUNNING)
        return json.loads(done.out)["data"] if done.out.strip() else []

    def _runs(self) -> bool:
        """Each D-Bus daemon has words of its own for a service that does not run, so the name's owner counts."""
        options = ["--json=short", "--timeout=25", "call"]
        done = self._run(["busctl", *options, *_BUS, "NameHasOwner", "s", _SERVICE], timeout=60)
        return done.rc == 0 and json.loads(done.out)["data"] == [True]

    def snapshot(self) -> Snapshot:
        """:raises HostError: NetworkManager is not running, or too old."""
        answer = self._busctl("/org/freedesktop", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        return interpret(answer[0])

    def checkpoint(self, devices: Sequence[NmDevice], seconds: int) -> str:
        """Open a checkpoint that NetworkManager rolls back by itself after ``seconds``; returns its path."""
        arguments = [str(len(devices)), *(device.path for device in devices), str(seconds)]
        arguments.append(str(_DELETE_NEW_CONNECTIONS))
        return str(self._busctl(_ROOT, _SERVICE, "CheckpointCreate", "aouu", *arguments)[0])

    def keep(self, checkpoint: str) -> None:
        """Close the checkpoint; what was changed since stays."""
        self._busctl(_ROOT, _SERVICE, "CheckpointDestroy", "o", checkpoint)

    def extend(self, checkpoint: str, seconds: int) -> None:
        """Let the checkpoint expire ``seconds`` from now."""
        self._busctl(_ROOT, _SERVICE, "CheckpointAdjustRollbackTimeout", "ou", checkpoint, str(seconds))

    def roll_back(self, checkpoint: str) -> None:
        self._busctl(_ROOT, _SERVICE, "CheckpointRollback", "o", checkpoint)

    def load(self, paths: Sequence[str]) -> None:
        """Read profiles from their files; one whose file is gone is forgotten, and what it had active goes down.

        :raises HostError: NetworkManager refuses one.
        """
        if not paths:
            return
        method = ("LoadConnections", "as", str(len(paths)), *paths)
        failed = self._busctl(f"{_ROOT}/Settings", f"{_SERVICE}.Settings", *method)[1]
        if failed:
            raise HostError("NetworkManager rejects {}".format(", ".join(failed)))

    def directory(self) -> Optional[str]:
        """Where its configuration says that profiles are, if it says so."""
        section = ""
        for line in self._run(["NetworkManager", "--print-config"], timeout=30).out.splitlines():
            name, _equals, value = (part.strip() for part in line.partition("="))
            if line.startswith("["):
                section = line.strip()
            elif section == "[keyfile]" and name == "path":
                return value
        return None

    def reload(self) -> None:
        """Read NetworkManager.conf and its conf.d again."""
        self._busctl(_ROOT, _SERVICE, "Reload", "u", "1")

    def connection(self, uuid: str) -> str:
        """D-Bus path of the profile. :raises HostError: NetworkManager has none with this uuid."""
        method = ("GetConnectionByUuid", "s", uuid)
        return str(self._busctl(f"{_ROOT}/Settings", f"{_SERVICE}.Settings", *method)[0])

    def file_of(self, uuid: str) -> Optional[str]:
        """Where NetworkManager has the profile from; ``None`` if it has none with this uuid. Raises HostError."""
        try:
            path = self.connection(uuid)
        except HostError as error:
            if _UNKNOWN in str(error):
                return None
            raise
        return str(self._busctl(path, f"{_SERVICE}.Settings.Connection", "Filename", verb="get-property"))

    def activate(self, uuid: str, device: Optional[NmDevice]) -> str:
        """Begin; returns the path of the active connection."""
        target = device.path if device else "/"
        arguments = (self.connection(uuid), target, "/")
        return str(self._busctl(_ROOT, _SERVICE, "ActivateConnection", "ooo", *arguments)[0])

    def deactivate(self, active: ActiveConnection) -> None:
        """Begin to take it down, with the addresses and routes of the netdev, also those that somebody else gave it."""
        self._busctl(_ROOT, _SERVICE, "DeactivateConnection", "o", active.path)

    def reapply(self, device: NmDevice) -> None:
        """Give the device what its profile says now, without taking it down where NetworkManager can do so."""
        self._busctl(device.path, f"{_SERVICE}.Device", "Reapply", "a{sa{sv}}tu", "0", "0", "0")

    def manage(self, device: NmDevice, managed: bool) -> None:
        """Until the device or NetworkManager goes: for a device that is there, udev's word comes too late."""
        value = "true" if managed else "false"
        self._busctl(device.path, f"{_SERVICE}.Device", "Managed", "b", value, verb="set-property")

    def reason(self, netdev: str, since: float) -> Optional[str]:
        """Why an activation failed, from NetworkManager's log: D-Bus does not tell who has the address."""
        self._run(["journalctl", "--sync"], timeout=30)
        log = self._run(
            ["journalctl", "-q", "--no-pager", "-o", "cat", "-u", "NetworkManager", "--since", f"@{int(since)}"],
            timeout=30,
        )
        lines = [line for line in log.out.splitlines() if f"({netdev})" in line]
        for line in reversed(lines):
            for conflict in filter(None, (pattern.search(line) for pattern in _CONFLICTS)):
                return f"address {conflict.group(1)} is already used by {conflict.group(2).lower()}"
        failures = [found.group(1) for found in map(_FAILED.search, lines) if found]
        return failures[-1] if failures else None


def describe(device: Optional[NmDevice]) -> str:
    """A device's state in a word or two."""
    if device is None:
        return "absent"
    if device.active:
        return f"connected ({device.active.id})"
    return {UNMANAGED: "unmanaged", UNAVAILABLE: "unavailable"}.get(device.state, "disconnected")
