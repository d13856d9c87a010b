# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GPUs that a DRA driver must not publish: those of a device plugin, and those of the GPU Operator's DRA driver."""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import NVIDIA, Names, gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, strings, table
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.deployment import GPU_DEPLOY
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.compare import GPU_LABELS
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity

# GPU Operator 26.7. Whatever it says, GPUs are allocated by claims with it, on all nodes that have some.
_KIND = "GPUCluster"
LOOK = (f"{_KIND}.nvidia.com", "")
# As the role rdma_driver calls it, and its namespace.
_RELEASE = "dra-driver-nvidia-gpu"


def by_gpu_cluster(
    hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
) -> Iterator[Tuple[str, Problem]]:
    """Hosts whose GPUs the DRA driver of the GPU Operator publishes already."""
    names = [item["metadata"]["name"] for item in cluster.objects or () if item["kind"] == _KIND]
    right = (
        f"but NVIDIA's GPU Operator deploys this driver already (GPUCluster {', '.join(names)}): leave the variable "
        "out, claims get the GPUs of that driver, or remove the GPUCluster. A driver that an earlier run has deployed "
        f"goes by helm uninstall --namespace {_RELEASE} {_RELEASE}, not by leaving the variable out"
    )
    for host in hosts if names else ():
        wanted = variables.converted({GPU_DEPLOY: host.variables.get(GPU_DEPLOY)}, known)[0].get(GPU_DEPLOY)
        if wanted:
            yield host.name, wrong(GPU_DEPLOY, wanted, right)


def by_device_plugin(
    allocatable: Mapping[str, Sequence[str]],
    labels: Mapping[str, Mapping[str, str]],
    hosts: Collection[str],
    values: Mapping[str, Any],
    more: Names,
) -> Dict[str, List[str]]:
    """By name of a node what a device plugin offers of its GPUs, if the driver is to run there.

    ``allocatable`` are by node the extended resources that can be allocated, ``labels`` those of all nodes, ``hosts``
    those of the run, ``values`` those of the driver's chart.
    """
    found: Dict[str, List[str]] = {}
    for name, names in allocatable.items():
        if name in hosts or _chosen(labels.get(name, {}), table(values.get("kubeletPlugin"))):
            resources = _of_vendor(names, NVIDIA, more)
            if resources:
                found[name] = resources
    return found


def offered(node: Mapping[str, Any], vendor: str, more: Names) -> List[str]:
    """The extended resources by which a device plugin allocates GPUs of this vendor on a node.

    Those that only the site knows may be of any vendor.
    """
    return _of_vendor(_allocatable(node), vendor, more)


def _of_vendor(names: Iterable[str], vendor: str, more: Names) -> List[str]:
    found = {name: gpu(name, more) for name in sorted(names)}
    return [name for name, owner in found.items() if owner is not None and owner.vendor in (vendor, "")]


def _chosen(labels: Mapping[str, str], plugin: Mapping[str, Any]) -> bool:
    """Whether the chart runs the driver on a node with these labels. Which nodes an affinity means is not known."""
    selected = strings(plugin.get("nodeSelector")).items() <= labels.items()
    unknown = at(plugin, "affinity", "nodeAffinity")
    return selected and not unknown and any(labels.get(label) == "true" for label in GPU_LABELS)


def _allocatable(node: Mapping[str, Any]) -> List[str]:
    """Of a plugin that was removed, the kubelet keeps a zero."""
    allocatable = strings(at(node, "status", "allocatable"))
    return [name for name, number in allocatable.items() if quantity(number)]
