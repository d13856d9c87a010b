# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The JSON of the API server, whose objects tenants have written: never nested deeper than all that read it can bear.

The API server takes custom resources of 10,000 levels (sigs.k8s.io/json), in which Python's own reader, and whatever
walks through an object, ends with a RecursionError.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterable, List, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object

# Levels of an object; no schema of Kubernetes is half as deep.
DEEPEST = 100
# What is around an object in a list or in the event of a watch.
_AROUND = 2
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)

CUT = f"its values nested more than {DEEPEST} levels deep are not examined"


class CutObject(Object):
    """An object of which what is nested too deeply was left out."""


def decoded(data: bytes) -> Any:
    """The value of this JSON; of objects that are nested too deeply a :class:`CutObject`. Raises ValueError."""
    try:
        value = json.loads(data)
    except RecursionError:
        value = json.loads(_shallow(data, DEEPEST + 2 * _AROUND))
    if not isinstance(value, dict) or not _deeper(value, DEEPEST):
        return value
    items = value.get("items")
    if isinstance(items, list):
        for place, item in enumerate(items):
            if isinstance(item, dict) and _emptied(item, DEEPEST - _AROUND):
                items[place] = CutObject(item)
    return CutObject(value) if _emptied(value, DEEPEST) else value


def is_cut(item: Any) -> bool:
    """Whether something was left out of an object."""
    return isinstance(item, CutObject)


def _deeper(value: Any, levels: int) -> List[Any]:
    """The maps and lists that are this many levels below ``value``."""
    found: List[Any] = [value]
    for _level in range(levels):
        found = [inner for each in found for inner in _inner(each) if isinstance(inner, (dict, list))]
        if not found:
            break
    return found


def _inner(value: Union[Object, List[Any]]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _emptied(value: Any, levels: int) -> bool:
    """Empty the maps and lists this many levels below ``value``; whether there was something in them."""
    # All of them, not the first only.
    full = [each for each in _deeper(value, levels) if each]
    for each in full:
        each.clear()
    return bool(full)


def _shallow(data: bytes, deepest: int) -> bytes:
    """JSON with nothing in the maps and lists that are this deep. What is no JSON stays none."""
    kept: List[bytes] = []
    start, depth = 0, 0
    for token in _TOKEN.finditer(data):
        mark = token[0]
        if mark in (b"[", b"{"):
            depth += 1
            if depth == deepest:
                kept.append(data[start : token.end()])
        elif mark in (b"]", b"}"):
            if depth == deepest:
                start = token.start()
            depth -= 1
    return b"".join([*kept, data[start:]]) if depth < deepest else b""
