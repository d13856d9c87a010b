# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""PCI functions: identity, place in the PCIe tree, link, SR-IOV role, Access Control Services, relaxed ordering.

Sources: Documentation/ABI/testing/sysfs-bus-pci (Linux), PCI Express Base Specification 6.0 sections 7.5 (link and
device control), 7.7.12 (ACS extended capability), 9 (SR-IOV).
"""

from __future__ import annotations

import re
import struct
from typing import Container, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import PcieLink, PciFunction, Sriov
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.pci import is_address

DEVICES = "sys/bus/pci/devices"

_ROOT = re.compile("pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_SPEED = re.compile(r"^([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*GT/s", re.ASCII)

_CONFIG_HEADER_SIZE = 64
_ACS_CAPABILITY = 0x000D
# Bits of ACS control that keep peers apart, with lspci's names.
_ACS_REDIRECTS = {"ReqRedir": 0x04, "CmpltRedir": 0x08, "EgressCtrl": 0x20}
_PCIE_CAPABILITY = 0x10
_DEVICE_CONTROL = 8
_RELAXED_ORDERING = 0x10


def components(real_path: str) -> List[str]:
    """PCI addresses along a resolved sysfs path, root port first.

    A class device below a PCI function (``.../0000:0c:00.0/infiniband/mlx5_0``) or below an auxiliary device of it
    yields the function's own address last.
    """
    return [part for part in real_path.split("/") if is_address(part)]


def root_complex(real_path: str) -> Optional[str]:
    """First ``pciDDDD:BB`` component of a resolved sysfs path, as Kubernetes' ``pcieRoot`` attribute uses it."""
    return next((part for part in real_path.split("/") if _ROOT.fullmatch(part)), None)


def _identifier(tree: Tree, path: str, digits: int) -> str:
    value = tree.number(path, 16)
    return "" if value is None or value < 0 else "{0:0{1}x}".format(value, digits)


def numa_node(tree: Tree, directory: str) -> Optional[int]:
    """NUMA node of a device; the kernel's -1 ("firmware did not say") is ``None``."""
    value = tree.number(directory + "/numa_node")
    return value if value is not None and value >= 0 else None


def function(tree: Tree, address: str) -> Optional[PciFunction]:
    """The PCI function at ``address``, or ``None`` when the node has none there (or no longer)."""
    directory = DEVICES + "/" + address
    real = tree.resolve(directory)
    if real is None:
        return None
    return PciFunction(
        address=address,
        vendor_id=_identifier(tree, directory + "/vendor", 4),
        device_id=_identifier(tree, directory + "/device", 4),
        class_id=_identifier(tree, directory + "/class", 6),
        driver=tree.target_name(directory + "/driver"),
        numa_node=numa_node(tree, directory),
        pcie_root=root_complex(real),
        pcie_path=components(real),
    )


def classes(tree: Tree) -> Dict[str, str]:
    """Class code (6 hex digits, empty where unreadable) of every PCI function by address, in PCI order."""
    return {
        address: _identifier(tree, f"{DEVICES}/{address}/class", 6)
        for address in tree.names(DEVICES)
        if is_address(address)
    }


def functions(tree: Tree, codes: Mapping[str, str], base_classes: Container[str]) -> List[PciFunction]:
    """PCI functions of the given base classes (2 hex digits: ``02`` network, ``03`` display), in PCI order."""
    found = [function(tree, address) for address, code in codes.items() if code[:2] in base_classes]
    return [pci for pci in found if pci is not None]


def lane_gbps(speed_gts: float) -> float:
    """Data rate of one lane in Gb/s after line coding."""
    return speed_gts * (0.8 if speed_gts <= 5.0 else 128.0 / 130.0)


def _speed(tree: Tree, path: str) -> Optional[float]:
    match = _SPEED.match(tree.text(path) or "")
    return float(match.group(1)) if match else None


def _width(tree: Tree, path: str) -> Optional[int]:
    value = tree.number(path)
    # VFs and functions without a link of their own report 0 or 255 (PCI_EXP_LNKSTA_NLW unknown).
    return value if value is not None and 0 < value <= 32 else None


