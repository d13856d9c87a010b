# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Vital Product Data of a card (PCI Local Bus Specification 3.0, appendix I), as ``vpd`` shows it to root.

The keywords are those that lspci prints for NVIDIA's adapters; the vendor-specific ``VA`` holds fields with colons
between them.
"""

from __future__ import annotations

from . import identity
from .models import HcaModel

IDENTIFIER, READ_ONLY, END = 0x82, 0x90, 0x78


def _resource(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + len(content).to_bytes(2, "little") + content


def _field(keyword: str, value: bytes) -> bytes:
    return keyword.encode() + bytes([len(value)]) + value


def vpd(host: str, name: str, model: HcaModel) -> bytes:
    serial = f"MT{identity.digest(host, name, 'serial')[:10].upper()}"
    fields = ["MLX", "MN=MLNX", "CSKU=V2", "UUID=V3", "PCI=V0", f"MODL={model.modl}"]
    fields += [f"SMDL={model.smdl}"] if model.smdl else []
    head = _resource(IDENTIFIER, model.product.encode())
    content = _field("PN", model.modl.encode()) + _field("EC", b"A1") + _field("SN", serial.encode())
    content += _field("VA", ":".join(fields).encode())
    # RV: one byte that makes all bytes up to it sum to zero, and reserved space.
    body = _resource(READ_ONLY, content + b"RV\x01\x00")
    checksum = -sum(head + body) & 0xFF
    return head + body[:-1] + bytes([checksum, END])
