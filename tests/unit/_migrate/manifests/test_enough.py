# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A workload gets what it asked for: GPUs of its vendor and model, and no fewer NICs; or people choose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE, Object, pod
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import (
    NEAREST,
    RAIL,
    SHARED,
    SINGLE,
    container,
    moved,
    only,
    refused,
)

_SLOTS = Path(__file__).resolve().parents[2] / "fixtures" / "migrate" / "slots.yml"


def claim(name: str, nics: int, gpus: int = 0, **fields: Any) -> NamedRequest:
    """A request of nodes with eight H100 and a NIC beside each of them."""
    h100 = {"gpu_vendors": ["nvidia"], "gpu_models": ["NVIDIA H100 80GB HBM3"], "node_gpus": 8, "node_nics": 8}
    return NamedRequest(name, templates={NAMESPACE: f"{name}-1"}, nics=nics, gpus=gpus, **{**h100, **fields})


ONE, EIGHT, ALL = claim("one", 1), claim("eight", 8), claim("all", 0)
PAIR, BOARD = claim("h100-1gpu-1nic", 1, 1), claim("h100-8gpu-8nic", 8, 8)
HCA = NamedRequest("rdma/hca", limits={"rdma/hca": 1}, nics=1)
GPUS = claim("h100-8gpu", 0, 8, gpus_only=True)


def asking(limits: dict[str, str], *others: Object, **spec: Any) -> Object:
    """A pod on the host's network whose container ``main`` has these limits, with other containers."""
    item = pod(container={"resources": {"limits": limits}}, hostNetwork=True, **spec)
    item["spec"]["containers"] += others
    return item


def beside(name: str, limits: dict[str, str], **fields: Any) -> Object:
    return {"name": name, "image": "x", "resources": {"limits": limits}, **fields}


def slots(name: str) -> Object:
    (found,) = [item for item in yaml.safe_load(_SLOTS.read_text("utf-8")) if item["metadata"]["name"] == name]
    return dict(found)


def template_of(item: Object) -> Optional[str]:
    """The template that the pods of a Deployment claim."""
    (entry,) = item["spec"]["template"]["spec"]["resourceClaims"]
    return str(entry["resourceClaimTemplateName"])


def test_one_slot_of_a_shared_device_is_all_hcas_of_the_node() -> None:
    few = "no request of the group fits a pod with 8 GPUs, which asks for 8 NICs (one has 1 NIC): choose in "
    assert refused(slots("a"), RewriteOptions([ONE])) == f"{few}rdma_migrate_requests"
    for options in ([ONE, EIGHT], [ONE, ALL], [ONE, PAIR, BOARD]):
        assert template_of(only(slots("a"), RewriteOptions(options))) == f"{options[-1].name}-1"
    assert container(only(slots("a"), RewriteOptions([SHARED])))["resources"]["limits"]["rdma/shared"] == "1"


def test_gpus_of_init_containers_are_no_further_ones() -> None:
    item = only(slots("b"), RewriteOptions([ONE, PAIR, BOARD]))
    assert template_of(item) == "h100-8gpu-8nic-1"
    spec = item["spec"]["template"]["spec"]
    for each in (*spec["initContainers"], *spec["containers"]):
        assert each["resources"] == {"claims": [{"name": "rdma"}]}


