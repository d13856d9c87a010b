# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Finds the port of each link on the node, and checks that it may be used. Reads; changes nothing."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, request, resolve
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Link, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.resolve import Target
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# Bit 7 of an IPoIB address's first octet: the interface can do connected mode (drivers/infiniband/ulp/ipoib/ipoib.h,
# IPOIB_CM_SUPPORTED). ConnectX-4 and newer cannot, unless ib_ipoib is loaded with ipoib_enhanced=0.
_CONNECTED = 0x80


def targets(node: LinkState, links: Sequence[Link]) -> List[Target]:
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