def _capacity(speed: Optional[float], width: Optional[int]) -> Optional[float]:
    return round(lane_gbps(speed) * width, 1) if speed and width else None


def _link_of(tree: Tree, directory: str) -> PcieLink:
    return PcieLink(
        speed_gts=_speed(tree, directory + "/current_link_speed"),
        width=_width(tree, directory + "/current_link_width"),
        max_speed_gts=_speed(tree, directory + "/max_link_speed"),
        max_width=_width(tree, directory + "/max_link_width"),
    )


# What QEMU and VMware emulate: Red Hat's and Intel's (ioh3420) root port, TI's switch, VMware's root port.
_EMULATED = frozenset(("1b36:000c", "8086:3420", "104c:8232", "104c:8233", "15ad:07a0"))


def is_emulated(tree: Tree, along: Sequence[str]) -> bool:
    """Whether the port above a function is not the one that its card is plugged into, as in a virtual machine.

    ``along`` are the PCI addresses down to the function itself. A card has a port above it. One that has not was given
    to the machine without.
    """
    if len(along) < 2:
        return True
    directory = DEVICES + "/" + along[-2]
    return ":".join(_identifier(tree, f"{directory}/{name}", 4) for name in ("vendor", "device")) in _EMULATED


def link(tree: Tree, address: str) -> Optional[PcieLink]:
    """The PCIe link of a function; ``None`` for a function that has none (conventional PCI, integrated endpoint).

    The port at its other end has a maximum of its own: a card for PCIe 5.0 in a slot of 4.0 is not degraded. What both
    ends say of the current link is equal; where it is not, or the port is an emulated one, it is not the one that the
    card is plugged into: what the link could be is not known, or is what the card alone says, and is not judged.
    """
    own = _link_of(tree, DEVICES + "/" + address)
    if not any((own.speed_gts, own.width, own.max_speed_gts, own.max_width)):
        return None
    along = components(tree.resolve(DEVICES + "/" + address) or "")
    port = _link_of(tree, DEVICES + "/" + along[-2]) if len(along) > 1 else PcieLink()
    both = ((own.speed_gts, port.speed_gts), (own.width, port.width))
    if any(here and there and here != there for here, there in both):
        return PcieLink(speed_gts=own.speed_gts, width=own.width)
    if is_emulated(tree, along):
        return own
    if own.max_speed_gts and port.max_speed_gts:
        own.max_speed_gts = min(own.max_speed_gts, port.max_speed_gts)
    if own.max_width and port.max_width:
        own.max_width = min(own.max_width, port.max_width)
    return completed(own)


def completed(own: PcieLink) -> PcieLink:
    """The link with what its speeds and widths say: what it carries, and whether it trained below its best."""
    own.gbps, own.max_gbps = _capacity(own.speed_gts, own.width), _capacity(own.max_speed_gts, own.max_width)
    if own.speed_gts and own.width and own.max_speed_gts and own.max_width:
        own.degraded = own.speed_gts < own.max_speed_gts or own.width < own.max_width
    return own


def sriov(tree: Tree, address: str) -> Sriov:
    """SR-IOV role of a function, from ``physfn`` (VF) or ``sriov_totalvfs`` (PF)."""
    directory = DEVICES + "/" + address
    pf_address = tree.target_name(directory + "/physfn")
    if pf_address:
        return Sriov(role="vf", pf_address=pf_address)
    if not tree.exists(directory + "/sriov_totalvfs"):
        return Sriov()
    return Sriov(
        role="pf",
        total_vfs=tree.number(directory + "/sriov_totalvfs") or 0,
        num_vfs=tree.number(directory + "/sriov_numvfs") or 0,
        vf_offset=tree.number(directory + "/sriov_offset"),
        vf_stride=tree.number(directory + "/sriov_stride"),
    )


