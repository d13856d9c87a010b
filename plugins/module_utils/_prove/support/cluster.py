# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the API server has of chosen nodes for a support bundle: DRA's objects, and the logs of drivers.

Of pods, only names, images and states are taken: specifications have environments and mounts of whoever made them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.gathered import Gathered
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import pages
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.dra_version import GROUP
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError, GivenUpError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_OF_PODS
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.host_file import host_file

# In labels and images of the pods of DRA drivers: DRANET, NVIDIA's (dra-driver-nvidia-gpu, k8s-dra-driver-gpu).
_DRIVERS = ("dranet", "dra-driver")
# Of one container. More is asked for, or nothing would tell a log that was cut.
_LINES = 5_000
# Log bytes of one container that are read: the API server cuts the newest of them, so more are asked for than kept.
_READ_MOST = 1 << 24
_OF_PODS = "pods.json"
# A pod that is stuck before its containers start says so only of those that initialize it.
_STATUSES = {"initContainers": "initContainerStatuses", "containers": "containerStatuses"}

_In = TypeVar("_In")
_Answer = TypeVar("_Answer")


class _Look:
    def __init__(self, client: Client, nodes: Sequence[str], hours: int) -> None:
        self._client, self._nodes, self._hours = client, list(dict.fromkeys(nodes)), hours
        self.found = Gathered()
        self._end: Optional[GivenUpError] = None

    def all(self) -> None:
        """As much as there is, until the API server does not answer: then only that is told."""
        try:
            for part in (self._version, self._of_nodes, self._objects, self._pods):
                part()
                if self._end is not None:
                    raise self._end
        except GivenUpError as error:
            self.found.missing["everything else" if self.found.files else "everything"] = str(error)

    def _missing(self, name: str, error: ClusterError) -> None:
        if isinstance(error, GivenUpError):
            raise error
        self.found.missing[name] = str(error)

    def _asked(self, call: Callable[[], _Answer]) -> _Answer:
        """What a request returns, of several at a time: after the first that waited in vain, none is sent."""
        if self._end is not None:
            raise self._end
        try:
            return call()
        except GivenUpError as error:
            self._end = error
            raise

    def _each(
        self, call: Callable[[_In], _Answer], items: Sequence[_In]
    ) -> List[Tuple[_In, Union[_Answer, ClusterError]]]:
        """Each item with its answer, if there was one."""
        answers = self._client.map(lambda item: self._asked(lambda: call(item)), items)
        return [(item, answer) for item, answer in zip(items, answers) if not isinstance(answer, GivenUpError)]

    def _version(self) -> None:
        try:
            self.found.add_data("version.json", self._client.get("/version"))
        except ClusterError as error:
            self._missing("version.json", error)

    def _of_nodes(self) -> None:
        known: Dict[str, Any] = {}
        for node, answer in self._each(lambda name: self._client.find(f"/api/v1/nodes/{host_file(name)}"), self._nodes):
            if isinstance(answer, ClusterError) or answer is None:
                why = "no such node in the cluster" if answer is None else str(answer)
                self.found.missing[f"nodes.json ({node})"] = why
                continue
            spec, status = answer.get("spec") or {}, answer.get("status") or {}
            known[node] = {
                "labels": metadata(answer).get("labels"),
                "taints": spec.get("taints"),
                **{name: status.get(name) for name in ("allocatable", "capacity", "conditions", "nodeInfo")},
            }
        if known or self._end is None:
            self.found.add_data("nodes.json", known)

    def _objects(self) -> None:
        """DRA's objects, as far as they are about these nodes."""
        try:
            api = Api(self._client.all(lambda root: self._client.get(root, accept=ACCEPT), ["/api", "/apis"]))
        except ClusterError as error:
            self._missing("objects", error)
            return
        for kind, is_about in (
            ("ResourceSlice", self._of_slice),
            ("ResourceClaim", self._of_claim),
            ("DeviceTaintRule", self._of_rule),
        ):
            name = f"{kind.lower()}s.json"
            resource = api.find(GroupKind(GROUP, kind))
            if resource is None:
                self.found.missing[name] = f"the API server serves no {kind}"
                continue
            try:
                items = pages.read(self._client, resource.path(), None, lambda item: [item])
            except ClusterError as error:
                self._missing(name, error)
            else:
                self.found.add_data(name, [_bare(item) for item in items if is_about(item)])

    def _of_slice(self, item: Object) -> bool:
        spec = item.get("spec") or {}
        return spec.get("nodeName") in self._nodes or (spec.get("pool") or {}).get("name") in self._nodes

    def _of_claim(self, item: Object) -> bool:
        allocation = (item.get("status") or {}).get("allocation") or {}
        results = (allocation.get("devices") or {}).get("results") or []
        return any(result.get("pool") in self._nodes for result in results if isinstance(result, dict))

    def _of_rule(self, item: Object) -> bool:
        selector = (item.get("spec") or {}).get("deviceSelector") or {}
        return selector.get("pool") is None or selector.get("pool") in self._nodes

    def _pods(self) -> None:
        """The pods of drivers on these nodes, and their logs."""
        found: List[Object] = []
        for node, pods in self._each(self._drivers, self._nodes):
            if isinstance(pods, ClusterError):
                self.found.missing[f"{_OF_PODS} ({node})"] = str(pods)
            else:
                found += pods
        if found or self._end is None:
            self.found.add_data(_OF_PODS, [_state(pod) for pod in found])
        logs = [log for pod in found for log in _logs(pod)]
        for log, answer in self._each(self._log, logs):
            if isinstance(answer, ClusterError):
                self.found.missing[log["name"]] = str(answer)
            elif answer:
                self.found.add(log["name"], answer)
                told = [f"more than {_LINES} lines: older ones left out"] if answer.count("\n", 0, -1) >= _LINES else []
                told += [f"not read beyond {_READ_MOST >> 20} MiB"] if len(answer) >= _READ_MOST else []
                if told:
                    self.found.cut[log["name"]] = "; ".join(told)

    def _drivers(self, node: str) -> List[Object]:
        query = {"fieldSelector": f"spec.nodeName={node}"}
        return pages.read(self._client, "/api/v1/pods", query, lambda pod: [pod] if _is_driver(pod) else [])

    def _log(self, log: Mapping[str, str]) -> str:
        query: Dict[str, Any] = {"container": log["container"], "tailLines": _LINES + 1, "limitBytes": _READ_MOST}
        query["sinceSeconds"] = self._hours * 3600
        if log["previous"]:
            query["previous"] = "true"
        try:
            return self._client.text(log["path"], query)
        except GivenUpError as error:
            # Where a kubelet hangs there is no answer either, and the others have theirs.
            self._client.get("/version")
            raise ClusterError(str(error)) from error


