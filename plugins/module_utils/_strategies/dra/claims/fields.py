# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What entries of templates and claims have in common: which devices they mean, and DRANET's parameters."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import dranet_parameters
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions as drivers_versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import quantity
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

# FirstAvailableDeviceRequestMaxSize, CELSelectorExpressionMaxLength and OpaqueParametersMaxLength of the API.
_MOST_ALTERNATIVES, LONGEST_EXPRESSION, LONGEST_PARAMETERS = 8, 10240, 10240


def picks(at: str, given: Mapping[str, Any], make: Any) -> Tuple[Tuple[Any, ...], List[Problem]]:
    """The alternatives of ``gpu`` or ``nic``, each of the class ``make``, and what is wrong with them."""
    problems: List[Problem] = []
    alternatives = given.get("first_available")
    if alternatives is None:
        entries = [(at, given)]
    else:
        entries = [(f"{at}.first_available[{place}]", alternative) for place, alternative in enumerate(alternatives)]
        if len(given) > 1:
            others = ", ".join(sorted(set(given) - {"first_available"}))
            problems.append(Problem(at, f"has first_available together with {others}: put these into its entries"))
        if not 1 < len(entries) <= _MOST_ALTERNATIVES:
            text = f"has {len(entries)} entries, it must have 2 to {_MOST_ALTERNATIVES}"
            problems.append(Problem(f"{at}.first_available", text))
    found = []
    for where, given in entries:
        values = {name: value for name, value in given.items() if name != "first_available"}
        values["selectors"] = tuple(values.get("selectors") or ())
        for place, text in enumerate(values["selectors"]):
            problems += _of_selector(f"{where}.selectors[{place}]", text)
        size = values.get("min_memory")
        if size is not None and (quantity.quantity(size) or 0) <= 0:
            problems.append(wrong(f"{where}.min_memory", size, "it must be a quantity like 80G or 40Gi"))
        rate = values.get("min_rate")
        if rate is not None and rate <= 0:
            problems.append(wrong(f"{where}.min_rate", rate, "it must be more than 0 Gb/s"))
        found.append(make(**values))
    return tuple(found), problems


def _of_selector(at: str, text: str) -> Iterator[Problem]:
    if not text.strip():
        yield wrong(at, text, "it must be a CEL expression")
    elif len(text.encode()) > LONGEST_EXPRESSION:
        yield Problem(at, f"is {len(text.encode())} bytes long, the API takes at most {LONGEST_EXPRESSION}")


def parameters(
    at: str, entry: Mapping[str, Any], dranet: drivers_versions.Numbers
) -> Tuple[Dict[str, Any], List[Problem]]:
    """DRANET's parameters with what has a variable of its own put in."""
    given = entry.get("parameters") or {}
    problems = list(dranet_parameters.problems(f"{at}.parameters", given, dranet))
    if problems:
        return {}, problems
    interface = dict(given.get("interface") or {})
    for name, value in (("mtu", entry.get("mtu")), ("addresses", entry.get("address") and [entry["address"]])):
        if value is None:
            continue
        variable = "address" if name == "addresses" else name
        for key in ("addresses", "dhcp") if name == "addresses" else (name,):
            if interface.get(key):
                right = f"but {at}.parameters.interface.{key} is set as well: only one of them can be used"
                problems.append(wrong(f"{at}.{variable}", entry[variable], right))
        interface[name] = value
    if entry.get("mtu") is not None:
        problems += dranet_parameters.of_mtu(f"{at}.mtu", entry["mtu"])
    merged = {**given, "interface": interface} if interface else dict(given)
    size = len(json.dumps(merged).encode())
    if size > LONGEST_PARAMETERS:
        problems.append(Problem(f"{at}.parameters", f"are {size} bytes of JSON, the API takes {LONGEST_PARAMETERS}"))
    return merged, problems
