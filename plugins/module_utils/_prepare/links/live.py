# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Has NetworkManager, the kernel and udev apply the plan, and waits until they have done so.

VFs are made as in Documentation/PCI/pci-iov-howto.rst.
"""

from __future__ import annotations

import functools
import os
import time
from typing import Callable, Container, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.routes import Present
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan, ports, vf_guids, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import (
    ACTIVATED,
    ACTIVE_ACTIVATED,
    ACTIVE_DEACTIVATING,
    DISCONNECTED,
    ActiveConnection,
    NetworkManager,
    NmDevice,
    Snapshot,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import UDEV_PATH, Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

Interfaces = Callable[[], Mapping[str, Interface]]

# Duplicate address detection, a link that trains again after an MTU change, a loaded machine.
ACTIVATION_SECONDS = 45
# NetworkManager sets MTU and addresses before it calls a connection activated; after a reapply they may follow.
_AFTERWARDS = 10
# Longer than it probes for an address.
_STUCK = 8
# How long NetworkManager is given to start by itself what it was told to connect automatically.
_GRACE = 1.0
_PAUSE = 0.2


class Activation:
    """Profiles on their way up; all at once, so that the wait is that of the slowest."""

    def __init__(
        self,
        manager: NetworkManager,
        interfaces: Interfaces,
        wanted: Sequence[Tuple[Profile, Optional[NmDevice]]],
        routing: Callable[[], Optional[Present]] = lambda: None,
    ) -> None:
        self._manager = manager
        self._interfaces = interfaces
        self._wanted = wanted
        self._routing = routing
        self._renewed: Set[str] = set()
        # The active connection that is awaited, by profile. NetworkManager may have several of one profile for a
        # moment, one ending and one beginning, so its path is what counts.
        self._paths: Dict[str, str] = {}
        self._asked: Set[str] = set()
        self._again: Set[str] = set()
        self._activated: Dict[str, float] = {}
        self._begun: Dict[str, float] = {}
        self._begin = time.monotonic()
        self._since = time.time() - 1

    def run(self) -> None:
        """:raises HostError: one does not come up; says which, and NetworkManager's reason."""
        interfaces = self._interfaces()
        for profile, device in self._wanted:
            self._manager.connection(profile.uuid)
            if device and device.active and device.active.uuid == profile.uuid and device.state == ACTIVATED:
                interface = interfaces.get(device.name)
                if interface and interface.carrier is None:
                    # What is set down stays so.
                    self._ask(profile, device)
                else:
                    self._renew(profile, device)
        pending = [profile for profile, _device in self._wanted]
        routed = any(profile.routes or profile.rules for profile in pending)
        while pending:
            snapshot, interfaces = self._manager.snapshot(), self._interfaces()
            # A node of a cluster may have many thousands of routes.
            routing = self._routing() if routed else None
            pending = [profile for profile in pending if not self._is_up(profile, snapshot, interfaces, routing)]
            if pending:
                time.sleep(_PAUSE)

    def _renew(self, profile: Profile, device: NmDevice) -> None:
        self._renewed.add(profile.uuid)
        # Not everything can be changed on an active device (transport mode, a VLAN's id).
        try:
            self._manager.reapply(device)
        except HostError:
            self._ask(profile, device)

    def _try_again(self, profile: Profile, device: Optional[NmDevice]) -> None:
        """Once, where NetworkManager has lost something on the way."""
        self._again.add(profile.uuid)
        self._activated.pop(profile.uuid, None)
        self._ask(profile, device)

    def _ask(self, profile: Profile, device: Optional[NmDevice]) -> None:
        self._paths[profile.uuid] = self._manager.activate(profile.uuid, device)
        self._asked.add(profile.uuid)
        self._begun[profile.uuid] = time.monotonic() - self._begin

    def _is_up(
        self, profile: Profile, snapshot: Snapshot, interfaces: Mapping[str, Interface], routing: Optional[Present]
    ) -> bool:
        path = self._paths.get(profile.uuid)
        active = snapshot.actives.get(path) if path else snapshot.active(profile.uuid)
        elapsed = time.monotonic() - self._begin
        missing = plan.missing(profile, interfaces.get(profile.netdev or ""), routing)
        if active and active.state < ACTIVE_DEACTIVATING:
            self._paths[profile.uuid] = active.path
            if active.state == ACTIVE_ACTIVATED:
                since = self._activated.setdefault(profile.uuid, elapsed)
                if missing is None:
                    return True
                device = snapshot.devices.get(profile.netdev or "")
                if device and profile.uuid not in self._renewed and elapsed - since > _GRACE:
                    # NetworkManager 1.42 drops a route whose source is not there yet, and does not try it again.
                    self._renew(profile, device)
                elif elapsed - since > _AFTERWARDS:
                    if profile.uuid in self._again:
                        raise self._failed(profile, missing)
                    self._try_again(profile, device)
            elif elapsed - self._begun.get(profile.uuid, 0) > _STUCK and _forgotten(profile, interfaces):
                self._ask(profile, snapshot.devices.get(profile.netdev or ""))
        elif profile.uuid in self._asked:
            raise self._failed(profile, "the activation ended")
        elif path or elapsed > _GRACE:
            # It did not begin by itself, or that failed: what is asked for is said why it fails.
            self._ask(profile, snapshot.devices.get(profile.netdev or ""))
        if elapsed > ACTIVATION_SECONDS:
            raise self._failed(profile, missing or "NetworkManager is still activating it")
        return False

    def _failed(self, profile: Profile, what: str) -> HostError:
        reason = self._manager.reason(profile.netdev or "", self._since) or what
        return HostError(f"links: {profile.id}: {profile.netdev} did not come up: {reason}")


