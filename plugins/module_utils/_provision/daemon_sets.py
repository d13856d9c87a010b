# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The pods of DaemonSets: which node each is for, and on which nodes a rolled out DaemonSet does not work."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.wait import pod_trouble, pods_of

_DAEMON_SET = GroupKind("apps", "DaemonSet")


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
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def unready(client: Client, key: ObjectKey, resource: Resource) -> Optional[Dict[str, str]]:
    """By node what its pod of a DaemonSet suffers from, where each node has a pod of the newest template.

    ``None`` for a DaemonSet that is not rolled out, and for any other object.
    """
    live = client.find(resource.path(key.namespace, key.name)) if key.group_kind == _DAEMON_SET else None
    status: Dict[str, Any] = (live or {}).get("status") or {}
    wanted = status.get("desiredNumberScheduled") or 0
    if live is None or status.get("observedGeneration") != metadata(live).get("generation"):
        return None
    pods = [
        pod
        for pod in pods_of(client, key, live)
        if any(owner.get("uid") == metadata(live)["uid"] for owner in metadata(pod).get("ownerReferences") or [])
    ]
    nodes = {node_of(pod) for pod in pods} - {""}
    if (status.get("updatedNumberScheduled") or 0) < wanted or len(nodes) < wanted:
        return None
    working = {node_of(pod) for pod in pods if ready(pod)}
    return {
        node_of(pod): pod_trouble(pod) or f"its pod is {(pod.get('status') or {}).get('phase')}, and not ready"
        for pod in pods
        if node_of(pod) in nodes - working
    }
