# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What NVIDIA's DRA driver really publishes and prepares for recorded nodes, against what the library predicts."""

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
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict, versions
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, from_template
from ansible_collections.zerocopy.rdma.tests.cluster.nvidia_nodes import DRIVER, NvidiaNodes, gpus

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="root is needed: the driver runs in namespaces of its own")

# Of each kind of machine: several GPUs below a switch, NUMA nodes within a socket, a PCI domain per device, VFs, a
# desktop computer.
NODES = ("a100-01", "case-b200", "case-nps4", "case-two-ports", "case-vf", "h100-01", "h100-03", "lab-01", "v100-01")


@pytest.fixture(scope="module")
def control_plane() -> Iterator[lifecycle.ControlPlane]:
    """Of its own: what the chart installs would be in the way of other tests."""
    with lifecycle.running(f"nvidia-{os.getpid()}") as plane:
        yield plane


@pytest.fixture(scope="module")
def cluster(control_plane: lifecycle.ControlPlane, connect: Callable[[Path], Any]) -> dynamic.DynamicClient:
    return connect(control_plane.kubeconfig)


@pytest.fixture(scope="module")
def nodes(
    control_plane: lifecycle.ControlPlane,
    cluster: dynamic.DynamicClient,
    tmp_path_factory: pytest.TempPathFactory,
    root_of: Callable[[str], Path],
    facts_of: Callable[..., Dict[str, Any]],
) -> Iterator[NvidiaNodes]:
    """The driver on all of these nodes."""
    every = NvidiaNodes(control_plane, cluster, tmp_path_factory.mktemp("nvidia"))
    try:
        every.deploy(programs.CURRENT)
        for name in NODES:
            every.add(name, root_of(name), gpus(facts_of(name)))
            every.run(name)
        yield every
    finally:
        every.stop()


def as_predicted(
    name: str, facts: Dict[str, Any], published: List[Dict[str, Any]], version: str = programs.CURRENT.version
) -> None:
    spec = {"driver": DRIVER, "pool": {"name": name}, "nodeName": name, "devices": published}
    real = {device.name: device for device in model.devices([{"kind": "ResourceSlice", "spec": spec}])}
    found = predict.predicted(name, read.facts(facts), versions.dranet("1.4.0"), versions.gpu(version))
    predicted = {device.name: device for device in found if device.driver == DRIVER}
    assert sorted(real) == sorted(predicted)
    # The facts do not tell these.
    untold = {f"{DRIVER}/{name}" for name in ("brand", "cudaComputeCapability", "cudaDriverVersion", "driverVersion")}
    for device in predicted.values():
        assert set(real[device.name].attributes) - untold == set(device.attributes), device.name
        assert {one: real[device.name].attributes[one] for one in device.attributes} == device.attributes
        assert real[device.name].capacity == {f"{DRIVER}/memory": "81559Mi"}


def test_published_as_predicted(nodes: NvidiaNodes, facts_of: Callable[..., Dict[str, Any]]) -> None:
    for name in NODES:
        as_predicted(name, facts_of(name), nodes.until(name, bool))


def _taints(devices: List[Dict[str, Any]]) -> Dict[str, Dict[str, str]]:
    return {
        device["name"]: {taint["key"] + "=" + taint.get("value", ""): taint["effect"] for taint in device["taints"]}
        for device in devices
        if device.get("taints")
    }


def test_tainted_after_an_xid(nodes: NvidiaNodes, facts_of: Callable[..., Dict[str, Any]]) -> None:
    """79 is a GPU that has fallen off the bus, 31 an application that was killed."""
    third, fourth = facts_of("v100-01")["gpus"][2:4]
    # Before it publishes anything, it waits for events.
    nodes.until("v100-01", bool)
    events = nodes.root("v100-01") / "run/lab-gpu/events"
    with events.open("a") as file:
        file.write(f"{third['pci']['address']} 79\n")
    seen = nodes.until("v100-01", lambda devices: bool(_taints(devices)))
    assert _taints(seen) == {"gpu-2": {f"{DRIVER}/xid=79": "NoSchedule"}}
    with events.open("a") as file:
        file.write(f"{fourth['uuid']} 31\n")
    seen = nodes.until("v100-01", lambda devices: len(_taints(devices)) == 2)
    assert _taints(seen)["gpu-3"] == {f"{DRIVER}/xid=31": "None"}
    # Another process knows nothing of it.
    nodes.end("v100-01")
    nodes.run("v100-01")
    nodes.until("v100-01", lambda devices: not _taints(devices))


