# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Evaluates CEL device selectors on devices, as the scheduler does (``cel`` of k8s.io/dynamic-resource-allocation).

By ``cel-expr-python``, the CEL project's own binding of its C++ library: it has optional types and ``cel.bind``, and
``||`` and ``&&`` absorb errors on either side. It is asked for only when there is something to evaluate.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    Scalar,
    SliceDevice,
    Value,
    Version,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import packages
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity

_SEMVER = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)


def semver_key(text: str) -> Tuple[Any, ...]:
    """Sort key by the rules of semantic versioning. Raises ValueError."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a semantic version")
    major, minor, patch, before = match.groups()
    identifiers = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in (before or "").split(".") if part]
    return (int(major), int(minor), int(patch), before is None, identifiers)


def tagged_version(text: str) -> Dict[str, str]:
    """A version as the functions take it. Raises ValueError."""
    semver_key(text)
    return {"semver": text.split("+")[0]}


def tagged_quantity(text: str) -> Dict[str, str]:
    """A quantity as the functions take it. Raises ValueError."""
    value = quantity(text)
    if value is None:
        raise ValueError(f"{text!r} is not a quantity")
    # One text for equal amounts, since == compares it.
    return {"quantity": str(value)}


def _key(value: Mapping[str, Any]) -> Tuple[str, Any]:
    ((kind, wrapped),) = value.items()
    # The library gives a function the map as Python's, but what is in it as its own.
    text = wrapped if isinstance(wrapped, str) else wrapped.value()
    return kind, semver_key(text) if kind == "semver" else Fraction(text)


def _compared(left: Mapping[str, Any], right: Mapping[str, Any]) -> int:
    first, second = _key(left), _key(right)
    if first[0] != second[0]:
        raise ValueError("a version and a quantity cannot be compared")
    return int(first[1] > second[1]) - int(first[1] < second[1])


def _is(convert: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            convert(text)
        except ValueError:
            return False
        return True

    return check


def _part(place: int) -> Callable[[Mapping[str, Any]], int]:
    return lambda value: int(_key(value)[1][place])


def _amount(value: Mapping[str, Any]) -> Fraction:
    kind, found = _key(value)
    if kind != "quantity":
        raise ValueError("a version is not a quantity")
    return Fraction(found)


def _sum_of(sign: int) -> Callable[[Mapping[str, Any], Any], Dict[str, str]]:
    def call(left: Mapping[str, Any], right: Any) -> Dict[str, str]:
        other = _amount(right) if isinstance(right, Mapping) else Fraction(right)
        return {"quantity": str(_amount(left) + sign * other)}

    return call


def _integer(value: Mapping[str, Any]) -> int:
    found = _amount(value)
    if found.denominator != 1:
        raise ValueError(f"{found} is not a whole number")
    return int(found)


def _bare(value: Any) -> Any:
    """What is in a list is the library's own."""
    return value.value() if hasattr(value, "value") else value


def _items(values: Sequence[Any]) -> List[Any]:
    return [_bare(value) for value in values]


def _is_sorted(values: Sequence[Any]) -> bool:
    items = _items(values)
    return items == sorted(items)


def _within(values: Sequence[Any], others: Sequence[Any]) -> bool:
    items = _items(values)
    return all(item in items for item in _items(others))


def _arithmetic(cel: Any, name: str, tagged: Any, call: Callable[..., Any]) -> Any:
    """A function of a quantity and another one, or a number."""
    others = (("quantity", tagged), ("int", cel.Type.INT))
    overloads = [cel.Overload(f"{name}_of_{text}", tagged, [tagged, other], True, call) for text, other in others]
    return cel.FunctionDecl(name, overloads)


def _list_functions(cel: Any) -> List[Any]:
    """Functions of lists and sets (k8s.io/apiserver, pkg/cel/library/lists.go, and the extension sets of cel-go)."""
    kind = cel.Type
    several = kind.List(kind.DYN)

    def declared(name: str, result: Any, parameters: List[Any], member: bool, call: Callable[..., Any]) -> Any:
        overload = cel.Overload(f"{name.replace('.', '_')}_of_lists", result, parameters, member, call)
        return cel.FunctionDecl(name, [overload])

    return [
        declared("isSorted", kind.BOOL, [several], True, _is_sorted),
        declared("sum", kind.DYN, [several], True, lambda values: sum(_items(values))),
        declared("min", kind.DYN, [several], True, lambda values: min(_items(values))),
        declared("max", kind.DYN, [several], True, lambda values: max(_items(values))),
        declared("sets.contains", kind.BOOL, [several, several], False, _within),
        declared(
            "sets.equivalent",
            kind.BOOL,
            [several, several],
            False,
            lambda items, other: _within(items, other) and _within(other, items),
        ),
        declared(
            "sets.intersects",
            kind.BOOL,
            [several, several],
            False,
            lambda items, other: any(_within(items, [item]) for item in other),
        ),
    ]


