# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""A node whose strategy changes, as the API server has it: read, written, and awaited."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import ForeignPlugin, plugins
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import NodeUse
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    FIELD_MANAGER,
    Client,
    again_on_conflict,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import no_node

_NODES, _PODS, _DAEMON_SETS = "/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/daemonsets"
_SLICE = GroupKind("resource.k8s.io", "ResourceSlice")
# After which what cannot be watched is looked at again.
_AGAIN = 2.0
_MINE = {"fieldManager": FIELD_MANAGER}

Labels = Mapping[str, Optional[str]]


@dataclass(frozen=True)
class MoveStep:
    """One step on one node.

    ``ours`` are the labels by which our DaemonSets find nodes, ``resources`` the site's own RDMA resources,
    ``gpu_resources`` those of its GPUs, ``drivers`` the DRA drivers whose devices count as NICs. ``labels`` are those
    that the step takes away (``None``) or gives; ``status`` is what the node shows then. ``counters`` are the resources
    that no plugin offers. ``netns_mode`` is the RDMA netns mode of the node, empty if that is not known.
    """

    node: str
    to: str = ""
    labels: Labels = field(default_factory=dict)
    ours: Sequence[str] = ()
    resources: Sequence[str] = ()
    gpu_resources: Sequence[str] = ()
    drivers: Sequence[str] = ()
    evict: str = "managed"
    status: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    netns_mode: str = ""
    timeout: float = 600


class NodeLook(NamedTuple):
    """The node, what uses it, the pods on it, and the version of their list, from which they can be watched."""

    node: Object
    use: NodeUse
    pods: List[Object]
    version: str


def _held(client: Client, api: Api, drivers: Sequence[str]) -> Dict[str, str]:
    """The driver whose devices a pod (namespace/name) holds."""
    every = cluster.held(client, api) if drivers else {}
    return {pod: name for name in drivers for pods in every.get(name, {}).values() for pod in pods}


def info(client: Client, ours: Sequence[str], drivers: Sequence[str], names: Names) -> Dict[str, NodeUse]:
    """All nodes of the cluster. Raises ClusterError."""
    on: Dict[str, List[Object]] = {}
    for pod in client.get(_PODS)["items"]:
        on.setdefault(str((pod.get("spec") or {}).get("nodeName") or ""), []).append(pod)
    held = _held(client, Api([client.get("/apis", accept=ACCEPT)]), drivers)
    found: Dict[str, NodeUse] = {}
    for node in client.get(_NODES)["items"]:
        name = metadata(node)["name"]
        found[name] = node_use.of_node(node, on.get(name, ()), held, ours, names)
    return found


def foreign(client: Client, ours: Sequence[str]) -> List[ForeignPlugin]:
    """The device plugins of others in the whole cluster. Raises ClusterError."""
    return list(plugins(client.get(_DAEMON_SETS)["items"], ours))


class MovingNode:
    """The node of a step, and all that is asked of the API server about it. Methods raise ClusterError."""

    def __init__(self, client: Client, step: MoveStep) -> None:
        self.client, self.step = client, step
        self._api = Api([client.get("/apis", accept=ACCEPT)])

    def look(self) -> NodeLook:
        """The node as it is."""
        step = self.step
        node = self.client.find(f"{_NODES}/{step.node}")
        if node is None:
            raise ClusterError(no_node(step.node))
        pods = self.client.get(_PODS, {"fieldSelector": f"spec.nodeName={step.node}"})
        held = _held(self.client, self._api, step.drivers)
        use = node_use.of_node(node, pods["items"], held, step.ours, Names(step.resources, step.gpu_resources))
        if use.broken:
            raise ClusterError("; ".join(use.broken))
        return NodeLook(node, use, pods["items"], str(metadata(pods).get("resourceVersion", "")))

    def write(self, change: Callable[[NodeUse], Optional[Object]]) -> bool:
        """Write what ``change`` makes of the node as it is, ``None`` for nothing; again if it was changed meanwhile."""

        def attempt() -> bool:
            seen = self.look()
            wanted = change(seen.use)
            if wanted is None:
                return False
            meta = {key: metadata(seen.node)[key] for key in ("uid", "resourceVersion")}
            wanted["metadata"] = {**meta, **(wanted.get("metadata") or {})}
            self.client.merge(f"{_NODES}/{self.step.node}", wanted, _MINE)
            return True

        return again_on_conflict(attempt)

    def label(self, labels: Labels) -> bool:
        """Give it labels, ``None`` for none."""
        return self.write(lambda use: None if labelled(use, labels) else {"metadata": {"labels": dict(labels)}})

    def wait(self, missing: Callable[[NodeLook], str]) -> None:
        """Wait until nothing is missing. Raises ClusterError with what is, when the time is over."""
        step = self.step
        deadline = time.monotonic() + step.timeout
        while True:
            seen = self.look()
            what = missing(seen)
            left = deadline - time.monotonic()
            if not what:
                return
            if left <= 0:
                raise ClusterError(f"{step.node}: {what} (waited {step.timeout:.0f} s)")
            query = {"fieldSelector": f"spec.nodeName={step.node}", "resourceVersion": seen.version}
            next(self.client.watch(_PODS, query, min(left, _AGAIN)), None)

    def silent(self, drivers: Sequence[str]) -> List[str]:
        """Those of these DRA drivers that publish no device of it."""
        kind = self._api.find(_SLICE) if drivers else None
        if kind is None:
            return list(drivers)
        items = self.client.get(kind.path(), {"fieldSelector": f"spec.nodeName={self.step.node}"})["items"]
        there = {item["spec"].get("driver") for item in items if item["spec"].get("devices")}
        return [name for name in drivers if name not in there]


def labelled(use: NodeUse, labels: Labels) -> bool:
    """Whether it has these labels, and none of those with ``None``."""
    return all(use.labels.get(name) == value for name, value in labels.items())
