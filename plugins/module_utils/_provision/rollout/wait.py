# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Waiting until objects do their work, or are gone, by watching them."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    listed,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


class Readiness(NamedTuple):
    """How far an object is: ``text`` is for people, and one that has not been seen before is progress."""

    ready: bool
    text: str
    # It will not become ready any more.
    failed: bool = False


class LateError(ClusterError):
    """Objects for which the wait was in vain, with how far each is in the message."""

    def __init__(self, message: str, objects: Sequence[Tuple[ObjectKey, Resource]]) -> None:
        super().__init__(message)
        self.objects = objects


NODE_POLICY = GroupKind("mellanox.com", "NicNodePolicy")
_READY = Readiness(True, "ready")


def state(kind: GroupKind, live: Object) -> Readiness:
    """How far an object is. Kinds without a notion of readiness count as ready."""
    status = live.get("status") or {}
    # Only controllers that set observedGeneration say which generation their status is about.
    seen = status.get("observedGeneration")
    expected = kind in _WORKLOADS
    if (seen is None and expected) or (seen is not None and seen < metadata(live).get("generation", 0)):
        return Readiness(False, "its controller has not seen the change yet")
    judge = _JUDGES.get(kind, _conditions)
    return judge(live.get("spec") or {}, status)


def _rollout(spec: Mapping[str, Any], status: Mapping[str, Any], wanted: int, updated: str, ready: str) -> Readiness:
    """Pods of the new template, then those that are available, out of those wanted."""
    if (spec.get("strategy") or spec.get("updateStrategy") or {}).get("type") == "OnDelete":
        return _READY
    for field, text in ((updated, "updated"), (ready, "available")):
        count = status.get(field) or 0
        if count < wanted:
            return Readiness(False, f"{count} of {wanted} pods {text}")
    return _READY


