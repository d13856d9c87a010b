# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The NVIDIA DRA driver by helm, with a chart that only says which values it got."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node
from ansible_collections.zerocopy.rdma.tests.cluster.helm import VALUES, HelmRole, changed, said

NAME = "dra-driver-nvidia-gpu"
# Provision makes it before the role is asked whether its chart can be installed.
PLAN = {
    "zerocopy.rdma.plan": {"parts": ["cluster"]},
    "register": "rdma_provision_plan",
    "run_once": True,
    "delegate_to": "localhost",
}


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": NAME, "version": "0.5.0", "appVersion": "0.5.0"}
    (tmp_path / "chart" / "Chart.yaml").write_text(json.dumps(about))
    (tmp_path / "chart" / "values.yaml").write_text("image: {repository: registry.k8s.io, tag: v0.5.0}\n")
    (tmp_path / "chart" / "templates" / "values.yaml").write_text(VALUES)
    return tmp_path / "chart"


@pytest.fixture
def play(control_plane: Any, cluster: dynamic.DynamicClient, chart: Path, tmp_path: Path) -> Iterator[HelmRole]:
    """The namespace of the chart is removed at the end."""
    yield HelmRole("rdma_driver", control_plane.kubeconfig, tmp_path, gpu_chart=str(chart), gpu_deploy=True)
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


def test_deployed_once_and_taken_back(cluster: dynamic.DynamicClient, play: HelmRole) -> None:
    own: Dict[str, Any] = {"gpu_root": "/run/nvidia/driver", "gpu_values": {"image": {"repository": "mirror.example"}}}
    assert changed(play("chart", "--check", **own)) == 1
    namespaces = cluster.resources.get(api_version="v1", kind="Namespace")
    assert NAME not in {one.metadata.name for one in namespaces.get().items}

    assert changed(play("chart", **own)) == 1
    assert values(cluster) == {
        "gpuResourcesEnabledOverride": True,
        "image": {"repository": "mirror.example", "tag": "v0.5.0"},
        "kubeletPlugin": {
            "kubeletPluginsDirectoryPath": "/var/lib/kubelet/plugins",
            "kubeletRegistrarDirectoryPath": "/var/lib/kubelet/plugins_registry",
        },
        "nvidiaDriverRoot": "/run/nvidia/driver",
        "resources": {"computeDomains": {"enabled": False}},
    }
    assert changed(play("chart", **own)) == 0
    assert changed(play("chart", **own, kubelet_root="/data/kubelet")) == 1
    assert values(cluster)["kubeletPlugin"]["kubeletPluginsDirectoryPath"] == "/data/kubelet/plugins"

    assert changed(play("chart_absent")) == 1
    maps = cluster.resources.get(api_version="v1", kind="ConfigMap")
    assert "values" not in {one.metadata.name for one in maps.get(namespace=NAME).items}
    assert changed(play("chart_absent")) == 0


def test_refused_without_helm_and_beside_the_device_plugin(
    cluster: dynamic.DynamicClient, create: Callable[..., Any], play: HelmRole, tmp_path: Path
) -> None:
    check = partial(play, "chart_check", first=[PLAN])
    (tmp_path / "four").mkdir()
    other = tmp_path / "four" / "helm"
    other.write_text("#!/bin/sh\necho v4.3.1+g0\n")
    other.chmod(0o755)
    for directory, text in (
        ("/nowhere", "helm on the Ansible controller is missing: it must be"),
        (str(other.parent), "helm on the Ansible controller is v4.3.1+g0: it must"),
    ):
        assert text in said(check(helm=directory))

    offered = {"nvidia.com/v100": "4", "nvidia.com/gpu.shared": "80", "example.org/gpu": "8"}
    nodes = {name: node(name) for name in ("gpu-1", "gpu-2")}
    nodes["gpu-2"]["metadata"]["labels"]["nvidia.com/gpu.present"] = "true"
    for body in nodes.values():
        for room in ("capacity", "allocatable"):
            body["status"][room] = {**body["status"][room], "nvidia.com/hostdev": "2", **offered}
        create(cluster, "Node", body)
    both = "gpu-1 (nvidia.com/gpu.shared, nvidia.com/v100), gpu-2 (nvidia.com/gpu.shared, nvidia.com/v100): rdma_driver"
    assert both in said(check())
    # The chart keeps away from the node that is not in the run.
    away = {"kubeletPlugin": {"nodeSelector": {"pool": "training"}}}
    told = said(check(gpu_values=away))
    assert "deployed. gpu-1 (nvidia.com/gpu.shared, nvidia.com/v100): rdma_driver_gpu_deploy is true, but" in told
    # The kubelet keeps it so when the plugin has gone.
    gone = dict.fromkeys(["nvidia.com/v100", "nvidia.com/gpu.shared"], "0")
    patch = {"status": {"capacity": gone, "allocatable": gone}}
    api = cluster.resources.get(api_version="v1", kind="Node")
    for name in nodes:
        api.status.patch(name=name, body=patch, content_type="application/merge-patch+json")
    own = {"rdma_gpu_resources": ["example.org/gpu"]}
    assert "gpu-1 (example.org/gpu), gpu-2" in said(check("-e", json.dumps(own)))
    assert changed(check()) == 0
    assert changed(play("chart")) == 1