@pytest.mark.parametrize(
    ("place", "limit", "kept"),
    [
        ("containers", "nvidia.com/gpu", True),
        ("containers", "nvidia.com/mig-1g.5gb", True),
        ("initContainers", "nvidia.com/gpu", True),
        ("containers", "example.com/fpga", False),
    ],
)
def test_a_container_without_rdma_keeps_no_gpu_beside_a_claim_with_gpus(place: str, limit: str, kept: bool) -> None:
    item = pod(container={"resources": {"limits": {"nvidia.com/gpu": "1", "rdma/ib": "1"}}})
    item["spec"].setdefault(place, []).append(beside("judge", {limit: "1"}))
    (there,), notes = moved(item, options=RewriteOptions([PAIR]))
    assert ("resourceClaims" in there["spec"]) is not kept
    said = f"container judge has {limit}: 1 beside a claim with 1 GPU"
    assert [text for _name, _level, text in notes] == ([said] if kept else [])
    # A claim of NICs alone leaves all GPUs to the device plugin.
    (there,), _notes = moved(item, options=RewriteOptions([ONE], {"pod": ["one"]}))
    assert container(there)["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert there["spec"]["resourceClaims"]


def test_a_workload_of_other_hardware_stays() -> None:
    why = "no request of the group fits a pod with amd.com/gpu: 8: amd.com/gpu is not known to be a GPU of the nodes of"
    assert refused(slots("c"), RewriteOptions([BOARD, EIGHT])).startswith(why)


def test_a_daemon_set_stays() -> None:
    assert refused(slots("ib-exporter"), RewriteOptions([ALL])) == "a DaemonSet serves the node it is on"


@pytest.mark.parametrize("request_", [BOARD, EIGHT, replace(SHARED, gpu_vendors=["nvidia"])])
@pytest.mark.parametrize(
    "name",
    [
        "amd.com/gpu",
        "habana.ai/gaudi",
        "gpu.intel.com/xe",
        "huawei.com/Ascend910",
        "hygon.com/dcunum",
        "cambricon.com/mlu370",
        "aws.amazon.com/neuroncore",
        "google.com/tpu",
        "acme.example/npu",
    ],
)
def test_other_vendors(name: str, request_: NamedRequest) -> None:
    item = asking({name: "8", "rdma/ib": "1"})
    assert f"{name} is not known to be a GPU of the nodes of {request_.name}" in refused(
        item, RewriteOptions([request_])
    )
    unknown = replace(request_, gpu_vendors=[], gpu_models=[])
    assert "is not known to be a GPU" in refused(item, RewriteOptions([unknown]))
    chosen = RewriteOptions([request_], {"pod": [request_.name]})
    assert ("pod", "left", f"{name} is not known to be a GPU of the nodes of {request_.name}") in moved(
        item, options=chosen
    )[1]


@pytest.mark.parametrize("name", ["acme.example/gpu", "acme.example/vgpu-number"])
def test_a_name_that_says_gpu_is_no_pod_without_gpus(name: str) -> None:
    for request in (ONE, EIGHT, HCA):
        said = refused(asking({name: "8", "rdma/ib": "1"}), RewriteOptions([request]))
        assert f"{name} is not known to be a GPU of the nodes of {request.name}" in said


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/h100", True),
        ("nvidia.com/H100-SXM5-80GB", True),
        ("nvidia.com/a100", False),
        ("nvidia.com/A100-SXM4-80GB", False),
        ("nvidia.com/GeForce_RTX_3060", False),
    ],
)
def test_models(name: str, fits: bool) -> None:
    """Also those that only the names of templates tell."""
    item = asking({name: "8", "rdma/ib": "1"})
    for board in (BOARD, replace(BOARD, gpu_models=[])):
        (there,), notes = moved(item, options=RewriteOptions([board]))
        assert (there != item) is fits
        assert fits or f"{name} is not known to be a GPU of the nodes of h100-8gpu-8nic" in notes[0][2]


def test_a_name_of_the_site_is_known_where_the_group_says_so() -> None:
    item = asking({"example.org/gpu": "8", "rdma/ib": "1"})
    site = RewriteOptions([BOARD]).site._replace(gpus=["example.org/gpu"])
    assert "is not known to be a GPU" in refused(item, RewriteOptions([BOARD], site=site))
    own = replace(BOARD, gpu_resources=["example.org/gpu"])
    assert only(item, RewriteOptions([own], site=site))["spec"]["resourceClaims"]


def test_the_share_of_gpus_in_the_nics_of_a_node() -> None:
    """V100 nodes with a NIC for two GPUs, and nodes with one NIC."""
    for gpus, node_nics, enough in (("2", 4, True), ("3", 4, False), ("8", 1, True), ("2", 8, False)):
        (there,), notes = moved(
            asking({"nvidia.com/gpu": gpus, "rdma/ib": "1"}),
            options=RewriteOptions([claim("one", 1, node_nics=node_nics)]),
        )
        assert ("resourceClaims" in there["spec"]) is enough, notes


