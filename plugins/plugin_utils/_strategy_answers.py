# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What actions need of the cluster's part of a plan."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _plan_files


class Answers(NamedTuple):
    """``objects`` are those of all sets, ``requests`` by group the ways in which its pods can request RDMA."""

    objects: List[Dict[str, Any]]
    requests: Dict[str, List[PodRequest]]


def read(directory: str) -> Answers:
    """Of the plan in this directory, which has a part for the cluster. Raises AnsibleError."""
    plan = _plan_files.cluster_plan(directory)
    objects = [item for planned_set in plan["sets"] for item in planned_set["objects"]]
    requests = {group: [PodRequest(**request) for request in of_group] for group, of_group in plan["requests"].items()}
    return Answers(objects, requests)
