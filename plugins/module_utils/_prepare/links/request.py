# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is asked of links: its options, checked as far as that is possible without looking at the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import (
    address,
    duration,
    guid,
    mac,
    mtu,
    names,
    pci,
    pkey,
    roce,
    vlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.roce import RoceQos

# NetworkManager's file name, an interface-like id, and room for ".8001.nmconnection".
_LONGEST_NAME = 64

# RT_TABLE_DEFAULT, RT_TABLE_MAIN, RT_TABLE_LOCAL (include/uapi/linux/rtnetlink.h).
_RESERVED_TABLES = (0, 253, 254, 255)
_MAX_TABLE = 2**32 - 1


@dataclass(frozen=True)
class Selector:
    """A port on the node: ``kind`` is ``hca``, ``pci`` or ``mac``; ``port`` counts with ``hca`` only."""

    kind: str
    value: str
    port: int = 1

    def __str__(self) -> str:
        return f"hca {self.value} port {self.port}" if self.kind == "hca" else f"{self.kind} {self.value}"


@dataclass(frozen=True)
class Route:
    to: str
    via: Optional[str] = None
    metric: Optional[int] = None
    table: Optional[int] = None


@dataclass(frozen=True)
class Child:
    """A VLAN (``kind`` ``vlan``, ``number`` its id) or an IPoIB partition (``pkey``, full membership bit set)."""

    kind: str
    number: int
    addresses: Tuple[str, ...] = ()
    mtu: Optional[int] = None

    @property
    def suffix(self) -> str:
        """As NetworkManager and the kernel append it to the parent's name."""
        return str(self.number) if self.kind == "vlan" else f"{self.number:04x}"


@dataclass(frozen=True)
class QosPort:
    """RoCE's quality of service on a port of an HCA."""

    hca: str
    port: int
    wanted: RoceQos

    @property
    def name(self) -> str:
        return f"{self.hca}/{self.port}"


@dataclass(frozen=True)
class Link:
    name: str
    selector: Selector
    type: str = "auto"
    addresses: Tuple[str, ...] = ()
    mtu: Optional[int] = None
    transport_mode: Optional[str] = None
    children: Tuple[Child, ...] = ()
    routes: Tuple[Route, ...] = ()
    rail_table: Optional[int] = None
    vfs: Optional[int] = None
    vf_guids: Tuple[str, ...] = ()

    @property
    def networks(self) -> List[Tuple[str, str]]:
        """All (option, network) that traffic would be sent to through this link by the main table."""
        found = [("addresses", text) for text in self.addresses]
        for child in self.children:
            found += [(f"{child.kind}s: {child.suffix}: addresses", text) for text in child.addresses]
        return found + [("routes", route.to) for route in self.routes if route.table is None]


def _fail(where: str, problem: str) -> HostError:
    return HostError(f"{where}: {problem}")


def selector(where: str, entry: Mapping[str, Any]) -> Selector:
    """:raises HostError: not exactly one of hca, pci and mac, or one that cannot be right."""
    given = [kind for kind in ("hca", "pci", "mac") if entry.get(kind)]
    if len(given) != 1:
        several = " and ".join(given) or "none"
        raise _fail(where, f"exactly one of hca, pci and mac selects the port, but {several} is given")
    kind, value = given[0], str(entry[given[0]]).strip()
    port = entry.get("port")
    if kind != "hca" and port is not None:
        raise _fail(where, f"port goes with hca, not with {kind}")
    if kind == "mac":
        octets = mac.octets(value, (mac.ETHERNET, mac.IPOIB))
        if octets is None:
            raise _fail(where, f"mac: {value!r} is not a MAC address such as b8:59:9f:3b:2b:88 (20 octets for IPoIB)")
        return Selector("mac", mac.written(octets))
    if kind == "pci":
        return Selector("pci", checked(f"{where}: pci", value, pci.address))
    if not names.is_rdma_device(value):
        raise _fail(where, f"hca: {value!r} is not the name of an RDMA device such as mlx5_0")
    number = 1 if port is None else port
    if number < 1:
        raise _fail(where, f"port: {number} is not a port number; they start at 1")
    return Selector("hca", value, number)


def _addresses(where: str, entries: Optional[Sequence[str]]) -> Tuple[str, ...]:
    return tuple(str(checked(f"{where}: addresses", text, address.interface)) for text in entries or ())


def _table(where: str, value: Optional[int]) -> Optional[int]:
    if value is not None and (value in _RESERVED_TABLES or not 0 < value <= _MAX_TABLE):
        raise _fail(where, f"{value} is not a custom routing table (1 to {_MAX_TABLE}, not 253 to 255)")
    return value


