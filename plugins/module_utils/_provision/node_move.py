# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The steps of a node from one strategy to another. Each may be repeated, and goes on from what the cluster shows.

kubernetes.core.k8s_drain selects pods by their labels only, gives up at the first PodDisruptionBudget in the way, and
does not know who cordoned a node.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.node_use import Mark, MarkError, NodeUse, User
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster, extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import FIELD_MANAGER, Client

_NODES, _PODS = "/api/v1/nodes", "/api/v1/pods"
_SLICE = GroupKind("resource.k8s.io", "ResourceSlice")
_CONFLICT, _GONE = 409, 404
# After which what cannot be watched is looked at again.
_AGAIN = 2.0
_MINE = {"fieldManager": FIELD_MANAGER}

Labels = Mapping[str, Optional[str]]


@dataclass(frozen=True)
class MoveStep:
    """One step on one node.

    ``ours`` are the labels by which our DaemonSets find nodes, ``resources`` the site's own RDMA resources,
    ``drivers`` the DRA drivers whose devices count as NICs. ``labels`` are those that the step takes away (``None``)
    or gives; ``shows`` is what the node shows then.
    """

    node: str
    to: str = ""
    labels: Labels = field(default_factory=dict)
    ours: Sequence[str] = ()
    resources: Sequence[str] = ()
    drivers: Sequence[str] = ()
    evict: str = "managed"
    shows: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600


class Seen(NamedTuple):
    """The node, what uses it, the pods on it, and the version of their list, from which they can be watched."""

    node: Object
    use: NodeUse
    pods: List[Object]
    version: str


def _held(client: Client, drivers: Sequence[str]) -> Dict[str, str]:
    """The driver whose devices a pod (namespace/name) holds."""
    api = Api([client.get("/apis", accept=ACCEPT)])
    every = cluster.held(client, api)
    return {pod: name for name in drivers for pods in every.get(name, {}).values() for pod in pods}


def info(client: Client, ours: Sequence[str], drivers: Sequence[str], resources: Sequence[str]) -> Dict[str, NodeUse]:
    """All nodes of the cluster. Raises ClusterError."""
    on: Dict[str, List[Object]] = {}
    for pod in client.get(_PODS)["items"]:
        on.setdefault(str((pod.get("spec") or {}).get("nodeName") or ""), []).append(pod)
    held = _held(client, drivers)
    found: Dict[str, NodeUse] = {}
    for node in client.get(_NODES)["items"]:
        name = metadata(node)["name"]
        try:
            found[name] = node_use.of_node(node, on.get(name, ()), held, ours, resources)
        except MarkError as error:
            raise ClusterError(f"{name}: {error}: remove it if no move is under way there") from error
    return found


def _look(client: Client, step: MoveStep) -> Seen:
    """The node as it is. Raises ClusterError."""
    node = client.find(f"{_NODES}/{step.node}")
    if node is None:
        raise ClusterError(f"no such node in the cluster: {step.node}")
    pods = client.get(_PODS, {"fieldSelector": f"spec.nodeName={step.node}"})
    try:
        use = node_use.of_node(node, pods["items"], _held(client, step.drivers), step.ours, step.resources)
    except MarkError as error:
        raise ClusterError(f"{step.node}: {error}") from error
    return Seen(node, use, pods["items"], str(metadata(pods).get("resourceVersion", "")))


def _write(client: Client, step: MoveStep, change: Callable[[NodeUse], Optional[Object]]) -> bool:
    """Write what ``change`` makes of the node as it is, ``None`` for nothing; again if it was changed meanwhile."""
    while True:
        seen = _look(client, step)
        wanted = change(seen.use)
        if wanted is None:
            return False
        meta = {key: metadata(seen.node)[key] for key in ("uid", "resourceVersion")}
        wanted["metadata"] = {**meta, **(wanted.get("metadata") or {})}
        try:
            client.merge(f"{_NODES}/{step.node}", wanted, _MINE)
            return True
        except ApiError as error:
            if error.status != _CONFLICT:
                raise


