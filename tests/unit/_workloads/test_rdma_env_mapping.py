# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The NIC of each GPU that rdma-env.sh tells vLLM."""

from __future__ import annotations

from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_shells import MakePod, make_pod, make_shell

# Fixtures that are defined elsewhere.
__all__ = ["make_pod", "make_shell"]


def pairs(mapping: str) -> Dict[str, str]:
    return dict(pair.split("=") for pair in mapping.split(","))


@pytest.mark.parametrize("node", ["case-h100-roce", "h100-01", "v100-01", "case-nps4"])
def test_vllm_gets_the_nic_beside_each_gpu(pod: MakePod, facts_of: Callable[..., Dict[str, Any]], node: str) -> None:
    facts = facts_of(node)
    usable = {entry["hca"] for entry in facts["usable"]}
    own = pod(node)
    own.keep(*usable)
    own.gpus(*range(len(facts["gpus"])))
    own.write("opt/vllm/lib64/python3.12/site-packages/vllm/v1/executor/vllm_net_devices.py")
    found = own.run()
    assert found.status == 0, found.said
    assert found.variables["VLLM_NIC_SELECTION_VARS"] == "UCX_NET_DEVICES:1,NVSHMEM_HCA_LIST:1,NCCL_IB_HCA:1"
    # vLLM would put its own in front of these.
    assert not {"UCX_NET_DEVICES", "NVSHMEM_HCA_LIST", "NCCL_IB_HCA"} & set(found.variables)
    chosen = pairs(found.variables["VLLM_GPU_NIC_PCIE_MAPPING"])
    names = {hca["pci"]["address"]: hca["name"] for hca in facts["hcas"] if hca["name"] in usable}
    assert list(chosen) == [gpu["pci"]["address"] for gpu in facts["gpus"]]
    for entry in facts["affinity"]:
        paths = {name: PATH_CLASSES.index(entry["paths"][name]) for name in usable}
        assert paths[names[chosen[entry["address"]]]] == min(paths.values())
    # As many GPUs for one NIC as for another.
    users = [list(chosen.values()).count(address) for address in names]
    assert max(users) - min(users) <= 1


def test_vllm_with_some_of_the_gpus(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_6")
    roce.gpus(6)
    found = roce.run(ZEROCOPY_RDMA_MAPPING="yes")
    (pair,) = found.variables["VLLM_GPU_NIC_PCIE_MAPPING"].split(",")
    gpu, nic = (part.split(":")[1] for part in pair.split("="))
    assert gpu != nic
    assert gpu[0] == nic[0] == "c"


def test_a_variable_of_the_user_is_left_out_of_the_mapping(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.gpus(0)
    found = roce.run(ZEROCOPY_RDMA_MAPPING="yes", NCCL_IB_HCA="mlx5_7")
    assert found.variables["VLLM_NIC_SELECTION_VARS"] == "UCX_NET_DEVICES:1,NVSHMEM_HCA_LIST:1"
    assert found.variables["NCCL_IB_HCA"] == "mlx5_7"


@pytest.mark.parametrize("why", ["no GPU", "old vLLM", "switched off"])
def test_no_mapping(pod: MakePod, why: str) -> None:
    roce = pod("case-h100-roce")
    if why != "no GPU":
        roce.gpus(0)
    if why != "old vLLM":
        roce.write("usr/local/lib/python3.12/dist-packages/vllm/v1/executor/vllm_net_devices.py")
    found = roce.run(ZEROCOPY_RDMA_MAPPING="no" if why == "switched off" else "auto")
    assert not any(name.startswith("VLLM") for name in found.variables)
    assert found.variables["NCCL_IB_HCA"].startswith("=mlx5_0:1,")
