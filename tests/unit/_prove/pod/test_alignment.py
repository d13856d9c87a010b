# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How far the GPUs and NICs of a claim are apart, and what it promises."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import (
    KIND,
    asking,
    failed,
    make_judged,
    make_pods,
    plan,
    waves,
)

# Fixtures that are defined elsewhere.
__all__ = ["make_judged", "make_pods"]


def test_a_nic_that_is_far_from_its_gpu(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    devices = predict.predicted("n1", read.facts(facts_of(KIND)), (1, 4, 0), (1, 0, 4, 1))
    near_one_gpu = [one.name for one in devices if one.is_rdma_nic][:2]
    nics = [one for one in pods[0]["result"]["allocation"] if one["driver"] == model.DRANET]
    for one, name in zip(nics, near_one_gpu):
        one["device"] = name
    assert "but the claim promises PHB" in failed(judged(pods))["pod.path"]


def _paths(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(check["verdict"], check["text"]) for check in found["checks"] if check["id"] == "pod.path"]


def test_each_gpu_is_compared_with_the_nics_of_its_own_constraint(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    """Near the NIC that another GPU was promised, it is far from its own."""
    devices = predict.predicted("n1", read.facts(facts_of(KIND)), (1, 4, 0), (1, 0, 4, 1))
    allocation = {one["request"]: one for one in pods[0]["result"]["allocation"]}
    gpus = [one for one in devices if one.is_gpu]
    (root,) = {one.attributes[model.PCIE_ROOT] for one in gpus if one.name == allocation["gpu-0"]["device"]}
    other = next(
        one.name
        for one in gpus
        if one.attributes[model.PCIE_ROOT] == root and one.name != allocation["gpu-0"]["device"]
    )
    allocation["gpu-1"]["device"] = other
    found = judged(pods[:1])
    ((verdict, text),) = _paths(found)
    assert (verdict, text.partition(" to ")[2]) == ("fail", f"{other} is SYS, but the claim promises PHB")
    (check,) = [check for check in found["checks"] if check["id"] == "pod.path"]
    assert check["evidence"]["paths"] == {allocation["gpu-0"]["device"]: "PHB", other: "SYS"}


@pytest.mark.parametrize("kept", [0, 1])
def test_a_gpu_that_the_facts_do_not_have(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any], kept: int
) -> None:
    """The others are no answer to how far it is; that they are too far is."""
    own = copy.deepcopy(facts_of(KIND))
    devices = predict.predicted("n1", read.facts(own), (1, 4, 0), (1, 0, 4, 1))
    names = [one["device"] for one in pods[0]["result"]["allocation"] if one["driver"] == model.GPU_DRIVER]
    addresses = [one.pci for one in devices if one.name in names[:kept]]
    for key, address_of in (("gpus", lambda one: one["pci"]["address"]), ("affinity", lambda one: one["address"])):
        own[key] = [one for one in own[key] if address_of(one) in addresses]
    before = {"n1": own}
    text = f"the path from the NICs of the claim to {', '.join(names[kept:])} is unknown: the facts have no such GPU"
    assert _paths(judged(pods[:1], before=before, after=before)) == [("impossible", text)]
    nics = [one for one in pods[0]["result"]["allocation"] if one["driver"] == model.DRANET]
    nics[0]["device"], nics[1]["device"] = nics[1]["device"], nics[0]["device"]
    assert [verdict for verdict, _text in _paths(judged(pods[:1], before=before, after=before))] == (
        ["fail"] if kept else ["impossible"]
    )


@pytest.mark.parametrize(("align", "verdict"), [("numa", "fail"), ("unaligned", "pass")])
def test_what_the_variants_of_a_template_promise(
    judged: Callable[..., Any], facts_of: Callable[..., Any], align: str, verdict: str
) -> None:
    """NICs of another NUMA node are what an unaligned template is for."""
    found = plan(facts_of, [{"name": "h100-one", "gpus": 1, "nics": 1, "align": align}])
    pod = asking(waves(found)[0])[0]
    assert (pod.entry, pod.alias) == ("h100-one", "h100-one-numa0")
    facts = facts_of(KIND)
    devices = predict.predicted("n1", read.facts(facts), (1, 4, 0), (1, 0, 4, 1))
    far = [
        next(one for one in devices if one.is_gpu),
        [one for one in devices if one.is_rdma_nic][-1],
    ]
    allocation = [
        {"request": request, "driver": one.driver, "pool": "n1", "device": one.name}
        for request, one in zip(("gpu", "nic"), far)
    ]
    ran = {"phase": "Succeeded", "trouble": "", "seconds": 7.0, "allocation": allocation, "output": ""}
    each = {**pod_plan.plain(pod), "result": {"name": pod.name, **ran}}
    ((own, text),) = _paths(judged([each], found))
    assert (own, "SYS" in text) == (verdict, True)


_TOPO = """\
\x1b[4m\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\t{near}\tSYS\tSYS\t0-47\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tPIX\tSYS\t0-47\t0\t\tN/A
NIC0\t{near}\tSYS\t X \tSYS\tSYS
NIC1\tSYS\tPIX\tSYS\t X \tSYS

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)

NIC Legend:

  NIC0: {first}
  NIC1: {second}
  NIC2: mlx5_9
"""


@pytest.mark.parametrize(("near", "worst"), [("PIX", "PIX"), ("NODE", "NODE")])
def test_what_nvidia_smi_sees_is_beside_what_was_allocated(
    pods: list[dict[str, Any]], judged: Callable[..., Any], near: str, worst: str
) -> None:
    before = {one["subject"]: one for one in judged(pods)["checks"] if one["id"] == "pod.path"}
    (name,) = before
    assert "nvidia-smi" not in before[name]["text"]
    assert "nvidia_smi" not in before[name]["evidence"]
    for one in pods:
        output = one["result"]["output"]
        ports = output.partition("==> ports\n")[2].partition("==>")[0]
        first, second = [line.split()[0] for line in ports.splitlines()]
        topo = _TOPO.format(near=near, first=first, second=second)
        one["result"]["output"] = output.replace("==> end", f"==> topo\n{topo}==> end")
    (check,) = {one["subject"]: one for one in judged(pods)["checks"] if one["id"] == "pod.path"}.values()
    assert f"(nvidia-smi topo -m in the pod: {worst})" in check["text"]
    assert check["evidence"]["nvidia_smi"] == [near, "PIX"]