def _labelled(use: NodeUse, labels: Labels) -> bool:
    return all(use.labels.get(name) == value for name, value in labels.items())


def _await(client: Client, step: MoveStep, missing: Callable[[Seen], str]) -> None:
    """Wait until nothing is missing. Raises ClusterError with what is, when the time is over."""
    deadline = time.monotonic() + step.timeout
    while True:
        seen = _look(client, step)
        what = missing(seen)
        left = deadline - time.monotonic()
        if not what:
            return
        if left <= 0:
            raise ClusterError(f"{step.node}: {what} (waited {step.timeout:.0f} s)")
        query = {"fieldSelector": f"spec.nodeName={step.node}", "resourceVersion": seen.version}
        began = time.monotonic()
        for event in client.watch(_PODS, query, min(left, _AGAIN)):
            if event:
                break
        # A watch that fails at once must not become a busy loop.
        if time.monotonic() - began < 0.05:
            time.sleep(0.2)


def _evict(client: Client, user: User) -> str:
    """Why a pod may not be evicted now, empty if it is on its way."""
    body: Object = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": user.name, "namespace": user.namespace},
        "deleteOptions": {"preconditions": {"uid": user.uid}},
    }
    try:
        client.create(f"/api/v1/namespaces/{user.namespace}/pods/{user.name}/eviction", body, {})
    except ApiError as error:
        # Gone, or another pod has its name by now.
        if error.status in (_GONE, _CONFLICT):
            return ""
        if error.status != 429:
            raise
        causes = [str(cause.get("message") or "") for cause in error.causes]
        return "; ".join(filter(None, causes)) or str(error)
    return ""


def _drain(client: Client, step: MoveStep) -> List[str]:
    """End the pods that use the old way; the ones that were evicted. Raises ClusterError."""
    asked: Dict[str, str] = {}

    def missing(seen: Seen) -> str:
        ending = {metadata(pod)["uid"] for pod in seen.pods if metadata(pod).get("deletionTimestamp")}
        told = []
        for user in seen.use.users:
            why = "is ending" if user.uid in ending else "has not ended"
            if user.uid not in ending and step.evict != "none" and (user.owner or step.evict == "all"):
                why = _evict(client, user) or "is ending"
                if why == "is ending":
                    asked[user.uid] = f"{user.namespace}/{user.name}"
            told.append(f"{user}: {why}")
        return "; ".join(told)

    _await(client, step, missing)
    return sorted(asked.values())


def _leave(client: Client, step: MoveStep, labels: Labels) -> bool:
    """Take labels away, and wait for the pods that they kept there to go."""

    def without(use: NodeUse) -> Optional[Object]:
        return None if _labelled(use, labels) else {"metadata": {"labels": dict(labels)}}

    changed = _write(client, step, without)
    own = [name for name, value in labels.items() if value is None and name in step.ours]

    def missing(seen: Seen) -> str:
        there = [f"{metadata(pod)['namespace']}/{metadata(pod)['name']}" for pod in seen.pods if _of(pod, own)]
        return "; ".join(
            [f"{name} has not ended" for name in there] + [f"{name} is still there" for name in seen.use.plugins]
        )

    _await(client, step, missing)
    return changed


def _of(pod: Object, labels: Sequence[str]) -> bool:
    return node_use.placed_by(pod, labels) and not node_use.ended(pod)


