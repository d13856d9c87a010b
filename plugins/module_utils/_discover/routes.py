# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Routes of netdevs, default routes, and the policy rules by source address, from rtnetlink of the running kernel.

Sources: include/uapi/linux/rtnetlink.h, fib_rules.h.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys
from dataclasses import dataclass, field
from typing import Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import NetdevRoute, NetdevRule

_NETLINK_ROUTE = 0
_RTM_GETROUTE, _RTM_GETRULE = 26, 34
# rtmsg and fib_rule_hdr: family, lengths of destination and source, and where table, type and action are.
_ROUTE, _RULE = struct.Struct("=16xBBBxBxxBI"), struct.Struct("=16xBBBxBxxBI")
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PREFSRC, _RTA_MULTIPATH, _RTA_TABLE, _RTA_VIA = 1, 4, 5, 7, 9, 15, 18
_NEXT_HOP = struct.Struct("=HxxI")
_FRA_DST, _FRA_SRC, _FRA_PRIORITY, _FRA_TABLE = 1, 2, 6, 15
_RTN_UNICAST, _RTM_F_CLONED = 1, 0x200
_FR_ACT_TO_TBL, _FIB_RULE_INVERT = 1, 0x2
_LENGTHS: Dict[int, int] = {socket.AF_INET: 4, socket.AF_INET6: 16}
# A netdev has one for each of its networks and tables.
_AT_MOST = 64


@dataclass(frozen=True)
class DefaultHop:
    """One next hop of a default route."""

    netdev: str
    gateway: Optional[str]
    table: int


@dataclass
class Routing:
    """``routes`` are by index of their netdev."""

    routes: Dict[int, List[NetdevRoute]] = field(default_factory=dict)
    rules: List[NetdevRule] = field(default_factory=list)


def _network(family: int, value: Optional[bytes], length: int) -> str:
    return f"{socket.inet_ntop(family, value or bytes(_LENGTHS[family]))}/{length}"


def _unicast(raw: bytes, default: bool = False) -> Optional[Tuple[int, int, int, Dict[int, bytes]]]:
    """Family, length of the destination, table and attributes of a unicast route in one answer to RTM_GETROUTE.

    ``None`` for others, and with ``default`` for all but default routes, of which there are few.
    """
    family, length, _source, table, kind, flags = _ROUTE.unpack_from(raw)
    if family not in _LENGTHS or kind != _RTN_UNICAST or flags & _RTM_F_CLONED or (default and length):
        return None
    found = netlink.attributes(raw, 12)
    return family, length, netlink.number(found.get(_RTA_TABLE)) or table, found


def interpret_route(raw: bytes) -> Optional[Tuple[int, NetdevRoute]]:
    """Index of the netdev and route of one answer to RTM_GETROUTE; ``None`` for one through a gateway, or not unicast.

    Those through gateways may be many thousands, of the network of pods.
    """
    route = _unicast(raw)
    if route is None:
        return None
    family, length, table, found = route
    index = netlink.number(found.get(_RTA_OIF))
    if index is None or _RTA_GATEWAY in found or _RTA_VIA in found:
        return None
    source = found.get(_RTA_PREFSRC)
    return index, NetdevRoute(
        to=_network(family, found.get(_RTA_DST), length),
        table=table,
        source=socket.inet_ntop(family, source) if source else None,
    )


def _ways(found: Mapping[int, bytes]) -> Iterator[Tuple[Optional[int], Optional[str]]]:
    """Index of the netdev, and gateway, of each next hop of a route."""
    several = found.get(_RTA_MULTIPATH)
    if several is None:
        gateway = found.get(_RTA_GATEWAY) or found.get(_RTA_VIA, b"")[2:]
        yield netlink.number(found.get(_RTA_OIF)), str(ipaddress.ip_address(gateway)) if gateway else None
    while several and len(several) >= _NEXT_HOP.size:
        length, index = _NEXT_HOP.unpack_from(several)
        own = netlink.attributes_at(several[:length], _NEXT_HOP.size)
        yield from _ways({_RTA_OIF: index.to_bytes(4, sys.byteorder), **own})
        several = several[max(length + 3 & ~3, _NEXT_HOP.size) :]


