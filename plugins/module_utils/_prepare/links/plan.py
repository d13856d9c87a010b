# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Links and the node as it is -> which port each link means, and what has to change. Reads; changes nothing."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.routes import Present
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import (
    guard,
    keyfile,
    leave,
    ports,
    qos_unit,
    request,
    resolve,
    vf_guids,
    vfs,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Link, QosPort, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.resolve import Target
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import (
    LinkChanges,
    LinkState,
    QosPlan,
    Sysctl,
    adopt_rolled_back,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

if TYPE_CHECKING:
    # Needed only where something has to change, and loading is what this module's steady state costs.
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import NmDevice


# Bit 7 of an IPoIB address's first octet: the interface can do connected mode (drivers/infiniband/ulp/ipoib/ipoib.h,
# IPOIB_CM_SUPPORTED). ConnectX-4 and newer cannot, unless ib_ipoib is loaded with ipoib_enhanced=0.
_CONNECTED = 0x80


def _targets(node: LinkState, links: Sequence[Link]) -> List[Target]:
    """The port of each link. Raises HostError where one is impossible, or must not be touched."""
    remembered = node.ledger.notes.get("links", {})
    found: List[Target] = []
    owners: Dict[str, str] = {}
    for link in links:
        where = f"links: {link.name}"
        note = remembered.get(link.name, {})
        known = note if note.get("selector") == str(link.selector) else {}
        target = resolve.resolve(where, node.tree, node.interfaces, node.hcas, link.selector, known)
        kind = target.kind or (None if link.type == "auto" else link.type)
        if target.mac and target.mac in owners:
            raise HostError(f"{where}: {link.selector} is the same port as that of {owners[target.mac]}")
        owners[target.mac or link.name] = link.name
        _check(node, link, target, kind)
        found.append(replace(target, kind=kind))
    return found


def _check(node: LinkState, link: Link, target: Target, kind: Optional[str]) -> None:
    where = f"links: {link.name}"
    if target.interface:
        name = target.interface.name
        physical = resolve.is_physical(node.tree, name)
        problem = guard.problem(node.tree, name, node.routes, node.session, physical)
        if problem:
            raise HostError(f"{where}: {link.selector} cannot be used: {problem}")
        if target.interface.kind is None:
            raise HostError(f"{where}: {link.selector}: {name} is neither Ethernet nor InfiniBand")
    if link.type not in ("auto", kind):
        raise HostError(f"{where}: type: {link.selector} is {kind}, not {link.type}")
    if kind:
        request.check_kind(link, kind)
    guard.check_networks(node.routes, link, node.session)
    if target.interface:
        _check_hardware(where, link, target.interface)


def _check_hardware(where: str, link: Link, interface: Interface) -> None:
    if link.transport_mode == "connected":
        first = int((interface.hardware or "80")[:2], 16)
        if not first & _CONNECTED:
            raise HostError(f"{where}: transport_mode: {interface.name} does not support connected mode; use datagram")
    elif link.mtu and interface.max_mtu and link.mtu > interface.max_mtu:
        raise HostError(f"{where}: mtu: {interface.name} supports at most {interface.max_mtu}, not {link.mtu}")


def shared_subnets(links: Sequence[Link]) -> List[str]:
    """Warnings of links that share a subnet."""
    owners: Dict[str, List[Link]] = {}
    for link in links:
        for text in {str(ipaddress.ip_interface(address).network) for address in link.addresses}:
            owners.setdefault(text, []).append(link)
    return [
        "{} are in one subnet, {}, so replies may leave by the wrong port: give each a rail_table".format(
            ", ".join(link.name for link in several), text
        )
        for text, several in sorted(owners.items())
        if len(several) > 1 and not all(link.rail_table for link in several)
    ]


def netdevs(node: LinkState, selector: Selector) -> List[str]:
    """Names of the netdevs that NetworkManager is to leave alone."""
    try:
        target = resolve.resolve("unmanaged", node.tree, node.interfaces, (), selector, {"mac": selector.value})
    except HostError:
        # A VF that does not exist yet: the rule waits for it.
        return []
    return [target.interface.name] if target.interface else []


def _owned(node: LinkState) -> Dict[str, str]:
    """Path and text of every profile that this module wrote; a copy of one is somebody else's."""
    paths = [path for path in node.ledger.created if path.startswith(f"{keyfile.DIRECTORY}/")]
    return {path: node.ledger.files.text(path) or "" for path in paths}


def _files(
    plan: LinkChanges,
    node: LinkState,
    profiles: Sequence[Profile],
    sysctls: Dict[str, str],
    unmanaged: Sequence[Selector],
) -> Dict[str, str]:
    adopt_rolled_back(node.ledger)
    mtus = {address: entry.mtu for entry in plan.pfs if entry.mtu for address in entry.addresses}
    numbers = [(entry.link, entry.mac, entry.number) for entry in plan.pfs if entry.mac and not entry.guids]
    scripted = {entry.pci: entry.guids for entry in plan.pfs if entry.guids}
    rules = [vf_guids.udev_rule(pf) for pf in sorted(scripted)]
    owned = _owned(node)
    wanted = []
    for profile in profiles:
        if profile.path not in owned and node.ledger.files.exists(profile.path):
            raise HostError(
                f"links: {profile.id}: {profile.path} was not written by this module; choose another name or remove it"
            )
        wanted.append(File(profile.path, profile.text, 0o600))
    for path, text in (
        (keyfile.SYSCTL_PATH, keyfile.sysctl_text(sysctls)),
        (keyfile.VFS_PATH, keyfile.vfs_text(numbers)),
        (keyfile.UDEV_PATH, keyfile.udev_text(unmanaged, mtus, rules)),
        (vf_guids.SCRIPT_PATH, vf_guids.script_text(scripted)),
        (vf_guids.UNIT_PATH, vf_guids.unit_text(scripted)),
        *qos_unit.files(plan.qos.ports),
    ):
        if text is not None:
            lines = (keyfile.SYSCTL_PATH, keyfile.UDEV_PATH, qos_unit.UDEV_PATH)
            wanted.append(File(path, text, lines=path in lines))
    plan.files = node.ledger.compare(wanted)
    plan.warnings += node.ledger.warnings
    return owned


def _check_copies(node: LinkState, owned: Dict[str, str], profiles: Sequence[Profile]) -> None:
    """:raises HostError: another file has the uuid of one of our profiles; NetworkManager takes it from one of them."""
    # What has no uuid is no copy.
    ours = {uuid: path for path, uuid in ((path, keyfile.uuid_in(text)) for path, text in owned.items()) if uuid}
    # One that is gone may have been moved: its connection would stay, with nothing to tell that it was ours.
    macs = {note["mac"] for note in node.ledger.notes.get("links", {}).values()}
    gone = [path for path, text in owned.items() if not text]
    ours.update((keyfile.uuid_of(keyfile.id_of(path), mac), path) for path in gone for mac in macs)
    ours.update((profile.uuid, profile.path) for profile in profiles)
    for directory in (keyfile.DIRECTORY, *keyfile.OTHER_DIRECTORIES) if ours else ():
        for name in node.tree.names(directory.lstrip("/")):
            found = f"{directory}/{name}"
            if found in ours.values():
                continue
            uuid = keyfile.uuid_in(node.tree.text(found.lstrip("/")) or "")
            if uuid in ours:
                raise HostError(f"links: {keyfile.id_of(ours[uuid])}: {keyfile.elsewhere(ours[uuid], found)}")


def _edited(plan: LinkChanges, node: LinkState, owned: Dict[str, str], profiles: Sequence[Profile]) -> Dict[str, Any]:
    """Notes of links that are no longer asked for, but whose profile stays because somebody edited it."""
    staying = set(owned) - {entry.path for entry in plan.files} - {profile.path for profile in profiles}
    notes = node.ledger.notes.get("links", {})
    return {name: note for name, note in notes.items() if keyfile.path_of(name) in staying}


def _live_sysctls(plan: LinkChanges, node: LinkState, wanted: Dict[str, str]) -> List[Sysctl]:
    previous = node.ledger.notes.get("sysctl", {})
    targets = {**previous, **wanted}
    found = []
    for key, after in sorted(targets.items()):
        # Gone with its netdev, which gets its values from the file when it comes back.
        before = node.tree.text(f"proc/sys/{key}")
        if before is None or before == after:
            continue
        if key in wanted or ports.is_nobodys(node, key, before):
            found.append(Sysctl(key, before, after))
        else:
            plan.warnings.append(ports.sysctl_kept(key, before, after))
    return found


def missing(profile: Profile, interface: Optional[Interface], routing: Optional[Present] = None) -> Optional[str]:
    """The part of the profile that the netdev lacks, in words; ``None`` if it lacks nothing."""
    if interface is None:
        return f"netdev {profile.netdev} does not exist"
    if interface.carrier is None:
        return "it is down"
    if profile.mtu not in (None, interface.mtu):
        return f"its MTU is {interface.mtu} instead of {profile.mtu}"
    addresses = set(profile.addresses) - set(interface.addresses)
    if addresses:
        return f"it has no address {', '.join(sorted(addresses))}"
    if routing is None:
        return None
    for to, table, via in profile.routes:
        if (interface.index, to, table, via) not in routing.routes:
            return f"it has no route to {to} in table {table}"
    for source, table, priority in profile.rules:
        if (source, table, priority) not in routing.rules:
            return f"it has no rule from {source} to table {table}"
    return None


def _is_on(node: LinkState, profile: Profile, interface: Interface) -> bool:
    """Whether the profile is active on the netdev. NetworkManager is asked only where its file does not say so."""
    told = node.tree.text(f"run/NetworkManager/devices/{interface.index}")
    if told is None or f"connection-uuid={profile.uuid}" in told.splitlines() or not node.snapshot:
        return True
    device = node.snapshot().devices.get(interface.name)
    return bool(device and device.active and device.active.uuid == profile.uuid)


def _check_manager(plan: LinkChanges, node: LinkState, profile: Profile, device: Optional[NmDevice]) -> None:
    """:raises HostError: somebody else than NetworkManager configures the netdev, or in a way that would be lost."""
    where, name = f"links: {profile.id}", profile.netdev or ""
    interface = node.interfaces[name]
    state = node.tree.text(f"run/systemd/netif/links/{interface.index}") or ""
    if "ADMIN_STATE=configured" in state or "ADMIN_STATE=configuring" in state:
        raise HostError(f"{where}: systemd-networkd configures {name}; remove it from its .network files (or netplan)")
    if device is None or not device.managed:
        interfaces = node.tree.text("etc/network/interfaces") or ""
        hint = "it is marked unmanaged in NetworkManager.conf, its conf.d, or by a udev rule (NM_UNMANAGED)"
        if any(name in line.split() for line in interfaces.splitlines() if not line.lstrip().startswith("#")):
            hint = "it is in /etc/network/interfaces; remove it there"
        raise HostError(f"{where}: NetworkManager does not manage {name}: {hint}")
    if device.active and device.active.external:
        # NetworkManager was killed, and does not know any more that this was its own.
        if name in node.ledger.notes.get("ports", {}) and not ports.foreign(node, interface):
            plan.freed.append((name, device.active))
            return
        addresses = ", ".join(interface.addresses) or "no address"
        raise HostError(f"{where}: {name} was configured by hand or by another tool ({addresses}); undo that first")
    if device.active and device.active.uuid != profile.uuid:
        leave.check_takeover(node, where, name, device.active)


def _connections(plan: LinkChanges, node: LinkState, groups: Sequence[List[Profile]]) -> None:
    plan.children = {profile.path for group in groups for profile in group if profile.parent}
    changed = {entry.path for entry in plan.files if entry.after is not None and entry.before != entry.after}
    pending = node.ledger.notes.get("pending", {})
    wanted = any(profile.routes or profile.rules for group in groups for profile in group)
    routing = routes.present(node.tree) if wanted else None
    for group in groups:
        parent = node.interfaces.get(group[0].netdev or "")
        for profile in group:
            if profile.path in changed or profile.path in pending:
                plan.pending[profile.path] = profile.uuid
            if parent is None or parent.carrier is False:
                continue
            interface = node.interfaces.get(profile.netdev or "")
            lacks = missing(profile, interface, routing) or (interface and not _is_on(node, profile, interface))
            if profile.path in plan.pending or lacks:
                device = node.snapshot().devices.get(profile.netdev or "") if node.snapshot else None
                if interface and profile.parent is None:
                    _check_manager(plan, node, profile, device)
                plan.up.append((profile, device))
                plan.pending[profile.path] = profile.uuid


def _hand(plan: LinkChanges, node: LinkState, unmanaged: Sequence[Selector], targets: Sequence[Target]) -> List[str]:
    """Netdevs that NetworkManager shall leave alone."""
    taken = {target.interface.name for target in targets if target.interface}
    wanted: Dict[str, bool] = {}
    for value, kind in node.ledger.notes.get("unmanaged", {}).items():
        names = netdevs(node, Selector(kind, value))
        wanted.update({name: True for name in names if name not in node.ledger.notes.get("alone", {})})
    for selector in unmanaged:
        for name in netdevs(node, selector):
            problem = guard.problem(node.tree, name, node.routes, node.session, physical=True)
            if name in taken:
                problem = f"{name} is one of the links"
            if problem:
                raise HostError(f"unmanaged: {selector} cannot be made unmanaged: {problem}")
            wanted[name] = False
            if selector.value not in node.ledger.notes.get("unmanaged", {}) and node.snapshot:
                device = node.snapshot().devices.get(name)
                plan.alone += [name] if device and not device.managed else []
    # They go, and the new ones are what the rules say.
    anew = {name for change in plan.vfs for name in vfs.netdevs(node.tree, change.pci)}
    for name, managed in sorted(wanted.items()):
        if name in anew:
            continue
        record = node.tree.text(f"run/udev/data/n{node.interfaces[name].index}") or ""
        if ("E:NM_UNMANAGED=1" in record.splitlines()) == managed:
            problem = None if managed else vfs.configured(node, name) or leave.lost(node, name)
            if problem:
                raise HostError(f"unmanaged: {name} cannot be made unmanaged: {problem}")
            plan.handed.append((name, managed))
    return [name for name, managed in wanted.items() if not managed]


def _remembered(plan: LinkChanges, links: Sequence[Link], targets: Sequence[Target]) -> Dict[str, Any]:
    """What finds a port again while it is in a pod."""
    functions: Dict[str, Dict[str, Any]] = {entry.link: {"pci": entry.pci} for entry in plan.pfs}
    for entry in plan.pfs:
        if entry.guids:
            functions[entry.link]["guids"] = list(entry.guids)
    return {
        link.name: {
            "selector": str(link.selector),
            "kind": target.kind,
            "mac": target.mac,
            "netdev": target.netdev,
            **functions.get(link.name, {}),
        }
        for link, target in zip(links, targets)
        if target.mac
    }


def _report(link: Link, target: Target, group: Sequence[Profile], live: bool) -> Dict[str, Any]:
    if target.interface is None:
        state = "in_pod"
    elif not live:
        state = "written"
    else:
        state = "no_carrier" if target.interface.carrier is False else "up"
    return {
        "name": link.name,
        "netdev": target.netdev,
        "mac": target.mac,
        "type": target.kind,
        "state": state,
        "connections": [profile.id for profile in group],
        "addresses": [
            {"netdev": profile.netdev, "address": address, "mtu": profile.mtu, "uuid": profile.uuid}
            for profile in group
            for address in profile.addresses or (None,)
        ],
    }


def _qos(node: LinkState, roce: Sequence[QosPort]) -> QosPlan:
    if not roce and not node.ledger.notes.get("qos"):
        return QosPlan()
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import qos

    return qos.build(node, roce)


def build(
    node: LinkState, links: Sequence[Link], unmanaged: Sequence[Selector], roce: Sequence[QosPort] = ()
) -> LinkChanges:
    """What has to change so that the node has these links and no others of ours, and ``roce`` their quality of service.

    :raises HostError: a link is impossible, or would endanger the node; nothing was changed.
    """
    plan = LinkChanges(warnings=shared_subnets(links))
    if node.snapshot:
        ports.follow(node)
    targets = _targets(node, links)
    groups = [keyfile.profiles(link, target) if target.mac else [] for link, target in zip(links, targets)]
    profiles = [profile for group in groups for profile in group]
    sysctls: Dict[str, str] = {}
    for link, group in zip(links, groups):
        for profile in group:
            sysctls.update(keyfile.sysctls(profile, link.rail_table))
    plan.pfs = vfs.wanted(node.tree, links, targets, node.ledger.notes.get("links", {}))
    plan.qos = _qos(node, roce)
    plan.warnings += plan.qos.warnings
    unmanaged = vfs.selectors(plan.pfs, unmanaged)
    owned = _files(plan, node, profiles, sysctls, unmanaged)
    plan.edited = _edited(plan, node, owned, profiles)
    plan.profiles = profiles
    plan.ports = {target.interface.name: target.mac for target in targets if target.interface}
    if node.snapshot:
        _check_copies(node, owned, profiles)
        plan.vfs = vfs.changes(node, plan.pfs)
        plan.vf_mtus = vfs.mtus(node, plan.pfs, plan.vfs)
        changed = {entry.path for entry in plan.files if entry.before != entry.after}
        plan.pending.update(dict.fromkeys(changed & {keyfile.VFS_PATH, vf_guids.UNIT_PATH, qos_unit.UNIT_PATH}))
        handed = _hand(plan, node, unmanaged, targets)
        plan.sysctls, plan.wanted = _live_sysctls(plan, node, sysctls), sysctls
        _connections(plan, node, [group for group in groups if group])
        leave.build(plan, node, owned, profiles, handed, bool(unmanaged))
    plan.remembered = {**plan.edited, **_remembered(plan, links, targets)}
    plan.unmanaged = {selector.value: selector.kind for selector in unmanaged}
    plan.links = [
        _report(link, target, group, bool(node.snapshot)) for link, target, group in zip(links, targets, groups)
    ]
    return plan
