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
from functools import lru_cache
from typing import Any, Dict, Mapping, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import cel_functions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    Scalar,
    SliceDevice,
    Value,
    Version,
)

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
        text = f"claims are checked with the Python library {LIBRARY}, which is missing where Ansible runs ({error})"
        raise LibraryMissingError(f"{text}: pip install {LIBRARY}") from None
    return cel.NewEnv(
        variables={"device": cel.Type.DYN, "whole": cel.Type.DYN},
        extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_strings.ExtStrings()],
        functions=cel_functions.declarations(cel),
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
    return cel_functions.tagged_version(value.text) if isinstance(value, Version) else value


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
    capacity = _by_domain({name: cel_functions.tagged_quantity(text) for name, text in device.capacity.items()})
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
