# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How far the GPUs and NICs of a claim are apart, and what it promises."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import (
    KIND,
    failed,
    make_judged,
    make_pods,
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
