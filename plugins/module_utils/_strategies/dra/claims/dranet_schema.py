# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The fields of DRANET's opaque parameters and their types, by version (``pkg/apis`` of kubernetes-sigs/dranet)."""

from __future__ import annotations

import difflib
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.versions import (
    DOCUMENTED_DRANET,
    Numbers,
    was_read,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

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
# Of DRANET 1.5.0, read from its documentation only (site/content/docs/user/interface-configuration.md), so there may be
# more. Its source could not be read.
_DOCUMENTED: Mapping[str, Any] = {
    "type": "text",
    "addressing": "text",
    "ipvlan": "map",
    "arpIgnore": "int",
    "arpAnnounce": "int",
    "acceptRA": "int",
    "dadTransmits": "int",
    "routerSolicitationDelay": "int",
    "routerSolicitationInterval": "int",
    "disableIPv6": "bool",
    "addrGenMode": "int",
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
    return {**fields, **_DOCUMENTED} if fields is _INTERFACE and version >= DOCUMENTED_DRANET else fields


def _unknown(at: str, key: Any, fields: _Fields) -> Problem:
    if fields is _INTERFACE and key in _DOCUMENTED:
        since = versions.text(DOCUMENTED_DRANET)
        return Problem(at, f"has the key {key!r}, which DRANET supports since {since}")
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
            elif was_read(version):
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
    if was_read(version):
        return []
    text = f"is not known here, and DRANET {versions.text(version)} rejects unknown parameters when a pod starts"
    return [Problem(field, text) for field in _untold(at, parameters, _CONFIG, version)]


def problems(at: str, parameters: Any, version: Numbers) -> Iterator[Problem]:
    """Fields that this version does not have, and values of another type than theirs."""
    return _shape(at, parameters, _CONFIG, version)
