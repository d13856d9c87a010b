# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Restarting the pods of a driver that cannot wait for the next start: after a crash, or because their node changed."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import RestartStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.daemon_sets import ready

_WAIT_SECONDS = 120


def _statuses(pod: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def crashed(pod: Mapping[str, Any]) -> bool:
    """Whether a pod has been started again after a crash, and does not work.

    The kubelet waits up to 5 minutes for the next start, although this run may have repaired the cause, such as
    disabled NRI.
    """
    return any(not status.get("ready") and status.get("restartCount") for status in _statuses(pod)[:1])


def restart(client: Client, step: RestartStep, check: bool) -> Dict[str, Any]:
    """Delete these pods, whose DaemonSet makes new ones. Raises ClusterError.

    DRANET reads the RDMA netns mode and the RDMA devices only at start. The new pod reads from ``/var/run/dranet``
    which NICs pods have. With ``step.wait``, waits until the new pods on ``step.nodes`` work, but not for ever: the
    wait for the driver's objects finds out on which nodes they do not, and only their hosts fail.
    """
    path = f"/api/v1/namespaces/{step.namespace}/pods"
    query = {"labelSelector": step.selector}
    pods = client.get(path, query).get("items") or []
    of_changed = [pod for pod in pods if (pod.get("spec") or {}).get("nodeName") in step.nodes]
    going = [pod for pod in pods if crashed(pod) or pod in of_changed]
    if not check:
        client.all(lambda pod: _delete(client, path, pod), going)
        if step.wait and of_changed:
            _await(client, path, query, of_changed)
    return {"changed": bool(going), "nodes": [str((pod.get("spec") or {}).get("nodeName", "")) for pod in going]}


def _delete(client: Client, path: str, pod: Object) -> None:
    options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata(pod)["uid"]}}
    client.delete(f"{path}/{metadata(pod)['name']}", options)


def _await(client: Client, path: str, query: Mapping[str, str], old: Sequence[Object]) -> None:
    gone = {metadata(pod)["uid"] for pod in old}
    wanted = {pod["spec"]["nodeName"] for pod in old}
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        pods = client.get(path, query)
        new = [pod for pod in pods.get("items") or [] if metadata(pod)["uid"] not in gone and ready(pod)]
        left = deadline - time.monotonic()
        if wanted <= {pod["spec"].get("nodeName") for pod in new} or left <= 0:
            return
        watched = {**query, "resourceVersion": metadata(pods).get("resourceVersion", "")}
        for _event in client.watch(path, watched, left):
            break
