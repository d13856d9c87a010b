# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What libraries in a container have to know about its HCAs. Variables that it has already stay as they are.

Sources: NCCL User Guide, "Environment Variables" (``=`` in NCCL_IB_HCA stands for exact names); UCX documentation,
UCX_NET_DEVICES and UCX_IB_GID_INDEX; vLLM, vllm/v1/executor/vllm_net_devices.py (pairs of PCI addresses).
"""

from __future__ import annotations

from typing import Dict, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.hardware import GpuPlace, HcaPlace


def variables(hcas: Sequence[HcaPlace], gpus: Sequence[GpuPlace], given: Mapping[str, str]) -> Dict[str, str]:
    """The variables for a container with these HCAs and GPUs that it does not have yet (``given``).

    A GID index is only set where one is right for all ports.
    """
    ports = [(hca, port) for hca in hcas for port in hca.ports]
    names = [f"{hca.name}:{port.number}" for hca, port in ports]
    wanted = {"NCCL_IB_HCA": "=" + ",".join(names), "UCX_NET_DEVICES": ",".join(names)} if names else {}
    indexes = {port.gid_index for _hca, port in ports if port.ethernet}
    if len(indexes) == 1 and None not in indexes:
        wanted.update(dict.fromkeys(("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX"), str(*indexes)))
    own = {hca.name: hca.address for hca in hcas if hca.address}
    near = {gpu.address: own[name] for gpu in gpus for name in list(gpu.nearest)[:1] if name in own}
    if near:
        wanted["VLLM_GPU_NIC_PCIE_MAPPING"] = ",".join(f"{gpu}={nic}" for gpu, nic in near.items())
    return {name: value for name, value in wanted.items() if name not in given}