@pytest.mark.parametrize(
    ("item", "options", "asked"),
    [
        (asking({"rdma/ib": "8"}), [EIGHT], 0),
        (asking({"rdma/ib": "8"}), [ONE], 8),
        (asking({"rdma/ib": "8", "rdma/other": "1"}), [EIGHT], 9),
        (asking({"rdma/ib": "2"}, beside("more", {"rdma/ib": "2"})), [claim("three", 3)], 4),
        # One each, which extended resources give, and claims do not.
        (asking({"rdma/ib": "1"}, beside("more", {"rdma/ib": "1"})), [HCA], 0),
        (asking({"rdma/ib": "1"}, beside("more", {"rdma/ib": "1"})), [ONE], 2),
        (asking({"rdma/ib": "2"}), [HCA], 2),
        (asking({"rdma/ib": "1"}, initContainers=[beside("check", {"rdma/ib": "9"})]), [EIGHT], 9),
        (asking({"rdma/ib": "8"}, initContainers=[beside("check", {"rdma/ib": "1"})]), [EIGHT], 0),
        # It stays beside the others.
        (
            asking({"rdma/ib": "8"}, initContainers=[beside("log", {"rdma/ib": "1"}, restartPolicy="Always")]),
            [EIGHT],
            9,
        ),
        (asking({"nvidia.com/gpu": "1", "rdma/ib": "2"}), [NEAREST], 2),
        (asking({"nvidia.com/gpu": "4", "rdma/ib": "4"}), [NEAREST], 0),
        (
            pod(metadata={"annotations": {"rdma.zerocopy.io/nics": "mlx5_0,mlx5_1"}}, container={"resources": {}}),
            [ONE],
            2,
        ),
    ],
)
def test_as_many_nics_as_before(item: Object, options: list[NamedRequest], asked: int) -> None:
    names = [request.name for request in options]
    there, notes = moved(item, options=RewriteOptions(options))
    assert (there != [item]) is (not asked), notes
    assert not asked or f"which asks for {asked} NICs ({names[0]} has " in notes[0][2]
    there, notes = moved(item, options=RewriteOptions(options, {"pod": names}))
    assert there != [item]
    assert [text.endswith(f", which asked for {asked} NICs") for _name, _level, text in notes] == [True] * bool(asked)


def mounting(**environment: str) -> Object:
    """A pod that mounts the device nodes of all HCAs and has these variables."""
    variables = [{"name": name, "value": value} for name, value in environment.items()]
    fields = {"resources": {}, "env": variables, "volumeMounts": [{"name": "ib", "mountPath": "/dev/infiniband"}]}
    return pod(container=fields, volumes=[{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}])


_HCAS = [f"mlx5_{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({"NCCL_IB_HCA": ",".join(_HCAS)}, 8),
        ({"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"}, 2),
        ({"UCX_NET_DEVICES": ",".join(f"{name}:1" for name in _HCAS)}, 8),
        ({"NCCL_IB_HCA": "mlx5_0,mlx5_1", "UCX_NET_DEVICES": "mlx5_1:1,mlx5_2:1"}, 3),
        # Two ports of one, all but some, and what is no HCA.
        ({"UCX_NET_DEVICES": "mlx5_0:1,mlx5_0:2"}, 0),
        ({"NCCL_IB_HCA": "^mlx5_0,mlx5_1", "UCX_NET_DEVICES": "^mlx5_2:1,mlx5_3:1"}, 0),
        ({"NCCL_IB_HCA": "mlx5_0", "UCX_NET_DEVICES": "eth0,mlx5_0:1"}, 0),
        ({"UCX_NET_DEVICES": "all,mlx5_0:1"}, 0),
    ],
)
def test_hcas_that_variables_name(environment: dict[str, str], asked: int) -> None:
    item = mounting(**environment)
    (there,), notes = moved(item, options=RewriteOptions([ONE]))
    assert ("resourceClaims" in there["spec"]) is (not asked), notes
    assert not asked or f"which asks for {asked} NICs (one has 1 NIC)" in notes[0][2]
    # Without the device nodes, whoever wrote them may have meant others.
    del item["spec"]["volumes"]
    item["spec"]["containers"][0]["resources"] = {"limits": {"rdma/ib": "1"}}
    assert only(item, RewriteOptions([ONE]))["spec"]["resourceClaims"]


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        ([f"uverbs{number}" for number in range(8)], 8),
        (["uverbs0", "umad0", "issm0", "rdma_cm"], 0),
    ],
)
def test_hcas_whose_device_nodes_are_injected(files: list[str], asked: int) -> None:
    devices = json.dumps([{"path": f"/dev/infiniband/{name}"} for name in files])
    item = pod(
        metadata={"annotations": {"devices.noderesource.dev/container.main": devices}}, container={"resources": {}}
    )
    (there,), notes = moved(item, options=RewriteOptions([ONE]))
    assert ("resourceClaims" in there["spec"]) is (not asked), notes
    assert not asked or f"which asks for {asked} NICs (one has 1 NIC)" in notes[0][2]


