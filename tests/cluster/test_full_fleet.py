# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Recorded nodes until nothing is left of them: GPUs as NVIDIA's DRA driver publishes and prepares them, NICs as DRANET
would publish them (predicted from the facts), claims as they are planned from both, and the real scheduler.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import yaml
from control_plane import lifecycle
from gpu_driver import programs
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import judge as pod_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import PlannedPod
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict, versions
from ansible_collections.zerocopy.rdma.plugins.modules import pod_probe
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, Placed, from_template, placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.claims_paths import Paths
from ansible_collections.zerocopy.rdma.tests.cluster.nvidia_nodes import DRIVER, NvidiaNodes, gpus
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import template
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="root is needed: the driver runs in namespaces of its own")

Facts = Callable[..., Dict[str, Any]]
VERSIONS = {"rdma_driver_dranet_version": "1.4.0", "rdma_driver_gpu_version": programs.CURRENT.version}
# What pods of a node ask for until it is full, the alignment that this gives, and the templates that the pods use.
FILL = {
    # A NIC for each GPU, none below one root complex: two pods on each NUMA node.
    "h100-01": ({"gpus": 2, "nics": 2}, "numa", ["two-h100-01-numa0", "two-h100-01-numa1"] * 2),
    # The whole node in one pod.
    "h100-02": ({"gpus": 8, "nics": 8}, "numa", ["two-h100-02"]),
    # A NIC for two GPUs.
    "h100-03": ({"gpus": 2, "nics": 1}, "pcie_root", ["two-h100-03"] * 4),
    "v100-01": ({"gpus": 2, "nics": 1}, "pcie_root", ["two-v100-01"] * 2),
}


@pytest.fixture
def plane() -> Iterator[lifecycle.ControlPlane]:
    """Of its own: the chart would be in the way of other tests."""
    with lifecycle.running(f"full-{os.getpid()}") as found:
        yield found


@pytest.fixture
def client(plane: lifecycle.ControlPlane, connect: Callable[[Path], Any]) -> dynamic.DynamicClient:
    found: dynamic.DynamicClient = connect(plane.kubeconfig)
    return found


@pytest.fixture
def nodes(
    plane: lifecycle.ControlPlane,
    client: dynamic.DynamicClient,
    tmp_path: Path,
    root_of: Callable[[str], Path],
    facts_of: Facts,
) -> Iterator[NvidiaNodes]:
    every = NvidiaNodes(plane, client, tmp_path)
    try:
        every.deploy(programs.CURRENT)
        for name in FILL:
            every.add(name, root_of(name), gpus(facts_of(name)))
            every.run(name)
        for name in FILL:
            every.until(name, bool)
        yield every
    finally:
        every.stop()


def nics(name: str, facts: Dict[str, Any]) -> List[model.SliceDevice]:
    found = predict.predicted(name, read.facts(facts), versions.dranet("1.4.0"), versions.gpu("0.5.0"))
    return placed_on([one for one in found if one.driver == model.DRANET], name)


def of_pods(placed: Dict[str, Placed], name: str) -> List[List[str]]:
    """The devices of each pod on a node."""
    pods = [one for one in placed.values() if one.node == name]
    return [[device for devices in one.devices.values() for device in devices] for one in pods]