def interpret_default(raw: bytes, names: Mapping[int, str]) -> Optional[List[DefaultHop]]:
    """The next hops in one answer to RTM_GETROUTE, ``None`` if it is no default route. ``names``: netdevs by index.

    :raises LookupError: the answer does not say which netdevs it needs (nexthop objects without
        ``nexthop_compat_mode``), or one of them is gone.
    """
    route = _unicast(raw, default=True)
    if route is None:
        return None
    _family, _length, table, found = route
    return [DefaultHop(names[index or 0], gateway, table) for index, gateway in _ways(found)]


def _dumps(tree: Tree, *kinds: int) -> Optional[List[List[bytes]]]:
    """What the running kernel answers to each; ``None`` for recorded nodes, and where it does not answer."""
    if not tree.live:
        return None
    try:
        with netlink.open_socket(_NETLINK_ROUTE) as sock:
            return [netlink.ask(sock, netlink.request(kind, netlink.NLM_F_DUMP, bytes(12))) for kind in kinds]
    except OSError:
        return None


def defaults(tree: Tree) -> Optional[Tuple[List[DefaultHop], bool]]:
    """The next hops of the running kernel's default routes in all tables, and whether the list is complete.

    ``None`` for recorded nodes, and where the kernel does not answer.
    """
    dumps = _dumps(tree, _RTM_GETROUTE)
    if dumps is None:
        return None
    try:
        names = dict(socket.if_nameindex())
    except OSError:
        return None
    hops: List[DefaultHop] = []
    complete = True
    for raw in dumps[0]:
        try:
            hops += interpret_default(raw, names) or []
        except LookupError:
            complete = False
    return hops, complete


def interpret_rule(raw: bytes) -> Optional[NetdevRule]:
    """The rule of one answer to RTM_GETRULE, if it sends all that a source sends to a table."""
    family, _length, length, table, action, flags = _RULE.unpack_from(raw)
    found = netlink.attributes(raw, 12)
    if family not in _LENGTHS or action != _FR_ACT_TO_TBL or flags & _FIB_RULE_INVERT or not length:
        return None
    if _FRA_DST in found:
        return None
    return NetdevRule(
        source=_network(family, found.get(_FRA_SRC), length), table=netlink.number(found.get(_FRA_TABLE)) or table
    )


def interpret(routes: Iterable[bytes], rules: Iterable[bytes]) -> Routing:
    """From the answers to RTM_GETROUTE and RTM_GETRULE dumps."""
    found = Routing(rules=[rule for rule in map(interpret_rule, rules) if rule])
    for told in map(interpret_route, routes):
        if told:
            found.routes.setdefault(told[0], []).append(told[1])
    return found


@dataclass(frozen=True)
class Present:
    """Routes by index of the netdev, destination, table and gateway; rules by source, table and priority."""

    routes: FrozenSet[Tuple[int, str, int, Optional[str]]] = frozenset()
    rules: FrozenSet[Tuple[str, int, int]] = frozenset()


def present(tree: Tree) -> Optional[Present]:
    """All unicast routes, those through gateways as well, and rules; ``None`` as for ``read``."""
    dumps = _dumps(tree, _RTM_GETROUTE, _RTM_GETRULE)
    if dumps is None:
        return None
    found: Set[Tuple[int, str, int, Optional[str]]] = set()
    for family, length, table, told in filter(None, map(_unicast, dumps[0])):
        to = _network(family, told.get(_RTA_DST), length)
        found.update((index or 0, to, table, gateway) for index, gateway in _ways(told))
    rules = [(interpret_rule(raw), netlink.number(netlink.attributes(raw, 12).get(_FRA_PRIORITY))) for raw in dumps[1]]
    return Present(
        frozenset(found), frozenset((rule.source, rule.table, priority or 0) for rule, priority in rules if rule)
    )


def of_netdev(routing: Routing, index: int, addresses: Iterable[str]) -> Tuple[List[NetdevRoute], List[NetdevRule]]:
    """The routes of a netdev, and the rules for what its addresses send, in an order of their own."""
    own = {str(ipaddress.ip_interface(text).ip) for text in addresses}
    routes = sorted(routing.routes.get(index, []), key=lambda route: (route.table, route.to, route.source or ""))
    rules = [rule for rule in routing.rules if rule.source.rpartition("/")[0] in own]
    return routes[:_AT_MOST], sorted(rules, key=lambda rule: (rule.source, rule.table))[:_AT_MOST]


def read(tree: Tree) -> Optional[Routing]:
    """Routes and rules of the running kernel; ``None`` for recorded nodes, and where it does not answer."""
    dumps = _dumps(tree, _RTM_GETROUTE, _RTM_GETRULE)
    return interpret(*dumps) if dumps else None
