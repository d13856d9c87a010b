# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Operators by helm, from local archives: once, not again, not over somebody else's, and away again.

The SR-IOV operator's chart is its own (v1.6.0). The other is a stand-in, which only says which values it got and has
the operator's Deployment.
"""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
import yaml
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet
from ansible_collections.zerocopy.rdma.tests.cluster.helm import VALUES, HelmRole, changed, said
from ansible_collections.zerocopy.rdma.tests.cluster.test_sriov_operator import source

RELEASES = ("network-operator", "sriov-network-operator")

# Beside the operator what its chart runs on nodes, where no kubelet starts it: Helm itself would wait for it.
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {app.kubernetes.io/name: network-operator}
spec:
  replicas: 0
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: manager, image: example.org/operator:v1}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: "{{ .Release.Name }}-worker"}
spec:
  selector: {matchLabels: {app: worker}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: example.org/worker:v1}]}
"""
# Nothing runs it here, so an upgrade with it does not end.
_HOOK = """\
{{ if .Values.hook }}
apiVersion: batch/v1
kind: Job
metadata:
  name: hook
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: hook, image: example.org/hook:v1}]
{{ end }}
"""


@pytest.fixture(name="archive")
def make_archive(tmp_path: Path) -> Path:
    """A chart packed as ``helm package`` does it."""
    about = {"apiVersion": "v2", "name": "network-operator", "version": "25.10.0"}
    templates = {"values": VALUES, "operator": _DEPLOYMENT, "hook": _HOOK}
    files = {"Chart.yaml": json.dumps(about), **{f"templates/{name}.yaml": text for name, text in templates.items()}}
    path = tmp_path / "network-operator-25.10.0.tgz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"network-operator/{name}")
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture(name="play")
def make_play(control_plane: Any, archive: Path, namespace: str, tmp_path: Path) -> Iterator[HelmRole]:
    """The releases are gone at the end."""
    own: Dict[str, Any] = {"network": True, "network_chart": str(archive), "network_version": "25.10.0"}
    places = {"network_namespace": namespace, "sriov_namespace": namespace}
    play = HelmRole("rdma_operator", control_plane.kubeconfig, tmp_path, **own, **places)
    yield play
    # Hooks are pods, which nothing runs here.
    play.helm("uninstall", *RELEASES, "-n", namespace, "--ignore-not-found", "--no-hooks")


def values(cluster_set: ClusterSet) -> Dict[str, Any]:
    where = ("get", "configmap", "values", "-n", cluster_set.namespace, "-o", "jsonpath={.data.values}")
    found: Dict[str, Any] = json.loads(cluster_set.kubectl(*where))
    return found


def test_an_operator_comes_and_goes(
    cluster_set: ClusterSet, cluster: dynamic.DynamicClient, create: Callable[..., Any], play: HelmRole
) -> None:
    create(cluster, "Node", node("gpu-1"))
    assert changed(play("main", "--check")) == 1
    assert cluster_set.absent("configmap", "values")
    own: Dict[str, Any] = {"network_values": {"operator": {"repository": "mirror.example.org"}}}
    assert changed(play("main", **own)) == 1
    assert values(cluster_set) == {
        # The cluster has no Node Feature Discovery.
        "nfd": {"enabled": True},
        "deployCR": False,
        "operator": {"repository": "mirror.example.org"},
        "zerocopyRdma": "zerocopy-rdma",
    }
    assert changed(play("main", **own)) == 0
    # A second one, elsewhere, is refused before anything changes.
    there = f"(Deployment {cluster_set.namespace}/network-operator): leave the variable out"
    assert there in said(play("main", network_namespace="elsewhere"))
    # Teardown of other hosts leaves it.
    assert changed(play("absent", "--extra-vars=rdma_set=zerocopy-rdma-v100")) == 0
    assert changed(play("absent")) == 1
    assert cluster_set.absent("configmap", "values")


def test_a_release_of_somebody_else_is_left_alone(cluster_set: ClusterSet, play: HelmRole, archive: Path) -> None:
    play.helm("install", "network-operator", str(archive), "-n", cluster_set.namespace)
    assert "which this collection did not install" in said(play("main"))
    assert changed(play("absent")) == 0
    assert values(cluster_set) == {}


def test_what_a_killed_run_has_left_is_ours(cluster_set: ClusterSet, play: HelmRole, archive: Path) -> None:
    assert changed(play("main")) == 1
    place = ("-n", cluster_set.namespace)
    upgrade = ("upgrade", "network-operator", str(archive), *place, "--reuse-values", "--set", "hook=true")
    play.killed(lambda: not cluster_set.absent("job", "hook"), *upgrade)
    told = f"Release {cluster_set.namespace}/network-operator is pending-upgrade: another run is changing it"
    for options in ((), ("--check",)):
        refused = said(play("main", *options))
        assert told in refused
        assert f"run helm rollback network-operator -n {cluster_set.namespace} first" in refused
        assert "did not install" not in refused
    play.helm("rollback", "network-operator", *place)
    assert changed(play("main")) == 0
    play.killed(lambda: not cluster_set.absent("job", "hook"), *upgrade)
    # Teardown does not leave it behind.
    assert changed(play("absent")) == 1
    assert cluster_set.absent("configmap", "values")


def test_the_chart_of_the_sriov_operator(cluster_set: ClusterSet, play: HelmRole, tmp_path: Path) -> None:
    chart = source(tmp_path) / "deployment" / "sriov-network-operator-chart"
    # Nothing runs the operator here.
    own: Dict[str, Any] = {"network": False, "sriov": True, "sriov_chart": str(chart), "rdma_wait": False}
    definitions = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in (chart / "crds").glob("*.yaml")]
    try:
        assert changed(play("main", **own)) == 1
        found = cluster_set.kubectl("get", "sriovoperatorconfigs", "-n", cluster_set.namespace, "-o", "name")
        assert found.split() == ["sriovoperatorconfig.sriovnetwork.openshift.io/default"]
        assert changed(play("main", **own)) == 0
        there = f"(Deployment {cluster_set.namespace}/sriov-network-operator): leave the variable out"
        assert there in said(play("main", **own, sriov_namespace="elsewhere"))
    finally:
        # Helm leaves definitions where they are.
        names = [definition["metadata"]["name"] for definition in definitions]
        cluster_set.kubectl("delete", "customresourcedefinitions", "--ignore-not-found", *names)


def test_helm_is_needed_only_if_an_operator_is_asked_for(play: HelmRole) -> None:
    missing = "helm on the Ansible controller is missing: it must be helm 3"
    assert missing in said(play("main", helm="/nowhere"))
    assert changed(play("main", helm="/nowhere", network=False)) == 0
