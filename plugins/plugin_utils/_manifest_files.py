# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Manifests as text, and those of a plan for a fleet without a cluster: files on the controller."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Mapping, Sequence

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.manifests import ordered
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain


def content(objects: Sequence[Mapping[str, Any]]) -> str:
    """These objects in the order in which they can be applied. Raises ClusterError for what is none."""
    # In a copy nothing is the same object twice, so there are no anchors, which people and some tools do not read.
    found = ordered(plain(list(objects)))
    return str(yaml.safe_dump_all(found, sort_keys=False, explicit_start=True, width=120))


def written(plan: Mapping[str, Any], check: bool) -> Dict[str, Any]:
    """Write the manifests of a plan (:func:`_cluster_plan.document`); the result of ``cluster_apply``."""
    directory = os.path.realpath(os.path.expanduser(str(plan["directory"])))
    changes = [_change(directory, **each) for each in plan["manifests"]]
    changes = [change for change in changes if change["before"] != change["after"]]
    for change in [] if check else changes:
        _write(change["path"], change["after"])
    diffs: List[Dict[str, str]] = [
        {
            "before_header": each["path"],
            "after_header": each["path"],
            "before": each["before"],
            "after": each["after"],
        }
        for each in changes
    ]
    paths = [each["path"] for each in changes]
    return {"changed": bool(changes), "manifests": paths, "late": False, "unserved": {}, "steps": [], "diff": diffs}


def _change(directory: str, name: str, content: str) -> Dict[str, str]:
    path = os.path.join(directory, name)
    before = ""
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            before = file.read()
    return {"path": path, "before": before, "after": content}


def _write(path: str, content: str) -> None:
    """Write a file as a whole, or remove one without content."""
    if not content:
        os.unlink(path)
        return
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o755, exist_ok=True)
    handle, new = tempfile.mkstemp(prefix=".", dir=directory)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(content)
    os.replace(new, path)
