# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The workloads of tests/unit/fixtures/migrate as an API server gives them, and an API server that gives them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError

_FILES = Path(__file__).resolve().parents[1] / "fixtures" / "migrate"
NAMESPACE = "llm"
CLASS = "zerocopy-rdma-nic"
_CLUSTER_WIDE = {"Node", "NicClusterPolicy", "ClusterQueue", "ClusterServingRuntime"}

Object = dict[str, Any]


def kind_of(item: Object) -> Kind:
    group, slash, _version = item["apiVersion"].rpartition("/")
    return Kind(group if slash else "", item["kind"])


@functools.cache
def _read(file: str = "workloads.yml") -> list[Object]:
    found: list[Object] = yaml.safe_load((_FILES / file).read_text("utf-8"))
    for item in found:
        if item["kind"] not in _CLUSTER_WIDE:
            item["metadata"]["namespace"] = NAMESPACE
    return found


def objects() -> list[Object]:
    """All of them, in one namespace."""
    return copy.deepcopy(_read())


def guides() -> list[Object]:
    """Further workloads, which a rewrite changes in some way (not the DaemonSet), whole enough for their schemas."""
    return copy.deepcopy(_read("guides.yml"))


def named(name: str) -> Object:
    """The object of this name."""
    (found,) = [item for item in _read() if item["metadata"]["name"] == name]
    return copy.deepcopy(found)


def deployments(number: int) -> list[Object]:
    """This many Deployments in namespaces of their own, every other one with another resource."""
    found = []
    for index in range(number):
        item = named("decode")
        item["metadata"] |= {"name": f"decode-{index}", "namespace": f"team-{index}"}
        limits = item["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        limits["rdma/ib"] = str(index % 2)
        found.append(item)
    return found


def pod(**spec: Any) -> Object:
    """A pod with a GPU and a shared HCA that is as it should be, apart from what is given."""
    container = {
        "name": "main",
        "image": "registry.example.org/llm/vllm:v1",
        "resources": {"limits": {"rdma/ib": "1"}},
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        **spec.pop("container", {}),
    }
    meta = {"name": "pod", "namespace": NAMESPACE, **spec.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def node(name: str, version: str = "v1.36.3", runtime: str = "containerd://2.2.6", **status: Any) -> Object:
    info = {"kubeletVersion": version, "containerRuntimeVersion": runtime}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"nodeInfo": info, **status}}


class Server:
    """An API server in the forms of apidiscovery.k8s.io/v2 and of lists with pages. Remembers what was asked."""

    def __init__(self, items: Sequence[Object], release: str = "v1.36.3", metrics: str | None = None) -> None:
        self._items: dict[str, list[Object]] = {}
        self._release, self._metrics = release, metrics
        self._groups: dict[str, dict[str, list[Object]]] = {"resource.k8s.io": {"v1": []}}
        self.refused: dict[str, Exception] = {}
        self.asked: list[str] = []
        for item in items:
            self._add(item)

    def _add(self, item: Object) -> None:
        group, slash, version = item["apiVersion"].rpartition("/")
        group = group if slash else ""
        plural = item["kind"].lower() + "s"
        path = f"/apis/{group}/{version}/{plural}" if group else f"/api/v1/{plural}"
        if path not in self._items:
            self._items[path] = []
            entry = {
                "resource": plural,
                "responseKind": {"kind": item["kind"]},
                "scope": "Cluster" if item["kind"] in _CLUSTER_WIDE else "Namespaced",
                "verbs": ["get", "list"],
            }
            self._groups.setdefault(group, {}).setdefault(version, []).append(entry)
        self._items[path].append({k: v for k, v in item.items() if k not in ("apiVersion", "kind")})

    def _discovery(self, core: bool) -> Object:
        groups = {name: versions for name, versions in self._groups.items() if (name == "") == core}
        items = [
            {"metadata": {"name": name}, "versions": [{"version": v, "resources": r} for v, r in versions.items()]}
            for name, versions in groups.items()
        ]
        return {"kind": "APIGroupDiscoveryList", "items": items}

    def get(self, path: str, query: Any = None, accept: str = "") -> Object:
        if path == "/version":
            return {"gitVersion": self._release}
        if path in ("/api", "/apis"):
            return self._discovery(path == "/api")
        self.asked.append(path + (f"?{urlencode(query)}" if query else ""))
        if path in self.refused:
            raise self.refused[path]
        plain, _slash, namespace = path.partition("/namespaces/")
        name, _slash, plural = namespace.partition("/")
        items = self._items[f"{plain}/{plural}" if namespace else path]
        if namespace:
            items = [item for item in items if item["metadata"].get("namespace") == name]
        start, limit = int((query or {}).get("continue", 0)), int((query or {}).get("limit", 10**6))
        rest = {"continue": str(start + limit)} if start + limit < len(items) else {}
        return {"items": items[start : start + limit], "metadata": rest}

    def text(self, path: str, query: Any = None) -> str:
        assert path == "/metrics"
        if self._metrics is None:
            raise ApiError(403, {"message": "forbidden"})
        return self._metrics

    def map(self, call: Any, items: Sequence[Any]) -> list[Any]:
        def caught(item: Any) -> Any:
            try:
                return call(item)
            except ClusterError as error:
                return error

        return [caught(item) for item in items]


def audited(items: Sequence[Object], server: Server | None = None, **request: Any) -> Any:
    """The result of the module for a cluster with these objects."""
    client: Any = server or Server(items)
    return read.audit(client, read.AuditRequest(CLASS, **request))


def codes(result: Any, name: str) -> list[str]:
    """The codes that were found for a workload, the worst first, each as often as it was found."""
    (found,) = [workload for workload in result["workloads"] if workload["name"] == name]
    return [finding["code"] for finding in found["findings"]]
