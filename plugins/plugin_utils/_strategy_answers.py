# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of all strategies as tasks have it, out of the filter ``strategy_plan`` and into others."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain


class Answers(NamedTuple):
    """``objects`` are those of all sets, ``asks`` by group the ways in which its pods can request RDMA."""

    objects: List[Dict[str, Any]]
    asks: Dict[str, List[PodRequest]]


def read(plan: Mapping[str, Any]) -> Answers:
    """What other filters need of the result of ``strategy_plan``."""
    objects = [item for planned_set in plain(plan["sets"]) for item in planned_set["objects"]]
    asks = {group: [PodRequest(**request) for request in of_group] for group, of_group in plain(plan["asks"]).items()}
    return Answers(objects, asks)
