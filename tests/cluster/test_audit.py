# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The audit on a real API server, with controllers that make pods of workloads, and with users who may only read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.modules import workload_audit_info
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import (
    ClusterSet,
    Object,
    config_map,
    reasons,
    template,
)
from ansible_collections.zerocopy.rdma.tests.cluster.provision import CHECKOUT, Playbook
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit.test_workloads import EXPECTED

_BUILT_IN = ("v1", "apps/v1", "batch/v1")
_RBAC = "rbac.authorization.k8s.io"
_READER = "audit-reader"
# kubectl would read the schemas of everything first, which a busy machine takes long to put together.
_UNCHECKED = ("--validate=false",)
# Each list has ten times the values of the one before.
_PAIRS = list(zip("abcdefgh", "bcdefghi"))
_SHARED = "rdma/hca_shared_devices_a"

Audit = Callable[..., Object]


def _definition(item: Object) -> Object:
    """A stand-in for the definition of a custom resource: its names are those of upstream, its schema takes all."""
    group, _slash, version = item["apiVersion"].partition("/")
    kind, plural = item["kind"], f"{item['kind'].lower()}s".replace("policys", "policies")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    # Without it, the API server refuses definitions in groups of Kubernetes.
    meta = {
        "name": f"{plural}.{group}",
        "labels": {"test.zerocopy.rdma/stand-in": "true"},
        "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"},
    }
    spec = {
        "group": group,
        "scope": "Cluster" if kind in audit_manifests._CLUSTER_WIDE else "Namespaced",
        "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
        "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
    }
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}


