# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""resource_slice_info on a real API server, and what the playbook does with what drivers publish there."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.claims import claims
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.modules import resource_slice_info
from ansible_collections.zerocopy.rdma.tests.cluster import accounts
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import GPU_CLASS, Fleet, node, placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    AWS,
    GB200,
    SLICES,
    VERSIONS,
    Facts,
    published,
    template,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import expected_devices

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

Info = Callable[..., Dict[str, Any]]


@pytest.fixture
def info(run_module: Callable[..., Any], control_plane: Any) -> Info:
    """Runs the module on the control plane that serves resource.k8s.io/v1, or another one."""

    def call(plane: Any = control_plane, **options: Any) -> Dict[str, Any]:
        result: Dict[str, Any] = run_module(resource_slice_info, kubeconfig=str(plane.kubeconfig), **options)
        return result

    return call


def of_fleet(facts_of: Facts, *names: str) -> Dict[str, Dict[str, Any]]:
    """The variables of hosts that ask for GPUs and NICs."""
    asked = {**VERSIONS, "rdma_claims_templates": [template(gpus=1, nics=1)]}
    return {name: {**asked, "ansible_facts": {"rdma": facts_of(name)}} for name in names}


def expected(hostvars: Dict[str, Dict[str, Any]]) -> Dict[str, Any]:
    return expected_devices({}, list(hostvars), hostvars)


def test_real_slices_are_returned_and_read(fleet: Fleet, info: Info) -> None:
    devices = model.devices(SLICES)
    fleet.nodes(devices)
    found = info()
    assert found["changed"] is False
    assert found["kubernetes"].startswith("v1.")
    assert found["api_version"] == "resource.k8s.io/v1"
    assert "gpu.nvidia.com" in found["device_classes"]
    assert (found["nodes"], found["differences"]) == ({}, [])
    assert not any("managedFields" in one["metadata"] for one in found["slices"])
    # Others may have some on a cluster that was there before.
    ours = [one for one in found["devices"] if one["node"] in (AWS, GB200)]
    assert sorted(ours, key=str) == sorted((model.plain(one) for one in devices), key=str)
    own = {**VERSIONS, "rdma_claims_templates": [template(gpus=2, nics=1)]}
    plan = claims({}, [AWS], {AWS: own}, found["slices"], found["kubernetes"], found["device_classes"])
    assert plan["problems"] == []
    assert plan["text"].startswith("one (ungrouped), align=pcie_root: ")
    assert not {"slices", "devices"} & set(info(gather_subset=[]))


def test_what_is_different_and_why(fleet: Fleet, info: Info, facts_of: Facts) -> None:
    hostvars = of_fleet(facts_of, "v100-01", "v100-02", "lab-01", "h100-01", "h100-02")
    right, lacking = (placed_on(published(facts_of(name)), name) for name in ("v100-01", "v100-02"))
    nic = next(one for one in lacking if one.is_rdma_nic)
    fleet.nodes([*right, *(one for one in lacking if one is not nic)])
    fleet.create([node("lab-01")])
    found = info(expected=expected(hostvars), gather_subset=[])
    nodes = found["nodes"]
    assert {name: (one["exists"], one["drivers"]) for name, one in nodes.items()} == {
        "v100-01": (True, ["dra.net", "gpu.nvidia.com"]),
        "v100-02": (True, ["dra.net", "gpu.nvidia.com"]),
        "lab-01": (True, []),
        "h100-01": (False, []),
        "h100-02": (False, []),
    }
    assert [nodes["v100-01"][name] for name in ("missing", "extra", "differing")] == [[], [], []]
    assert [one["pci"] for one in nodes["v100-02"]["missing"]] == [nic.pci]
    assert found["differences"] == [
        "h100-[01-02]: 8 GPUs are missing: the cluster has no node of this name",
        "h100-[01-02]: 8 NICs are missing: the cluster has no node of this name",
        "lab-01: GPU 0000:18:00.0 is missing: no label selects the node for NVIDIA's DRA driver:"
        " nvidia.com/gpu.present=true or one of NFD's is needed",
        "lab-01: NIC 0000:66:00.0 is missing: DRANET publishes nothing there: it has no pod there",
        f"v100-02: NIC {nic.pci} is missing: DRANET runs there, but does not publish it: if RDMA modules were loaded or"
        " the default route has moved since DRANET was started, restart it",
    ]
    wrong = info(expected={"v100-01": {"drivers": []}})
    assert wrong["msg"].startswith("expected: v100-01 has no 'devices'")


