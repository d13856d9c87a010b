# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Manifests as text, and those of a plan for a fleet without a cluster: files on the controller."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Sequence

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.manifests import ordered
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files


def content(objects: Sequence[Mapping[str, Any]]) -> str:
    """These objects in the order in which they can be applied. Raises ClusterError for what is none."""
    # In a copy nothing is the same object twice, so there are no anchors, which people and some tools do not read.
    found = ordered(plain(list(objects)))
    return str(yaml.safe_dump_all(found, sort_keys=False, explicit_start=True, width=120))


def directory(context: Mapping[str, Any]) -> str:
    """Where the manifests of a run are."""
    return _files.artifact(str(context.get("rdma_manifests") or "manifests"), context)


def written(plan: Mapping[str, Any], check: bool) -> Dict[str, Any]:
    """Write the manifests of a plan (:func:`_cluster_plan.document`); the result of ``cluster_apply``."""
    files = {os.path.join(plan["directory"], each["name"]): each["content"] for each in plan["manifests"]}
    diffs = _files.changed(files, check)
    paths = [each["after_header"] for each in diffs]
    return {"changed": bool(diffs), "manifests": paths, "late": False, "steps": [], "diff": diffs}
