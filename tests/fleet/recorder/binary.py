# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""PCI configuration space and Vital Product Data without what identifies one card.

Only registers and keywords whose meaning is known are copied; all else becomes zero or ``X``. Sources: PCI Express Base
Specification 6.0, sections 7.5 to 7.9; PCI Local Bus Specification 3.0, appendix I.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.pci import capabilities, extended_capabilities

from .conceal import Conceal

_HEADER = 0x40
# Sizes of capabilities, as many bytes as they have at most: power management, PCI Express, subsystem of a bridge.
_CAPABILITIES = {0x01: 8, 0x10: 0x3C, 0x0D: 8}
# AER, serial number, ACS, ARI, SR-IOV, secondary PCI Express, DPC, physical layer 16 GT/s.
_SERIAL = 0x0003
_EXTENDED = {0x0001: 0x48, _SERIAL: 12, 0x000D: 8, 0x000E: 8, 0x0010: 0x40, 0x0019: 0x2C, 0x001D: 16, 0x0026: 0x40}


def config_space(space: bytes, conceal: Conceal) -> bytes:
    """Of the same length, with the same capabilities at the same places."""
    result = bytearray(len(space))
    result[:_HEADER] = space[:_HEADER]
    if len(space) <= _HEADER:
        return bytes(result)
    for identifier, at in capabilities(space):
        end = at + _CAPABILITIES.get(identifier, 2)
        result[at:end] = space[at:end]
    for identifier, at in extended_capabilities(space, 12):
        end = at + _EXTENDED.get(identifier, 4)
        result[at:end] = space[at:end]
        if identifier == _SERIAL:
            serial = int.from_bytes(space[at + 4 : at + 12], "little")
            result[at + 4 : at + 12] = conceal.guid(serial).to_bytes(8, "little")
    # A capability may say that it is longer than the space.
    return bytes(result[: len(space)])


_IDENTIFIER, _READ_ONLY, _READ_WRITE, _END = 0x82, 0x90, 0x91, 0x78
# Part number, engineering level, and NVIDIA's own field, in which only these words are the same for all cards.
_KEPT_KEYWORDS = (b"PN", b"EC")
_VENDOR_FIELD, _WORDS = b"VA", (b"MLX", b"MN=", b"CSKU=", b"PCI=", b"MODL=", b"SMDL=")


def _keyword(name: bytes, value: bytes) -> bytes:
    if name in _KEPT_KEYWORDS:
        return value
    if name == _VENDOR_FIELD:
        words = [word if word.startswith(_WORDS) else b"X" * len(word) for word in value.split(b":")]
        return b":".join(words)
    return b"X" * len(value)


def _serials(fields: Dict[bytes, bytes]) -> List[str]:
    texts = [value.decode("ascii", "ignore").strip("\0 ") for name, value in fields.items() if name == b"SN"]
    return [text for text in texts if len(text) > 3]


def vital_product_data(raw: bytes) -> Optional[Tuple[bytes, List[str]]]:
    """The data up to the end mark and the serial numbers in the original; ``None`` where it cannot be understood."""
    result, serials, at = bytearray(), [], 0
    while at < len(raw) and raw[at] != _END:
        if raw[at] not in (_IDENTIFIER, _READ_ONLY, _READ_WRITE) or at + 3 > len(raw):
            return None
        length = int.from_bytes(raw[at + 1 : at + 3], "little")
        body = raw[at + 3 : at + 3 + length]
        if len(body) != length:
            return None
        if raw[at] == _IDENTIFIER:
            result += raw[at : at + 3] + body
        elif raw[at] == _READ_ONLY:
            fields, place = bytearray(), 0
            found: Dict[bytes, bytes] = {}
            while place + 3 <= length and body[place : place + 2] != b"RV":
                name, size = body[place : place + 2], body[place + 2]
                found[name] = body[place + 3 : place + 3 + size]
                fields += body[place : place + 3] + _keyword(name, found[name])
                place += 3 + size
            serials += _serials(found)
            result += raw[at : at + 3] + fields
            if body[place : place + 2] == b"RV" and place + 4 <= length:
                # One byte that makes the sum of all up to it zero, and reserved space.
                result += body[place : place + 3]
                result += bytes([-sum(result) & 0xFF]) + bytes(length - place - 4)
        at += 3 + length
    return bytes(result) + bytes([_END]), serials