def _deployment(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    progressing = condition(status, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Readiness(False, str(progressing.get("message")), failed=True)
    return _rollout(spec, status, spec.get("replicas", 1), "updatedReplicas", "availableReplicas")


def _daemon_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    wanted = status.get("desiredNumberScheduled") or 0
    return _rollout(spec, status, wanted, "updatedNumberScheduled", "numberAvailable")


def _namespace(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    return Readiness(status.get("phase") == "Active", str(status.get("phase")))


def _definition(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    accepted = condition(status, "NamesAccepted")
    if accepted.get("status") == "False":
        return Readiness(False, str(accepted.get("message")), failed=True)
    return Readiness(condition(status, "Established").get("status") == "True", "not established yet")


def _conditions(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    """Of any other kind, such as an operator's: the conditions Ready and Available, where the object has them."""
    for name in ("Ready", "Available"):
        found = condition(status, name)
        if found and found.get("status") != "True":
            return Readiness(False, str(found.get("message") or found.get("reason") or f"not {name}"))
    return _READY


def _operated(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    """Of NVIDIA's Network Operator (``api/v1alpha1`` of Mellanox/network-operator): one word, and why."""
    word = str(status.get("state") or "not seen by the Network Operator yet")
    text = ": ".join(filter(None, [word, str(status.get("reason") or "")]))
    return _READY if word == "ready" else Readiness(False, text, failed=word == "ignore")


def condition(status: Mapping[str, Any], name: str) -> Dict[str, Any]:
    """The condition of this type in an object's status, empty where there is none."""
    for found in status.get("conditions") or []:
        if isinstance(found, dict) and found.get("type") == name:
            return found
    return {}


_WORKLOADS = {
    GroupKind("apps", "Deployment"): _deployment,
    GroupKind("apps", "DaemonSet"): _daemon_set,
}
_JUDGES = {
    **_WORKLOADS,
    GroupKind("", "Namespace"): _namespace,
    GroupKind("mellanox.com", "HostDeviceNetwork"): _operated,
    NODE_POLICY: _operated,
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}


def judged(kind: GroupKind) -> bool:
    """Whether objects of this kind are known to be ready only after some time."""
    return kind in _JUDGES


def until(
    client: Client,
    objects: Sequence[Tuple[ObjectKey, Resource]],
    seconds: float,
    judge: Callable[[ObjectKey, Optional[Object]], Readiness],
) -> None:
    """Wait until ``judge`` finds all objects ready; it is given None for one that is absent.

    ``seconds`` is how long an object may make no progress. Raises LateError.
    """

    def lateness(item: Tuple[ObjectKey, Resource]) -> str:
        found = _until(client, *item, seconds, judge)
        return "" if found.ready else f"{item[0]}: {found.text}{_cause(client, *item)}"

    late = {item: text for item, text in zip(objects, client.all(lateness, objects)) if text}
    if late:
        said = f"gave up waiting after {seconds:.0f} s without progress, or after a failure"
        raise LateError(f"{said}:\n{listed(list(late.values()))}", list(late))


def ready(key: ObjectKey, live: Optional[Object]) -> Readiness:
    """Judge for objects that shall do their work."""
    return Readiness(False, "absent") if live is None else state(key.group_kind, live)


def gone(_key: ObjectKey, live: Optional[Object]) -> Readiness:
    """Judge for objects that shall be gone."""
    held: List[str] = metadata(live or {}).get("finalizers") or []
    text = f"still there, held by {', '.join(held)}" if held else "still there"
    return Readiness(live is None, text)


def _cause(client: Client, key: ObjectKey, resource: Resource) -> str:
    """The trouble of one of the workload's pods, as an addition to the state of the workload."""
    live = client.find(resource.path(key.namespace, key.name)) if key.group_kind in _WORKLOADS else None
    for pod in pods_of(client, key, live or {}):
        trouble = pod_trouble(pod)
        if trouble:
            return f"; Pod {pod['metadata']['name']}: {trouble}"
    return ""


def pods_of(client: Client, key: ObjectKey, live: Object) -> List[Object]:
    """The pods that a workload selects."""
    labels = live.get("spec", {}).get("selector", {}).get("matchLabels") or {}
    if not labels:
        return []
    query = {"labelSelector": ",".join(f"{name}={value}" for name, value in labels.items())}
    return client.get(f"/api/v1/namespaces/{key.namespace}/pods", query).get("items") or []


def pod_trouble(pod: Object) -> str:
    """Why a pod does not run, ``""`` if it does or is about to."""
    status = pod.get("status") or {}
    over = metadata(pod).get("deletionTimestamp")
    if over:
        # The rollout of a DaemonSet waits for this pod.
        return f"on {pod['spec'].get('nodeName')}, should have ended by {over}: is the node down?"
    for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            place = pod["spec"].get("nodeName")
            return f"on {place}, container {container['name']}: {waiting['reason']}: {waiting.get('message', '')}"
    scheduled = condition(status, "PodScheduled")
    return str(scheduled.get("message") or "") if scheduled.get("status") == "False" else ""


def _until(
    client: Client,
    key: ObjectKey,
    resource: Resource,
    seconds: float,
    judge: Callable[[ObjectKey, Optional[Object]], Readiness],
) -> Readiness:
    deadline = time.monotonic() + seconds
    # Pods that crash and restart change the text again and again, but always to one that has been seen before.
    known: Set[str] = set()
    while True:
        live = client.find(resource.path(key.namespace, key.name))
        found = judge(key, live)
        query = {"fieldSelector": f"metadata.name={key.name}"}
        if live is not None:
            query["resourceVersion"] = metadata(live)["resourceVersion"]
        events = client.watch(resource.path(key.namespace), query, deadline - time.monotonic())
        while True:
            if found.text not in known:
                known.add(found.text)
                deadline = time.monotonic() + seconds
            if found.ready or found.failed or time.monotonic() >= deadline:
                return found
            event = next(events, None)
            if event is None:
                break
            found = judge(key, None if event["type"] == "DELETED" else event["object"])
