# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The steps of a node from one strategy to another. Each can be repeated after it was interrupted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.drain import drain
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import (
    Labels,
    MoveStep,
    MovingNode,
    NodeLook,
    labelled,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import Mark, NodeUse
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import counters, extended_resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.daemon_sets import ready


def _of(pod: Object, labels: Sequence[str]) -> bool:
    return node_use.placed_by(pod, labels) and not node_use.ended(pod)


def _count(node: MovingNode, wanted: Mapping[str, int]) -> bool:
    """Give the node these resources that no plugin offers, and no others of ours."""
    if not wanted and not node.look().use.counters:
        return False
    done = counters.keep(node.client, {node.step.node: wanted}, False)
    if done["broken"]:
        raise ClusterError(done["broken"][node.step.node])
    return bool(done["changed"])


def _leave(node: MovingNode, labels: Labels) -> bool:
    """Take labels away, and wait until the pods that they kept there, and what these offered, have gone."""
    step = node.step
    changed = node.label(labels)
    own = [name for name, value in labels.items() if value is None and name in step.ours]

    def missing(seen: NodeLook) -> str:
        there = [f"{metadata(pod)['namespace']}/{metadata(pod)['name']}" for pod in seen.pods if _of(pod, own)]
        told = [f"{name} has not ended" for name in there] + [f"{name} is still there" for name in seen.use.plugins]
        # As long as any of these exists, it offers the resources.
        return "; ".join(told or [f"{name} is still offered by a device plugin" for name in seen.use.offered])

    node.wait(missing)
    return _count(node, {}) or changed


def off(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Cordon the node, end the pods that use the old way, and take the old way away.

    What the node was is in its annotation from the same write on. Raises ClusterError, also when the time is over.
    """

    def cordon(use: NodeUse) -> Optional[Object]:
        before = use.mark or Mark(step.to, use.unschedulable, counters=use.counters, netns_mode=step.netns_mode)
        added = {name: use.labels.get(name) for name in (*step.ours, *step.labels) if name not in before.labels}
        wanted = replace(before, to=step.to, labels={**before.labels, **added})
        if use.mark == wanted and use.unschedulable:
            return None
        return {"metadata": wanted.metadata(), "spec": {"unschedulable": True}}

    node = MovingNode(client, step)
    changed = node.write(cordon)
    if _switched(node.look().use, step):
        return {"changed": changed, "evicted": []}
    evicted = drain(node)
    left = _leave(node, step.labels)
    return {"changed": changed or left or bool(evicted), "evicted": evicted}


def _switched(use: NodeUse, step: MoveStep) -> bool:
    """Whether the node has the new way already, whose pods and resources are not to be taken for the old one's."""
    new = [name for name in step.ours if name not in step.labels]
    return any(use.labels.get(name) for name in new) and not any(
        use.labels.get(name) for name in step.ours if name in step.labels
    )


def on(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Bring the new way, and wait until it works. Raises ClusterError."""
    node = MovingNode(client, step)
    if node.look().use.mark is None:
        raise ClusterError(f"{step.node}: no move is under way here (annotation {node_use.ANNOTATION})")
    changed = node.label(step.labels)
    changed = _count(node, step.counters) or changed
    resources: Mapping[str, int] = step.status.get("resources") or {}

    def missing(seen: NodeLook) -> str:
        running = any(_of(pod, list(step.labels)) and ready(pod) for pod in seen.pods)
        has = seen.use.resources
        told = ["no pod of it is ready"] if step.status.get("pods") and not running else []
        told += [
            f"{name} is {has.get(name, 0)}, not {number}"
            for name, number in resources.items()
            if has.get(name, 0) != number
        ]
        told += [f"{name} publishes no device" for name in node.silent(step.status.get("drivers") or ())]
        return f"{step.to} does not work yet: {', '.join(told)}" if told else ""

    node.wait(missing)
    return {"changed": changed, "evicted": []}


def done(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Uncordon the node, unless it was cordoned before, and forget the move; then remove what a plugin has left.

    Last of all, because the kubelet takes minutes to let go of it.
    """
    node = MovingNode(client, step)

    def end(use: NodeUse) -> Optional[Object]:
        if use.mark is None:
            return None
        spec = {} if use.mark.unschedulable else {"unschedulable": None}
        return {"metadata": dict(node_use.NO_MARK), "spec": spec}

    changed = node.write(end)
    return {"changed": changed, "evicted": [], "warnings": _remove_stale(node) if changed else []}


def _remove_stale(node: MovingNode) -> List[str]:
    """Remove what a plugin has left. Failing now would put back a node that has moved, so this returns warnings."""
    step = node.step
    try:
        stale = [name for name, number in node.look().use.resources.items() if number == 0]
        if not stale:
            return []
        # The way back brings a plugin again, which may be faster than this.
        removed = extended_resources.remove(node.client, {step.node: stale}, step.timeout, False, gone=True)
    except ClusterError as error:
        return [f"{step.node}: the resources that a device plugin has left behind could not be removed: {error}"]
    return list(removed["warnings"])


def _other(mark: Mark, step: MoveStep) -> List[str]:
    """Labels and resources of a mark that are not of the plan, so that they are not put back."""
    site = Names(step.resources, step.gpu_resources)
    labels = [name for name in mark.labels if name not in step.ours and name not in step.labels]
    return [*labels, *(name for name in mark.counters if not is_rdma(name, site))]


def back(client: Client, step: MoveStep) -> Dict[str, Any]:
    """Put the node back as it was when its move began: its labels and resources of the plan, and the cordon.

    Raises ClusterError.
    """
    node = MovingNode(client, step)
    use = node.look().use
    if use.mark is None:
        return {"changed": False, "evicted": []}
    other = _other(use.mark, step)
    before = {name: value for name, value in use.mark.labels.items() if name not in other}
    new: Labels = {name: None for name in step.ours if use.labels.get(name) and not before.get(name)}
    if new:
        _leave(node, new)
    node.label(before)
    _count(node, {name: number for name, number in use.mark.counters.items() if name not in other})
    ended = done(client, step)
    told = [f"{step.node}: {name} is not put back, because it is not part of the plan" for name in other]
    return {**ended, "changed": True, "warnings": [*told, *ended["warnings"]]}


STEPS: Mapping[str, Callable[[Client, MoveStep], Dict[str, Any]]] = {"off": off, "on": on, "done": done, "back": back}


def predicted(client: Client, step: MoveStep, name: str) -> Dict[str, Any]:
    """Whether a step would change anything."""
    use = MovingNode(client, step).look().use
    if name == "off":
        begun = use.mark is not None and use.unschedulable
        changed = not _switched(use, step) and not (begun and not use.users and labelled(use, step.labels))
    elif name == "on":
        changed = not labelled(use, step.labels) or use.counters != step.counters
    else:
        changed = use.mark is not None
    return {"changed": changed, "evicted": []}
