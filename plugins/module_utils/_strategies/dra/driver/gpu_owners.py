# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GPUs that a DRA driver must not publish, because a device plugin allocates them."""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterable, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import NVIDIA, Names, gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, strings, table
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.compare import GPU_LABELS
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity


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
