# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The pods of DaemonSets: which node each is for, and on which nodes a rolled out DaemonSet does not work.

This includes the DaemonSets that NVIDIA's Network Operator creates for a NicNodePolicy (``isDaemonSetReady`` of
``pkg/state`` in Mellanox/network-operator v26.7.0-rc.2 says when such a policy is ready).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import METADATA_LIST, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.wait import (
    NODE_POLICY,
    condition,
    pod_trouble,
    pods_of,
    state,
)

_DAEMON_SET = GroupKind("apps", "DaemonSet")
_NODES = "/api/v1/nodes"


def node_of(pod: Object) -> str:
    """The node that a pod of a DaemonSet is on, or for: before it is scheduled only its affinity says so."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(required) or {}
    for term in affinity.get("nodeSelectorTerms") or []:
        for field in term.get("matchFields") or []:
            if field["key"] == "metadata.name":
                return str(field["values"][0])
    return ""


def ready(pod: Mapping[str, Any]) -> bool:
    """Whether a pod, of whatever owner, says that it is."""
    return condition(pod.get("status") or {}, "Ready").get("status") == "True"


def is_lost(node: Mapping[str, Any]) -> bool:
    """Whether a node's kubelet has stopped answering: its state is Unknown then (pkg/controller/nodelifecycle)."""
    return condition(node.get("status") or {}, "Ready").get("status") == "Unknown"


def unready(client: Client, key: ObjectKey, resource: Resource) -> Optional[Dict[str, str]]:
    """By node what is wrong with its pod of a DaemonSet, if each node has a pod of the newest template.

    For a NicNodePolicy, the pods are those of the DaemonSets that the operator creates for it; a missing pod counts.
    ``None`` for one that is not rolled out, for a policy that waits for something else, and for any other object.
    """
    judge = {_DAEMON_SET: _of_daemon_set, NODE_POLICY: _of_policy}.get(key.group_kind)
    live = client.find(resource.path(key.namespace, key.name)) if judge else None
    return judge(client, live) if judge and live else None


def held_by(client: Client, key: ObjectKey, resource: Resource) -> List[str]:
    """The nodes that keep a DaemonSet from going, because their kubelets do not answer and so end no pod.

    Empty where something else keeps it too, and for any other object.
    """
    live = client.find(resource.path(key.namespace, key.name)) if key.group_kind == _DAEMON_SET else None
    pods = [pod for pod in pods_of(client, key, live) if _owned(pod, live)] if live else []
    names = {node_of(pod) for pod in pods if metadata(pod).get("deletionTimestamp")}
    lost = {metadata(node)["name"] for node in client.get(_NODES)["items"] if is_lost(node)} if names else set()
    return sorted(names) if names <= lost and all(node_of(pod) in names for pod in pods) else []


def selects_no_node(client: Client, key: ObjectKey, wanted: Object) -> bool:
    """Whether an object is a NicNodePolicy for nodes that the cluster does not have: it does not become ready."""
    return key.group_kind == NODE_POLICY and not selected(client, wanted)


def _of_daemon_set(client: Client, live: Object) -> Optional[Dict[str, str]]:
    pods = _troubles(client, live)
    return None if pods is None else {node: trouble for node, trouble in pods.items() if trouble}


def _of_policy(client: Client, live: Object) -> Optional[Dict[str, str]]:
    """The operator wants all pods of all DaemonSets, at least one of each, before it calls a policy ready."""
    status = live.get("status") or {}
    if state(NODE_POLICY, live).ready:
        return {}
    sets = [item for item in client.get("/apis/apps/v1/daemonsets").get("items") or [] if _owned(item, live)]
    if status.get("state") != "notReady" or not sets:
        return None
    found: Dict[str, str] = {}
    nodes = selected(client, live)
    for item in sets:
        pods = _troubles(client, item)
        if pods is None:
            return None
        for node, labels in nodes.items():
            trouble = pods[node] if node in pods else _lacking(item, labels)
            if trouble:
                found.setdefault(node, trouble)
    # If all pods are ready, the operator waits for something else.
    return found if found or not nodes else None


def selected(client: Client, policy: Object) -> Dict[str, Dict[str, str]]:
    """The nodes of a policy (a NicNodePolicy, for example) with their labels."""
    selector = (policy.get("spec") or {}).get("nodeSelector") or {}
    query = {"labelSelector": ",".join(f"{name}={value}" for name, value in selector.items())}
    items = client.get(_NODES, query, METADATA_LIST).get("items") or []
    return {metadata(node)["name"]: metadata(node).get("labels") or {} for node in items}


def _lacking(daemon_set: Object, labels: Mapping[str, str]) -> str:
    """Why a node with these labels has no pod of a DaemonSet."""
    selector = daemon_set["spec"]["template"]["spec"].get("nodeSelector") or {}
    lacking = [f"{name}={value}" for name, value in selector.items() if labels.get(name) != value]
    meta = metadata(daemon_set)
    text = f"DaemonSet {meta['namespace']}/{meta['name']} has no pod there"
    return f"{text}, because the node lacks the label {', '.join(lacking)}" if lacking else text


def _owned(item: Object, owner: Object) -> bool:
    return any(
        reference.get("uid") == metadata(owner)["uid"] for reference in metadata(item).get("ownerReferences") or []
    )


def _troubles(client: Client, live: Object) -> Optional[Dict[str, str]]:
    """By node what is wrong with its pod of a DaemonSet, ``""`` for nothing; ``None`` where it is not rolled out."""
    status: Dict[str, Any] = live.get("status") or {}
    wanted = status.get("desiredNumberScheduled") or 0
    if status.get("observedGeneration") != metadata(live).get("generation"):
        return None
    key = ObjectKey(*_DAEMON_SET, metadata(live)["namespace"], metadata(live)["name"])
    pods = [pod for pod in pods_of(client, key, live) if _owned(pod, live) and node_of(pod)]
    nodes = {node_of(pod) for pod in pods}
    if (status.get("updatedNumberScheduled") or 0) < wanted or len(nodes) < wanted:
        return None
    working = {node_of(pod): "" for pod in pods if ready(pod)}
    troubles = {
        node_of(pod): pod_trouble(pod) or f"its pod is {(pod.get('status') or {}).get('phase')}, and not ready"
        for pod in pods
    }
    return {**troubles, **working}
