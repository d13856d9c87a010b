# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ports that are no links any more: what goes down, and what comes back where nobody else uses the port by now.

Somebody may have put a connection of his own on such a port since. It stays, and what was there before us is forgotten.
What was there before a port that is in a pod now is kept until the port is here again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev, routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, keyfile, ports, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkChanges, LinkState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

if TYPE_CHECKING:
    # Needed only where something has to change, and loading is what this module's steady state costs.
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import (
        ActiveConnection,
        NmDevice,
        Snapshot,
    )


def lost(node: LinkState, name: str) -> Optional[str]:
    """What would be lost, in words, if the connection that is active on the netdev went down."""
    device = node.snapshot().devices.get(name) if node.snapshot else None
    if not device or not device.active or not device.active.volatile:
        return None
    return (
        f"connection {device.active.id!r} is active on it, and is volatile: NetworkManager deletes it when it goes "
        "down; save it ('nmcli connection modify NAME connection.autoconnect yes' does), or take it down"
    )


def check_takeover(node: LinkState, where: str, name: str, active: ActiveConnection) -> None:
    """Whether another profile of the port may go down.

    :raises HostError: it could not come back, or somebody uses what would go with it.
    """
    problem = lost(node, name)
    if problem:
        raise HostError(f"{where}: {name} cannot be used: {problem}")
    vfs.check_takeover(node, where, name, active.id)


def _down(plan: LinkChanges, node: LinkState, snapshot: Snapshot, gone: Dict[str, Optional[str]]) -> None:
    """:raises HostError: the node needs a netdev that one of our connections goes down on."""
    for path, uuid in sorted(gone.items()):
        active = snapshot.active(uuid or "")
        if not active:
            continue
        name = keyfile.id_of(path)
        device = next((entry for entry in snapshot.devices.values() if entry.active == active), None)
        if device:
            problem = guard.problem(node.tree, device.name, node.routes, node.session, physical=True)
            if problem:
                raise HostError(f"links: {name}: this connection cannot be taken down: {problem}")
        plan.down.append((name, device))


def _user(node: LinkState, name: str, device: Optional[NmDevice], ours: Set[str]) -> Optional[str]:
    """Who else uses a port now, in words. ``ours`` are the uuids of connections that are no reason."""
    active = device.active if device else None
    if active and (not active.external or name not in node.ledger.notes.get("ports", {})):
        return None if active.uuid in ours else f"connection {active.id!r} is active on it now"
    if name not in node.interfaces:
        return None
    given = ports.foreign(node, node.interfaces[name])
    if given:
        return f"somebody has given it {', '.join(given)}"
    return guard.problem(node.tree, name, node.routes, node.session, physical=True)


def _mtus(node: LinkState, name: str, is_back: bool) -> List[Tuple[str, int, int]]:
    """Netdev, MTU and former MTU of a port, and of what is on it: the kernel made that smaller together with the port.

    ``is_back``: the former connection is active again, and may have an MTU of its own.
    """
    former, found = node.ledger.notes.get("mtu", {}), []
    interface = node.interfaces.get(name)
    now = interface.mtu if interface else None
    # NetworkManager puts the MTU back as it found it, which after a stay in a pod is the one that we had set.
    is_ours = not is_back or now == node.ledger.notes.get("ports", {}).get(name, {}).get("mtu")
    if now and is_ours and former.get(name, now) != now:
        found.append((name, now, former[name]))
        now = former[name]
    for upper in netdev.upper_netdevs(node.tree, name):
        above = node.interfaces.get(upper)
        if above and above.mtu and above.mtu < former.get(upper, 0) <= (now or 0):
            found.append((upper, above.mtu, former[upper]))
    return found


def _give_back(plan: LinkChanges, node: LinkState, name: str, device: Optional[NmDevice], ours: Set[str]) -> bool:
    """Returns whether nobody else uses the port."""
    former = node.ledger.notes["prior"][name]
    active = device.active if device else None
    is_back = bool(former and active and active.uuid == former["uuid"])
    user = None if is_back else _user(node, name, device, ours)
    mtus = _mtus(node, name, is_back)
    if user:
        parts = [f"connection {former['id']!r}"] if former else []
        parts += [f"MTU {before}" for own, _now, before in mtus if own == name]
        if parts:
            former_state = f"{name} had {' and '.join(parts)} before it became a link"
            plan.warnings.append(f"{former_state}; this is not restored: {user}")
        return False
    plan.mtus += mtus
    if active and active.external:
        plan.freed.append((name, active))
    if former and device and not is_back:
        plan.again.append((device, former["uuid"], former["id"]))
    return True


