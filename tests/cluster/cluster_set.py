# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A set of objects on a real API server, as a test uses it; what there is afterwards is asked of kubectl."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest
from vmlab.progress import await_condition

from ansible_collections.zerocopy.rdma.plugins.modules import applyset

Object = Dict[str, Any]
_NAMESPACED = "configmaps,secrets,serviceaccounts,daemonsets,deployments,resourceclaims,resourceclaimtemplates"
_CLUSTER = "customresourcedefinitions,deviceclasses,clusterroles,clusterrolebindings"


class ClusterSet:
    """Calls the module for a set in a fresh namespace."""

    def __init__(self, run_module: Callable[..., Object], plane: Any, namespace: str) -> None:
        """``plane`` is a ``lifecycle.ControlPlane`` of tests/lab."""
        self._run_module = run_module
        self._kubeconfig = str(plane.kubeconfig)
        self._kubectl = str(plane.kubectl)
        self._audit: Optional[Path] = plane.audit
        self.namespace = namespace

    def __call__(self, **options: Any) -> Object:
        """The result of the module, also when it fails."""
        full = {"name": "set", "namespace": self.namespace, "kubeconfig": self._kubeconfig, **options}
        result = self._run_module(applyset, **full)
        result.pop("invocation", None)
        return result

    def kubectl(self, *arguments: str, stdin: Any = None, check: bool = True) -> str:
        """Output of kubectl; standard error as well when it fails and ``check`` is off."""
        done = subprocess.run(
            [self._kubectl, "--kubeconfig", self._kubeconfig, *arguments],
            input=None if stdin is None else json.dumps(stdin),
            env={**os.environ, "KUBECTL_APPLYSET": "true"},
            capture_output=True,
            text=True,
            check=False,
        )
        if not check:
            return done.stdout + done.stderr
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def get(self, kind: str, name: str) -> Object:
        """An object of the namespace, or a cluster-scoped one."""
        found: Object = json.loads(self.kubectl("get", kind, name, "-n", self.namespace, "-o", "json"))
        return found

    def absent(self, kind: str, name: str) -> bool:
        """Whether there is no such object."""
        return self.kubectl("get", kind, name, "-n", self.namespace, "--ignore-not-found") == ""

    def patch(self, kind: str, name: str, change: Object, manager: str = "somebody", subresource: str = "") -> None:
        """Change an object as another manager would."""
        options = [f"--subresource={subresource}"] if subresource else []
        flags = ["--type=merge", f"--field-manager={manager}", "-p", json.dumps(change)]
        self.kubectl("patch", kind, name, "-n", self.namespace, *options, *flags)

    def versions(self) -> Dict[str, str]:
        """resourceVersion of everything in the namespace, and of what has none."""
        self.settle(self.namespace)
        items = [*self._items(_NAMESPACED, "-n", self.namespace), *self._items(_CLUSTER)]
        return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in items}

    def settle(self, namespace: str) -> None:
        """Wait until controllers have written the status of what was applied there."""
        for kind in ("daemonsets", "deployments"):
            for item in self._items(kind, "-n", namespace):
                seen = f"--for=jsonpath={{.status.observedGeneration}}={item['metadata']['generation']}"
                self.kubectl("wait", kind, item["metadata"]["name"], "-n", namespace, seen, "--timeout=30s")

    def members(self) -> List[str]:
        """Kind and name of all members of the set, wherever they are."""
        parent = self.get("secret", "set")["metadata"]["labels"]["applyset.kubernetes.io/id"]
        selector = f"applyset.kubernetes.io/part-of={parent}"
        return self.kubectl("get", f"{_NAMESPACED},{_CLUSTER}", "-A", "-l", selector, "-o", "name").split()

    @contextlib.contextmanager
    def denying(self, resource: str, expression: str, probe: Object) -> Iterator[None]:
        """Admission rejects objects of a resource (``pods``) for which a CEL expression is false, as for ``probe``."""
        name, api = f"{self.namespace}-denying", "admissionregistration.k8s.io/v1"
        plural, _dot, group = resource.partition(".")
        rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [plural]}
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression, "message": "no supported NIC is selected"}],
        }
        policy = {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
        binding: Object = {**policy, "kind": "ValidatingAdmissionPolicyBinding"}
        binding["spec"] = {"policyName": name, "validationActions": ["Deny"]}
        for item in (policy, binding):
            self.kubectl("create", "-f", "-", stdin=item)
        try:
            await_condition("the denial", lambda: "denied request" in self._tried(probe), seconds=60)
            yield
        finally:
            for item in (binding, policy):
                self.kubectl("delete", str(item["kind"]), name)
        await_condition("the end of the denial", lambda: "denied request" not in self._tried(probe), seconds=60)

    def _tried(self, item: Object) -> str:
        """What the API server says of an object, without making it."""
        flags = ["--server-side", "--force-conflicts", "--dry-run=server"]
        return self.kubectl("apply", *flags, "-f", "-", stdin=item, check=False)

    def _items(self, *arguments: str) -> List[Object]:
        found: List[Object] = json.loads(self.kubectl("get", *arguments, "-o", "json"))["items"]
        return found

    def requests(self) -> AbstractContextManager[List[Tuple[str, str]]]:
        """Verb and path of the requests that the module sends meanwhile, from the API server's audit log.

        Not the questions for rights: they are posted, and change nothing.
        """
        return self._logged(
            lambda event: (
                event["userAgent"].startswith("OpenAPI-Generator")
                and not event["requestURI"].endswith("/selfsubjectaccessreviews")
            ),
            lambda event: (event["verb"], event["requestURI"]),
        )

    def logged(self) -> AbstractContextManager[List[Object]]:
        """What the API server's audit log has of requests that have ended meanwhile."""
        return self._logged(lambda _event: True, lambda event: event)

    @contextlib.contextmanager
    def _logged(self, wanted: Callable[[Object], bool], read: Callable[[Object], Any]) -> Iterator[List[Any]]:
        found: List[Any] = []
        # Earlier requests, such as those of fixtures, may not be in the log yet.
        self._complete(self._log().stat().st_size)
        start = self._log().stat().st_size
        yield found
        lines = self._complete(start)
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        ended = [event for event in events if event.get("stage") == "ResponseComplete"]
        found += [read(event) for event in ended if wanted(event)]

    def _log(self) -> Path:
        assert self._audit is not None, "this needs a control plane with an audit log"
        return self._audit

    def _complete(self, start: int) -> List[str]:
        """The lines of the audit log from there on, with all requests that have ended: a later one is in it."""
        mark = f"mark-{time.monotonic_ns()}"
        self.kubectl("get", "configmap", mark, "-n", self.namespace, "--ignore-not-found")
        deadline = time.monotonic() + 30
        lines: List[str] = []
        while not any(mark in line for line in lines):
            assert time.monotonic() < deadline, f"{self._audit} does not have the request for {mark}"
            time.sleep(0.05)
            with self._log().open(encoding="utf-8") as log:
                log.seek(start)
                lines = log.readlines()
        return lines


@pytest.fixture(name="cluster_set")
def make_cluster_set(run_module: Callable[..., Object], control_plane: Any, namespace: str) -> ClusterSet:
    """A set in a fresh namespace of the control plane that serves resource.k8s.io/v1."""
    return ClusterSet(run_module, control_plane, namespace)


def actions(result: Object) -> Dict[str, str]:
    """What was done to each object, by kind, namespace and name."""
    assert "objects" in result, result.get("msg")
    found = {}
    for one in result["objects"]:
        place = f"{one['namespace']}/" if one["namespace"] else ""
        found[f"{one['kind']} {place}{one['name']}"] = one["action"]
    return found


def patched(asked: Sequence[Tuple[str, str]]) -> List[str]:
    """Names of the objects that requests have patched, in their order."""
    real = [uri for verb, uri in asked if verb == "patch" and "dryRun=" not in uri]
    return [uri.partition("?")[0].rpartition("/")[2] for uri in real]


def reasons(result: Object) -> Dict[str, str]:
    """Why objects were kept, by name."""
    assert "objects" in result, result.get("msg")
    return {one["name"]: one["reason"] for one in result["objects"] if one["action"] == "kept"}


def config_map(name: str, namespace: str) -> Object:
    meta = {"name": name, "namespace": namespace, "labels": {"app": "x"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"key": "value"}}


def device_class(name: str) -> Object:
    selectors = [{"cel": {"expression": 'device.driver == "test.example.org"'}}]
    api = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    return {**api, "metadata": {"name": name}, "spec": {"selectors": selectors}}


def claim_spec(class_name: str, count: int) -> Object:
    return {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": class_name, "count": count}}]}}


def template(name: str, namespace: str, count: int, class_name: str = "rdma") -> Object:
    meta = {"name": name, "namespace": namespace}
    api = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    return {**api, "metadata": meta, "spec": {"spec": claim_spec(class_name, count)}}


def claim(name: str, namespace: str, count: int, class_name: str = "rdma") -> Object:
    meta = {"name": name, "namespace": namespace}
    api = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    return {**api, "metadata": meta, "spec": claim_spec(class_name, count)}


def pod_spec(**references: str) -> Object:
    """A pod that asks for a claim by one of the fields that can name it."""
    container: Object = {"name": "main", "image": "example.org/none:v1"}
    if references:
        container["resources"] = {"claims": [{"name": "nic"}]}
        return {"containers": [container], "resourceClaims": [{"name": "nic", **references}]}
    return {"containers": [container]}


def workload(kind: str, name: str, namespace: str, pod: Object, **spec: Any) -> Object:
    """A Deployment or DaemonSet of this pod."""
    labels = {"app": name}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    pods = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {**spec, **pods}}


def objects(namespace: str) -> List[Object]:
    """A set of several kinds with a DaemonSet such as DRANET's: defaults, ports, mounts, tolerations."""
    container = {
        "name": "driver",
        "image": "example.org/driver:v1",
        "args": ["--v=4", "--hostname-override=$(NODE_NAME)"],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "ports": [{"name": "metrics", "containerPort": 9177}],
        "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 9177}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "nri", "mountPath": "/var/run/nri"}],
    }
    pod = {
        "hostNetwork": True,
        "serviceAccountName": "driver",
        "nodeSelector": {"test.zerocopy.rdma/nowhere": "true"},
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "initContainers": [{"name": "init", "image": "example.org/init:v1"}],
        "containers": [container, {"name": "second", "image": "example.org/second:v1"}],
        "volumes": [{"name": "nri", "hostPath": {"path": "/var/run/nri", "type": "Directory"}}],
    }
    role = f"{namespace}-driver"
    rule = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"], "verbs": ["list", "watch"]}
    rbac = "rbac.authorization.k8s.io"
    return [
        config_map("settings", namespace),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "driver", "namespace": namespace}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "driver", "namespace": namespace}],
        },
        workload("DaemonSet", "driver", namespace, pod, updateStrategy={"rollingUpdate": {"maxUnavailable": 2}}),
        device_class(f"{namespace}-rdma"),
        template("h100", namespace, 1, f"{namespace}-rdma"),
        claim("prefill", namespace, 1, f"{namespace}-rdma"),
    ]


DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "racks.test.zerocopy.rdma"},
    "spec": {
        "group": "test.zerocopy.rdma",
        "scope": "Namespaced",
        "names": {"kind": "Rack", "plural": "racks", "singular": "rack", "listKind": "RackList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def hold(cluster_set: ClusterSet, name: str) -> Callable[[], None]:
    """Have the pod worker-0 hold a device of DRANET on a node, by a claim. Returns what ends that."""
    request = {"name": "nic", "exactly": {"deviceClassName": "held"}}
    claim: Dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "held", "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    # The controller of claims takes back what is reserved for a pod that is not there.
    pod: Dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "worker-0", "namespace": "default"},
        "spec": {
            "nodeName": name,
            "containers": [{"name": "main", "image": "example.org/none:v1"}],
            "resourceClaims": [{"name": "nic", "resourceClaimName": "held"}],
        },
    }
    cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": [claim, pod]})
    uid = cluster_set.kubectl("get", "pod", "worker-0", "--namespace=default", "--output=jsonpath={.metadata.uid}")
    device = {"request": "nic", "driver": "dra.net", "pool": name, "device": "eth1"}
    user = {"resource": "pods", "name": "worker-0", "uid": uid}
    status = {"allocation": {"devices": {"results": [device]}}, "reservedFor": [user]}
    patch = ("--subresource=status", "--type=merge", "--patch", json.dumps({"status": status}))
    cluster_set.kubectl("patch", "resourceclaim", "held", "--namespace=default", *patch)

    def free() -> None:
        cluster_set.kubectl("delete", "pod", "worker-0", "--namespace=default", "--force", "--grace-period=0")
        freed = ("--subresource=status", "--type=merge", "--patch", json.dumps({"status": None}))
        cluster_set.kubectl("patch", "resourceclaim", "held", "--namespace=default", *freed)
        cluster_set.kubectl("delete", "resourceclaim", "held", "--namespace=default")

    return free
