# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the ledger notes of each port that a link has, and what that says of the port as it is now.

A port is noted when it is first taken: by the name of its netdev, with its MAC address, since the name may change and
the netdev may be in a pod when something has to come back. ``prior`` is the connection that was active, ``mtu`` the
MTU, ``sysctl`` the values that were there before us; ``ports`` is what we gave to it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile, resolve
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkChanges, LinkState
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import is_link_local

_SYSCTL = "net/ipv4/conf/"


def netdev_of(key: str) -> str:
    """The netdev of a sysctl, whose name may have dots."""
    return key[len(_SYSCTL) :].rpartition("/")[0]


def is_nobodys(node: LinkState, key: str, value: str) -> bool:
    """Whether the sysctl of a port that is left is as we, or the kernel for a netdev that comes back, have set it."""
    if value == keyfile.sysctl_given(key):
        return True
    name = netdev_of(key)
    # One that was away when it was left: the kernel has given it its defaults since, as it does with a new one.
    is_linked = bool(node.ledger.notes.get("ports", {}).get(name, {}).get("addresses"))
    default = f"{_SYSCTL}default/{key.rpartition('/')[2]}"
    return not is_linked and value == node.tree.text(f"proc/sys/{default}")


def sysctl_kept(key: str, now: str, former: str) -> str:
    return f"{key} is {now}, which somebody has set since, so it is kept; it was {former} before the link"


def rule(source: str, table: int, priority: int) -> str:
    """As ``ip rule`` takes it."""
    return f"from {source} table {table} priority {priority}"


def rules(profile: Profile) -> List[str]:
    return [rule(*entry) for entry in profile.rules]


def _macs(notes: Mapping[str, Any]) -> Dict[str, str]:
    """MAC addresses of the noted ports, by the names under which they are noted."""
    found = {entry["netdev"]: entry["mac"] for entry in notes.get("links", {}).values() if entry["netdev"]}
    found.update({name: port["mac"] for name, port in notes.get("ports", {}).items() if port["mac"]})
    return found


def follow(node: LinkState) -> None:
    """Note each port by the name that it has now; one that is away, and whose name another has, by its MAC address."""
    notes, moved = node.ledger.notes, {}
    for name, mac in _macs(notes).items():
        here = resolve.with_mac(node.tree, node.interfaces, mac)
        if here and here.name != name:
            moved[name] = here.name
        elif not here and name in node.interfaces:
            moved[name] = mac
    if not moved:
        return
    for kind in ("ports", "prior", "mtu", "alone"):
        if kind in notes:
            notes[kind] = {moved.get(name, name): note for name, note in notes[kind].items()}
    if "sysctl" in notes:
        notes["sysctl"] = {
            key.replace(f"/{netdev_of(key)}/", f"/{moved.get(netdev_of(key), netdev_of(key))}/"): value
            for key, value in notes["sysctl"].items()
        }


def is_away(node: LinkState, name: str) -> bool:
    """Whether the noted port is not on the host now, and may come back."""
    mac = _macs(node.ledger.notes).get(name)
    return mac is not None and resolve.with_mac(node.tree, node.interfaces, mac) is None


def mac_of(node: LinkState, name: str) -> str:
    """Of a noted port that is away."""
    return _macs(node.ledger.notes)[name]


def _note(notes: Dict[str, Any], plan: LinkChanges) -> None:
    """Add what the profiles give to their netdevs."""
    ports = notes.setdefault("ports", {})
    for profile in plan.profiles:
        if profile.netdev:
            port = ports.setdefault(profile.netdev, {"mac": None, "addresses": [], "rules": []})
            port["mac"] = plan.ports.get(profile.netdev) or port["mac"]
            port["addresses"] = sorted({*port["addresses"], *profile.addresses})
            port["rules"] = sorted({*port["rules"], *rules(profile)})
            if profile.mtu:
                port["mtu"] = profile.mtu


def remember(node: LinkState, plan: LinkChanges) -> None:
    """Before anything changes: what is on the ports that links or pods are to have, unless it is known already."""
    notes = node.ledger.notes
    ours = {profile.uuid for profile in plan.profiles}
    parents = {profile.netdev: profile for profile in plan.profiles if not profile.parent}
    devices = node.snapshot().devices if node.snapshot and (plan.ports or plan.handed) else {}
    taken = [*plan.ports, *(name for name, managed in plan.handed if not managed)]
    for name in taken if node.snapshot else ():
        active = devices[name].active if name in devices else None
        # Perhaps not the one before the first run: somebody has put it there since.
        is_other = bool(active and active.uuid not in ours and not active.external)
        prior = notes.setdefault("prior", {})
        if active and is_other:
            given = node.interfaces[name].addresses if name in node.interfaces else ()
            prior[name] = {"uuid": active.uuid, "id": active.id, "addresses": list(given)}
        elif name in devices:
            prior.setdefault(name, None)
        if name in parents:
            _remember_mtus(node, parents[name], is_other, {profile.netdev for profile in plan.profiles})
    for name, before, _after in plan.vf_mtus:
        notes.setdefault("mtu", {}).setdefault(name, before)
    for name, managed in plan.handed:
        interface = node.interfaces.get(name)
        # A VF gets another address each time it is made.
        if interface and not managed and not node.tree.exists(f"{netdev.CLASS}/{name}/device/physfn"):
            notes.setdefault("ports", {}).setdefault(name, {"mac": interface.mac, "addresses": [], "rules": []})
    if plan.alone:
        notes.setdefault("alone", {}).update(dict.fromkeys(plan.alone, True))
    if node.snapshot:
        _note(notes, plan)


def _remember_mtus(node: LinkState, profile: Profile, is_other: bool, own: Set[Optional[str]]) -> None:
    """Of a port, and of what is on it: the kernel makes that smaller together with the port."""
    name = profile.netdev or ""
    interface, mtus = node.interfaces[name], node.ledger.notes.setdefault("mtu", {})
    if not interface.mtu or profile.mtu in (None, interface.mtu):
        return
    if is_other:
        mtus[name] = interface.mtu
    mtus.setdefault(name, interface.mtu)
    for upper in netdev.upper_netdevs(node.tree, name):
        above = node.interfaces.get(upper)
        if above and above.mtu and above.mtu > (profile.mtu or 0) and upper not in own:
            mtus.setdefault(upper, above.mtu)


def settle(notes: Dict[str, Any], plan: LinkChanges) -> None:
    """When all is done: what is known of ports that are not left, and what they have now."""
    for kind in ("prior", "mtu", "alone", "ports"):
        notes[kind] = {name: entry for name, entry in notes.get(kind, {}).items() if name not in plan.left}
    # What is on a port goes with its profile.
    stay = {name: port for name, port in notes["ports"].items() if name in notes["prior"]}
    notes["ports"] = {name: {**port, "addresses": [], "rules": []} for name, port in stay.items()}
    if not plan.unmanaged:
        notes["alone"] = {}
    _note(notes, plan)
    for kind in ("prior", "mtu", "alone", "ports"):
        if not notes[kind]:
            del notes[kind]


def foreign(node: LinkState, interface: Interface) -> List[str]:
    """Addresses of a netdev that neither we nor the former connection gave it; link-local ones are nobody's."""
    port = node.ledger.notes.get("ports", {}).get(interface.name, {})
    former = node.ledger.notes.get("prior", {}).get(interface.name) or {}
    known: Set[str] = {*port.get("addresses", ()), *former.get("addresses", ())}
    return [entry for entry in interface.addresses if entry not in known and not is_link_local(entry)]