def off(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Cordon the node, end the pods that use the old way, and take the old way away.

    What the node was is in its annotation from the same write on. Raises ClusterError, also when the time is over.
    """

    def cordon(use: NodeUse) -> Optional[Object]:
        before = use.mark or Mark(step.to, use.unschedulable)
        added = {name: use.labels.get(name) for name in (*step.ours, *step.labels) if name not in before.labels}
        wanted = Mark(step.to, before.unschedulable, {**before.labels, **added})
        if use.mark == wanted and use.unschedulable:
            return None
        annotations = {node_use.ANNOTATION: wanted.written()}
        return {"metadata": {"annotations": annotations}, "spec": {"unschedulable": True}}

    changed = _write(client, step, cordon)
    if _switched(_look(client, step).use, step):
        return {"changed": changed, "evicted": []}
    evicted = _drain(client, step)
    left = _leave(client, step, step.labels)
    return {"changed": changed or left or bool(evicted), "evicted": evicted}


def _switched(use: NodeUse, step: MoveStep) -> bool:
    """Whether the node has the new way already, whose pods and resources are not to be taken for the old one's."""
    new = [name for name in step.ours if name not in step.labels]
    return any(use.labels.get(name) for name in new) and not any(
        use.labels.get(name) for name in step.ours if name in step.labels
    )


def on(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Bring the new way, and wait until it works. Raises ClusterError."""

    def label(use: NodeUse) -> Optional[Object]:
        if use.mark is None:
            raise ClusterError(f"{step.node}: no move is under way here (annotation {node_use.ANNOTATION})")
        return None if _labelled(use, step.labels) else {"metadata": {"labels": dict(step.labels)}}

    changed = _write(client, step, label)
    resources: Mapping[str, int] = step.shows.get("resources") or {}

    def missing(seen: Seen) -> str:
        running = any(_of(pod, list(step.labels)) and _ready(pod) for pod in seen.pods)
        has = seen.use.resources
        told = ["no pod of it is ready"] if step.labels and not running else []
        told += [
            f"{name} is {has.get(name, 0)}, not {number}"
            for name, number in resources.items()
            if has.get(name, 0) != number
        ]
        told += [f"{name} publishes no device" for name in _silent(client, step)]
        return f"{step.to} does not work yet: {', '.join(told)}" if told else ""

    _await(client, step, missing)
    return {"changed": changed, "evicted": []}


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _silent(client: Client, step: MoveStep) -> List[str]:
    """The DRA drivers that should publish devices of the node and do not."""
    drivers: Sequence[str] = step.shows.get("drivers") or ()
    kind = Api([client.get("/apis", accept=ACCEPT)]).find(_SLICE) if drivers else None
    if kind is None:
        return list(drivers)
    items = client.get(kind.path(), {"fieldSelector": f"spec.nodeName={step.node}"})["items"]
    there = {item["spec"].get("driver") for item in items if item["spec"].get("devices")}
    return [name for name in drivers if name not in there]


def done(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Uncordon the node, unless it was cordoned before, and forget the move; then remove what a plugin has left.

    Last of all, because the kubelet takes minutes to let go of it.
    """

    def end(use: NodeUse) -> Optional[Object]:
        if use.mark is None:
            return None
        spec = {} if use.mark.unschedulable else {"unschedulable": None}
        return {"metadata": {"annotations": {node_use.ANNOTATION: None}}, "spec": spec}

    changed = _write(client, step, end)
    stale = [name for name, number in _look(client, step).use.resources.items() if number == 0] if changed else []
    if stale:
        extended_resources.remove(client, {step.node: stale}, step.timeout, False, keep_used=True)
    return {"changed": changed, "evicted": []}


def back(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Put the node back as it was when its move began. Raises ClusterError."""
    use = _look(client, step).use
    if use.mark is None:
        return {"changed": False, "evicted": []}
    before = use.mark.labels
    new: Labels = {name: None for name in step.ours if use.labels.get(name) and not before.get(name)}
    if new:
        _leave(client, step, new)
    _write(client, step, lambda seen: None if _labelled(seen, before) else {"metadata": {"labels": dict(before)}})
    return {**done(client, step), "changed": True}


STEPS: Mapping[str, Callable[[Client, MoveStep], Dict[str, Any]]] = {"off": off, "on": on, "done": done, "back": back}


def predicted(client: Client, step: MoveStep, name: str) -> Dict[str, Any]:
    """Whether a step would change anything."""
    use = _look(client, step).use
    if name == "off":
        begun = use.mark is not None and use.unschedulable
        changed = not _switched(use, step) and not (begun and not use.users and _labelled(use, step.labels))
    elif name == "on":
        changed = not _labelled(use, step.labels)
    else:
        changed = use.mark is not None
    return {"changed": changed, "evicted": []}
