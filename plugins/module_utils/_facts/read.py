# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the facts that a node sent as JSON to the typed model.

What a node sends is input: types, sizes and formats are checked. Keys that the model does not know are ignored, and
keys that it gives a default may be missing, so facts of other versions of this collection can be read.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Callable, Dict, Hashable, List, Tuple, Type, TypeVar, Union, cast, get_type_hints

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import model, qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import GpuAffinity
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import MOST_CHARACTERS, Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import address, kernel_module, pci, pkey

# A card has at most a few hundred virtual functions, and a port as many GIDs.
MOST_ENTRIES = 4096
# Of all reasons and warnings together.
MOST_TEXT = 1 << 19
_LARGEST = 1 << 64
_MOST_DSCPS = 64

SUBSETS = ("hcas", "gpus", "affinity", "system")
_SHOWN = 60
# What to do where a host has no facts.
GATHER_FIRST = "gather them first (role rdma_discover)"

_SIGNATURE = re.compile(r"[0-9a-f]{1,64}")

Parse = Callable[[Any], Any]
_T = TypeVar("_T")


class FactsError(ValueError):
    """Facts that cannot be used: ``place`` says where (``hcas[0].sriov``), ``text`` what is there and what is right."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(f"{place} {text}" if place else text)
        self.place = place
        self.text = text

    def below(self, step: str) -> FactsError:
        """The same, seen from one level up."""
        joint = "." if self.place and not self.place.startswith("[") else ""
        return FactsError(f"{step}{joint}{self.place}", self.text)


def _wrong(value: Any, right: str) -> FactsError:
    shown = repr(value[: _SHOWN + 1] if isinstance(value, (str, list)) else value)[: _SHOWN + 1]
    return FactsError("", f"is {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}, it must be {right}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a string")
    if len(value) > MOST_CHARACTERS:
        raise FactsError("", f"has {len(value)} characters, at most {MOST_CHARACTERS} are allowed")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST < value < _LARGEST:
        raise _wrong(value, "an integer")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise _wrong(value, "a number")
    return value


_PLAIN: Dict[Any, Tuple[Parse, str]] = {
    str: (_text, "a string"),
    bool: (_truth, "true or false"),
    int: (_integer, "an integer"),
    float: (_number, "a number"),
}


def _like(rule: Callable[[str], Any], right: str) -> Parse:
    def parse(value: Any) -> Any:
        if not rule(_text(value)):
            raise _wrong(value, right)
        return value

    return parse


def _count(value: Any) -> int:
    if _integer(value) < 0:
        raise _wrong(value, "an integer from 0")
    return int(value)


def _vfs(value: Any) -> int:
    # TotalVFs and NumVFs have 16 bits (PCI Express Base Specification, 9.3.3).
    if not 0 <= _integer(value) < 1 << 16:
        raise _wrong(value, "an integer from 0 to 65535")
    return int(value)


def _path_class(value: Any) -> str:
    if _text(value) not in PATH_CLASSES:
        raise _wrong(value, f"one of {', '.join(PATH_CLASSES)}")
    return str(value)


def _optional(parse: Parse) -> Parse:
    return lambda value: None if value is None else parse(value)


def _numbers(value: Any) -> List[int]:
    """Of priorities, traffic classes, buffers or DSCPs, of which there are most."""
    if not isinstance(value, list) or len(value) > _MOST_DSCPS:
        raise _wrong(value, f"a list of at most {_MOST_DSCPS} integers")
    return [_count(number) for number in value]


_OF_QOS: Dict[type, Tuple[Parse, Tuple[str, ...]]] = {
    qos.Qos: (_optional(_numbers), ("dscp", "pfc", "pauses_sent", "pauses_received")),
    qos.Ets: (_numbers, ("traffic_classes", "bandwidth")),
    qos.Buffers: (_numbers, ("of_priorities", "sizes")),
    qos.Congestion: (_optional(_numbers), ("notify", "react")),
}
_interface = _like(functools.lru_cache(maxsize=MOST_ENTRIES)(address.prefix), "an IP address with prefix length")
_ADDRESS = _like(pci.is_address, "a PCI address such as 0000:1a:00.0")
_RIGHT: Dict[Tuple[type, str], Parse] = {
    (model.PciFunction, "address"): _ADDRESS,
    (model.Port, "number"): _count,
    (model.Sriov, "total_vfs"): _vfs,
    (model.Sriov, "num_vfs"): _vfs,
    (GpuAffinity, "address"): _ADDRESS,
    (model.NetdevRoute, "to"): _interface,
    (model.NetdevRule, "source"): _interface,
    **{(kind, name): parse for kind, (parse, names) in _OF_QOS.items() for name in names},
    (Facts, "signature"): _like(_SIGNATURE.fullmatch, "hexadecimal digits"),
}
_RIGHT_EACH: Dict[Tuple[type, str], Parse] = {
    (model.Port, "pkeys"): _like(pkey.is_pkey, "a P_Key such as 0xffff"),
    (model.Netdev, "addresses"): _interface,
    (qos.Ets, "algorithms"): _like(qos.ALGORITHMS.__contains__, f"one of {', '.join(qos.ALGORITHMS)}"),
    (model.System, "kernel_parameters"): _like(kernel_module.is_pci_word, "a kernel parameter such as iommu=pt"),
}


def _few(value: Any) -> None:
    if len(value) > MOST_ENTRIES:
        raise FactsError("", f"has {len(value)} entries, at most {MOST_ENTRIES} are allowed")


def _list_of(parse_entry: Parse) -> Parse:
    def parse(value: Any) -> List[Any]:
        if not isinstance(value, list):
            raise _wrong(value, "a list")
        _few(value)
        found: List[Any] = []
        try:
            for entry in value:
                found.append(parse_entry(entry))  # the length tells which entry is wrong
        except FactsError as error:
            raise error.below(f"[{len(found)}]") from None
        return found

    return parse


def _map_of(parse_entry: Parse) -> Parse:
    def parse(value: Any) -> Dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(value, "a map")
        _few(value)
        found = {}
        for key, entry in value.items():
            try:
                found[_text(key)] = parse_entry(entry)
            except FactsError as error:
                raise error.below(str(key)[:_SHOWN]) from None
        return found

    return parse


def _one_of(every: List[Parse], right: str) -> Parse:
    def parse(value: Any) -> Any:
        for alternative in every:
            try:
                return alternative(value)
            except FactsError:
                continue
        raise _wrong(value, right)

    return parse


def _compiled(hint: Any) -> Tuple[Parse, str]:
    """The parser of a type, and what it takes, in words."""
    if is_dataclass(hint):
        return _object(hint), "a map"  # type: ignore[arg-type]  # a class, not an instance
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is Any:
        return (lambda value: value), "any value"
    origin: Any = getattr(hint, "__origin__", None)
    inner: Tuple[Any, ...] = getattr(hint, "__args__", ())
    if origin is list:
        return _list_of(_compiled(inner[0])[0]), "a list"
    if origin is dict:
        return _map_of(_compiled(inner[1])[0]), "a map"
    if origin is Union:
        kinds = [_compiled(member) for member in inner if member is not type(None)]
        right = " or ".join(text for _parse, text in kinds)
        parse = kinds[0][0] if len(kinds) == 1 else _one_of([parser for parser, _text in kinds], right)
        return (_optional(parse) if type(None) in inner else parse), right
    raise TypeError(f"facts have no values of type {hint}")


def _field(kind: type, name: str, hint: Any) -> Tuple[Parse, str]:
    parse, right = _compiled(hint)
    key = (kind, name)
    if key in _RIGHT:
        parse = _RIGHT[key]
    elif key == (GpuAffinity, "paths"):
        parse = _map_of(_path_class)
    elif key in _RIGHT_EACH:
        parse = _list_of(_RIGHT_EACH[key])
    return parse, right


def _as_is(kind: type, name: str, hint: Any) -> Tuple[Any, ...]:
    """Types whose values need no look, which is what makes reading a large fleet fast."""
    inner = getattr(hint, "__args__", (hint,))
    return () if (kind, name) in _RIGHT else tuple(plain for plain in (bool, type(None)) if plain in inner)


# A fabric has thousands of links, and resolving the hints takes far longer than reading one.
@functools.lru_cache(maxsize=None)
def _object(kind: Type[Any]) -> Parse:
    hints = get_type_hints(kind)
    every = [
        (item.name, _as_is(kind, item.name, hints[item.name]), *_field(kind, item.name, hints[item.name]))
        for item in fields(kind)
        if item.name != "sent"
    ]
    required = [item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING]

    def parse(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, "a map")
        found = {}
        name = ""
        try:
            for name, as_is, parse_field, right in every:
                if name in value:
                    given = value[name]
                    found[name] = given if type(given) in as_is else parse_field(given)
                elif name in required:
                    raise FactsError("", f"is missing, it must be {right}")
        except FactsError as error:
            raise error.below(name) from None
        return kind(**found)

    return parse


def typed(kind: Type[_T], value: Any) -> _T:
    """Any dataclass of plain values from what was JSON, by the same rules as facts. Raises FactsError."""
    found: _T = _object(cast(Hashable, kind))(value)
    return found


_FACTS = _object(Facts)


def facts(value: Any) -> Facts:
    """The facts of one node from what it sent. Raises FactsError."""
    found: Facts = _FACTS(value)
    texts = [reason.text for entry in found.excluded for reason in entry.reasons] + [
        warning.text for warning in found.warnings
    ]
    size = sum(map(len, texts))
    if size > MOST_TEXT:
        raise FactsError("excluded and warnings", f"have {size} characters of text, at most {MOST_TEXT} are allowed")
    found.sent = tuple(name for name in SUBSETS if name in value)
    return found
