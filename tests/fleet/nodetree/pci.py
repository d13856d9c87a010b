# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""sys/devices/pciDDDD:BB, sys/bus/pci and the IOMMU groups."""

from __future__ import annotations

import re

from . import models
from .config_space import config_space
from .place import Function
from .spec import Description
from .tree import Content, Tree
from .vpd import vpd


def old_kernel(node: Description) -> bool:
    """Before 5.8 link speeds read ``8 GT/s``, since then ``8.0 GT/s PCIe``."""
    found = re.match(r"(\d+)\.(\d+)", node.kernel)
    return bool(found) and (int(found[1]), int(found[2])) < (5, 8) if found else False


def write_pci(node: Description, functions: list[Function], tree: Tree) -> None:
    for function in functions:
        _write_function(node, function, tree)
    if node.iommu != "off":
        _write_iommu(node, functions, tree)


def _speed(node: Description, value: float) -> str:
    return f"{value:g} GT/s" if old_kernel(node) else f"{value:.1f} GT/s PCIe"


def _write_function(node: Description, function: Function, tree: Tree) -> None:
    part, path, numa = function.part, function.path, function.root.numa
    modalias = (
        f"pci:v{part.vendor:08X}d{part.device:08X}sv{part.subsystem[0]:08X}sd{part.subsystem[1]:08X}"
        f"bc{part.klass >> 16:02X}sc{part.klass >> 8 & 0xFF:02X}i{part.klass & 0xFF:02X}"
    )
    uevent = [f"DRIVER={part.driver}"] if part.driver else []
    uevent += [
        f"PCI_CLASS={part.klass:X}",
        f"PCI_ID={part.vendor:04X}:{part.device:04X}",
        f"PCI_SUBSYS_ID={part.subsystem[0]:04X}:{part.subsystem[1]:04X}",
        f"PCI_SLOT_NAME={function.address}",
        f"MODALIAS={modalias}",
    ]
    values: dict[str, Content] = {
        "vendor": f"0x{part.vendor:04x}",
        "device": f"0x{part.device:04x}",
        "class": f"0x{part.klass:06x}",
        "revision": "0x00",
        "subsystem_vendor": f"0x{part.subsystem[0]:04x}",
        "subsystem_device": f"0x{part.subsystem[1]:04x}",
        "numa_node": numa,
        # Without these two lspci refuses to read the tree.
        "irq": 0,
        "resource": "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 7),
        "modalias": modalias,
        "uevent": "\n".join(uevent),
        "config": config_space(function, node.acs, node.relaxed_ordering),
    }
    # The attributes of a link exist for PCI Express alone.
    if part.width:
        values.update(
            current_link_speed="Unknown" if function.kind == "vf" else _speed(node, function.speed),
            current_link_width=0 if function.kind == "vf" else function.width,
            max_link_speed=_speed(node, part.speed),
            max_link_width=part.width,
        )
    model = models.HCAS.get(node.hcas[function.name].model) if function.name in node.hcas else None
    if model and model.modl:
        values["vpd"] = vpd(node.host, function.name, model)
    if function.bridge:
        values["secondary_bus_number"] = function.secondary
        values["subordinate_bus_number"] = function.subordinate
    if function.total_vfs:
        device = models.VF_DEVICES.get(part.device, part.device)
        values.update(
            sriov_totalvfs=function.total_vfs,
            sriov_numvfs=len(function.vfs),
            sriov_offset=1,
            sriov_stride=1,
            sriov_vf_device=f"{device:x}",
            sriov_drivers_autoprobe=1,
        )
    tree.attrs(path, values)
    tree.link(f"{path}/subsystem", "sys/bus/pci")
    tree.link(f"sys/bus/pci/devices/{function.address}", path)
    if part.driver:
        tree.link(f"{path}/driver", f"sys/bus/pci/drivers/{part.driver}")
        tree.link(f"sys/bus/pci/drivers/{part.driver}/{function.address}", path)
        if part.driver != "pcieport":
            module = part.driver.replace("-", "_").replace("nvidia_nvswitch", "nvidia")
            tree.link(f"sys/bus/pci/drivers/{part.driver}/module", f"sys/module/{module}")
    if function.pf:
        tree.link(f"{path}/physfn", function.pf.path)
    for index, vf in enumerate(function.vfs):
        tree.link(f"{path}/virtfn{index}", vf.path)


def _write_iommu(node: Description, functions: list[Function], tree: Tree) -> None:
    """Without ACS everything below one root port can talk behind the IOMMU's back, so it shares a group."""
    groups: dict[str, int] = {}
    for function in functions:
        top = function
        while top.parent and not node.acs:
            top = top.parent
        number = groups.setdefault(top.address, len(groups))
        tree.link(f"{function.path}/iommu_group", f"sys/kernel/iommu_groups/{number}")
        tree.link(f"sys/kernel/iommu_groups/{number}/devices/{function.address}", function.path)
    for number in groups.values():
        tree.file(f"sys/kernel/iommu_groups/{number}/type", "identity" if node.iommu == "passthrough" else "DMA-FQ")
    intel = node.platform not in ("rome", "genoa", "desktop")
    for index in range(len(node.pci)):
        tree.file(f"sys/devices/virtual/iommu/{'dmar' if intel else 'ivhd'}{index}/uevent", b"")
        tree.link(
            f"sys/class/iommu/{'dmar' if intel else 'ivhd'}{index}",
            f"sys/devices/virtual/iommu/{'dmar' if intel else 'ivhd'}{index}",
        )
