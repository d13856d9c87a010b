# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The 4096 bytes of PCIe configuration space that ``config`` shows to root."""

from __future__ import annotations

import struct

from .place import Function

PCIE_TYPE = {"endpoint": 0, "vf": 0, "root-port": 4, "upstream": 5, "downstream": 6}
SPEED_CODE = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5}
POWER, PCIE, AER, ACS, SRIOV = 0x40, 0x60, 0x100, 0x148, 0x180
# Source validation, request and completion redirect, upstream forwarding: what the kernel sets when the IOMMU is on.
ACS_ON = 0x001D
ACS_POSSIBLE = 0x001F


# Device control as the specification has it at reset: relaxed ordering and no snoop enabled, requests of 512 bytes.
RESET, RELAXED_ORDERING = 0x2810, 0x0010


def config_space(function: Function, acs: bool, relaxed: bool) -> bytes:
    space = bytearray(4096)
    part = function.part
    vf = function.kind == "vf"
    # A VF's own vendor and device id read as ones (SR-IOV 1.1, 3.4.1.1); sysfs takes them from the PF.
    struct.pack_into("<HH", space, 0x00, *((0xFFFF, 0xFFFF) if vf else (part.vendor, part.device)))
    struct.pack_into("<HH", space, 0x04, 0x0406, 0x0010)
    space[0x09:0x0C] = part.klass.to_bytes(3, "little")
    space[0x0E] = int(function.bridge) | (0x80 if function.multi else 0)
    if function.bridge:
        space[0x18:0x1B] = bytes([function.bus, function.secondary, function.subordinate])
    else:
        struct.pack_into("<HH", space, 0x2C, *part.subsystem)
    space[0x34] = POWER
    struct.pack_into("<BBH", space, POWER, 0x01, PCIE if part.width else 0, 0x0003)
    if not part.width:
        # Conventional PCI ends with the first 256 bytes.
        return bytes(space[:256])
    struct.pack_into("<BBH", space, PCIE, 0x10, 0x00, 0x0002 | PCIE_TYPE[function.kind] << 4)
    # The bit is reserved in a VF.
    control = RESET if relaxed and not vf else RESET & ~RELAXED_ORDERING
    struct.pack_into("<H", space, PCIE + 0x08, control)
    struct.pack_into("<I", space, PCIE + 0x0C, SPEED_CODE[part.speed] | part.width << 4)
    if not vf:
        struct.pack_into("<H", space, PCIE + 0x12, SPEED_CODE[function.speed] | function.width << 4)

    extended: list[tuple[int, int, int]] = [(AER, 0x0001, 2)]
    if function.kind in ("root-port", "downstream"):
        extended.append((ACS, 0x000D, 1))
        struct.pack_into("<HH", space, ACS + 4, ACS_POSSIBLE, ACS_ON if acs else 0)
    if function.total_vfs:
        extended.append((SRIOV, 0x0010, 1))
        used = len(function.vfs)
        struct.pack_into("<HHHH", space, SRIOV + 0x0C, function.total_vfs, function.total_vfs, used, 0)
        struct.pack_into("<HH", space, SRIOV + 0x14, 1, 1)
    for (offset, identifier, version), following in zip(extended, [*extended[1:], (0, 0, 0)]):
        struct.pack_into("<I", space, offset, identifier | version << 16 | following[0] << 20)
    return bytes(space)
