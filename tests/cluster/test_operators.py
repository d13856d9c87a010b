# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Operators by helm, from local archives: once, not again, not over somebody else's, and away again.

The charts are stand-ins of this test, which only say which values they got and have the operator's Deployment.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
from vmlab import tools

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet
from ansible_collections.zerocopy.rdma.tests.cluster.provision import CHECKOUT
from ansible_collections.zerocopy.rdma.tests.cluster.test_driver_gpu import HELM, VALUES

Play = Callable[..., "subprocess.CompletedProcess[str]"]
# Beside the operator what its chart runs on nodes, where no kubelet of this cluster starts it.
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
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: example.org/worker:v1}]}
"""


@pytest.fixture(name="archive")
def make_archive(tmp_path: Path) -> Path:
    """A chart packed as ``helm package`` does it."""
    about = {"apiVersion": "v2", "name": "network-operator", "version": "25.10.0"}
    files = {"Chart.yaml": json.dumps(about), "templates/values.yaml": VALUES, "templates/operator.yaml": _DEPLOYMENT}
    path = tmp_path / "network-operator-25.10.0.tgz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"network-operator/{name}")
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture(name="play")
def make_play(
    control_plane: Any, archive: Path, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Play]:
    """Plays tasks of the role for a host."""
    helm = tools.build(HELM)
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"HELM_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PATH", f"{helm.parent}:{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("ANSIBLE_CONFIG", str(CHECKOUT / "ansible.cfg"))
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", str(control_plane.kubeconfig))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def run(tasks: str, *options: str, **own: Any) -> subprocess.CompletedProcess[str]:
        asked = {"network": True, "network_chart": str(archive), "network_version": "25.10.0"}
        variables = {**asked, "network_namespace": namespace, "sriov_namespace": namespace, **own}
        hosts = {"gpu-1": {f"rdma_operator_{name}": value for name, value in variables.items()}}
        role = {"ansible.builtin.import_role": {"name": "zerocopy.rdma.rdma_operator", "tasks_from": tasks}}
        inventory, playbook = tmp_path / "hosts.yml", tmp_path / "play.yml"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
        playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [role]}]))
        return subprocess.run(
            [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), *options, str(playbook)],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=False,
        )

    yield run
    command = [str(helm), "uninstall", "network-operator", "-n", namespace, "--ignore-not-found"]
    subprocess.run([*command, f"--kubeconfig={control_plane.kubeconfig}"], capture_output=True, check=True)


def changed(done: subprocess.CompletedProcess[str]) -> int:
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.rpartition("changed=")[2].split()[0])


def values(cluster_set: ClusterSet) -> Dict[str, Any]:
    where = ("get", "configmap", "values", "-n", cluster_set.namespace, "-o", "jsonpath={.data.values}")
    found: Dict[str, Any] = json.loads(cluster_set.kubectl(*where))
    return found


def test_an_operator_comes_and_goes(cluster_set: ClusterSet, play: Play) -> None:
    assert changed(play("main", "--check")) == 1
    assert cluster_set.absent("configmap", "values")
    own = {"network_values": {"operator": {"repository": "mirror.example.org"}}}
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
    said = play("main", network_namespace="elsewhere")
    assert said.returncode != 0
    assert f"(Deployment {cluster_set.namespace}/network-operator): leave the variable out" in " ".join(
        said.stdout.split()
    )
    # Teardown of other hosts leaves it.
    assert changed(play("absent", "--extra-vars=rdma_set=zerocopy-rdma-v100")) == 0
    assert changed(play("absent")) == 1
    assert cluster_set.absent("configmap", "values")


def test_a_release_of_somebody_else_is_left_alone(cluster_set: ClusterSet, play: Play, archive: Path) -> None:
    subprocess.run(
        ["helm", "install", "network-operator", str(archive), "-n", cluster_set.namespace],
        env={**os.environ, "KUBECONFIG": os.environ["K8S_AUTH_KUBECONFIG"]},
        check=True,
        capture_output=True,
    )
    said = play("main")
    assert said.returncode != 0
    assert "which this collection did not install" in " ".join(said.stdout.split())
    assert changed(play("absent")) == 0
    assert values(cluster_set) == {}


def test_helm_is_needed_only_if_an_operator_is_asked_for(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    said = play("main")
    assert "helm on the Ansible controller is missing: it must be helm 3" in " ".join(said.stdout.split())
    assert changed(play("main", network=False)) == 0
