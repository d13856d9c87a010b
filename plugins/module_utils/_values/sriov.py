# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a physical function (PF) can do for its virtual functions (VFs), by its driver."""

from __future__ import annotations

from typing import Optional

# The only one that sets GUIDs of VFs on InfiniBand (drivers/infiniband/hw/mlx5/ib_virt.c, ndo_set_vf_guid of IPoIB).
GUID_DRIVER = "mlx5_core"


def more_vfs(pci: str, driver: Optional[str], number: int) -> str:
    """How to raise the limit of a PF, ``sriov_totalvfs``."""
    if driver == "mlx5_core":
        command = f"mlxconfig -d {pci} set SRIOV_EN=1 NUM_OF_VFS={number}"
        return f"raise that in its firmware ({command}), then reboot the node"
    return "ask for fewer, or raise that in the firmware's settings (SR-IOV) and reboot the node"