@pytest.mark.parametrize(
    ("value", "limits", "known"),
    [
        ("all", {"rdma/ib": "1"}, False),
        ("0,1,2,3", {"rdma/ib": "1"}, False),
        ("all", {"rdma/ib": "1", "nvidia.com/gpu": "1"}, True),
        *((value, {"rdma/ib": "1"}, True) for value in ("", "none", "void")),
    ],
)
def test_gpus_that_a_variable_gives(value: str, limits: dict[str, str], known: bool) -> None:
    item = asking(limits)
    item["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]
    (there,), notes = moved(item, options=RewriteOptions([ONE]))
    said = "container main has GPUs by NVIDIA_VISIBLE_DEVICES, and how many is not in the manifest"
    assert ("resourceClaims" in there["spec"]) is known
    assert [text for _name, _level, text in notes] == ([] if known else [f"{said}: choose in rdma_migrate_requests"])
    notes = moved(item, options=RewriteOptions([ONE], {"pod": ["one"]}))[1]
    assert (f"{said}: whether one has enough is not known" in [note[2] for note in notes]) is not known


def test_several_requests_have_more() -> None:
    rails = [NamedRequest(f"rdma/rail{rail}", limits={f"rdma/rail{rail}": 1}, nics=1) for rail in range(4)]
    item = asking({"nvidia.com/gpu": "4", "rdma/ib": "1"})
    assert "rdma/rail3 has 1 NIC): choose in" in refused(item, RewriteOptions(rails))
    names = [request.name for request in rails]
    assert moved(item, options=RewriteOptions(rails, {"pod": names}))[1] == []
    (note,) = moved(item, options=RewriteOptions(rails, {"pod": names[:3]}))[1]
    assert note[2].endswith("rdma/rail2 has 3 NICs, which asked for 4 NICs")


def test_a_claim_without_nics_is_none_for_rdma() -> None:
    item = asking({"nvidia.com/gpu": "8", "rdma/ib": "1"})
    assert "no request of the group fits a pod with 8 GPUs; it has" in refused(item, RewriteOptions([GPUS]))
    both = RewriteOptions([GPUS, EIGHT], {"pod": ["h100-8gpu", "eight"]})
    assert moved(item, options=both)[1] == []
    alone = RewriteOptions([GPUS], {"pod": ["h100-8gpu"]})
    assert "h100-8gpu has 0 NICs for all containers" in moved(item, options=alone)[1][0][2]
    assert "which asked for 8 NICs" in moved(item, options=RewriteOptions([SINGLE], {"pod": ["nic-a"]}))[1][0][2]


@pytest.mark.parametrize(("number", "written"), [("8e0", True), ("${GPUS}", False), ("7500m", False)])
def test_numbers_that_are_none(number: str, written: bool) -> None:
    """As Flux has them in manifests, which it replaces when it applies these."""
    item = asking({"nvidia.com/gpu": number, "rdma/ib": "1"})
    (there,), notes = moved(item, options=RewriteOptions([ONE, BOARD]))
    assert ("resourceClaims" in there["spec"]) is written
    said = f"nvidia.com/gpu: {number} is not a number of devices: choose in rdma_migrate_requests"
    assert [text for _name, _level, text in notes] == ([] if written else [said])
    (_there,), notes = moved(item, options=RewriteOptions([EIGHT], {"pod": ["eight"]}))
    assert (
        written
        or notes[0][2] == f"nvidia.com/gpu: {number} is not a number of devices: whether eight has enough is not known"
    )


@pytest.mark.parametrize(
    ("request_of_group", "claims", "limits"),
    [
        (ONE, ["one-1", "one-1"], {}),
        (RAIL, [], {"rdma/rail": "2"}),
        # Both are the same NIC, all NICs, or those near the GPUs.
        (SINGLE, ["nic-a-1111111111"], {}),
        (SHARED, [], {"rdma/shared": "1"}),
        (NEAREST, [], {"rdma.io/hca": "1"}),
    ],
)
def test_a_request_that_is_chosen_twice(
    request_of_group: NamedRequest, claims: list[str], limits: dict[str, str]
) -> None:
    item = pod(container={"resources": {"limits": {"rdma/ib": "2", "nvidia.com/gpu": "1"}}})
    own = replace(request_of_group, nics=0 if request_of_group is SHARED else 1)
    (found,), notes = moved(item, options=RewriteOptions([own], {"pod": [own.name, own.name]}))
    having = [entry.popitem()[1] for entry in found["spec"].get("resourceClaims", [])]
    assert having == claims
    asked = found["spec"]["containers"][0]["resources"]["limits"]
    assert {name: number for name, number in asked.items() if name != "nvidia.com/gpu"} == limits
    lacking = [text for _name, _level, text in notes if "1 NIC" in text]
    assert bool(lacking) is (own.name in (SINGLE.name, NEAREST.name))