def _destination(text: str) -> address.Network:
    found = address.prefix(text)
    if found is None or found.ip != found.network.network_address:
        raise RefusedError("it must be a network like 10.20.0.0/16, with host bits zero")
    return found.network


def _route(where: str, entry: Mapping[str, Any]) -> Route:
    where = f"{where}: routes"
    target = checked(f"{where}: to", str(entry["to"]), _destination)
    via = entry.get("via")
    if via is not None:
        hop = address.address(str(via))
        if hop is None:
            raise _fail(where, f"via: {via!r} is not an address")
        if hop.version != target.version:
            raise _fail(where, f"via: {via} is IPv{hop.version}, but to: {target} is IPv{target.version}")
    table = _table(f"{where}: table", entry.get("table"))
    if target.prefixlen == 0 and table is None:
        raise _fail(where, f"to: {target} is a default route, which an RDMA link may have only in a table of its own")
    metric = entry.get("metric")
    if metric is not None and not 0 <= metric <= _MAX_TABLE:
        raise _fail(where, f"metric: {metric} is not between 0 and {_MAX_TABLE}")
    return Route(str(target), None if via is None else str(via), metric, table)


def _pkey(where: str, entry: Mapping[str, Any]) -> Child:
    value = checked(f"{where}: pkey", str(entry["pkey"]), pkey.full)
    where = f"{where}: pkeys: {pkey.written(value)}"
    return Child("pkey", value, _addresses(where, entry.get("addresses")), entry.get("mtu"))


def _vlan(where: str, entry: Mapping[str, Any]) -> Child:
    value = entry["id"]
    checked(f"{where}: vlans: id", value, vlan.check)
    where = f"{where}: vlans: {value}"
    return Child("vlan", value, _addresses(where, entry.get("addresses")), entry.get("mtu"))


def check_kind(link: Link, kind: str) -> None:
    """Whether everything that is asked of the link exists on its link layer.

    :raises HostError: it does not.
    """
    where = f"links: {link.name}"
    if kind == "ethernet":
        if link.transport_mode:
            raise _fail(where, f"transport_mode is for InfiniBand, but {link.selector} is Ethernet")
        if any(child.kind == "pkey" for child in link.children):
            raise _fail(where, f"pkeys are for InfiniBand, but {link.selector} is Ethernet; use vlans there")
        if link.vf_guids:
            raise _fail(where, f"vf_guids are for InfiniBand, but {link.selector} is Ethernet")
    elif any(child.kind == "vlan" for child in link.children):
        raise _fail(where, f"vlans are for Ethernet, but {link.selector} is InfiniBand; use pkeys there")
    for place, value in [("mtu", link.mtu)] + [(f"{c.kind}s: {c.suffix}: mtu", c.mtu) for c in link.children]:
        if value is not None:
            checked(f"{where}: {place}", value, lambda number: mtu.check(number, kind, link.transport_mode))
    for child in link.children:
        if child.kind == "vlan" and child.mtu and link.mtu and child.mtu > link.mtu:
            raise _fail(where, f"vlans: {child.number}: mtu: {child.mtu} is more than {link.mtu}, that of the link")


def _link(entry: Mapping[str, Any]) -> Link:
    name = str(entry["name"])
    if not names.is_file(name, _LONGEST_NAME):
        raise _fail("links: name", f"{name!r} is not a name of letters, digits, dots, dashes and underscores (max. 64)")
    where = f"links: {name}"
    link = Link(
        name=name,
        selector=selector(where, entry),
        type=entry.get("type") or "auto",
        addresses=_addresses(where, entry.get("addresses")),
        mtu=entry.get("mtu"),
        transport_mode=entry.get("transport_mode"),
        children=tuple(
            [_vlan(where, child) for child in entry.get("vlans") or ()]
            + [_pkey(where, child) for child in entry.get("pkeys") or ()]
        ),
        routes=tuple(_route(where, route) for route in entry.get("routes") or ()),
        rail_table=_table(f"{where}: rail_table", entry.get("rail_table")),
        vfs=entry.get("vfs"),
        vf_guids=tuple(checked(f"{where}: vf_guids", text, guid.read) for text in entry.get("vf_guids") or ()),
    )
    if link.vfs is not None and link.vfs < 0:
        raise _fail(where, f"vfs: {link.vfs} is not a number of VFs")
    if link.vf_guids and len(link.vf_guids) != link.vfs:
        raise _fail(where, f"vf_guids: has {len(link.vf_guids)} GUIDs, but vfs is {link.vfs or 0}: each VF needs one")
    if link.type != "auto":
        check_kind(link, link.type)
    return link


def _once(seen: Dict[str, str], key: str, where: str, what: str) -> None:
    if key in seen:
        other = seen[key]
        raise HostError(f"{where}: {what} is already taken by {other}; each can be used once")
    seen[key] = where


