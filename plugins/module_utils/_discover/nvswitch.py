# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""ConnectX-7 functions that manage NVSwitches (HGX B200, B300): they look like NICs and belong to the Fabric Manager.

On these baseboards the NVSwitches are no PCI devices. The host reaches them through a ConnectX-7 on the baseboard. Its
functions have the device id of a NIC but no port to a network. Their Vital Product Data tells them apart by the field
``SMDL=SW_MNG`` (NVIDIA Fabric Manager User Guide, "NVSwitch Core Software Stack"). Resetting one resets its NVSwitch.
"""

from __future__ import annotations

from typing import FrozenSet, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci as discover_pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, PciFunction

_NVIDIA, _MELLANOX, _CONNECTX_7 = "10de", "15b3", "1021"
_BRIDGE, _INFINIBAND = "0680", "0207"
_MARK = b"SMDL=SW_MNG"
# Seen on these functions; decides only where the VPD, which is root's, cannot be read.
_SUBSYSTEM = (0x15B3, 0x0087)
# A card's VPD has a few hundred bytes. Reading it takes many milliseconds: the kernel asks the card for each word.
_VPD_SIZE = 4096


def _hidden_switches(tree: Tree, classes: Mapping[str, str], functions: Sequence[PciFunction]) -> bool:
    """Whether NVSwitches may exist that are not PCI devices: the node has NVIDIA GPUs, but no NVSwitch on PCI."""
    if not any(pci.vendor_id == _NVIDIA and pci.class_id.startswith("03") for pci in functions):
        return False
    bridges = [address for address, code in classes.items() if code.startswith(_BRIDGE)]
    return all(tree.number(f"{discover_pci.DEVICES}/{address}/vendor", 16) != int(_NVIDIA, 16) for address in bridges)


def _marked(tree: Tree, address: str) -> bool:
    directory = discover_pci.DEVICES + "/" + address
    vpd = tree.head(directory + "/vpd", _VPD_SIZE)
    if vpd:
        return _MARK in vpd
    names = ("subsystem_vendor", "subsystem_device")
    return tuple(tree.number(f"{directory}/{name}", 16) for name in names) == _SUBSYSTEM


def managing(
    tree: Tree, classes: Mapping[str, str], functions: Sequence[PciFunction], hcas: Sequence[Hca]
) -> FrozenSet[str]:
    """Names of the HCAs that manage NVSwitches. ``classes`` are those of all PCI functions, by address.

    One marked function is enough for all functions of its card: the guide gives the mark to half of them only.
    """
    candidates = {
        hca.name: hca.pci.address
        for hca in hcas
        if hca.pci
        and (hca.pci.vendor_id, hca.pci.device_id, hca.pci.class_id[:4]) == (_MELLANOX, _CONNECTX_7, _INFINIBAND)
        and not hca.software
        and hca.sriov.role != "vf"
    }
    if not candidates or not _hidden_switches(tree, classes, functions):
        return frozenset()
    cards = set()
    for address in candidates.values():
        if address[:-1] not in cards and _marked(tree, address):
            cards.add(address[:-1])
    return frozenset(name for name, address in candidates.items() if address[:-1] in cards)
