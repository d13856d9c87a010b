# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.

"""The ways in which pods of a group can request RDMA, with the names that objects have in the cluster."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import AMD, HABANA, INTEL, NVIDIA
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


_VENDORS = {"10de": NVIDIA, "1002": AMD, "8086": INTEL, "1da3": HABANA}
# What a group's nodes call their GPUs, where a site has its own name for them.
_GPU_RESOURCE = "rdma_workloads_gpu_resource"


def named(
    objects: Sequence[Mapping[str, Any]], requests: Sequence[PodRequest], hosts: Sequence[InventoryHost] = ()
) -> List[Dict[str, Any]]:
    """These requests as options of ``workload_manifests``; ``objects`` are those of the plan, ``hosts`` of the run."""
    claims = {
        (kind, claimed["metadata"]["name"]): claimed["spec"]["spec"] if kind == "template" else claimed["spec"]
        for kind, claimed in examples.claim_specs(objects)
    }
    by_name = {host.name: host for host in hosts}

    def names(kind: str, alias: str) -> Dict[str, str]:
        same = [item for item in objects if item["kind"] == kind and item["metadata"]["name"] == alias]
        return {item["metadata"]["namespace"]: hashed(alias, item["spec"]) for item in same}

    def nics(request: PodRequest) -> Dict[str, Any]:
        spec = claims.get(("template", request.template)) or claims.get(("claim", request.claim))
        if spec is None:
            return {"nics": request.number, "gpus_only": False}
        return {"nics": pod.counts(spec)[1], "gpus_only": not pod.has_nics(spec)}

    return [
        {
            **{name: getattr(request, name) for name in _SAME},
            **nics(request),
            "templates": names("ResourceClaimTemplate", request.template),
            "claims": names("ResourceClaim", request.claim),
            **_hardware([by_name[name] for name in request.hosts if name in by_name]),
        }
        for request in requests
    ]


def vendor(gpu: Gpu) -> str:
    """As :mod:`_kube.extended_resources` names it, or the PCI ID of one that it does not know."""
    return _VENDORS.get(gpu.pci.vendor_id, gpu.pci.vendor_id)


def _hardware(hosts: Sequence[InventoryHost]) -> Dict[str, Any]:
    facts = [host.facts for host in hosts if host.facts and host.facts.gpus]
    gpus = [gpu for each in facts for gpu in each.gpus]
    # Of nodes that differ, the one with the most NICs for a GPU.
    most = max(map(_gpus_and_nics, facts), key=lambda both: (min(both) / both[0], both), default=(0, 0))
    own = {str(host.variables[_GPU_RESOURCE]) for host in hosts if host.variables.get(_GPU_RESOURCE)}
    return {
        "gpu_vendors": sorted({vendor(gpu) for gpu in gpus}),
        "gpu_models": sorted({gpu.model for gpu in gpus if gpu.model}),
        "gpu_resources": sorted(own),
        "node_gpus": most[0],
        "node_nics": most[1],
    }


def _gpus_and_nics(facts: Facts) -> Tuple[int, int]:
    """The GPUs of a node, and the NICs that are the nearest to one of them."""
    return len(facts.gpus), len({name for entry in facts.affinity for name in entry.nearest})