def _keep(plan: LinkChanges, node: LinkState, name: str) -> None:
    """Note further what a port that is away gets back, if there is anything."""
    notes = node.ledger.notes
    former = notes.get("prior", {}).get(name)
    parts = [f"connection {former['id']!r}"] if former else []
    parts += [f"MTU {notes['mtu'][name]}"] if name in notes.get("mtu", {}) else []
    parts += ["its sysctls"] if name in map(ports.netdev_of, notes.get("sysctl", {})) else []
    if parts:
        plan.kept.append(name)
        plan.warnings.append(
            f"{name} ({ports.mac_of(node, name)}) is not on the host now, so what it had before it became a link "
            f"({', '.join(parts)}) cannot be restored: repeat the run when it is back"
        )


def _made(node: LinkState, stay: Set[Optional[str]]) -> List[str]:
    """VLANs and partitions on our ports that are there as we noted them, without those of links that stay."""
    noted = node.ledger.notes.get("ports", {})
    own = {name for name, port in noted.items() if port["mac"]}
    return [
        name
        for name, port in sorted(noted.items())
        if not port["mac"]
        and name not in stay
        and name in node.interfaces
        and own.intersection(netdev.below(node.tree, name))
    ]


def _strays(
    plan: LinkChanges,
    node: LinkState,
    made: Sequence[str],
    snapshot: Snapshot,
    ours: Set[str],
    edited: Set[Optional[str]],
) -> Set[str]:
    """What links had on their ports goes, also where NetworkManager was killed and does not know that it made it.

    ``edited`` are uuids of profiles that stay. Returns what somebody else uses by now, which stays.
    """
    used: Set[str] = set()
    for name in made:
        device = snapshot.devices.get(name)
        active = device.active if device else None
        if active and active.uuid in edited:
            continue
        user = _user(node, name, device, ours)
        if not user and not (active and active.uuid in ours):
            above = netdev.upper_netdevs(node.tree, name)
            user = f"{', '.join(above)} is on it" if above else None
        if user:
            used.add(name)
            plan.warnings.append(f"{name} was made for a link that is gone, and stays: {user}")
        else:
            plan.strays.append(name)
    return used


def _rules(node: LinkState, kept: Sequence[Profile], used: Set[str]) -> List[str]:
    """Policy rules of ours that nothing needs any more: NetworkManager forgets them when it is killed.

    ``used`` are netdevs that somebody else uses, perhaps with the same rules.
    """
    needed = {rule for profile in kept for rule in ports.rules(profile)}
    noted = node.ledger.notes.get("ports", {})
    stale = {rule for name, port in noted.items() if name not in used for rule in port["rules"]} - needed
    present = routes.present(node.tree) if stale else None
    return sorted(stale & {ports.rule(*entry) for entry in present.rules}) if present else []


def build(
    plan: LinkChanges,
    node: LinkState,
    owned: Dict[str, str],
    kept: Sequence[Profile],
    handed: Sequence[str],
    hands: bool,
) -> None:
    """The connections that go down with their files, and what netdevs get back.

    ``owned`` are path and text of our profiles, ``kept`` those that stay, ``handed`` netdevs that NetworkManager leaves
    alone; ``hands``: there are more, perhaps in pods.

    :raises HostError: the node needs what would go down.
    """
    paths = {entry.path for entry in plan.files if entry.after is None}
    gone = {path: keyfile.uuid_in(text) for path, text in owned.items() if path in paths}
    # A run that was killed may have removed the file and not told NetworkManager.
    names = {profile.path for profile in kept}
    gone.update((path, uuid) for path, uuid in node.ledger.notes.get("pending", {}).items() if path not in names)
    plan.pending.update(gone)
    stay = {profile.netdev for profile in kept} | set(handed) | {note["netdev"] for note in plan.edited.values()}
    left = sorted(set(node.ledger.notes.get("prior", {})) - stay)
    if not node.snapshot:
        plan.left = left
        return
    for name in left:
        if hands and name not in node.interfaces:
            plan.kept.append(name)
        elif ports.is_away(node, name):
            _keep(plan, node, name)
    plan.left = [name for name in left if name not in plan.kept]
    used: Set[str] = set()
    made = _made(node, stay)
    if gone or plan.left or made:
        snapshot = node.snapshot()
        _down(plan, node, snapshot, gone)
        ours = {uuid for uuid in gone.values() if uuid} | {profile.uuid for profile in kept}
        used = {name for name in plan.left if not _give_back(plan, node, name, snapshot.devices.get(name), ours)}
        edited = {keyfile.uuid_in(text) for path, text in owned.items() if path not in paths} - ours
        theirs = _strays(plan, node, made, snapshot, ours, edited)
        # Said once, and forgotten.
        plan.left += sorted(theirs)
        used |= theirs
    plan.rules = _rules(node, kept, used)