def _forgotten(profile: Profile, interfaces: Mapping[str, Interface]) -> bool:
    """Whether NetworkManager 1.42 waits for ever: while it probes for an IPv4 address, IPv6 made it forget that."""
    interface = interfaces.get(profile.netdev or "")
    there = {":" in address for address in profile.addresses if interface and address in interface.addresses}
    return there == {True} and not all(":" in address for address in profile.addresses)


def restore(manager: NetworkManager, wanted: Sequence[Tuple[NmDevice, str, str]]) -> List[str]:
    """Reactivate the former connections; returns warnings about those that cannot be activated."""
    warnings = []
    for device, uuid, name in wanted:
        is_active = functools.partial(_has, device.name, uuid)
        try:
            if not await_state(manager, is_active, _GRACE):
                manager.activate(uuid, device)
            if await_state(manager, is_active, ACTIVATION_SECONDS):
                continue
            problem = "it did not come up"
        except HostError as error:
            problem = str(error)
        warnings.append(f"{device.name} had connection {name!r} active before; it could not be activated: {problem}")
    return warnings


def _has(netdev: str, uuid: str, snapshot: Snapshot) -> bool:
    device = snapshot.devices.get(netdev)
    return bool(device and device.active and device.active.uuid == uuid)


def is_settled(names: Sequence[str], gone: Container[str], snapshot: Snapshot) -> bool:
    """Whether NetworkManager is doing nothing with these netdevs, and has taken down what is ``gone`` (uuids)."""
    found = [snapshot.devices[name] for name in names if name in snapshot.devices]
    return all(
        device.state <= DISCONNECTED
        or (device.state == ACTIVATED and (device.active is None or device.active.uuid not in gone))
        for device in found
    )


def free(manager: NetworkManager, netdev: str, active: ActiveConnection) -> None:
    """Take from a netdev what NetworkManager left there when it was killed, and now takes for somebody else's.

    :raises HostError: it stays.
    """
    manager.deactivate(active)

    def is_free(snapshot: Snapshot) -> bool:
        device = snapshot.devices.get(netdev)
        return device is None or device.active is None or not device.active.external

    if not await_state(manager, is_free, ACTIVATION_SECONDS):
        raise HostError(f"links: NetworkManager does not remove the addresses of {netdev}")


