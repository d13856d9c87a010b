# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""An API server with one node and its pods, as far as steps of a move need it.

Synthesised; ``tests/cluster`` has the same calls answered by a real API server.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Optional
from urllib.parse import parse_qs, urlsplit

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import DIGEST
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, status

NODE, RESOURCE = "n1", "rdma/a"
Item = Dict[str, Any]


def pod(name: str, owner: str = "", rdma: bool = True, selector: Optional[Dict[str, str]] = None, **more: Any) -> Item:
    """``owner`` is the kind of what controls the pod; ``more`` are its phase, its image, and further metadata."""
    image, phase, ready = more.pop("image", "none"), more.pop("phase", "Running"), more.pop("ready", False)
    owners = [{"kind": owner, "apiVersion": "apps/v1", "name": f"of-{name}", "controller": True}] if owner else []
    limits = {"limits": {RESOURCE: "1"}} if rdma else {}
    return {
        "metadata": {"namespace": "llm", "name": name, "uid": f"uid-{name}", "ownerReferences": owners, **more},
        "spec": {
            "nodeName": NODE,
            "nodeSelector": selector or {},
            "containers": [{"name": "c", "image": image, "resources": limits}],
        },
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def _merged(live: Item, given: Item) -> Item:
    found = {**live, **given}
    for name, value in given.items():
        if isinstance(value, dict):
            found[name] = _merged(live.get(name) or {}, value)
    return {name: value for name, value in found.items() if value is not None}


class PlayedNode:
    """``refuse`` has by pod the answers to its evictions, one after another; any other eviction ends the pod at once.

    ``evictions`` are what was sent, ``written`` the changes of the node.
    """

    def __init__(self, pods: Iterable[Item] = (), labels: Optional[Dict[str, str]] = None, offered: str = "0") -> None:
        self.pods = {item["metadata"]["name"]: item for item in pods}
        lists = {"capacity": {RESOURCE: offered}, "allocatable": {RESOURCE: offered}}
        meta = {"name": NODE, "uid": "u", "resourceVersion": "1", "labels": labels or {}, "annotations": {}}
        self.node: Item = {"metadata": meta, "spec": {}, "status": lists}
        self.refuse: Dict[str, List[Reply]] = {}
        self.evictions: List[Item] = []
        self.written: List[Item] = []

    @property
    def labels(self) -> Dict[str, str]:
        """All but the digest of a mark."""
        found: Dict[str, str] = self.node["metadata"]["labels"]
        return {name: value for name, value in found.items() if name != DIGEST}

    def __call__(self, method: str, target: str, body: bytes) -> Reply:
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        if method == "GET":
            return self._read(parts.path, query)
        data = json.loads(body)
        if method == "POST":
            return self._evict(parts.path, data)
        if parts.path.partition("/status")[0] != f"/api/v1/nodes/{NODE}":
            return status(404)
        self.written.append(data)
        self.node = _merged(self.node, data)
        return 200, {}, self.node

    def _read(self, path: str, query: Dict[str, List[str]]) -> Reply:
        if "watch" in query:
            return 200, {}, b'{"type": "MODIFIED"}\n'
        answers: Dict[str, Item] = {
            "/apis": {"kind": "APIGroupDiscoveryList", "items": []},
            "/api/v1/pods": {"metadata": {"resourceVersion": "1"}, "items": list(self.pods.values())},
            "/api/v1/nodes": {"items": [self.node]},
            f"/api/v1/nodes/{NODE}": self.node,
        }
        return (200, {}, answers[path]) if path in answers else status(404)

    def _evict(self, path: str, eviction: Item) -> Reply:
        name = eviction["metadata"]["name"]
        if path != f"/api/v1/namespaces/{eviction['metadata']['namespace']}/pods/{name}/eviction":
            return status(404)
        self.evictions.append(eviction)
        refused = self.refuse.get(name)
        if refused:
            return refused.pop(0)
        del self.pods[name]
        return 201, {}, {"kind": "Status"}