def _as_list(items: list[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _reader(name: str, rules: list[Object]) -> list[Object]:
    """A role for all namespaces, and the user of the same name who has it."""
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    subject = {"kind": "User", "name": name, "apiGroup": _RBAC}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    binding = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    return [role, {**binding, "roleRef": reference, "subjects": [subject]}]


@pytest.fixture
def workloads(cluster_set: ClusterSet) -> Iterator[ClusterSet]:
    """The workloads of the unit tests in a namespace, what is not in one, and two users who may read."""
    items = audit_manifests.objects()
    custom = {item["kind"] + item["apiVersion"]: item for item in items if item["apiVersion"] not in _BUILT_IN}
    definitions = [_definition(item) for item in custom.values()]
    cluster_set.kubectl("create", *_UNCHECKED, "-f", "-", stdin=_as_list(definitions))
    names = [f"crd/{one['metadata']['name']}" for one in definitions]
    cluster_set.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    for item in items:
        item["metadata"].pop("namespace", None)
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
    little = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}
    readers = [
        *_reader(_READER, [everything, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
        *_reader("audit-tenant", [little]),
    ]
    capacity = {"capacity": {_SHARED: "63"}, "allocatable": {_SHARED: "0"}}
    node = audit_manifests.node("audited-1")
    cluster_set.kubectl("create", *_UNCHECKED, "-f", "-", stdin=_as_list([*readers, node]))
    status = json.dumps({"status": capacity})
    cluster_set.kubectl("patch", "node", "audited-1", "--subresource=status", "--type=merge", "-p", status)
    mine, others = [items[0]], items[1:]
    # As Argo CD would, with its marks; the rest by hand.
    mine[0]["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "serving:apps/Deployment:llm/prefill"}
    options = (*_UNCHECKED, "-n", cluster_set.namespace, "-f", "-")
    cluster_set.kubectl("apply", "--server-side", "--field-manager=argocd-controller", *options, stdin=_as_list(mine))
    cluster_set.kubectl("create", *options, stdin=_as_list(others))
    for name in ("prefill", "decode"):
        made = "--for=jsonpath={.status.replicas}=1"
        cluster_set.kubectl("wait", made, f"deployment/{name}", "-n", cluster_set.namespace, "--timeout=60s")
    yield cluster_set
    kinds = "deployments,statefulsets,daemonsets,jobs,cronjobs"
    cluster_set.kubectl("delete", kinds, "--all", "-n", cluster_set.namespace, "--cascade=foreground", "--wait=false")
    cluster_set.kubectl("delete", *names)
    cluster_set.kubectl("delete", "node", "audited-1")
    for name in (_READER, "audit-tenant"):
        cluster_set.kubectl("delete", "clusterrole,clusterrolebinding", name)


@pytest.fixture
def audit(workloads: ClusterSet, control_plane: Any, run_module: Callable[..., Object]) -> Audit:
    def run(**options: Any) -> Object:
        everywhere = {"kubeconfig": str(control_plane.kubeconfig), "namespaces": [workloads.namespace]}
        result = run_module(workload_audit_info, **everywhere, **options)
        assert "workloads" in result, result
        return result

    return run


def test_what_there_is(workloads: ClusterSet, audit: Audit) -> None:
    result = audit()
    # Pods and ReplicaSets that controllers have made are not told beside what they are made of.
    found = {one["name"]: audit_manifests.codes(result, one["name"]) for one in result["workloads"]}
    assert found == EXPECTED
    owners = {one["name"]: [owner["text"] for owner in one["owners"]] for one in result["workloads"]}
    assert owners["prefill"] == ["Argo CD application serving"]
    assert owners["trainer"] == owners["deepseek"] == ["its manifest (kubectl)"]
    assert owners["decode"] == ["Helm release llm/llama", "its manifest (kubectl)"]
    cluster = {finding["code"]: finding for finding in result["cluster"]}
    assert cluster["stale"]["fields"] == {"resource": _SHARED, "nodes": ["audited-1"]}
    assert {*cluster} >= {"device_plugin", "operator_policy", "kueue_unmapped", "volcano", "pool", "health_check"}
    assert result["kubernetes"]["resource_api"] == "resource.k8s.io/v1"
    assert result["kubernetes"]["gates"]["DRAConsumableCapacity"] is True
    assert result["unseen"] == []
    assert result["changed"] is False


def test_reading_is_enough(audit: Audit) -> None:
    expected = audit()
    result = audit(impersonate_user=_READER)
    for part in ("workloads", "cluster", "kubernetes", "unseen"):
        assert result[part] == expected[part]


def test_what_a_user_may_not_read_is_told(audit: Audit, workloads: ClusterSet) -> None:
    result = audit(impersonate_user="audit-tenant")
    assert [one["name"] for one in result["workloads"]] == ["prefill", "decode"]
    unseen = {one["what"]: one["why"] for one in result["unseen"]}
    assert "nodes" in unseen
    assert f"daemonsets.apps of namespace {workloads.namespace}" in unseen
    assert all("is forbidden" in why for why in unseen.values())
    # Nothing is concluded from what was not seen; the version says what gates are on.
    assert "stale" not in {finding["code"] for finding in result["cluster"]}
    assert result["kubernetes"]["gates"]["DRAConsumableCapacity"] is True


def test_more_workloads_cost_no_more_requests(audit: Audit, workloads: ClusterSet) -> None:
    with workloads.requests() as few:
        audit()
    meta = {"namespace": workloads.namespace}
    spec = audit_manifests.named("decode")["spec"]
    # Without replicas, so that no controller makes pods of them.
    many = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**meta, "name": f"copy-{number}"},
            "spec": {**spec, "replicas": 0},
        }
        for number in range(100)
    ]
    workloads.kubectl("create", *_UNCHECKED, "-f", "-", stdin=_as_list(many))
    with workloads.requests() as more:
        result = audit()
    assert len(result["workloads"]) == len(EXPECTED) + 100
    assert {verb for verb, _path in more} <= {"get", "list"}
    lists = sorted(path for verb, path in more if verb == "list")
    assert lists == sorted(path for verb, path in few if verb == "list")
    assert len(lists) == len(set(lists))


def test_the_playbook_without_an_inventory(workloads: ClusterSet, control_plane: Any, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(CHECKOUT / "playbooks" / "audit.yml")]
    variables = {"rdma_audit_namespaces": [workloads.namespace], "rdma_kubeconfig": str(control_plane.kubeconfig)}
    done = subprocess.run(
        [*command, "--extra-vars", json.dumps(variables), "--inventory", os.devnull],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Deployment {workloads.namespace}/prefill" in done.stdout
    assert "changed=0" in done.stdout


def test_the_playbook(workloads: ClusterSet, playbook: Playbook, tmp_path: Path) -> None:
    file, page = tmp_path / "audit.json", tmp_path / "audit.html"
    written = {"rdma_audit_json": str(file), "rdma_audit_html": str(page)}
    shown = playbook.example(name="audit.yml", rdma_audit_namespaces=[workloads.namespace], **written)
    found = json.loads(file.read_text("utf-8"))
    assert [one["name"] for one in found["workloads"]] == list(EXPECTED)
    assert f"  Deployment {workloads.namespace}/prefill" in shown["Show the findings"]["msg"]
    assert all(f'data-host="{workloads.namespace}/{name}"' in page.read_text("utf-8") for name in EXPECTED)
    assert not any(result.get("changed") for result in shown.values())


def test_no_tenant_stops_the_audit_or_a_set_for_the_others(audit: Audit, workloads: ClusterSet, tmp_path: Path) -> None:
    """As a tenant, who may only make two kinds of objects in the namespace."""
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
        {"apiGroups": ["leaderworkerset.x-k8s.io"], "resources": ["leaderworkersets"], "verbs": ["create"]},
    ]
    workloads.kubectl("create", "-f", "-", stdin=_as_list(_reader("hostile-tenant", rules)))
    expected = audit()
    namespace = workloads.namespace
    first = workloads(objects=[template("h100", namespace, 1)])
    old = first["names"]["ResourceClaimTemplate"][namespace]["h100"]
    lists = ["&a [a, a, a, a, a, a, a, a, a, a]", *(f"&{name} [{', '.join([f'*{of}'] * 10)}]" for of, name in _PAIRS)]
    values = "".join(f"- {each}\n" for each in lists)
    config = f"apiVersion: config.kueue.x-k8s.io/v1beta2\ndeviceClassMappings:\n{values}"
    meta = {"name": "many", "namespace": namespace}
    aliases = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"x": config}})
    # json.dumps would end with a RecursionError.
    meta = {"name": "deep", "namespace": namespace}
    head = json.dumps({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": meta})
    deep = f'{head[:-1]}, "spec": {{"a": {"[" * 3000}{"]" * 3000}}}}}'
    places = {
        f"/api/v1/namespaces/{namespace}/configmaps": aliases,
        f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{namespace}/leaderworkersets": deep,
    }
    for path, content in places.items():
        file = tmp_path / "object.json"
        file.write_text(content, "utf-8")
        workloads.kubectl("create", "--as=hostile-tenant", f"--raw={path}", "-f", str(file))
    result = audit()
    assert [result[part] for part in ("workloads", "cluster")] == [expected[part] for part in ("workloads", "cluster")]
    unseen = {one["what"]: one["why"] for one in result["unseen"]}
    assert set(unseen) == {f"ConfigMap {namespace}/many", f"LeaderWorkerSet {namespace}/deep"}
    assert "has aliases that stand for more than 10000 values" in unseen[f"ConfigMap {namespace}/many"]
    assert "more than 100 levels deep" in unseen[f"LeaderWorkerSet {namespace}/deep"]
    # Nobody knows what that one names, so the template stays; other sets go on.
    kept = reasons(workloads(objects=[config_map("other", namespace)]))
    assert kept[old].startswith(f"may be in use: LeaderWorkerSet {namespace}/deep may name it, ")
    workloads.kubectl("delete", "leaderworkersets.leaderworkerset.x-k8s.io", "deep", "-n", namespace)
    assert reasons(workloads(objects=[config_map("other", namespace)])) == {}
    workloads.kubectl("delete", "clusterrole,clusterrolebinding", "hostile-tenant")
