# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.

"""The ways in which pods of a group can request RDMA, with the names that objects have in the cluster."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples, pod

_SAME = (
    "name",
    "limits",
    "annotations",
    "capabilities",
    "environment",
    "namespace",
    "gpus",
    "host_network",
    "gpu_resource",
)


def named(objects: Sequence[Mapping[str, Any]], requests: Sequence[PodRequest]) -> List[Dict[str, Any]]:
    """These requests as options of ``workload_manifests``; ``objects`` are those of the plan."""
    claims = {(kind, claimed["metadata"]["name"]): claimed["spec"] for kind, claimed in examples.claim_specs(objects)}

    def names(kind: str, alias: str) -> Dict[str, str]:
        same = [item for item in objects if item["kind"] == kind and item["metadata"]["name"] == alias]
        return {item["metadata"]["namespace"]: hashed(alias, item["spec"]) for item in same}

    def nics(request: PodRequest) -> int:
        if request.template:
            return pod.counts(claims["template", request.template]["spec"])[1]
        return pod.counts(claims["claim", request.claim])[1] if request.claim else 0

    return [
        {
            **{name: getattr(request, name) for name in _SAME},
            "nics": nics(request),
            "templates": names("ResourceClaimTemplate", request.template),
            "claims": names("ResourceClaim", request.claim),
        }
        for request in requests
    ]
