# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""All verdicts of the cluster ring, from what the API server and a provision in check mode have said."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Dict, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import resources, tainted, verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, RingResult
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterEvidence:
    """Objects of the cluster: ``nodes``, ``daemon_sets``, ``states`` (SriovNetworkNodeState), ``gpu_clusters``
    (GPUCluster) and ``slices``.

    ``pods`` are those of DRANET, ``compared`` says for each node how what it publishes differs from its facts
    (``resource_slice_info``), ``sets`` what applyset would do to the objects of each set.
    """

    nodes: Sequence[Plain] = ()
    daemon_sets: Sequence[Plain] = ()
    states: Sequence[Plain] = ()
    gpu_clusters: Sequence[Plain] = ()
    pods: Sequence[Plain] = ()
    slices: Sequence[Plain] = ()
    compared: Mapping[str, Plain] = field(default_factory=dict)
    sets: Mapping[str, Sequence[Plain]] = field(default_factory=dict)


def _by_place(items: Sequence[Plain]) -> Dict[str, Plain]:
    return {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item for item in items}


def judge(
    hosts: Sequence[InventoryHost],
    known: variables.Options,
    cluster: ClusterEvidence,
    gpu_resources: Sequence[str] = (),
    rdma_resources: Sequence[str] = (),
) -> RingResult:
    """Whether drivers run and publish, objects are as applied, and nodes show what their strategy provides.

    ``gpu_resources`` and ``rdma_resources`` are extended resources that are GPUs and NICs, although their names may not
    say so. Raises ValueError for a slice that is none.
    """
    groups = {host.name: host.group for host in hosts}
    found = verdicts.checks(groups, registry.driver_labels(hosts, known), cluster.compared, cluster.pods, cluster.sets)
    live = {str(node["metadata"]["name"]): node for node in cluster.nodes}
    labels = {name: node["metadata"].get("labels") or {} for name, node in live.items()}
    planned = registry.plan(hosts, ClusterState(labels=labels, daemon_sets=list(cluster.daemon_sets)), known)
    there = (_by_place(cluster.daemon_sets), _by_place(cluster.states))
    found += resources.checks(groups, planned, live, *there)
    nics = chain(*registry.resources(hosts, known).values())
    names = Names([*nics, *rdma_resources], gpu_resources)
    devices = model.devices(cluster.slices)
    gpu_clusters = [str(item["metadata"]["name"]) for item in cluster.gpu_clusters]
    found += resources.gpu_owner_checks(groups, live, devices, names, gpu_clusters)
    found += tainted.checks(groups, devices)
    return RingResult(found)


def without() -> RingResult:
    """The result where no API server is asked."""
    text = "cluster and pods are not verified: rdma_cluster is none"
    return RingResult([Check("cluster", "cluster.api", None, None, "", "impossible", text)])


def not_compared(task: str, reason: str) -> RingResult:
    """The result where a task of provision fails in check mode."""
    text = f"provision fails at '{task}': {reason}"
    remedy = "Fix this first."
    return RingResult(
        [Check("cluster", "cluster.provision", None, None, "", "fail", text, remedy=remedy, mend="provision")]
    )
