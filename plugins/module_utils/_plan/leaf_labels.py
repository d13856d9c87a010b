# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What schedulers are told of the fabric: a label of each node with its leaf group, and Kueue's Topology of it.

The labels are planned from what ``cabling`` has found, of compute rails alone (``_fabric.leaf_groups``). Without that
nothing is planned, and what nodes have stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.leaf_groups import LeafGroups
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.value_rules import LEAF_LABEL, TOPOLOGY
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.cluster_plan import LABELS_COMMENT, Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import CLAIMS, LeafLabelsStep, ObjectsStep, Step
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ObjectSet,
    object_set,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

CABLING = "rdma_cabling_json"
KIND = "Topology.kueue.x-k8s.io"
# Served by Kueue since 0.15.
_VERSION = "kueue.x-k8s.io/v1beta2"
_HOSTNAME = "kubernetes.io/hostname"
_LABELS_FILE, _TOPOLOGY_FILE = "node-leaf-labels.yaml", "kueue-topology.yaml"
_SHOWN = 8


@dataclass
class LeafPlan:
    """What is done, and what is said of nodes that get no label."""

    steps: List[Step] = field(default_factory=list)
    manifests: List[Manifest] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)


def topology_set(values: Mapping[str, Any], topology: str = "", label: str = "") -> ObjectSet:
    """The set of objects with the Topology of this name; ``values`` are those of the fleet."""
    levels = [{"nodeLabel": label}, {"nodeLabel": _HOSTNAME}]
    body = {"apiVersion": _VERSION, "kind": "Topology", "metadata": {"name": topology}, "spec": {"levels": levels}}
    return object_set("topology", values, [body] if topology else [])


def plan(
    hosts: Sequence[str],
    cluster: ClusterState,
    values: Mapping[str, Any],
    groups: Optional[LeafGroups],
    failed: Collection[str] = (),
) -> LeafPlan:
    """The plan for these hosts. ``values`` have LEAF_LABEL and TOPOLOGY, ``groups`` is ``None`` where nothing is known.

    Nodes that have ``failed`` in this run stay as they are.
    """
    label, topology = values[LEAF_LABEL], values[TOPOLOGY]
    result = LeafPlan()
    if groups is not None and label:
        judged = {*groups.values, *groups.without}.difference(failed)
        kept = [host for host in hosts if host not in judged]
        nodes = {host: groups.values[host] for host in hosts if host in groups.values and host in judged}
        result.warnings += _unlabelled(label, hosts, groups, failed)
        result.steps.append(LeafLabelsStep("Label the nodes with their leaves", CLAIMS, label, nodes, kept))
        labels = [_node(host, label, own) for host, own in nodes.items()]
        result.manifests.append(Manifest(_LABELS_FILE, labels, LABELS_COMMENT))
    elif not label:
        result.steps += _no_labels(cluster)
        result.manifests.append(Manifest(_LABELS_FILE, []))
    if topology and cluster.kinds is not None and KIND not in cluster.kinds:
        result.warnings.append(
            f"{TOPOLOGY} is {topology}, but the API server has no {KIND}, so there is none: "
            "install Kueue 0.15 or newer, and run this again"
        )
        return result
    own = topology_set(values, topology, label)
    key = (own.namespace, own.name)
    if own.objects:
        result.steps.append(ObjectsStep("Apply Kueue's Topology", CLAIMS, own.name, own.namespace, own.objects))
    elif cluster.parents is None or key in cluster.parents:
        result.steps.append(_no_topology(own))
    result.manifests.append(Manifest(_TOPOLOGY_FILE, own.objects))
    return result


def removal(cluster: ClusterState, values: Mapping[str, Any]) -> List[Step]:
    """The steps that take everything away again."""
    own = topology_set(values)
    there = cluster.parents is None or (own.namespace, own.name) in cluster.parents
    return [*([_no_topology(own)] if there else []), *_no_labels(cluster)]


def _no_topology(own: ObjectSet) -> Step:
    """Not awaited: Kueue keeps a Topology as long as a ResourceFlavor names it."""
    return ObjectsStep("Remove Kueue's Topology", CLAIMS, own.name, own.namespace)


def _no_labels(cluster: ClusterState) -> Iterator[Step]:
    if cluster.leaf_labelled is None or cluster.leaf_labelled:
        yield LeafLabelsStep("Remove the labels of leaves from nodes", CLAIMS)


def _node(name: str, label: str, value: str) -> Dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {label: value}}}


def unknown(label: str, why: str) -> str:
    """What is said where nothing is known of leaves."""
    left = f"{LEAF_LABEL} is {label}, but it is not known on which leaves nodes are ({why}), so labels stay as they are"
    return f"{left}: run zerocopy.rdma.cabling with {CABLING} set, and then this with the same value"


def _unlabelled(label: str, hosts: Sequence[str], groups: LeafGroups, failed: Collection[str]) -> Iterator[str]:
    none = [f"{host} ({groups.without[host]})" for host in hosts if host in groups.without and host not in failed]
    if none:
        yield f"No label {label}: {joined(none, _SHOWN, '; ')}"
    unseen = [f"{host} ({groups.unseen[host]})" for host in hosts if host in groups.unseen]
    if unseen:
        yield f"Label {label} left as it is: {joined(unseen, _SHOWN, '; ')}"
    there = {*groups.values, *groups.without, *groups.unseen}
    absent = [host for host in hosts if host not in there]
    if absent:
        yield f"Label {label} left as it is: {fold(absent)}, which the file of {CABLING} does not have"