def declarations(cel: Any) -> List[Any]:
    """All functions, for an environment of the library, whose module is ``cel``."""
    kind = cel.Type

    def declared(name: str, result: Any, parameters: List[Any], member: bool, call: Callable[..., Any]) -> Any:
        return cel.FunctionDecl(name, [cel.Overload(f"{name}_of_devices", result, parameters, member, call)])

    # What versions and quantities are here.
    tagged = kind.Map(kind.STRING, kind.STRING)
    two = [tagged, tagged]
    return [
        declared("semver", tagged, [kind.STRING], False, tagged_version),
        declared("isSemver", kind.BOOL, [kind.STRING], False, _is(tagged_version)),
        declared("quantity", tagged, [kind.STRING], False, tagged_quantity),
        declared("isQuantity", kind.BOOL, [kind.STRING], False, _is(tagged_quantity)),
        declared("compareTo", kind.INT, two, True, _compared),
        declared("isGreaterThan", kind.BOOL, two, True, lambda version, other: _compared(version, other) > 0),
        declared("isLessThan", kind.BOOL, two, True, lambda version, other: _compared(version, other) < 0),
        declared("major", kind.INT, [tagged], True, _part(0)),
        declared("minor", kind.INT, [tagged], True, _part(1)),
        declared("patch", kind.INT, [tagged], True, _part(2)),
        declared("sign", kind.INT, [tagged], True, lambda value: (_amount(value) > 0) - (_amount(value) < 0)),
        declared("isInteger", kind.BOOL, [tagged], True, lambda value: _amount(value).denominator == 1),
        declared("asInteger", kind.INT, [tagged], True, _integer),
        declared("asApproximateFloat", kind.DOUBLE, [tagged], True, lambda value: float(_amount(value))),
        *(_arithmetic(cel, name, tagged, _sum_of(sign)) for name, sign in (("add", 1), ("sub", -1))),
        *_list_functions(cel),
    ]


LIBRARY = "cel-expr-python"

# The maps of domains themselves, not one domain in them.
_WHOLE = re.compile(r"\bdevice\.(attributes|capacity)\b(?!\s*[\[.?])")
_INDEX = re.compile(r"\[\s*\??\s*(?:\"([^\"\\]*)\"|'([^'\\]*)')\s*\]")
# What the library says of functions that it does not have, and of those that it has for strings only.
_UNKNOWN = re.compile(
    r"undeclared reference|no matching overload for '(?:indexOf|lastIndexOf)' applied to '\((?:list|dyn)"
)


class LibraryMissingError(Exception):
    """The library is not installed on the machine that runs Ansible."""


class SelectorError(Exception):
    """The API server would refuse the expression, or the scheduler would fail on the device."""


class NotEvaluatedError(Exception):
    """The expression uses something that Kubernetes supports, but the library does not."""


@lru_cache(maxsize=1)
def _environment() -> Any:
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
    except ImportError as error:
        text = f"claims are checked with the Python library {LIBRARY} ({error}). Python packages are"
        raise LibraryMissingError(f"{text} {packages.missing('cel_expr_python')}") from None
    return cel.NewEnv(
        variables={"device": cel.Type.DYN, "whole": cel.Type.DYN},
        extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_strings.ExtStrings()],
        functions=declarations(cel),
    )


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Tuple[Any, Tuple[str, ...]]:
    """The program, and the domains it looks into. Raises SelectorError or NotEvaluatedError."""
    environment = _environment()
    domains = tuple(sorted({domain or other for domain, other in _INDEX.findall(expression)}))
    try:
        program = environment.compile(_WHOLE.sub(r"whole.\1", expression))
    except RuntimeError as error:
        first = str(error).splitlines()[0]
        text = re.sub(r"^INVALID_ARGUMENT: (?:ERROR: )?<input>:", "", first)
        raise (NotEvaluatedError if _UNKNOWN.search(first) else SelectorError)(text) from error
    result = program.return_type().name()
    if result not in ("BOOL", "bool", "DYN", "dyn"):
        raise SelectorError(f"its result is of type {result}, it must be true or false")
    return program, domains


def _plain(value: Value) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        # The library takes no text of another class, and facts have one of Ansible's until 2.18, whose str() is itself.
        return str.__str__(value)
    return tagged_version(value.text) if isinstance(value, Version) else value


def _by_domain(values: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    found: Dict[str, Dict[str, Any]] = {}
    for name, value in values.items():
        domain, _slash, own = name.partition("/")
        found.setdefault(domain, {})[own] = value
    return found


def check(expression: str) -> None:
    """Raise the errors that ``matches`` would raise for every device."""
    _compiled(expression)


def matches(expression: str, device: SliceDevice) -> bool:
    """Whether a selector is true for a device.

    Raises LibraryMissingError, NotEvaluatedError, and SelectorError for what ends the scheduler's attempt, such as an
    attribute that the device does not have.
    """
    program, domains = _compiled(expression)
    attributes = _by_domain({name: _plain(value) for name, value in device.attributes.items()})
    capacity = _by_domain({name: tagged_quantity(text) for name, text in device.capacity.items()})
    # A domain that a device has nothing of is an empty map, but not among the domains.
    empty: Dict[str, Dict[str, Union[Scalar, Any]]] = {domain: {} for domain in domains}
    data = {
        "device": {
            "driver": device.driver,
            "allowMultipleAllocations": False,
            "attributes": {**empty, **attributes},
            "capacity": {**empty, **capacity},
        },
        "whole": {"attributes": attributes, "capacity": capacity},
    }
    try:
        result = program.eval(data=data)
    except RuntimeError as error:
        # Such as a budget of steps, which the API has too (CELSelectorExpressionMaxCost).
        raise SelectorError(re.sub(r"^[A-Z_]+: | \[[A-Z_]+\]\Z", "", str(error))) from error
    value = result.value()
    if result.type().name() not in ("BOOL", "bool"):
        text = (
            re.sub(r"^[A-Z_]+: ", "", str(value)).replace(" : ", ": ")
            if result.type().name() in ("ERROR", "error")
            else ""
        )
        raise SelectorError(text or f"its result is {value!r}, it must be true or false")
    return bool(value)
