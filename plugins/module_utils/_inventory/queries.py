# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""JMESPath expressions of a site: a query of the fleet view, and checks of its own on facts."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names, packages
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import (
    Problem,
    RefusedError,
    refused,
    shown,
    wrong,
)

QUERY, CHECKS = "rdma_discover_query", "rdma_verify_checks"


class QueryError(Exception):
    """A valid expression that has no result for this data."""


def _functions(node: Mapping[str, Any]) -> Iterator[str]:
    """Names of the functions that an expression calls."""
    if node.get("type") == "function_expression":
        yield str(node["value"])
    for child in node.get("children") or []:
        if isinstance(child, Mapping):
            yield from _functions(child)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")


@lru_cache(maxsize=256)
def compiled(expression: str) -> Any:
    """A JMESPath expression that can be searched with. Raises RefusedError."""
    try:
        import jmespath
        from jmespath.exceptions import JMESPathError
        from jmespath.functions import Functions
    except ImportError:
        raise RefusedError(f"which needs Python packages, {packages.missing('jmespath')}") from None
    try:
        found = jmespath.compile(expression)
    except JMESPathError as error:
        raise RefusedError(f"it must be a JMESPath expression: {_first_line(error)}") from None
    # Otherwise known only once there is data.
    for name in _functions(found.parsed):
        if name not in Functions.FUNCTION_TABLE:
            raise RefusedError(f"it must be a JMESPath expression: there is no function {name}()")
    return found


def search(expression: str, data: Any) -> Any:
    """What an expression finds in plain data. Raises RefusedError, QueryError."""
    query = compiled(expression)
    from jmespath.exceptions import JMESPathError

    try:
        return query.search(data)
    except JMESPathError as error:
        raise QueryError(_first_line(error)) from None


def is_true(result: Any) -> bool:
    """Truth as JMESPath defines it: false, null and empty values are false, 0 is true."""
    return not (result is None or result is False or (isinstance(result, (str, list, dict)) and not result))


def _names(entries: List[Mapping[str, Any]]) -> Iterator[Problem]:
    for place, entry in enumerate(entries):
        at, name = f"{CHECKS}[{place}].name", entry["name"]
        if not names.is_label(name.replace("_", "-")):
            yield wrong(at, name, "it must be lower-case letters, digits, - and _, with a letter or digit at both ends")
        elif any(entry["name"] == other["name"] for other in entries[:place]):
            yield wrong(at, name, "which is listed twice")


def problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the expressions in a host's converted variables."""
    entries = values.get(CHECKS) or []
    yield from _names(entries)
    found = [(f"{CHECKS}[{place}].expression", entry["expression"]) for place, entry in enumerate(entries)]
    for at, expression in [*found, *([(QUERY, values[QUERY])] if values.get(QUERY) else [])]:
        yield from refused(at, expression, compiled)


def said(result: Any) -> str:
    """A result in a sentence."""
    return shown(result) if not isinstance(result, (bool, type(None))) else json.dumps(result)
