# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reverting a rewrite: an annotation of a rewritten object stores how it was before."""

from __future__ import annotations

import copy
import json
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import patch
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.documents import ref_of

# On the object, not on its pods, so that the way back alone restarts nothing.
BEFORE = "zerocopy.rdma/before"


def restored(item: Any) -> Any:
    """The object as it was before. Raises PatchError or ValueError; one that was not changed stays as it is."""
    annotations = table(at(item, "metadata", "annotations"))
    if BEFORE not in annotations:
        return item
    try:
        ops = json.loads(text(annotations[BEFORE]))
    except RecursionError as error:
        raise ValueError(f"annotation {BEFORE} was not written by a rewrite") from error
    bare = copy.deepcopy(item)
    forget(bare)
    found = patch.applied(bare, ops)
    # Anybody may write an annotation.
    if not isinstance(at(found, "metadata"), dict) or ref_of(found, "") != ref_of(item, ""):
        raise patch.PatchError("/metadata")
    return found


def forget(item: Any) -> None:
    """Remove the way back from an object that has one, in place."""
    annotations = item["metadata"]["annotations"]
    del annotations[BEFORE]
    if not annotations:
        del item["metadata"]["annotations"]


def remembering(before: Any, after: Any) -> Any:
    """``after`` with the way back to ``before`` in it."""
    ops = list(patch.difference(after, before))
    if not ops:
        return before
    empty = before["metadata"].get("annotations", ops)
    if not empty and "annotations" in after["metadata"] and not after["metadata"]["annotations"]:
        keys = [key for key in before["metadata"] if key in after["metadata"]]
        following = keys[keys.index("annotations") + 1 :][:1]
        place = {"before": following[0]} if following else {}
        ops.append({"op": "add", "path": "/metadata/annotations", "value": empty, **place})
    found = copy.deepcopy(after)
    if not isinstance(found["metadata"].get("annotations"), dict):
        found["metadata"]["annotations"] = {}
    found["metadata"]["annotations"][BEFORE] = json.dumps(ops, separators=(",", ":"))
    return found