def extended_capabilities(config: bytes, size: int) -> Iterator[Tuple[int, int]]:
    """Identifier and offset of each extended capability in a configuration space.

    Ends where fewer than ``size`` bytes of one are there, and where the list leads back to an earlier one.
    """
    offset, seen = 0x100, set()
    while 0x100 <= offset <= len(config) - size and offset not in seen:
        seen.add(offset)
        (header,) = struct.unpack_from("<I", config, offset)
        if header in (0, 0xFFFFFFFF):
            return
        yield header & 0xFFFF, offset
        offset = header >> 20


def capabilities(config: bytes) -> Iterator[Tuple[int, int]]:
    """Identifier and offset of each capability in the first 256 bytes of a configuration space."""
    offset, seen = config[0x34] & ~3 if len(config) > _CONFIG_HEADER_SIZE else 0, set()
    while _CONFIG_HEADER_SIZE <= offset <= min(len(config), 0x100) - 4 and offset not in seen:
        seen.add(offset)
        yield config[offset], offset
        offset = config[offset + 1] & ~3


def capability_space(tree: Tree, address: str) -> Optional[bytes]:
    """256 bytes of a function's configuration space: its header, the list of its capabilities, and device control.

    The rest is zero: reading all of it can stop a card (lspci(8), ``-xxx``). ``None`` where this user may read no more
    than the header.
    """
    path = DEVICES + "/" + address + "/config"
    header = tree.head(path, _CONFIG_HEADER_SIZE)
    if header is None or len(header) < _CONFIG_HEADER_SIZE:
        return None
    space = bytearray(header.ljust(0x100, b"\0"))
    offset, seen = header[0x34] & ~3, set()
    while _CONFIG_HEADER_SIZE <= offset <= 0x100 - 4 and offset not in seen:
        seen.add(offset)
        control = offset + _DEVICE_CONTROL
        for at in (offset, control):
            if at == control and (space[offset] != _PCIE_CAPABILITY or at > 0x100 - 2):
                continue
            found = tree.head(path, 2, at)
            if found is None or len(found) < 2:
                tree.unreadable.setdefault("/" + path, "permission")
                return None
            space[at : at + 2] = found
        offset = space[offset + 1] & ~3
    return bytes(space)


def acs_flags(tree: Tree, address: str) -> Optional[List[str]]:
    """The bits of ACS by which a bridge sends peer-to-peer traffic up to the root complex, with lspci's names.

    P2P Request Redirect, P2P Completion Redirect and P2P Egress Control are the bits for which the kernel refuses
    peer-to-peer DMA through a bridge (drivers/pci/p2pdma.c, ``pci_bridge_has_acs_redir``). ``None`` when the extended
    configuration space cannot be read: the kernel shows an unprivileged user the first 64 bytes only.
    """
    path = DEVICES + "/" + address + "/config"
    config = tree.data(path)
    if config is None:
        return None
    if len(config) <= _CONFIG_HEADER_SIZE:
        tree.unreadable["/" + path] = "permission"
        return None
    for identifier, offset in extended_capabilities(config, 8):
        if identifier == _ACS_CAPABILITY:
            (control,) = struct.unpack_from("<H", config, offset + 6)
            return [name for name, bit in _ACS_REDIRECTS.items() if control & bit]
    return []


def acs_redirects(tree: Tree, address: str) -> Optional[bool]:
    """Whether ACS on a bridge sends peer-to-peer traffic up to the root complex; ``None`` as for :func:`acs_flags`."""
    flags = acs_flags(tree, address)
    return None if flags is None else bool(flags)


def relaxed_ordering(tree: Tree, address: str) -> Optional[bool]:
    """Whether a function may mark its transactions as relaxed ordered (device control, section 7.5.3.4).

    ``None`` where it has no such register, or the user may not read it. A VF has none of its own: its PF's counts
    (section 9.3.5.4).
    """
    space = capability_space(tree, address) or b""
    for identifier, offset in capabilities(space):
        if identifier == _PCIE_CAPABILITY and offset + _DEVICE_CONTROL + 2 <= len(space):
            (control,) = struct.unpack_from("<H", space, offset + _DEVICE_CONTROL)
            return bool(control & _RELAXED_ORDERING)
    return None
