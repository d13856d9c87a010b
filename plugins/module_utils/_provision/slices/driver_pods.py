# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How the pods of DRANET are, in words that are the same for all nodes with the same trouble."""

from __future__ import annotations

import re
from typing import Collection, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.daemon_sets import node_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_OF_PODS

_READY = "its pod is ready, but has published nothing yet"
# Pods whose logs are read in one look.
_LOGS = 3
# As kubernetes' ValidateResourceSlice says it.
_TOO_LONG = re.compile(r"attributes\[([\w./-]{1,128})\][^\r\n]{0,200}?Too long: may not be more than 64 bytes")
_SELECTOR = f"app.kubernetes.io/name=dranet,{GROUP_OF_PODS}"


def driver_pods(
    client: Client, silent: Collection[str] = (), namespaces: Optional[Collection[str]] = None
) -> Optional[Dict[str, str]]:
    """By node how its pod of DRANET is, ``None`` where pods may not be listed. Raises ApiError, ClusterError.

    Pods elsewhere than in ``namespaces`` are not of the driver; ``None`` for any namespace.
    Of ``silent`` nodes, which publish nothing, the logs of the first few pods are read: others have the same trouble.
    """
    pods = client.items_if_allowed("/api/v1/pods", {"labelSelector": _SELECTOR})
    if pods is None:
        return None
    pods = [pod for pod in pods if namespaces is None or (pod.get("metadata") or {}).get("namespace") in namespaces]
    found = {node_of(pod): state(pod) for pod in pods}
    for pod in [pod for pod in pods if node_of(pod) in silent and found[node_of(pod)] == _READY][:_LOGS]:
        found[node_of(pod)] = _refused(client, pod) or found[node_of(pod)]
    return found


def _refused(client: Client, pod: Object) -> str:
    """What the API server has against what a pod publishes, as far as its log may be read and says so."""
    metadata = pod.get("metadata") or {}
    path = f"/api/v1/namespaces/{metadata.get('namespace')}/pods/{metadata.get('name')}/log"
    try:
        log = client.text(path, {"tailLines": "500", "limitBytes": "1000000"})
    except ClusterError:
        return ""
    match = _TOO_LONG.search(log)
    if match is None:
        return ""
    return (
        f"its pod is ready, but the API server refuses what it publishes, because {match[1]} of a device has more than "
        "64 bytes: add the device to rdma_driver_exclude, or use a DRANET newer than 1.4.0"
    )


def state(pod: Object) -> str:
    """What its pod does, to follow a colon. Names of pods are left out, so that nodes can be told together."""
    status = pod.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or []}
    if conditions.get("Ready", {}).get("status") == "True":
        return _READY
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
