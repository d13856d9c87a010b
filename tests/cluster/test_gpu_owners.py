# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Three that hand out NVIDIA's GPUs of one node: a device plugin, the DRA driver that this collection deploys, and the
one of the GPU Operator (its kind GPUCluster, since 26.7). Whichever is there first is seen before another one comes,
and two of them are found.

The API server, helm and what is asked of them are real. The three are played by what they leave there: resources of
the node, ResourceSlices, the custom resource, and a chart that only says which values it got.
"""

from __future__ import annotations

import copy
import itertools
import json
from functools import partial
from typing import Any, Callable, Dict, Iterator, List

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import GPU_DRIVER, SliceDevice
from ansible_collections.zerocopy.rdma.plugins.modules import resource_slice_info
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, node
from ansible_collections.zerocopy.rdma.tests.cluster.helm import HelmRole, changed, said
from ansible_collections.zerocopy.rdma.tests.cluster.test_driver_gpu import NAME, chart, play
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

# Fixtures that are defined elsewhere.
__all__ = ["chart", "play"]

# What provision plans before the chart is looked at, and refuses.
PROVISION = {"name": "zerocopy.rdma.rdma_provision", "tasks_from": "plan", "rolespec_validate": False}
PLAN = {"ansible.builtin.import_role": PROVISION}
# As HelmRole calls its host.
NODE = "gpu-1"
PLUGIN, OURS, OPERATORS = "device plugin", "DRA driver", "GPUCluster"
NAMES = {"kind": OPERATORS, "plural": "gpuclusters", "singular": "gpucluster", "listKind": "GPUClusterList"}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: Dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gpuclusters.nvidia.com"},
    "spec": {
        "group": "nvidia.com",
        "scope": "Cluster",
        "names": NAMES,
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": SCHEMA}],
    },
}
ALONE = {
    PLUGIN: "a device plugin allocates the GPUs as nvidia.com/gpu, and no DRA driver publishes them",
    OURS: "no device plugin allocates the GPUs that gpu.nvidia.com publishes",
    OPERATORS: "no device plugin allocates the GPUs that gpu.nvidia.com publishes",
}
TWICE = "gpu.nvidia.com publishes 1 device, and a device plugin offers nvidia.com/gpu: a GPU can be given to two pods"
COMING = (
    "GPUCluster gpu-cluster deploys gpu.nvidia.com, which publishes nothing here yet, and a device plugin offers"
    " nvidia.com/gpu: a GPU can be given to two pods at once"
)
BESIDE_PLUGIN = f"{NODE} (nvidia.com/gpu): rdma_driver_gpu_deploy is true, but a device plugin allocates these GPUs"
BESIDE_OPERATORS = (
    "rdma_driver_gpu_deploy is True, but NVIDIA's GPU Operator deploys this driver already (GPUCluster gpu-cluster)"
)


class GpuNode:
    """A node and what hands out its GPUs."""

    def __init__(self, cluster: dynamic.DynamicClient, fleet: Fleet, role: HelmRole) -> None:
        self._cluster, self._fleet, self._role = cluster, fleet, role
        body = node(NODE)
        body["metadata"]["labels"]["nvidia.com/gpu.present"] = "true"
        fleet.create([body])
        self._published = False

    def install(self, what: str) -> None:
        if what == PLUGIN:
            offered = {"status": {kind: {"nvidia.com/gpu": "8"} for kind in ("capacity", "allocatable")}}
            api = self._cluster.resources.get(api_version="v1", kind="Node")
            api.status.patch(name=NODE, body=offered, content_type="application/merge-patch+json")
            return
        if what == OURS:
            assert changed(self._role("chart")) == 1
        else:
            define(self._cluster)
        self.publish()

    def publish(self) -> None:
        """As the pod of a driver on the node does."""
        if not self._published:
            device = SliceDevice(GPU_DRIVER, NODE, "gpu-0", NODE, {f"{GPU_DRIVER}/type": "gpu"})
            self._fleet.create(resource_slices([device]))
            self._published = True


def definitions(cluster: dynamic.DynamicClient) -> Any:
    return cluster.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")


def define(cluster: dynamic.DynamicClient) -> None:
    """What the GPU Operator and its user leave in a cluster."""
    api = definitions(cluster)
    api.create(body=copy.deepcopy(DEFINITION))
    for event in api.watch(name=DEFINITION["metadata"]["name"], timeout=60):
        conditions = (event["raw_object"].get("status") or {}).get("conditions") or []
        if {"Established": "True"}.items() <= {one["type"]: one["status"] for one in conditions}.items():
            break
    cluster.resources.invalidate_cache()
    kind = cluster.resources.get(api_version="nvidia.com/v1alpha1", kind=OPERATORS)
    kind.create(body={"apiVersion": "nvidia.com/v1alpha1", "kind": OPERATORS, "metadata": {"name": "gpu-cluster"}})


@pytest.fixture
def gpu_node(cluster: dynamic.DynamicClient, fleet: Fleet, play: HelmRole) -> Iterator[GpuNode]:
    yield GpuNode(cluster, fleet, play)
    api = definitions(cluster)
    name = DEFINITION["metadata"]["name"]
    if name in {one.metadata.name for one in api.get().items}:
        last = api.delete(name=name).metadata.resourceVersion
        for event in api.watch(name=name, resource_version=last, timeout=60):
            if event["type"] == "DELETED":
                break
    play("chart_absent")


@pytest.fixture
def verified(
    cluster: dynamic.DynamicClient, run_module: Callable[..., Any], control_plane: Any
) -> Callable[[], List[str]]:
    """What verify says of who hands out the GPUs of the node."""

    def judged() -> List[str]:
        live = json.loads(json.dumps(cluster.resources.get(api_version="v1", kind="Node").get(name=NODE).to_dict()))
        served = {one.metadata.name for one in definitions(cluster).get().items}
        gpu_clusters: List[Any] = []
        if DEFINITION["metadata"]["name"] in served:
            kind = cluster.resources.get(api_version="nvidia.com/v1alpha1", kind=OPERATORS)
            gpu_clusters = kind.get().to_dict()["items"]
        found = {"nodes": [live], "daemon_sets": [], "gpu_clusters": gpu_clusters}
        published = run_module(resource_slice_info, kubeconfig=str(control_plane.kubeconfig))
        own = {"inventory_hostname": NODE, "group_names": ["h100"], "rdma_strategy": "dra"}
        checks = part("cluster", {NODE: own}, found=found, published=published)["checks"]
        return [f"{one['verdict']}: {one['text']}" for one in checks if one["id"] == "cluster.gpus"]

    return judged


def test_a_gpu_cluster_whose_driver_publishes_nothing_yet(
    cluster: dynamic.DynamicClient, gpu_node: GpuNode, verified: Callable[[], List[str]]
) -> None:
    gpu_node.install(PLUGIN)
    define(cluster)
    assert verified() == [f"fail: {COMING}"]
    gpu_node.publish()
    assert verified() == [f"fail: {TWICE} at once"]


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations([PLUGIN, OURS, OPERATORS], 2)))
def test_whichever_comes_second(
    gpu_node: GpuNode, play: HelmRole, verified: Callable[[], List[str]], first: str, second: str
) -> None:
    deploy = partial(play, "chart_check", first=[PLAN])
    gpu_node.install(first)
    # Before anybody deploys anything, verify says who hands out the GPUs.
    assert verified() == [f"pass: {ALONE[first]}"]
    if second == OURS:
        # The only one of the three that this collection deploys is refused.
        assert (BESIDE_PLUGIN if first == PLUGIN else BESIDE_OPERATORS) in said(deploy())
        return
    if first == OURS:
        assert changed(deploy()) == 0
    # Nobody asks us.
    gpu_node.install(second)
    if PLUGIN in (first, second):
        (check,) = verified()
        assert check.startswith(f"fail: {TWICE}")
    if first == OURS:
        told = said(deploy())
        assert (BESIDE_PLUGIN if second == PLUGIN else BESIDE_OPERATORS) in told
        assert (second == OPERATORS) == (f"helm uninstall --namespace {NAME} {NAME}" in told)
