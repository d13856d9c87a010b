# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reverting a rewrite: an annotation of a rewritten object has a JSON Patch (RFC 6902) that undoes it.

Each change of a value is preceded by a ``test`` of what is there now, so that nothing is undone that somebody has
changed since. A member ``before`` says before which key of a map an added one was, which RFC 6902 lets others ignore.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ref_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.yaml_values import aligned, same
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import undone
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version

# On the object, not on its pods, so that the way back alone restarts nothing.
BEFORE = "zerocopy.rdma/before"


def restored(item: Any) -> Any:
    """The object as it was before. Raises ForgedError, PatchError or ValueError; one that was not changed stays."""
    annotations = table(at(item, "metadata", "annotations"))
    if BEFORE not in annotations:
        return item
    try:
        ops = json.loads(text(annotations[BEFORE]))
    except RecursionError as error:
        raise ValueError(f"annotation {BEFORE} was not written by a rewrite") from error
    try:
        # The first version is a list.
        state_version.known(table(ops).get("version"), state_version.FIRST, state_version.FIRST)
    except ValueError as error:
        raise ForgedError(f"the annotation {BEFORE} {error}") from error
    bare = copy.deepcopy(item)
    del bare["metadata"]["annotations"][BEFORE]
    if not bare["metadata"]["annotations"]:
        del bare["metadata"]["annotations"]
    found = applied(bare, ops)
    # Anybody may write an annotation.
    if not isinstance(at(found, "metadata"), dict) or ref_of(found, "") != ref_of(item, ""):
        raise PatchError("/metadata")
    path = next(undone.foreign(bare, found), None)
    if path is not None:
        raise ForgedError(f"the annotation {BEFORE} would change {path}, which no rewrite does: remove the annotation")
    return found


def with_way_back(before: Any, after: Any) -> Any:
    """``after`` with the way back to ``before`` in it."""
    ops = list(difference(after, before))
    if not ops:
        return before
    empty = before["metadata"].get("annotations", ops)
    if empty is not ops and "annotations" in after["metadata"] and not table(after["metadata"]["annotations"]):
        keys = [key for key in before["metadata"] if key in after["metadata"]]
        following = keys[keys.index("annotations") + 1 :][:1]
        place = {"before": following[0]} if following else {}
        ops.append({"op": "add", "path": "/metadata/annotations", "value": empty, **place})
    found = copy.deepcopy(after)
    if not isinstance(found["metadata"].get("annotations"), dict):
        found["metadata"]["annotations"] = {}
    found["metadata"]["annotations"][BEFORE] = json.dumps(ops, separators=(",", ":"))
    return found


Op = Dict[str, Any]


class ForgedError(Exception):
    """No rewrite of this version or an earlier one wrote the way back; the text says why."""


class PatchError(Exception):
    """The object is not as it was left; the text is the path at which it differs."""


def _escaped(step: Any) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def difference(start: Any, end: Any, path: str = "") -> Iterator[Op]:
    """What makes ``end`` of ``start``, with tests."""
    if isinstance(start, dict) and isinstance(end, dict):
        yield from _of_maps(start, end, path)
    elif isinstance(start, list) and isinstance(end, list):
        # From the last entry to the first, so that the numbers of the others stay as they are.
        pairs = aligned(start, end)
        for place in range(len(pairs) - 1, -1, -1):
            old, new = pairs[place]
            if old is None:
                at = sum(1 for before, _new in pairs[:place] if before is not None)
                yield {"op": "add", "path": f"{path}/{at}", "value": end[new or 0]}
            elif new is None:
                yield {"op": "test", "path": f"{path}/{old}", "value": start[old]}
                yield {"op": "remove", "path": f"{path}/{old}"}
            else:
                yield from difference(start[old], end[new], f"{path}/{old}")
    elif not same(start, end):
        yield {"op": "test", "path": path, "value": start}
        yield {"op": "replace", "path": path, "value": end}


def _of_maps(start: Mapping[str, Any], end: Mapping[str, Any], path: str) -> Iterator[Op]:
    for key, value in start.items():
        at = f"{path}/{_escaped(key)}"
        if key in end:
            yield from difference(value, end[key], at)
        else:
            yield {"op": "test", "path": at, "value": value}
            yield {"op": "remove", "path": at}
    following: Optional[str] = None
    for key in reversed(list(end)):
        if key not in start:
            place = {} if following is None else {"before": following}
            yield {"op": "add", "path": f"{path}/{_escaped(key)}", "value": end[key], **place}
        following = key


def applied(item: Mapping[str, Any], ops: Any) -> Dict[str, Any]:
    """A copy of the object with these operations done. Raises PatchError."""
    found: Dict[str, Any] = copy.deepcopy(dict(item))
    if not isinstance(ops, list) or not all(isinstance(op, dict) and isinstance(op.get("path"), str) for op in ops):
        raise PatchError("/")
    added: List[_Added] = []
    for op in ops:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in op["path"].split("/")[1:]]
        if not steps:
            raise PatchError("/")
        _apply(found, steps, op, added)
    _in_order(added)
    return found


class _Added(NamedTuple):
    """A key that was added to a map, and the one that it was before."""

    parent: Dict[str, Any]
    key: str
    following: str


def _apply(found: Any, steps: Sequence[str], op: Op, added: List[_Added]) -> None:
    parent = found
    for step in steps[:-1]:
        parent = parent[_key(parent, step, op)]
    if op.get("op") == "add" and isinstance(parent, list):
        place = int(steps[-1]) if steps[-1].isdigit() else -1
        if not 0 <= place <= len(parent):
            raise PatchError(op["path"])
        parent.insert(place, op.get("value"))
    elif op.get("op") == "add":
        if not isinstance(parent, dict) or steps[-1] in parent:
            raise PatchError(op["path"])
        if isinstance(op.get("before"), str) and op["before"] in parent:
            added.append(_Added(parent, steps[-1], op["before"]))
        parent[steps[-1]] = op.get("value")
    else:
        key = _key(parent, steps[-1], op)
        if op.get("op") == "remove":
            del parent[key]
        elif op.get("op") == "replace":
            parent[key] = op.get("value")
        elif op.get("op") != "test" or not same(parent[key], op.get("value")):
            raise PatchError(op["path"])


def _key(parent: Any, step: str, op: Op) -> Any:
    if isinstance(parent, list) and step.isdigit() and int(step) < len(parent):
        return int(step)
    if isinstance(parent, dict) and step in parent:
        return step
    raise PatchError(op["path"])


def _in_order(added: Sequence[_Added]) -> None:
    """Put the keys where they were. Once for each map, as a map has to be filled anew for that."""
    ahead: Dict[int, Dict[str, List[str]]] = {}
    parents = {id(each.parent): each.parent for each in added}
    for each in added:
        ahead.setdefault(id(each.parent), {}).setdefault(each.following, []).append(each.key)
    for number, parent in parents.items():
        before = ahead[number]
        moved = {key for keys in before.values() for key in keys}
        order: Dict[str, None] = {}
        for last in [key for key in parent if key not in moved]:
            # Each before the one below it.
            waiting, run = [last], []
            while waiting:
                key = waiting.pop()
                run.append(key)
                waiting += before.get(key, ())
            order.update(dict.fromkeys(key for key in reversed(run) if key in parent))
        values = {key: parent[key] for key in [*order, *(key for key in parent if key not in order)]}
        parent.clear()
        parent.update(values)
