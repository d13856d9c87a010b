# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Plays the kubelets of nodes that exist only as objects, with their device plugins and DRA drivers.

Synthesised: pods of DaemonSets become ready at once, pods that are deleted end at once, a plugin's resource is there
as long as its pod is and then has 0 allocatable, and so is a driver's ResourceSlice, which then goes.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Type

from kubernetes import dynamic
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import Object

PLUGIN, DRIVER = "zerocopy.rdma/shared-device", "zerocopy.rdma/group"


class Kubelets:
    """At work as long as its ``with`` block. ``both`` are moments at which a node had the pods of two strategies."""

    def __init__(
        self, cluster: dynamic.DynamicClient, nodes: Sequence[str], resource: str, slices: Callable[[str], List[Object]]
    ) -> None:
        self._nodes, self._resource, self._slices = nodes, resource, slices
        find = cluster.resources.get
        self._of_pods, self._of_nodes = find(api_version="v1", kind="Pod"), find(api_version="v1", kind="Node")
        self._of_slices = find(api_version="resource.k8s.io/v1", kind="ResourceSlice")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._had: Dict[str, Set[str]] = {}
        self.both: List[str] = []
        self.failure: Optional[BaseException] = None

    def __enter__(self) -> Kubelets:
        self._thread.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    def _work(self) -> None:
        try:
            while not self._stop.wait(0.3):
                for node in self._nodes:
                    self._look_after(node)
        except Exception as error:
            self.failure = error

    def _look_after(self, node: str) -> None:
        there: Set[str] = set()
        for pod in self._of_pods.get(field_selector=f"spec.nodeName={node}").to_dict()["items"]:
            labels = set(pod["spec"].get("nodeSelector") or {}) & {PLUGIN, DRIVER}
            there |= labels
            try:
                self._serve(pod, bool(labels))
            except (NotFoundError, ConflictError):
                continue
        if len(there) > 1:
            self.both.append(node)
        if there != self._had.get(node, set()):
            self._advertise(node, there)
            self._had[node] = there

    def _serve(self, pod: Object, ready: bool) -> None:
        meta = pod["metadata"]
        place = {"name": meta["name"], "namespace": meta["namespace"]}
        if meta.get("deletionTimestamp"):
            self._of_pods.delete(**place, body={"gracePeriodSeconds": 0})
        elif (pod.get("status") or {}).get("phase") != "Running":
            conditions = [{"type": "Ready", "status": "True"}]
            status = {"status": {"phase": "Running", "conditions": conditions}}
            self._of_pods.status.patch(**place, body=status, content_type="application/merge-patch+json")

    def _advertise(self, node: str, there: Set[str]) -> None:
        old = self._had.get(node, set())
        if PLUGIN in there | old:
            number = "63" if PLUGIN in there else "0"
            # A real one has the capacity for five minutes more.
            for capacity in ["63", number] if PLUGIN not in there else [number]:
                body: Any = {
                    "status": {"capacity": {self._resource: capacity}, "allocatable": {self._resource: number}}
                }
                self._of_nodes.status.patch(name=node, body=body, content_type="application/merge-patch+json")
        for one in self._slices(node) if DRIVER in there ^ old else ():
            if DRIVER in there:
                self._of_slices.create(body=one)
            else:
                self._of_slices.delete(name=one["metadata"]["name"])
