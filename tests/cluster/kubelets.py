# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Plays the kubelets of nodes that exist only as objects, with their device plugins and DRA drivers."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from kubernetes import dynamic
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import Object
from ansible_collections.zerocopy.rdma.tests.cluster.played import Played

PLUGIN, HOST_DEVICE, DRIVER = (
    "zerocopy.rdma.node-restriction.kubernetes.io/shared-device",
    "zerocopy.rdma.node-restriction.kubernetes.io/host-device",
    "zerocopy.rdma.node-restriction.kubernetes.io/group",
)
PATCH = "application/merge-patch+json"


class PlayedKubelets(Played):
    """At work on all pods that ``selection`` finds.

    Pods that are deleted end at once; the others, once they have a node, get the status that :meth:`status` says.
    """

    def __init__(self, cluster: dynamic.DynamicClient, **selection: Any) -> None:
        super().__init__()
        self._of_pods = cluster.resources.get(api_version="v1", kind="Pod")
        self._selection = selection

    @abstractmethod
    def status(self, pod: Object) -> Optional[Object]:
        """What a pod's status becomes, ``None`` to leave it."""

    def look(self, pods: Sequence[Object]) -> Sequence[Object]:
        """What a round begins with; the pods that it is about."""
        return pods

    def round(self) -> None:
        for pod in self.look(self._of_pods.get(**self._selection).to_dict()["items"]):
            with contextlib.suppress(NotFoundError, ConflictError):
                self._serve(pod)

    def _serve(self, pod: Object) -> None:
        meta = pod["metadata"]
        place = {"name": meta["name"], "namespace": meta["namespace"]}
        if meta.get("deletionTimestamp"):
            self._of_pods.delete(**place, body={"gracePeriodSeconds": 0})
            return
        status = self.status(pod) if pod["spec"].get("nodeName") else None
        if status is not None:
            self._of_pods.status.patch(**place, body={"status": status}, content_type=PATCH)


class Kubelets(PlayedKubelets):
    """Nodes with device plugins and DRA drivers, known by the labels by which their pods find nodes.

    Synthesised: their pods become ready at once; the resource of a plugin (``plugins``, by label) is there as long as
    its pod is and then has 0 allocatable, and so is a driver's ResourceSlice, which then goes. Pods of verify fail.
    ``both`` are moments at which a node had the pods of two of them.
    """

    def __init__(
        self,
        cluster: dynamic.DynamicClient,
        nodes: Sequence[str],
        plugins: Mapping[str, str],
        slices: Callable[[str], List[Object]],
    ) -> None:
        super().__init__(cluster)
        self._nodes, self._plugins, self._slices = nodes, plugins, slices
        self._of_nodes = cluster.resources.get(api_version="v1", kind="Node")
        self._of_slices = cluster.resources.get(api_version="resource.k8s.io/v1", kind="ResourceSlice")
        self._had: Dict[str, Set[str]] = {}
        self.both: List[str] = []

    def _labels(self, pod: Object) -> Set[str]:
        return set(pod["spec"].get("nodeSelector") or {}) & {*self._plugins, DRIVER}

    def look(self, pods: Sequence[Object]) -> Sequence[Object]:
        mine = [pod for pod in pods if pod["spec"].get("nodeName") in self._nodes]
        for node in self._nodes:
            there = {label for pod in mine if pod["spec"]["nodeName"] == node for label in self._labels(pod)}
            if len(there) > 1:
                self.both.append(node)
            if there != self._had.get(node, set()):
                self._advertise(node, there)
                self._had[node] = there
        return mine

    def status(self, pod: Object) -> Optional[Object]:
        if (pod.get("status") or {}).get("phase") in ("Running", "Failed"):
            return None
        environment = {one["name"] for one in pod["spec"]["containers"][0].get("env") or []}
        if "ZEROCOPY_SERVER" in environment:
            return {"phase": "Failed"}
        return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    def _offer(self, node: str, resource: str, capacity: str, allocatable: str) -> None:
        body: Any = {"status": {"capacity": {resource: capacity}, "allocatable": {resource: allocatable}}}
        self._of_nodes.status.patch(name=node, body=body, content_type=PATCH)

    def _advertise(self, node: str, there: Set[str]) -> None:
        old = self._had.get(node, set())
        for label, resource in self._plugins.items():
            if label in there:
                self._offer(node, resource, "63", "63")
            elif label in old:
                # A real kubelet keeps the capacity for five minutes, and sets it to 0 then.
                self._offer(node, resource, "63", "0")
                self._offer(node, resource, "0", "0")
        for one in self._slices(node) if DRIVER in there ^ old else ():
            if DRIVER in there:
                self._of_slices.create(body=one)
            else:
                self._of_slices.delete(name=one["metadata"]["name"])
