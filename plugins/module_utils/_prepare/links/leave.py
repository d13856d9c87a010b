# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ports that are no links any more: what goes down, and what comes back where nobody else uses the port by now.

Somebody may have put a connection of his own on such a port since. It stays, and what was there before us is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, keyfile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkChanges, LinkState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import is_link_local

if TYPE_CHECKING:
    # Needed only where something has to change, and loading is what this module's steady state costs.
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import NmDevice, Snapshot


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
    """Who else uses a port now, in words."""
    if device and device.active:
        return None if device.active.uuid in ours else f"connection {device.active.id!r} is active on it now"
    if name not in node.interfaces:
        return None
    given = [address for address in node.interfaces[name].addresses if not is_link_local(address)]
    if given:
        return f"somebody has given it {', '.join(given)}"
    return guard.problem(node.tree, name, node.routes, node.session, physical=True)


def _give_back(plan: LinkChanges, node: LinkState, name: str, device: Optional[NmDevice], ours: Set[str]) -> None:
    former, interface = node.ledger.notes["prior"][name], node.interfaces.get(name)
    active = device.active.uuid if device and device.active else None
    if former and active == former["uuid"]:
        former = None
    # NetworkManager puts the MTU back as it found it, which after a stay in a pod is the one that we had set.
    now, before = interface.mtu if interface else None, node.ledger.notes.get("mtu", {}).get(name)
    mtu = None if now in (None, before) else before
    if not former and not mtu:
        return
    user = _user(node, name, device, ours)
    if user:
        parts = [f"connection {former['id']!r}"] if former else []
        parts += [f"MTU {mtu}"] if mtu else []
        plan.warnings.append(f"{name} had {' and '.join(parts)} before, which does not come back: {user}")
        return
    if now and mtu:
        plan.mtus.append((name, now, mtu))
    if former and device:
        plan.again.append((device, former["uuid"], former["id"]))


def build(
    plan: LinkChanges, node: LinkState, owned: Dict[str, str], kept: Sequence[Profile], handed: Sequence[str]
) -> None:
    """The connections that go down with their files, and what netdevs get back.

    ``owned`` are path and text of our profiles, ``kept`` those that stay, ``handed`` netdevs that NetworkManager leaves
    alone.

    :raises HostError: the node needs what would go down.
    """
    paths = {entry.path for entry in plan.files if entry.after is None}
    gone = {path: keyfile.uuid_in(text) for path, text in owned.items() if path in paths}
    # A run that was killed may have removed the file and not told NetworkManager.
    names = {profile.path for profile in kept}
    gone.update((path, uuid) for path, uuid in node.ledger.notes.get("pending", {}).items() if path not in names)
    plan.pending.update(gone)
    stay = {profile.netdev for profile in kept} | set(handed) | {note["netdev"] for note in plan.edited.values()}
    plan.left = sorted(set(node.ledger.notes.get("prior", {})) - stay)
    if not node.snapshot or not (gone or plan.left):
        return
    snapshot = node.snapshot()
    _down(plan, node, snapshot, gone)
    ours = {uuid for uuid in gone.values() if uuid} | {profile.uuid for profile in kept}
    for name in plan.left:
        _give_back(plan, node, name, snapshot.devices.get(name), ours)