def parse(entries: Sequence[Mapping[str, Any]]) -> List[Link]:
    """The links that a module call asks for.

    :raises HostError: naming link, option, value and what would be right.
    """
    links = [_link(entry) for entry in entries]
    profiles: Dict[str, str] = {}
    addresses: Dict[str, str] = {}
    selectors: Dict[str, str] = {}
    guids: Dict[str, str] = {}
    for link in links:
        where = f"links: {link.name}"
        for profile in [link.name] + [f"{link.name}.{child.suffix}" for child in link.children]:
            _once(profiles, profile, where, f"connection name {profile!r}")
        _once(selectors, str(link.selector), where, str(link.selector))
        for text in link.vf_guids:
            _once(guids, text, where, f"GUID {text}")
        for text in list(link.addresses) + [text for child in link.children for text in child.addresses]:
            _once(addresses, text.split("/")[0], where, f"address {text.split('/')[0]}")
    return links


def parse_unmanaged(entries: Sequence[Mapping[str, Any]]) -> List[Selector]:
    """:raises HostError: an entry is not exactly one of pci and mac."""
    found = [selector("unmanaged", entry) for entry in entries]
    seen: Dict[str, str] = {}
    for entry in found:
        _once(seen, str(entry), "unmanaged", str(entry))
    return found


def parse_qos(entries: Sequence[Mapping[str, Any]]) -> List[QosPort]:
    """:raises HostError: a value cannot be right, or a port is named twice."""
    found = []
    seen: Dict[str, str] = {}
    for entry in entries:
        port = selector("qos", {"hca": entry["hca"], "port": entry.get("port")})
        where = f"qos: {port.value}/{port.port}"
        _once(seen, where, where, "this port")
        given = {name: entry[name] for name in roce.RULES if entry.get(name) is not None}
        for name, value in given.items():
            checked(f"{where}: {name}", value, roce.RULES[name])
        found.append(QosPort(port.value, port.port, RoceQos(**given)))
    return found


def _dicts(options: Dict[str, Any], **others: Any) -> Dict[str, Any]:
    return {"type": "list", "elements": "dict", "default": [], "options": options, **others}


_STRINGS = {"type": "list", "elements": "str", "default": []}
_LINK = {
    "name": {"type": "str", "required": True},
    "hca": {"type": "str"},
    "port": {"type": "int"},
    "pci": {"type": "str"},
    "mac": {"type": "str"},
    "type": {"type": "str", "choices": ["auto", "ethernet", "infiniband"], "default": "auto"},
    "addresses": _STRINGS,
    "mtu": {"type": "int"},
    "transport_mode": {"type": "str", "choices": ["datagram", "connected"]},
    # Of P_Keys there is nothing secret, whatever the name.
    "pkeys": _dicts(
        {"pkey": {"type": "str", "required": True, "no_log": False}, "addresses": _STRINGS, "mtu": {"type": "int"}},
        no_log=False,
    ),
    "vlans": _dicts({"id": {"type": "int", "required": True}, "addresses": _STRINGS, "mtu": {"type": "int"}}),
    "routes": _dicts(
        {
            "to": {"type": "str", "required": True},
            "via": {"type": "str"},
            "metric": {"type": "int"},
            "table": {"type": "int"},
        }
    ),
    "rail_table": {"type": "int"},
    "vfs": {"type": "int"},
    "vf_guids": _STRINGS,
}


SPEC: Dict[str, Any] = {
    "links": _dicts(_LINK),
    "unmanaged": _dicts({"pci": {"type": "str"}, "mac": {"type": "str"}}),
    "qos": _dicts(
        {
            "hca": {"type": "str", "required": True},
            "port": {"type": "int"},
            **{name: {"type": "int"} for name in roce.RULES},
        }
    ),
    "rollback_seconds": {"type": "int", "default": 60},
    "confirm": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


class LinkRequest(NamedTuple):
    """What a module call wants. ``transaction`` is whether NetworkManager rolls back without a confirmation."""

    links: Sequence[Link] = ()
    unmanaged: Sequence[Selector] = ()
    qos: Sequence[QosPort] = ()
    rollback_seconds: int = 60
    transaction: bool = True


def request(options: Mapping[str, Any]) -> LinkRequest:
    """What the options, read as SPEC says, ask for.

    :raises HostError: one of them is wrong.
    """
    if options["state"] == "absent":
        return LinkRequest(transaction=False)
    return LinkRequest(
        links=parse(options["links"]),
        unmanaged=parse_unmanaged(options["unmanaged"]),
        qos=parse_qos(options["qos"]),
        rollback_seconds=checked("rollback_seconds", options["rollback_seconds"], duration.rollback_seconds),
    )
