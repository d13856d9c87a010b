# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GPUs by PCI vendor and class; model and UUID where the driver tells them.

Sources: NVIDIA driver README chapter "Using the /proc File System Interface", Documentation/gpu/amdgpu (sysfs
``product_name`` and ``unique_id``), PCI Code and ID Assignment Specification (class codes).
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci as discover_pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Gpu, PciFunction

DEFAULT_VENDORS = ("10de", "1002")
# VGA controller, 3D controller, other display controller, processing accelerator (AMD Instinct MI300).
DEFAULT_CLASSES = ("0300", "0302", "0380", "1200")

_AMD, _INTEL, _VGA = "1002", "8086", "0300"

_FOUR_DIGITS = re.compile("(?:0x)?([0-9a-f]{4})")


def identifiers(option: str, values: Sequence[str]) -> List[str]:
    """Vendor ids or class codes in lower case without ``0x``. Raises ValueError naming option and value."""
    found = []
    for value in values:
        match = _FOUR_DIGITS.fullmatch(value.lower())
        if not match:
            raise ValueError(f"{option}: {value!r} is not 4 hexadecimal digits such as '10de'")
        found.append(match.group(1))
    return found


def _computes(tree: Tree, pci: PciFunction) -> bool:
    """Whether a function of a GPU vendor is a GPU, not the display adapter of a BMC.

    The BMC adapters with the id of a GPU vendor (AMD's ES1000 and its like) are VGA controllers on conventional PCI, so
    they have no PCI Express link; no driver is needed to tell. A VGA controller that amdgpu drives computes, even where
    a virtual machine shows it on conventional PCI.
    """
    if pci.vendor_id != _AMD or pci.class_id[:4] != _VGA or pci.driver == "amdgpu":
        return True
    return tree.exists(discover_pci.DEVICES + "/" + pci.address + "/max_link_width")


def _from_nvidia(tree: Tree, address: str) -> Tuple[Optional[str], Optional[str]]:
    fields = {}
    for line in (tree.text("proc/driver/nvidia/gpus/" + address + "/information") or "").splitlines():
        key, _colon, value = line.partition(":")
        fields[key.strip()] = value.strip() or None
    return fields.get("Model"), fields.get("GPU UUID")


def _from_amdgpu(tree: Tree, address: str) -> Tuple[Optional[str], Optional[str]]:
    directory = discover_pci.DEVICES + "/" + address
    return tree.text(directory + "/product_name"), tree.text(directory + "/unique_id")


# Display devices of virtual machines (virtio, QEMU, Cirrus, VMware, Hyper-V) and of BMCs (ASPEED, Matrox).
_NO_ACCELERATORS = frozenset(("1af4", "1234", "1b36", "1013", "15ad", "1414", "1a03", "102b"))


def others(
    functions: Sequence[PciFunction], vendors: Sequence[str], classes: Sequence[str]
) -> Dict[str, List[PciFunction]]:
    """By vendor, accelerators that do not count as GPUs, because their vendor is not one of ``vendors``.

    VGA controllers are displays, and what is integrated into Intel's processors has no port above it. In a virtual
    machine, nothing may have one.
    """
    found: Dict[str, List[PciFunction]] = {}
    for pci in functions:
        integrated = pci.vendor_id == _INTEL and len(pci.pcie_path) < 2
        accelerator = pci.class_id[:4] in classes and pci.class_id[:4] != _VGA and not integrated
        if accelerator and pci.vendor_id not in vendors and pci.vendor_id not in _NO_ACCELERATORS:
            found.setdefault(pci.vendor_id, []).append(pci)
    return found


def gpus(tree: Tree, functions: Sequence[PciFunction], vendors: Sequence[str], classes: Sequence[str]) -> List[Gpu]:
    """GPUs among PCI functions, in PCI order.

    ``vendors`` and ``classes`` (base class and subclass) have 4 hex digits each. Display adapters of BMCs do not count.
    """
    found: List[Gpu] = []
    for pci in functions:
        if pci.vendor_id not in vendors or pci.class_id[:4] not in classes or not _computes(tree, pci):
            continue
        model, uuid = _from_nvidia(tree, pci.address)
        if model is None and pci.driver == "amdgpu":
            model, uuid = _from_amdgpu(tree, pci.address)
        link = discover_pci.link(tree, pci.address)
        found.append(Gpu(index=len(found), pci=pci, model=model, uuid=uuid, pcie_link=link))
    return found