def test_all_gpus_are_tainted_when_one_is_lost(nodes: NvidiaNodes) -> None:
    """NVML does not say which one."""
    nodes.until("a100-01", bool)
    with (nodes.root("a100-01") / "run/lab-gpu/events").open("a") as file:
        file.write("lost\n")
    seen = nodes.until("a100-01", lambda devices: bool(_taints(devices)))
    assert _taints(seen) == {device["name"]: {f"{DRIVER}/gpu-lost=": "NoSchedule"} for device in seen}


def claimed(fleet: Fleet, name: str) -> Tuple[Dict[str, Any], List[str]]:
    """A claim of a pod on this node for two GPUs below one root complex, and what it got."""
    request = {"name": "gpus", "exactly": {"deviceClassName": DRIVER, "count": 2}}
    wish = {"requests": [request], "constraints": [{"matchAttribute": model.PCIE_ROOT}]}
    template = {"kind": "ResourceClaimTemplate", "metadata": {"name": "two"}, "spec": {"spec": {"devices": wish}}}
    fleet.create([{"apiVersion": "resource.k8s.io/v1", **template}])
    placed = fleet.pods([from_template("train", "two", node=name)])["train"]
    (claim,) = fleet.claims()
    return claim, sorted(placed.devices["gpus"])


def test_prepared_by_cdi(nodes: NvidiaNodes, fleet: Fleet) -> None:
    """A claim that the scheduler has allocated becomes a CDI spec with the device nodes of just these GPUs."""
    nodes.until("case-nps4", bool)
    claim, devices = claimed(fleet, "case-nps4")
    assert devices in [[f"gpu-{first}", f"gpu-{first + 1}"] for first in (0, 2, 4, 6)]
    uid = claim["metadata"]["uid"]
    answer = nodes.prepare("case-nps4", "prepare", claim)
    assert sorted(one["device_name"] for one in answer["devices"]) == devices
    ids = sorted(name for one in answer["devices"] for name in one["cdi_device_ids"])
    assert ids == [f"k8s.{DRIVER}/claim={uid}-{device}" for device in devices]

    (path,) = (nodes.root("case-nps4") / "var/run/cdi").glob(f"*{uid}*")
    spec = yaml.safe_load(path.read_text())
    given = {device["name"]: device["containerEdits"]["deviceNodes"] for device in spec["devices"]}
    assert {name: [one["path"] for one in nodes_of] for name, nodes_of in given.items()} == {
        f"{uid}-{device}": [f"/dev/nvidia{device[len('gpu-') :]}"] for device in devices
    }
    mounts = [mount["hostPath"] for mount in spec["containerEdits"]["mounts"]]
    assert "/usr/bin/nvidia-smi" in mounts

    assert "error" not in nodes.prepare("case-nps4", "unprepare", claim)
    assert not path.exists()


def with_numa(devices: List[Dict[str, Any]]) -> bool:
    """Only the current version publishes it."""
    return all(model.NUMA_NODE in device["attributes"] for device in devices)


def without_numa(devices: List[Dict[str, Any]]) -> bool:
    return not with_numa(devices)


def test_another_version_with_a_claim_in_use(
    connect: Callable[[Path], Any],
    tmp_path: Path,
    root_of: Callable[[str], Path],
    facts_of: Callable[..., Dict[str, Any]],
) -> None:
    """From the older version to the current one and back: a claim that one has prepared is known to the other."""
    name = "h100-03"
    facts = facts_of(name)
    with lifecycle.running(f"nvidia-versions-{os.getpid()}") as plane:
        cluster = connect(plane.kubeconfig)
        nodes, fleet = NvidiaNodes(plane, cluster, tmp_path), Fleet(plane, cluster, "default")
        try:
            nodes.deploy(programs.OLDER)
            nodes.add(name, root_of(name), gpus(facts))
            nodes.run(name)
            as_predicted(name, facts, nodes.until(name, bool), programs.OLDER.version)
            claim, devices = claimed(fleet, name)
            prepared = nodes.prepare(name, "prepare", claim)
            assert sorted(one["device_name"] for one in prepared["devices"]) == devices

            for release in (programs.CURRENT, programs.OLDER):
                nodes.deploy(release)
                nodes.end(name)
                nodes.run(name)
                # Until then there is what the other one has published.
                published = with_numa if release is programs.CURRENT else without_numa
                as_predicted(name, facts, nodes.until(name, published), release.version)
                assert nodes.prepare(name, "prepare", claim) == prepared
            assert "error" not in nodes.prepare(name, "unprepare", claim)
            assert list((nodes.root(name) / "var/run/cdi").glob("*")) == []
        finally:
            nodes.stop()