def remove_netdev(run: Runner, manager: NetworkManager, name: str) -> None:
    """Remove a VLAN or partition whose profile is gone. NetworkManager does so itself, unless it was killed since.

    :raises HostError: it stays.
    """

    def is_left(snapshot: Snapshot) -> bool:
        device = snapshot.devices.get(name)
        return device is None or device.active is None or device.active.external

    if not await_state(manager, is_left, ACTIVATION_SECONDS):
        raise HostError(f"links: NetworkManager does not take {name} down")
    path = f"/sys/class/net/{name}"
    if await_state(manager, lambda snapshot: name not in snapshot.devices, _GRACE) or not os.path.exists(path):
        return
    done = run(["ip", "link", "del", "dev", name])
    if done.rc != 0 and os.path.exists(path):
        raise HostError(f"ip link del {name}: {done.reason}")


def remove_rule(run: Runner, rule: str, routing: Callable[[], Optional[Present]]) -> None:
    """:raises HostError: the rule stays. NetworkManager may be about to remove it as well."""

    def is_there() -> bool:
        present = routing()
        return bool(present and rule in {ports.rule(*entry) for entry in present.rules})

    family = "-6" if ":" in rule else "-4"
    done = run(["ip", family, "rule", "del", *rule.split()]) if is_there() else None
    if done and done.rc != 0 and is_there():
        raise HostError(f"ip rule del {rule}: {done.reason}")


