# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How the pods of DRANET are, in words that are the same for all nodes with the same trouble."""

from __future__ import annotations

from typing import Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.daemon_sets import node_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_LABEL

_SELECTOR = f"app.kubernetes.io/name=dranet,{GROUP_LABEL}"


def driver_pods(client: Client) -> Optional[Dict[str, str]]:
    """By node how its pod of DRANET is, ``None`` where pods may not be listed. Raises ApiError, ClusterError."""
    pods = client.items_if_allowed("/api/v1/pods", {"labelSelector": _SELECTOR})
    return None if pods is None else {node_of(pod): state(pod) for pod in pods}


def state(pod: Object) -> str:
    """What its pod does, to follow a colon. Names of pods are left out, so that nodes can be told together."""
    status = pod.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or []}
    if conditions.get("Ready", {}).get("status") == "True":
        return "its pod is ready, but has published nothing yet"
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return f"its pod is Pending, {scheduled.get('message') or 'it has no node'}"
    for container in status.get("containerStatuses") or []:
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = waiting.get("reason")
        if reason == "ContainerCreating":
            return "its pod is being created, for which the node needs /var/run/nri (NRI) and /dev/infiniband"
        if reason == "CrashLoopBackOff":
            ended = (container.get("lastState") or {}).get("terminated") or {}
            return f"its pod is in CrashLoopBackOff, exit code {ended.get('exitCode')}: its log says why"
        if reason:
            return f"its pod is in {reason}, {waiting.get('message') or 'no message'}"
    return f"its pod is {status.get('phase')}, and not ready"
