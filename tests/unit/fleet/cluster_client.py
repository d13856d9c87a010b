# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""An API server in memory, with nodes and pods, that remembers what was written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError

Object = dict[str, Any]


def node(name: str, labels: dict[str, str] | None = None, annotation: str = "", **resources: str) -> Object:
    """``resources`` are of the domain rdma, both capacity and allocatable."""
    own = {f"rdma/{key}": value for key, value in resources.items()}
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": dict(labels or {})}
    if annotation:
        meta["annotations"] = {"zerocopy.rdma/counters": annotation}
    return {"metadata": meta, "status": {"capacity": dict(own), "allocatable": dict(own)}}


def pod(name: str, on: str, **more: Any) -> Object:
    meta = {"name": name, "namespace": "llm", "uid": f"uid-{name}"}
    return {"metadata": meta, "spec": {"nodeName": on, **more}}


def holding(name: str, on: str, resource: str) -> Object:
    """A pod that has one of an extended resource."""
    return pod(name, on, containers=[{"resources": {"limits": {resource: "1"}}}])


class Server:
    """Takes the place of the library's client. ``writes`` are method and path, in their order."""

    def __init__(self, nodes: Sequence[Object] = (), pods: Sequence[Object] = ()) -> None:
        self.lists: dict[str, list[Object]] = {"/api/v1/nodes": list(nodes), "/api/v1/pods": list(pods)}
        self.writes: list[str] = []
        self.options: list[Object] = []
        self.watched: list[str] = []
        # What happens while somebody watches.
        self.meanwhile: Callable[[], None] = lambda: None
        self.refused: dict[str, ApiError] = {}

    def get(self, path: str, query: Any = None, accept: str = "") -> Object:
        return {"items": self.lists.get(path, []), "metadata": {"resourceVersion": "7"}}

    def find(self, path: str) -> Object | None:
        place, _slash, name = path.rpartition("/")
        return next((item for item in self.lists.get(place, []) if item["metadata"]["name"] == name), None)

    def merge(self, path: str, item: Object, query: Any) -> None:
        self.writes.append(f"merge {path}")
        live = self.find(path.removesuffix("/status"))
        assert live is not None
        for part in ("labels", "annotations"):
            known = {**live["metadata"].get(part, {}), **item["metadata"].get(part, {})}
            live["metadata"][part] = {name: value for name, value in known.items() if value is not None}
        for part, values in item.get("status", {}).items():
            every = {**live["status"][part], **values}
            live["status"][part] = {name: value for name, value in every.items() if value is not None}

    def delete(self, path: str, options: Object) -> None:
        self.writes.append(f"delete {path}")
        self.options.append(options)
        if path in self.refused:
            raise self.refused[path]

    def watch(self, path: str, query: Any, seconds: float) -> Iterator[Object]:
        self.watched.append(path)
        self.meanwhile()
        yield from ({"object": item} for item in self.lists.get(re.sub(r"\?.*", "", path), []))

    def all(self, call: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [call(item) for item in items]