def _bare(item: Object) -> Object:
    own = {name: value for name, value in metadata(item).items() if name != "managedFields"}
    return {**item, "metadata": own}


def _is_driver(pod: Object) -> bool:
    labels = metadata(pod).get("labels") or {}
    images = [str(container.get("image")) for container in (pod.get("spec") or {}).get("containers") or []]
    said = [*map(str, labels.values()), *images]
    return GROUP_OF_PODS in labels or any(word in text for word in _DRIVERS for text in said)


def _state(pod: Object) -> Dict[str, Any]:
    own, status = metadata(pod), pod.get("status") or {}
    parts = ("name", "image", "imageID", "ready", "restartCount", "state", "lastState")
    of_kinds = {
        kind: [{part: each.get(part) for part in parts} for each in status.get(name) or []]
        for kind, name in _STATUSES.items()
    }
    return {
        "name": own.get("name"),
        "namespace": own.get("namespace"),
        "node": (pod.get("spec") or {}).get("nodeName"),
        "phase": status.get("phase"),
        "conditions": status.get("conditions"),
        **of_kinds,
    }


def _logs(pod: Object) -> Iterator[Dict[str, str]]:
    """Each log of a pod: that of a container, and that of the one before it, if it was restarted."""
    own = metadata(pod)
    namespace, name = host_file(str(own.get("namespace"))), host_file(str(own.get("name")))
    known = pod.get("status") or {}
    for status in [each for name in _STATUSES.values() for each in known.get(name) or []]:
        container = str(status.get("name"))
        for previous in ("", "previous.") if status.get("restartCount") else ("",):
            yield {
                "path": f"/api/v1/namespaces/{namespace}/pods/{name}/log",
                "name": f"logs/{namespace}_{name}_{host_file(container)}.{previous}log",
                "container": container,
                "previous": previous,
            }


def gather(client: Client, nodes: Sequence[str], hours: int, most: int) -> Gathered:
    """Files of together at most ``most`` characters for each node. What cannot be had is told, and no error."""
    look = _Look(client, nodes, hours)
    look.all()
    look.found.bound(most * max(1, len(nodes)))
    return look.found
