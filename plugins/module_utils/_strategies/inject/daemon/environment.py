# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What libraries in a container have to know about its HCAs. Variables that it has already stay as they are.

The rules are those of rdma-env.sh (role rdma_workloads), which a container may run as well; a test holds the two
against each other. What only the container knows is left to that script: whether its vLLM can choose the NIC of each
GPU. One that can refuses VLLM_GPU_NIC_PCIE_MAPPING without VLLM_NIC_SELECTION_VARS (vllm_net_devices.py).

Sources: NCCL User Guide, "Environment Variables" (``=`` in NCCL_IB_HCA stands for exact names); UCX documentation,
UCX_NET_DEVICES and UCX_IB_GID_INDEX; NVSHMEM documentation, NVSHMEM_HCA_LIST and NVSHMEM_IB_GID_INDEX.
"""

from __future__ import annotations

from typing import Dict, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import HcaPlace


def variables(hcas: Sequence[HcaPlace], given: Mapping[str, str]) -> Dict[str, str]:
    """The variables for a container with these HCAs that it does not have yet (``given``).

    A RoCE port without a RoCE v2 GID is left out. A GID index is only set where it is right for all ports: InfiniBand
    has its GID at another one.
    """
    ports = [(hca, port) for hca in hcas for port in hca.ports if not port.ethernet or port.gid_index is not None]
    if not ports:
        return {}
    names = ",".join(f"{hca.name}:{port.number}" for hca, port in ports)
    wanted = {"NCCL_IB_HCA": f"={names}", "UCX_NET_DEVICES": names, "NVSHMEM_HCA_LIST": names}
    indexes = {port.gid_index for _hca, port in ports}
    if len(indexes) == 1 and None not in indexes:
        wanted.update(dict.fromkeys(("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"), str(*indexes)))
    return {name: value for name, value in wanted.items() if not given.get(name)}