def test_a_node_publishes_for_itself_alone(
    fleet: Fleet, info: Info, facts_of: Facts, run_module: Callable[..., Any], control_plane: Any
) -> None:
    """With the account of its kubelet it may publish in any pool, and a newer generation hides what is there."""
    names = ("v100-01", "v100-02")
    devices = {name: placed_on(published(facts_of(name)), name) for name in names}
    fleet.nodes([device for own in devices.values() for device in own])
    before = info(expected=expected(of_fleet(facts_of, *names)))
    cluster = ClusterSet(run_module, control_plane, fleet.namespace)
    first = accounts.node(cluster, names[0])
    own, theirs = (
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{fleet.namespace}-{node}"}}
        for node in names
    )
    nic = {"name": "nic", "attributes": {"dra.net/rdma": {"bool": True}}}
    pool = {"name": names[1], "generation": 99, "resourceSliceCount": 1}
    spec = {"driver": "dra.net", "pool": pool, "devices": [nic]}
    said = first.refused("create", "-f", "-", stdin={**theirs, "spec": {**spec, "nodeName": names[1]}})
    assert "can only create ResourceSlice with the same NodeName" in said
    first("create", "-f", "-", stdin={**own, "spec": {**spec, "nodeName": names[0]}})
    found = info(expected=expected(of_fleet(facts_of, *names)))
    cluster.kubectl("delete", "resourceslice", f"{fleet.namespace}-{names[0]}")
    for part in ("nodes", "devices"):
        assert found[part] == before[part]
    assert found["differences"] == [
        "v100-01: ResourceSlices of this node are in a pool with another name than the node, so they do not count"
    ]