def await_state(manager: NetworkManager, condition: Callable[[Snapshot], bool], seconds: float) -> bool:
    """Whether the condition comes true within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition(manager.snapshot()):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True


def write_sysctl(key: str, value: str) -> None:
    """:raises HostError: the kernel refuses; a netdev that is gone is no error, it gets the value when it is back."""
    try:
        with open(f"/proc/sys/{key}", "w", encoding="ascii") as handle:
            handle.write(value)
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError(f"sysctl {key} = {value}: {error.strerror}") from error


def put_sysctl_back(key: str, given: str, former: str) -> Optional[str]:
    """Set ``former`` again where we have set ``given``; where somebody has changed it since, what is said of that.

    :raises HostError: as ``write_sysctl`` does.
    """
    try:
        with open(f"/proc/sys/{key}", encoding="ascii") as handle:
            now = handle.read().strip()
    except OSError:
        return None
    if now not in (given, former):
        return ports.sysctl_kept(key, now, former)
    write_sysctl(key, former)
    return None


def write_mtu(netdev: str, mtu: int) -> None:
    """:raises HostError: the kernel refuses; a netdev that is gone is no error."""
    try:
        with open(f"/sys/class/net/{netdev}/mtu", "r+", encoding="ascii") as handle:
            if handle.read().strip() != str(mtu):
                handle.seek(0)
                handle.write(str(mtu))
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError(f"MTU {mtu} of {netdev}: {error.strerror}") from error


def hand(run: Runner, manager: NetworkManager, handed: Sequence[Tuple[str, bool]]) -> None:
    """Let udev apply our rules to netdevs that are there already, and NetworkManager follow them.

    :raises HostError: either refuses.
    """
    if not handed:
        return
    must(run(["udevadm", "control", "--reload"]), "udevadm control --reload")
    paths = [f"/sys/class/net/{name}" for name, _managed in handed]
    must(run(["udevadm", "trigger", "--action=change", "--settle", *paths]), "udevadm trigger")

    # NetworkManager looks at NM_UNMANAGED when a device appears, not when it changes.
    devices = manager.snapshot().devices
    for name, managed in handed:
        if name in devices and devices[name].managed != managed:
            manager.manage(devices[name], managed)

    def noticed(snapshot: Snapshot) -> bool:
        states = [(snapshot.devices.get(name), managed) for name, managed in handed]
        return all(device is None or device.managed == managed for device, managed in states)

    if not await_state(manager, noticed, ACTIVATION_SECONDS):
        names = ", ".join(name for name, _managed in handed)
        raise HostError(f"unmanaged: NetworkManager does not apply {UDEV_PATH} to {names}")


_NETDEVS_SECONDS = 20
# The driver may need seconds for each VF.
_SCRIPT_SECONDS = 300


def _unset(pf: str, number: int) -> str:
    return f"vfs: the number of VFs of {pf} cannot be set to {number}"


def _write(tree: Tree, pf: str, number: int) -> None:
    path = f"{pci.DEVICES}/{pf}/sriov_numvfs"
    try:
        with open(os.path.join(tree.root, path), "w", encoding="ascii") as handle:
            handle.write(str(number))
    except OSError as error:
        raise HostError(f"{_unset(pf, number)}: {error.strerror}; see the kernel log") from error


def _put_probing_back(tree: Tree, pf: str) -> None:
    """Whether VFs get their driver, as it was before a script that was killed. Raises HostError."""
    half = vf_guids.half_made(pf)
    before = tree.number(half)
    if before is None:
        return
    try:
        with open(os.path.join(tree.root, pci.DEVICES, pf, "sriov_drivers_autoprobe"), "w", encoding="ascii") as handle:
            handle.write(str(before))
        os.unlink(os.path.join(tree.root, half))
    except OSError as error:
        raise HostError(f"vfs: sriov_drivers_autoprobe of {pf} cannot be set to {before}: {error.strerror}") from error


def _made(run: Runner, tree: Tree, pf: str, number: int, anew: bool) -> bool:
    """Whether something had to be done."""
    before = tree.number(f"{pci.DEVICES}/{pf}/sriov_numvfs")
    if before is None or (before == number and not anew):
        return False
    # The kernel goes from one number to another by way of none only.
    if before and number:
        _write(tree, pf, 0)
    script = os.path.join(tree.root, vf_guids.SCRIPT_PATH.lstrip("/"))
    if number and os.path.exists(script):
        # It does nothing for ports of which it has no GUIDs.
        must(run(["/bin/sh", script, pf], timeout=_SCRIPT_SECONDS), _unset(pf, number))
    else:
        _put_probing_back(tree, pf)
    if tree.number(f"{pci.DEVICES}/{pf}/sriov_numvfs") != number:
        _write(tree, pf, number)
    return True


def make(
    run: Runner, tree: Tree, numbers: Sequence[Tuple[str, int]], mtus: Mapping[str, int], anew: Container[str] = ()
) -> Dict[str, List[str]]:
    """Give PFs, by PCI address, their numbers of VFs. ``mtus`` of the VFs, by PF; ``anew`` are those with other GUIDs.

    Returns the netdevs of VFs that were made, by PF. A PF that is gone is no error.

    :raises HostError: the kernel refuses.
    """
    if not numbers:
        return {}
    # The rules for the new VFs have to be known before these appear.
    must(run(["udevadm", "control", "--reload"]), "udevadm control --reload")
    made = {pf: number for pf, number in dict(numbers).items() if _made(run, tree, pf, number, pf in anew)}
    if not any(made.values()):
        return {}
    # The driver of VFs may be a module of its own, which udev loads.
    run(["udevadm", "settle", "--timeout=60"], timeout=90)
    netdevs: Dict[str, List[str]] = {}
    for pf, number in made.items():
        deadline = time.monotonic() + _NETDEVS_SECONDS
        probed = tree.number(f"{pci.DEVICES}/{pf}/sriov_drivers_autoprobe") != 0
        while probed and len(vfs.netdevs(tree, pf)) < number and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        netdevs[pf] = vfs.netdevs(tree, pf)
        for name in netdevs[pf] if pf in mtus else []:
            write_mtu(name, mtus[pf])
    return netdevs
