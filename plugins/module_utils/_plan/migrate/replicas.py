# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""How many pods an object makes of one of its templates."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind

_REPLICAS = ("Deployment", "ReplicaSet", "StatefulSet")
_LWS = Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet")


def pods_of(kind: Kind, item: Mapping[str, Any], place: str) -> Optional[int]:
    """The number, ``None`` where it depends on the cluster, or is written where this does not look."""

    def number(*steps: str) -> int:
        found = integer(at(item, *steps))
        return 1 if found is None else found

    if kind == Kind("", "Pod"):
        return 1
    if kind == Kind("", "ReplicationController") or (kind.group == "apps" and kind.kind in _REPLICAS):
        return number("spec", "replicas")
    jobs: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
        ("Job", ("spec", "parallelism")),
        ("CronJob", ("spec", "jobTemplate", "spec", "parallelism")),
    )
    for name, steps in jobs:
        if kind == Kind("batch", name):
            return number(*steps)
    if kind == _LWS:
        leader = isinstance(at(item, "spec", "leaderWorkerTemplate", "leaderTemplate"), dict)
        size = number("spec", "leaderWorkerTemplate", "size")
        each = 1 if place.endswith("leaderTemplate") else size - 1 if leader else size
        return number("spec", "replicas") * each
    return None