def until_watched(audit: Path, start: int) -> None:
    """Wait until somebody watches ResourceSlices by name of the driver."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with audit.open(encoding="utf-8") as log:
            log.seek(start)
            events = [json.loads(line) for line in log if line.endswith("\n")]
        if any(one["verb"] == "watch" and "spec.driver%3Ddra.net" in one["requestURI"] for one in events):
            return
        time.sleep(0.05)
    raise AssertionError("nobody watches")


def test_slices_that_come_later_are_waited_for(
    fleet: Fleet, info: Info, facts_of: Facts, start_control_plane: Callable[[str], Any]
) -> None:
    plane = start_control_plane("v1")
    names = ("v100-01", "v100-02")
    wanted = expected(of_fleet(facts_of, *names, "h100-01"))
    fleet.create([node(name) for name in names])
    before = info(plane, expected=wanted, wait=True, gather_subset=[], _ansible_check_mode=True)
    assert all(one["drivers"] == [] for one in before["nodes"].values())
    start = plane.audit.stat().st_size

    def publish() -> None:
        until_watched(plane.audit, start)
        for name in names:
            nics = [one for one in placed_on(published(facts_of(name)), name) if one.is_rdma_nic]
            fleet.create(resource_slices(nics))

    late = threading.Thread(target=publish)
    late.start()
    found = info(plane, expected=wanted, wait=True, gather_subset=[])
    late.join()
    # There is nothing to wait for on a node that does not exist.
    assert {name: one["drivers"] for name, one in found["nodes"].items()} == {
        "v100-01": ["dra.net"],
        "v100-02": ["dra.net"],
        "h100-01": [],
    }


def test_a_wait_in_vain_says_what_the_pods_do(fleet: Fleet, info: Info, facts_of: Facts) -> None:
    wanted = expected(of_fleet(facts_of, "v100-01", "v100-02", "lab-01"))
    wanted["lab-01"]["wait"] = []
    fleet.create([node(name) for name in wanted])
    labels = {"app.kubernetes.io/name": "dranet", "zerocopy.rdma/group": "v100"}
    spec = {"nodeName": "v100-02", "containers": [{"name": "dranet", "image": "example.org/none:v1"}]}
    fleet.create([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "dranet", "labels": labels}, "spec": spec}])
    none, pending = (
        f"DRANET publishes nothing there: {why}" for why in ("it has no pod there", "its pod is Pending, and not ready")
    )
    waited = info(expected=wanted, wait=True, wait_timeout=1)["nodes"]
    assert {name: one["silent"] for name, one in waited.items()} == {"v100-01": none, "v100-02": pending, "lab-01": ""}
    # Check mode does not wait for what is to come.
    checked = info(expected=wanted, wait=True, _ansible_check_mode=True)["nodes"]
    assert {name: one["silent"] for name, one in checked.items()} == {"v100-01": "", "v100-02": pending, "lab-01": ""}


@pytest.mark.parametrize("api", ["v1beta2", "v1beta1"])
def test_older_versions_of_the_api(
    start_control_plane: Callable[[str], Any], run_module: Callable[..., Any], info: Info, facts_of: Facts, api: str
) -> None:
    plane = start_control_plane(api)
    devices = placed_on(published(facts_of("v100-01")), "v100-01")
    items = resource_slices(devices)
    for item in items:
        item["apiVersion"] = f"resource.k8s.io/{api}"
        for one in item["spec"]["devices"] if api == "v1beta1" else []:
            one["basic"] = {name: one.pop(name) for name in ("attributes", "capacity") if name in one}
    older = ClusterSet(run_module, plane, "default")
    older.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items})
    older.kubectl("create", "-f", "-", stdin=node("v100-01"))
    found = info(plane, expected=expected(of_fleet(facts_of, "v100-01")))
    older.kubectl("delete", "node", "v100-01")
    older.kubectl("delete", "resourceslices", *(item["metadata"]["name"] for item in items))
    assert found["api_version"] == f"resource.k8s.io/{api}"
    assert {one["apiVersion"] for one in found["slices"]} == {f"resource.k8s.io/{api}"}
    assert found["differences"] == []
    assert model.devices(found["slices"]) == model.devices(items)


def test_without_dra_the_message_says_what_to_switch_on(start_control_plane: Callable[[str], Any], info: Info) -> None:
    failed = info(start_control_plane("off"))
    assert "Dynamic Resource Allocation is off: the API server (Kubernetes 1." in failed["msg"]


@pytest.fixture
def publish(cluster_set: ClusterSet) -> Iterator[Callable[[List[SliceDevice]], None]]:
    """Publishes devices of nodes of the inventory instead of those before."""
    names: List[str] = []

    def clear() -> None:
        if names:
            cluster_set.kubectl("delete", "resourceslices", *names)
        names.clear()

    def call(devices: List[SliceDevice]) -> None:
        clear()
        items = resource_slices(devices)
        names.extend(item["metadata"]["name"] for item in items)
        cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items})

    yield call
    clear()


def test_the_playbook_proves_claims_against_what_is_published(
    cluster_set: ClusterSet, playbook: Playbook, publish: Callable[[List[SliceDevice]], None], facts_of: Facts
) -> None:
    playbook = playbook.of("v100-01", "v100-02", "h100-01", "h100-02")
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    gpus, nics = {}, {}
    for name in ("v100-01", "v100-02"):
        devices = placed_on(published(facts_of(name)), name)
        gpus[name] = [one for one in devices if one.is_gpu]
        nics[name] = [one for one in devices if one.is_rdma_nic]
    other = {name: SliceDevice("dra.net", name, "eno1", name, {"dra.net/rdma": False}) for name in nics}
    # The facts say that there are NICs, the driver does not.
    publish([device for name in nics for device in [*gpus[name], other[name]]])
    said, done = playbook.partly(**own)
    assert set(said) == {"v100-01", "v100-02"}
    unmet = "rdma_claims_templates[1] (v100-1nic) cannot be satisfied on any node. v100-[01-02]: 0 matching NICs"
    assert unmet in said["v100-02"]
    assert "although the facts allow it: DRANET runs there, but does not publish it" in said["v100-02"]
    shown = done["Show what pods can claim"]["msg"]
    assert any(
        line.startswith("v100-[01-02]: 2 NICs are missing: DRANET runs there, but does not publish it")
        for line in shown
    )
    # Those of the others are there, and theirs are those that their facts allow.
    made = cluster_set.kubectl("get", "resourceclaimtemplates", "-n", cluster_set.namespace, "-o", "name")
    assert {"v100-1nic", "h100-1nic"} <= {name.partition("/")[2].rpartition("-")[0] for name in made.split()}

    # On one of them it does.
    publish([*gpus["v100-01"], *nics["v100-01"], *gpus["v100-02"], other["v100-02"]])
    shown = playbook(**own)["Show what pods can claim"]["msg"]
    assert "v100-1nic does not fit everywhere. v100-02: 0 matching NICs, 1 requested" in shown
    assert any(
        line.startswith("v100-02: 2 NICs are missing: DRANET runs there, but does not publish it") for line in shown
    )
    # Where nothing is published, what is expected counts.
    assert any(line.startswith("h100-[01-02]: 8 NICs are missing: DRANET publishes nothing there") for line in shown)


def test_the_playbook_refuses_claims_of_gpus_without_their_class(cluster_set: ClusterSet, playbook: Playbook) -> None:
    name = GPU_CLASS["metadata"]["name"]
    cluster_set.kubectl("delete", "deviceclass", name)
    said = playbook.of("h100-01").refused(rdma_claims_namespaces=[cluster_set.namespace])
    cluster_set.kubectl("create", "-f", "-", stdin=GPU_CLASS)
    assert "rdma_claims_gpu_class is 'gpu.nvidia.com', which is not a DeviceClass of the cluster: NVIDIA's DRA" in said
    assert cluster_set.kubectl("get", "resourceclaimtemplates", "-n", cluster_set.namespace) == ""


def test_the_playbook_changes_nothing_where_dra_is_off(
    start_control_plane: Callable[[str], Any], run_module: Callable[..., Any], nodes: Path, tmp_path: Path
) -> None:
    plane = start_control_plane("off")
    said = Playbook(plane, nodes, tmp_path).of("h100-01").refused()
    assert "Dynamic Resource Allocation is off" in said
    without = ClusterSet(run_module, plane, "kube-system")
    assert without.absent("secret", "zerocopy-rdma-driver")
    assert without.kubectl("get", "daemonsets", "-n", "kube-system") == ""
