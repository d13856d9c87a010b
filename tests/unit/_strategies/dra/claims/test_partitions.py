# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What claims say where NVIDIA's driver publishes MIG devices in place of GPUs.

Their attributes are those of ``cmd/gpu-kubelet-plugin/mig.go`` in the module sigs.k8s.io/dra-driver-nvidia-gpu v0.5.0,
as read there: a GPU in MIG mode is not published, each of its MIG devices is, with the place of that GPU.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import predict, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import GPU_DRIVER, SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, right, template
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

VERSIONS = {"rdma_driver_dranet_version": "1.4.0", "rdma_driver_gpu_version": "0.5.0"}
# Eight GPUs and four NICs, four and two on each of two root complexes.
NODE = "h100-03"
OF_ONE_GPU = 7


def partitions(gpu: SliceDevice) -> list[SliceDevice]:
    """A GPU as seven MIG devices of the profile 1g.10gb, whose profile ID is 19."""
    own = {"type": "mig", "parentUUID": gpu.attributes[f"{GPU_DRIVER}/uuid"], "profile": "1g.10gb"}
    shared = {name: value for name, value in gpu.attributes.items() if not name.endswith(("/type", "/uuid"))}
    return [
        replace(
            gpu,
            name=f"{gpu.name}-mig-1g10gb-19-{start}",
            attributes={
                **shared,
                **{f"{GPU_DRIVER}/{name}": value for name, value in own.items()},
                f"{GPU_DRIVER}/uuid": f"MIG-{gpu.name}-{start}",
            },
            capacity={f"{GPU_DRIVER}/memory": "9728Mi"},
        )
        for start in range(OF_ONE_GPU)
    ]


def planned(facts: dict[str, Any], divided: set[str], *wanted: dict[str, Any], **variables: Any) -> ClaimPlan:
    """The plan for a node on which these GPUs are divided, as it is published."""
    found = predict.predicted(NODE, read.facts(facts), versions.dranet("1.4.0"), versions.gpu("0.5.0"))
    devices = [part for one in found for part in (partitions(one) if one.name in divided else [one])]
    own = {**VERSIONS, **variables, "rdma_claims_templates": list(wanted)}
    return planner.plan([InventoryHost(NODE, "group", own, read.facts(facts))], resource_slices(devices))


@pytest.mark.parametrize("align", ["auto", "pcie_root", "numa", "none", "unaligned"])
@pytest.mark.parametrize("gpu_class", ["gpu.nvidia.com", "mig.nvidia.com"])
def test_templates_of_gpus_are_refused_where_all_are_divided(facts_of: Facts, align: str, gpu_class: str) -> None:
    """Whatever the class: a template is for whole GPUs, and no alignment is claimed for what is none."""
    every = {f"gpu-{number}" for number in range(8)}
    wanted = template(gpus=1, nics=1, align=align)
    found = planned(facts_of(NODE), every, wanted, rdma_claims_gpu_class=gpu_class)
    assert found.objects == []
    (problem,) = found.problems
    assert problem.startswith(f"{NODE}: rdma_claims_templates[0]")
    assert problem.endswith(f"{NODE}: 0 matching GPUs beside 56 partitions (mig), 1 requested")


def test_whole_gpus_beside_divided_ones(facts_of: Facts) -> None:
    found = planned(facts_of(NODE), {"gpu-0", "gpu-4"}, template(gpus=6, nics=4, align="none"))
    right(found)
    found = planned(facts_of(NODE), {"gpu-0", "gpu-4"}, template(gpus=3, nics=1))
    assert found.text.startswith("one (group), align=pcie_root: 3 GPUs and 1 NIC on one PCIe root complex")
    found = planned(facts_of(NODE), {"gpu-0", "gpu-4"}, template(gpus=7, nics=1))
    (problem,) = found.problems
    assert problem.endswith("6 matching GPUs beside 14 partitions (mig), 7 requested")


def test_nics_alone_need_no_gpu(facts_of: Facts) -> None:
    right(planned(facts_of(NODE), {f"gpu-{number}" for number in range(8)}, template(nics=4)))