def given(nodes: NvidiaNodes, name: str, claim: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    """The GPUs of an allocated claim, and the device nodes of GPUs that containers get of it by CDI."""
    results = claim["status"]["allocation"]["devices"]["results"]
    allocated = sorted(one["device"] for one in results if one["driver"] == DRIVER)
    answer = nodes.prepare(name, "prepare", claim)
    assert sorted(one["device_name"] for one in answer["devices"]) == allocated
    (path,) = (nodes.root(name) / "var/run/cdi").glob(f"*{claim['metadata']['uid']}*")
    spec = yaml.safe_load(path.read_text())
    return allocated, sorted(
        one["path"] for device in spec["devices"] for one in device["containerEdits"]["deviceNodes"]
    )


def test_every_gpu_and_every_nic_once(
    plane: lifecycle.ControlPlane,
    client: dynamic.DynamicClient,
    nodes: NvidiaNodes,
    facts_of: Facts,
    run_module: Callable[..., Any],
) -> None:
    fleet = Fleet(plane, client, "default")
    facts = {name: facts_of(name) for name in FILL}
    fleet.create(resource_slices([nic for name in FILL for nic in nics(name, facts[name])]))
    slices = client.resources.get(api_version="resource.k8s.io/v1", kind="ResourceSlice").get().to_dict()["items"]
    devices = {name: [one for one in model.devices(slices) if one.node == name] for name in FILL}
    paths = {name: Paths(facts[name], devices[name]) for name in FILL}

    hosts = []
    for name, (wanted, _align, _pods) in FILL.items():
        mine = [template(f"two-{name}", **wanted), template(f"one-{name}", gpus=1, nics=1)]
        own = {**VERSIONS, "rdma_claims_templates": mine}
        hosts.append(InventoryHost(name, name, own, read.facts(facts[name])))
    found = planner.plan(hosts, slices)
    assert (found.problems, found.warnings) == ([], [])
    for name, (_wanted, align, pods) in FILL.items():
        assert f"two-{name} ({name}), align={align}: " in found.text
        assert found.names[f"two-{name}"] == sorted(set(pods))
    fleet.create(found.objects)

    # All at once, wherever they may run: a template has room on its own node alone, or on one of the same kind.
    filling = {f"{name}-{number}": pod for name, of in FILL.items() for number, pod in enumerate(of[2])}
    placed = fleet.pods([from_template(pod, name, pod.rpartition("-")[0]) for pod, name in filling.items()])
    for name, (wanted, _align, pods) in FILL.items():
        got = of_pods(placed, name)
        assert len(got) == len(pods)
        # Each device of the node is in one pod.
        assert sorted(device for of_pod in got for device in of_pod) == sorted(one.name for one in devices[name])
        for of_pod in got:
            own_gpus, own_nics = (sorted(set(of_pod) & set(of)) for of in (paths[name].gpus, paths[name].nics))
            assert (len(own_gpus), len(own_nics)) == (wanted["gpus"], wanted["nics"])
            assert paths[name].served(own_gpus, own_nics) == len(own_gpus)

    prepared: Dict[str, List[str]] = {name: [] for name in FILL}
    for claim in fleet.claims():
        node = claim["status"]["allocation"]["devices"]["results"][0]["pool"]
        allocated, paths_given = given(nodes, node, claim)
        assert paths_given == sorted(f"/dev/nvidia{gpu[len('gpu-') :]}" for gpu in allocated)
        prepared[node] += paths_given
    for name in FILL:
        assert sorted(prepared[name]) == sorted(f"/dev/nvidia{gpu[len('gpu-') :]}" for gpu in paths[name].gpus)

    # The fleet is full: the scheduler says of each node that it is, and verify who has what a pod waits for.
    late = found.names["one-h100-03"][0]
    waiting = fleet.pods([from_template("late", late)], waits=1)["late"]
    assert f"0/{len(FILL)} nodes are available" in waiting.why
    assert f"{len(FILL)} cannot allocate all claims" in waiting.why
    told = verified(run_module, plane, late, "h100-03", found, facts["h100-03"], slices)
    assert told.startswith("impossible: the pod did not finish (Pending): ")
    assert told.endswith(". Other claims hold 12 devices of the node")

    # One pod ends; what it had is enough.
    gone = "h100-03-2"
    before = sorted(device for names in placed[gone].devices.values() for device in names)
    pods = client.resources.get(api_version="v1", kind="Pod")
    pods.delete(name=gone, namespace="default", body={"gracePeriodSeconds": 0})
    for event in pods.watch(namespace="default", field_selector="metadata.name=late", timeout=60):
        if event["raw_object"]["spec"].get("nodeName"):
            break
    else:
        raise AssertionError("the pod that waited was not placed")
    claim = next(one for one in fleet.claims() if one["metadata"]["name"].startswith("late-"))
    results = claim["status"]["allocation"]["devices"]["results"]
    assert {one["pool"] for one in results} == {"h100-03"}
    assert {one["device"] for one in results} < set(before)


def verified(
    run_module: Callable[..., Any],
    plane: lifecycle.ControlPlane,
    alias: str,
    node: str,
    found: planner.ClaimPlan,
    facts: Dict[str, Any],
    slices: List[Dict[str, Any]],
) -> str:
    """What verify's pod ring says of a pod of this template on this node."""
    pod = PlannedPod("look", "default", node, template=alias, group=node, entry=alias, alias=alias)
    asked = {"name": pod.name, "namespace": pod.namespace, "node": node, "template": alias}
    common = {"image": "example.org/none:v1", "script": "exit 0", "timeout": 3}
    answer = run_module(pod_probe, kubeconfig=str(plane.kubeconfig), pods=[asked], **common)
    request = PodRequest(alias, {node: ()}, template=alias, entry=alias)
    evidence = pod_judge.PodEvidence({node: read.facts(facts)}, slices=slices, in_use=answer["in_use"])
    checks = pod_judge.judge([pod], answer["pods"], found.objects, {node: [request]}, evidence).checks
    (runs,) = [check for check in checks if check.id == "pod.runs"]
    return f"{runs.verdict}: {runs.text}"
