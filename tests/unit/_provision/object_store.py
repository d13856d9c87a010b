# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an API server does with objects, as far as applyset needs it: creating, applying, merging, listing, deleting.

Synthesised; ``tests/cluster`` has the same calls answered by a real API server.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, List
from urllib.parse import parse_qs, urlsplit

from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Reply, status

_KINDS = {
    "secrets": ("", "Secret"),
    "configmaps": ("", "ConfigMap"),
    "pods": ("", "Pod"),
    "deployments": ("apps", "Deployment"),
    "daemonsets": ("apps", "DaemonSet"),
    "nodes": ("", "Node"),
    "nicnodepolicies": ("mellanox.com", "NicNodePolicy"),
}
_CLUSTER_SCOPED = ("nodes", "nicnodepolicies")


def discovery(*groups: str) -> Dict[str, Any]:
    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    items = []
    for group in groups:
        resources = [
            {
                "resource": plural,
                "responseKind": {"kind": kind},
                "scope": "Cluster" if plural in _CLUSTER_SCOPED else "Namespaced",
                "verbs": verbs,
            }
            for plural, (of_group, kind) in _KINDS.items()
            if of_group == group
        ]
        meta = {"name": group} if group else {}
        items.append({"metadata": meta, "versions": [{"version": "v1", "resources": resources}]})
    return {"kind": "APIGroupDiscoveryList", "items": items}


class Store:
    """Objects by path. ``refuse`` has answers to writes by path, ``fail`` to those that are no dry run.

    ``seen`` are the writes that were made.
    """

    def __init__(self) -> None:
        self.objects: Dict[str, Dict[str, Any]] = {}
        self.refuse: Dict[str, Reply] = {}
        self.fail: Dict[str, Reply] = {}
        self.seen: List[str] = []
        self._number = 0
        # Members are written by several threads.
        self._lock = threading.Lock()

    def __call__(self, method: str, target: str, body: bytes) -> Reply:
        with self._lock:
            parts = urlsplit(target)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path in ("/api", "/apis"):
                return 200, {}, discovery(*([""] if parts.path == "/api" else ["apps", "mellanox.com"]))
            if method == "GET":
                return self._read(parts.path, query)
            data = json.loads(body)
            dry = "dryRun" in query or "dryRun" in data
            if parts.path in self.refuse:
                return self.refuse[parts.path]
            if parts.path in self.fail and not dry:
                return self.fail[parts.path]
            if not dry:
                self.seen.append(f"{method} {parts.path.rpartition('/')[2]}")
            answer: Callable[..., Reply] = getattr(self, f"_{method.lower()}")
            return answer(parts.path, data, query, dry)

    def _read(self, path: str, query: Dict[str, str]) -> Reply:
        if path.rpartition("/")[2] not in _KINDS:
            return (200, {}, self.objects[path]) if path in self.objects else status(404)
        items = [item for place, item in self.objects.items() if place.rpartition("/")[0] == path]
        label, _equal, value = query.get("labelSelector", "").partition("=")
        if "," in label:
            # "label,label!=value": it has one, and another one.
            label = label.partition(",")[0]
            items = [item for item in items if item["metadata"].get("labels", {}).get(label, value) != value]
        elif label:
            items = [item for item in items if item["metadata"].get("labels", {}).get(label) == value]
        return 200, {}, {"items": items}

    def _stored(self, path: str, item: Dict[str, Any], dry: bool) -> Dict[str, Any]:
        before = self.objects.get(path, {}).get("metadata", {})
        self._number += 1
        version = {"uid": before.get("uid", f"uid-{self._number}"), "resourceVersion": str(self._number)}
        item = {**item, "metadata": {**item["metadata"], **version}}
        if not dry:
            self.objects[path] = item
        return item

    def _post(self, path: str, item: Dict[str, Any], _query: Dict[str, str], dry: bool) -> Reply:
        path = f"{path}/{item['metadata']['name']}"
        return status(409) if path in self.objects else (201, {}, self._stored(path, item, dry))

    def _patch(self, path: str, item: Dict[str, Any], query: Dict[str, str], dry: bool) -> Reply:
        live = self.objects.get(path)
        if "force" in query:
            entry = {"manager": query["fieldManager"], "operation": "Apply", "apiVersion": item["apiVersion"]}
            item["metadata"]["managedFields"] = [{**entry, "fieldsV1": {}}]
            return (200 if live else 201), {}, self._stored(path, item, dry)
        if live is None:
            return status(404)
        if live["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            return status(409)
        annotations = {**live["metadata"]["annotations"], **item["metadata"]["annotations"]}
        given = {name: value for name, value in annotations.items() if value is not None}
        return 200, {}, self._stored(path, {**live, "metadata": {**live["metadata"], "annotations": given}}, dry)

    def _delete(self, path: str, options: Dict[str, Any], _query: Dict[str, str], dry: bool) -> Reply:
        live = self.objects.get(path)
        if live is None:
            return status(404)
        if any(live["metadata"][name] != value for name, value in options["preconditions"].items()):
            return status(409)
        if not dry:
            del self.objects[path]
        return 200, {}, {}
