# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The NVIDIA DRA driver by helm, with a chart that only says which values it got."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
from kubernetes import dynamic
from vmlab import tools

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = "dra-driver-nvidia-gpu"
HELM = tools.Tool("helm", "helm", "helm.sh/helm/v3/cmd/helm")
VALUES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: values}
data: {values: {{ .Values | toJson | quote }}}
"""

Play = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def helm() -> Path:
    """The program, built if it is not cached."""
    return tools.build(HELM)


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": NAME, "version": "0.4.1", "appVersion": "0.4.1"}
    (tmp_path / "chart" / "Chart.yaml").write_text(json.dumps(about))
    (tmp_path / "chart" / "values.yaml").write_text("image: {repository: registry.k8s.io, tag: v0.4.1}\n")
    (tmp_path / "chart" / "templates" / "values.yaml").write_text(VALUES)
    return tmp_path / "chart"


@pytest.fixture
def play(control_plane: Any, cluster: dynamic.DynamicClient, helm: Path, chart: Path, tmp_path: Path) -> Iterator[Play]:
    """Plays tasks of the role for the host gpu-1; the namespace of the chart is removed at the end."""

    def run(tasks: str, *options: str, helm: str = str(helm.parent), **own: Any) -> subprocess.CompletedProcess:
        variables = {"rdma_driver_gpu_chart": str(chart), **{f"rdma_driver_{key}": own[key] for key in own}}
        hosts = {"gpu-1": {**variables, "ansible_connection": "local"}}
        role = {"ansible.builtin.import_role": {"name": "zerocopy.rdma.rdma_driver", "tasks_from": tasks}}
        inventory, playbook = tmp_path / "hosts.yml", tmp_path / "play.yml"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
        playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [role]}]))
        return subprocess.run(
            [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), *options, str(playbook)],
            cwd=CHECKOUT,
            env={
                **os.environ,
                "PATH": f"{helm}:{Path(sys.executable).parent}:/usr/bin:/bin",
                "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
                "HELM_CACHE_HOME": str(tmp_path / "cache"),
                "HELM_CONFIG_HOME": str(tmp_path / "config"),
                "HELM_DATA_HOME": str(tmp_path / "data"),
                "K8S_AUTH_KUBECONFIG": str(control_plane.kubeconfig),
                "LC_ALL": "C.UTF-8",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    yield run
    namespaces = cluster.resources.get(api_version="v1", kind="Namespace")
    if NAME in {one.metadata.name for one in namespaces.get().items}:
        last = namespaces.delete(name=NAME).metadata.resourceVersion
        for event in namespaces.watch(name=NAME, resource_version=last, timeout=60):
            if event["type"] == "DELETED":
                break


def values(cluster: dynamic.DynamicClient) -> Dict[str, Any]:
    """What the chart got."""
    maps = cluster.resources.get(api_version="v1", kind="ConfigMap")
    found: Dict[str, Any] = json.loads(maps.get(name="values", namespace=NAME).data["values"])
    return found


def changed(done: subprocess.CompletedProcess) -> int:
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.rpartition("changed=")[2].split()[0])


def test_deployed_once_and_taken_back(cluster: dynamic.DynamicClient, play: Play) -> None:
    own = {"gpu_root": "/run/nvidia/driver", "gpu_values": {"image": {"repository": "mirror.example"}}}
    assert changed(play("gpu", "--check", **own)) == 1
    namespaces = cluster.resources.get(api_version="v1", kind="Namespace")
    assert NAME not in {one.metadata.name for one in namespaces.get().items}

    assert changed(play("gpu", **own)) == 1
    assert values(cluster) == {
        "gpuResourcesEnabledOverride": True,
        "image": {"repository": "mirror.example", "tag": "v0.4.1"},
        "kubeletPlugin": {
            "kubeletPluginsDirectoryPath": "/var/lib/kubelet/plugins",
            "kubeletRegistrarDirectoryPath": "/var/lib/kubelet/plugins_registry",
        },
        "nvidiaDriverRoot": "/run/nvidia/driver",
        "resources": {"computeDomains": {"enabled": False}},
    }
    assert changed(play("gpu", **own)) == 0
    assert changed(play("gpu", **own, kubelet_root="/data/kubelet")) == 1
    assert values(cluster)["kubeletPlugin"]["kubeletPluginsDirectoryPath"] == "/data/kubelet/plugins"

    assert changed(play("gpu_absent")) == 1
    maps = cluster.resources.get(api_version="v1", kind="ConfigMap")
    assert "values" not in {one.metadata.name for one in maps.get(namespace=NAME).items}
    assert changed(play("gpu_absent")) == 0


def test_refused_without_helm_and_beside_the_device_plugin(
    cluster: dynamic.DynamicClient, create: Callable[..., Any], play: Play, tmp_path: Path
) -> None:
    (tmp_path / "four").mkdir()
    other = tmp_path / "four" / "helm"
    other.write_text("#!/bin/sh\necho v4.3.1+g0\n")
    other.chmod(0o755)
    for directory, said in (
        ("/nowhere", "helm on the Ansible controller is missing: it must be"),
        (str(other.parent), "helm on the Ansible controller is v4.3.1+g0: it must"),
    ):
        refused = play("gpu_check", helm=directory)
        assert refused.returncode != 0
        assert said in " ".join(refused.stdout.split())

    body = node("gpu-1")
    for room in ("capacity", "allocatable"):
        body["status"][room] = {**body["status"][room], "nvidia.com/gpu": "8"}
    create(cluster, "Node", body)
    refused = play("gpu_check")
    assert refused.returncode != 0
    assert "gpu-1: rdma_driver_gpu_deploy is true, but the NVIDIA device plugin" in " ".join(refused.stdout.split())
    # The kubelet keeps it so when the plugin has gone.
    patch = {"status": {"capacity": {"nvidia.com/gpu": "0"}, "allocatable": {"nvidia.com/gpu": "0"}}}
    nodes = cluster.resources.get(api_version="v1", kind="Node")
    nodes.status.patch(name="gpu-1", body=patch, content_type="application/merge-patch+json")
    assert changed(play("gpu")) == 1
