# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""DRANET's opaque parameters, checked as DRANET does when a pod starts (``pkg/apis`` of kubernetes-sigs/dranet).

DRANET decodes them strictly, but only then: until the pod hangs, nothing else looks at them.
"""

from __future__ import annotations

import difflib
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.versions import Ability, Numbers
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import integer, mac, mtu, names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface, address, prefix
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, refused, wrong

_INT32 = (1 << 31) - 1

# What a value has to be: see _TYPES. Known from the source of DRANET 1.4.0.
_Fields = Mapping[str, Any]
_VRF: _Fields = {"name": "text", "table": "int"}
_ROUTE: _Fields = {"destination": "text", "gateway": "text", "source": "text", "scope": "int", "table": "int"}
_RULE: _Fields = {"priority": "int", "source": "text", "destination": "text", "table": "int"}
_NEIGHBOR: _Fields = {"destination": "text", "hardwareAddr": "text"}
_ETHTOOL: _Fields = {"features": "switches", "privateFlags": "switches"}
_INTERFACE: _Fields = {
    "name": "text",
    "addresses": "texts",
    "dhcp": "bool",
    "mtu": "int",
    "hardwareAddr": "text",
    "gsoMaxSize": "int",
    "groMaxSize": "int",
    "gsoIPv4MaxSize": "int",
    "groIPv4MaxSize": "int",
    "disableEbpfPrograms": "bool",
    "forwarding": "bool",
    "vrf": _VRF,
}
_CONFIG: _Fields = {
    "profile": "text",
    "interface": _INTERFACE,
    "routes": [_ROUTE],
    "rules": [_RULE],
    "neighbors": [_NEIGHBOR],
    "ethtool": _ETHTOOL,
}
# Fields of an interface that newer versions have, and the ability that they are part of.
_LATER: Mapping[str, Tuple[Any, Ability]] = {
    "type": ("text", versions.IPVLAN),
    "addressing": ("text", versions.IPVLAN),
    "ipvlan": ("map", versions.IPVLAN),
    "arpIgnore": ("int", versions.ARP),
    "arpAnnounce": ("int", versions.ARP),
    "acceptRA": ("int", versions.IPV6),
    "dadTransmits": ("int", versions.IPV6),
    "routerSolicitationDelay": ("int", versions.IPV6),
    "routerSolicitationInterval": ("int", versions.IPV6),
    "disableIPv6": ("bool", versions.IPV6),
    "addrGenMode": ("int", versions.IPV6),
}
_TYPES: Dict[str, Tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "it must be a string"),
    "texts": (
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        "it must be a list of strings",
    ),
    "int": (
        lambda value: is_integer(value) and abs(value) <= _INT32,
        "it must be a whole number",
    ),
    "bool": (lambda value: isinstance(value, bool), "it must be true or false"),
    "map": (lambda value: isinstance(value, Mapping), "it must be a map"),
    "switches": (
        lambda value: isinstance(value, Mapping) and all(isinstance(item, bool) for item in value.values()),
        "it must be a map of names to true or false",
    ),
}


def _fields(fields: _Fields, version: Numbers) -> _Fields:
    """The fields that this version has, as far as they are known."""
    if fields is not _INTERFACE:
        return fields
    later = {name: kind for name, (kind, ability) in _LATER.items() if versions.can(version, ability)}
    return {**fields, **later}


def _unknown(at: str, key: Any, fields: _Fields) -> Problem:
    since = _LATER[key][1].since if fields is _INTERFACE and key in _LATER else None
    if since is not None:
        return Problem(at, f"has the key {key!r}, which DRANET supports since {versions.text(since)}")
    lower = {name.lower(): name for name in fields}
    close = difflib.get_close_matches(str(key).lower(), list(lower), n=1, cutoff=0.6)
    right = f"did you mean {lower[close[0]]}?" if close else f"it must be one of {', '.join(sorted(fields))}"
    return Problem(at, f"has the key {key!r}, which DRANET rejects: {right}")


def _shape(at: str, value: Any, kind: Any, version: Numbers) -> Iterator[Problem]:
    if isinstance(kind, str):
        fits, right = _TYPES[kind]
        if not fits(value):
            yield wrong(at, value, right)
    elif isinstance(kind, list):
        if not isinstance(value, list):
            yield wrong(at, value, "it must be a list")
            return
        for position, each in enumerate(value):
            yield from _shape(f"{at}[{position}]", each, kind[0], version)
    elif not isinstance(value, Mapping):
        yield wrong(at, value, "it must be a map")
    else:
        fields = _fields(kind, version)
        for key, each in value.items():
            if key in fields:
                if each is not None:
                    yield from _shape(f"{at}.{key}", each, fields[key], version)
            elif versions.is_whole(version):
                yield _unknown(at, key, kind)


def _untold(at: str, value: Any, kind: Any, version: Numbers) -> Iterator[str]:
    """Fields that this version may or may not have."""
    if isinstance(kind, list):
        for position, each in enumerate(value or []):
            yield from _untold(f"{at}[{position}]", each, kind[0], version)
    elif isinstance(kind, Mapping):
        fields = _fields(kind, version)
        for key, each in (value or {}).items():
            if key in fields:
                yield from _untold(f"{at}.{key}", each, fields[key], version)
            else:
                yield f"{at}.{key}"


def warnings(at: str, parameters: Any, version: Numbers) -> List[Problem]:
    """What this version of DRANET may refuse when a pod starts. ``parameters`` are those that have no problems."""
    if versions.is_whole(version):
        return []
    text = f"is not known here, and DRANET {versions.text(version)} rejects unknown parameters when a pod starts"
    return [Problem(field, text) for field in _untold(at, parameters, _CONFIG, version)]


def schema_problems(at: str, parameters: Any, version: Numbers) -> Iterator[Problem]:
    """Fields that this version does not have, and values of another type than theirs."""
    return _shape(at, parameters, _CONFIG, version)


SMALLEST_MTU = 68
# The loopback interface and that of the cluster's network.
_TAKEN = ("lo", "eth0")
_LINK_SCOPE = 253
_RESERVED_TABLES = (253, 254, 255)
# What the kernel takes for these sysctls.
_SYSCTLS = (
    ("arpIgnore", (0, 1, 2, 3, 8)),
    ("arpAnnounce", (0, 1, 2)),
    ("acceptRA", (0, 1, 2)),
    ("addrGenMode", (0, 1, 2, 3)),
)


def of_mtu(at: str, value: int) -> Iterator[Problem]:
    """What is wrong with an MTU, whatever the NIC is."""
    return refused(at, value, lambda value: mtu.check(value, None, smallest=SMALLEST_MTU))


def _of_name(at: str, name: str) -> Iterator[Problem]:
    yield from refused(at, name, names.interface)
    if name in _TAKEN:
        yield wrong(at, name, "which every pod already has: it must be another name, like rdma0")


def _of_interface(at: str, value: Mapping[str, Any]) -> Iterator[Problem]:
    if value.get("name"):
        yield from _of_name(f"{at}.name", value["name"])
    addresses = value.get("addresses") or []
    for position, text in enumerate(addresses):
        if prefix(text) is None:
            right = "it must be an address with prefix length like 10.10.0.7/16"
            yield wrong(f"{at}.addresses[{position}]", text, right)
    if value.get("dhcp") and addresses:
        yield wrong(f"{at}.dhcp", True, "but addresses is set as well: only one of them can be used")
    if value.get("mtu") is not None:
        yield from of_mtu(f"{at}.mtu", value["mtu"])
    hardware = value.get("hardwareAddr")
    if hardware is not None and mac.octets(hardware) is None:
        yield wrong(f"{at}.hardwareAddr", hardware, "it must be a MAC address")
    for name in ("gsoMaxSize", "groMaxSize", "gsoIPv4MaxSize", "groIPv4MaxSize"):
        if value.get(name) is not None and value[name] <= 0:
            yield wrong(f"{at}.{name}", value[name], "it must be more than 0")
    for name, allowed in _SYSCTLS:
        if value.get(name) is not None and value[name] not in allowed:
            yield wrong(f"{at}.{name}", value[name], f"it must be one of {', '.join(map(str, allowed))}")
    yield from _of_subinterface(at, value)
    vrf = value.get("vrf")
    if vrf is not None:
        if not vrf.get("name"):
            yield Problem(f"{at}.vrf", "has no name, which is required")
        else:
            yield from _of_name(f"{at}.vrf.name", vrf["name"])
        table = vrf.get("table")
        if table is not None and (table <= 0 or table in _RESERVED_TABLES):
            right = f"it must be more than 0, and none of the kernel's own {', '.join(map(str, _RESERVED_TABLES))}"
            yield wrong(f"{at}.vrf.table", table, right)


def _of_subinterface(at: str, value: Mapping[str, Any]) -> Iterator[Problem]:
    if value.get("type") != "IPVLAN":
        return
    if value.get("hardwareAddr"):
        right = "but an interface of type IPVLAN has the MAC address of its NIC: leave it out"
        yield wrong(f"{at}.hardwareAddr", value["hardwareAddr"], right)
    if value.get("dhcp") or value.get("addressing") == "DHCP":
        name, given = ("dhcp", True) if value.get("dhcp") else ("addressing", "DHCP")
        yield wrong(f"{at}.{name}", given, "but DRANET has no DHCP for an interface of type IPVLAN")


def _of_route(at: str, route: Mapping[str, Any]) -> Iterator[Problem]:
    destination = prefix(route.get("destination") or "")
    if destination is None:
        right = "it must be a network in CIDR notation, /32 or /128 for one host"
        yield wrong(f"{at}.destination", route.get("destination"), right)
    scope = route.get("scope") or 0
    if scope not in (0, _LINK_SCOPE):
        yield wrong(f"{at}.scope", scope, f"it must be 0 (universe) or {_LINK_SCOPE} (link)")
    elif not route.get("gateway") and scope != _LINK_SCOPE:
        yield Problem(at, f"has no gateway, which is required unless scope is {_LINK_SCOPE} (link)")
    for name in ("gateway", "source"):
        text = route.get(name)
        if not text:
            continue
        found = address(text)
        if found is None:
            yield wrong(f"{at}.{name}", text, "it must be an IP address")
        elif destination is not None and found.version != destination.version:
            right = f"it must be of the same IP version as destination {destination.network}"
            yield wrong(f"{at}.{name}", text, right)
    yield from _of_table(at, route)


def _of_table(at: str, value: Mapping[str, Any]) -> Iterator[Problem]:
    if (value.get("table") or 0) < 0:
        yield wrong(f"{at}.table", value["table"], "it must be at least 0")


def _of_rule(at: str, rule: Mapping[str, Any]) -> Iterator[Problem]:
    yield from refused(f"{at}.priority", rule.get("priority") or 0, integer.between(0, 32767))
    yield from _of_table(at, rule)
    found: List[Interface] = []
    for name in ("source", "destination"):
        if rule.get(name):
            network = prefix(rule[name])
            if network is None:
                yield wrong(f"{at}.{name}", rule[name], "it must be a network in CIDR notation")
            else:
                found.append(network)
    if len({network.version for network in found}) > 1:
        yield wrong(at, dict(rule), "source and destination must be of the same IP version")


def _of_neighbor(at: str, neighbor: Mapping[str, Any]) -> Iterator[Problem]:
    if address(neighbor.get("destination") or "") is None:
        yield wrong(f"{at}.destination", neighbor.get("destination"), "it must be an IP address")
    if mac.octets(neighbor.get("hardwareAddr") or "") is None:
        yield wrong(f"{at}.hardwareAddr", neighbor.get("hardwareAddr"), "it must be a MAC address")


def problems(at: str, parameters: Any, version: Numbers) -> Iterator[Problem]:
    """What this version of DRANET would refuse. ``at`` is the variable that the parameters are in."""
    found = list(schema_problems(at, parameters, version))
    if found:
        yield from found
        return
    interface = parameters.get("interface") or {}
    yield from _of_interface(f"{at}.interface", interface)
    for name, check in (("routes", _of_route), ("neighbors", _of_neighbor), ("rules", _of_rule)):
        if name == "rules" and parameters.get(name) and interface.get("vrf") is not None:
            yield Problem(f"{at}.rules", "is set together with interface.vrf: only one of them can be used")
            continue
        for position, item in enumerate(parameters.get(name) or []):
            yield from check(f"{at}.{name}[{position}]", item)


def needs_netdev(parameters: Mapping[str, Any]) -> bool:
    """Whether DRANET refuses these parameters for a device without a network device (IB-only)."""
    interface = {name: value for name, value in (parameters.get("interface") or {}).items() if value is not None}
    passing = {"forwarding", "vrf"}
    return (
        bool(set(interface) - passing)
        or any(parameters.get(name) for name in ("routes", "rules", "neighbors"))
        or (parameters.get("ethtool") is not None)
    )
