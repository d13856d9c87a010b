# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Protobuf messages as far as CRI and NRI need them: varints, text and messages, read by the numbers of fields.

The encoding is that of https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Tuple, Union

Field = Union[int, bytes]

_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
_LONGEST = 10


class ProtobufError(ValueError):
    """The bytes are not a protobuf message."""


def _varint(message: bytes, at: int) -> Tuple[int, int]:
    value = 0
    for count in range(_LONGEST):
        if at + count >= len(message):
            raise ProtobufError("a number ends too early")
        byte = message[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + count + 1
    raise ProtobufError("a number is too long")


def fields(message: bytes) -> Iterator[Tuple[int, Field]]:
    """Number and value of each field; fixed-width fields as their bytes. Raises ProtobufError."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise ProtobufError(f"a field has the unknown wire type {kind}")
        if length > len(message) - at:
            raise ProtobufError("a field ends too early")
        yield tag >> 3, message[at : at + length]
        at += length


def submessages(message: bytes, number: int) -> Iterator[bytes]:
    """All values of a repeated field of text or messages. Raises ProtobufError."""
    return (value for key, value in fields(message) if key == number and isinstance(value, bytes))


def submessage(message: bytes, number: int) -> bytes:
    """The last value of such a field, empty if there is none. Raises ProtobufError."""
    return b"".join(list(submessages(message, number))[-1:])


def text(message: bytes, number: int) -> str:
    """The first text with this number, empty if there is none. Raises ProtobufError."""
    for value in submessages(message, number):
        return value.decode("utf-8", "replace")
    return ""


def grouped(message: bytes) -> Dict[int, List[bytes]]:
    """All text and messages by number, for a message that is read as a whole. Raises ProtobufError."""
    found: Dict[int, List[bytes]] = {}
    for number, value in fields(message):
        if isinstance(value, bytes):
            found.setdefault(number, []).append(value)
    return found


def integer(message: bytes, number: int) -> int:
    """The unsigned number in this field, 0 if there is none. Raises ProtobufError."""
    found = 0
    for key, value in fields(message):
        if key == number and isinstance(value, int):
            found = value
    return found


def mapping(entries: Iterable[bytes]) -> Dict[str, str]:
    """The entries of a ``map<string, string>``. Raises ProtobufError."""
    return {text(entry, 1): text(entry, 2) for entry in entries}


def varint(value: int) -> bytes:
    """An unsigned number as it stands in a message."""
    head = bytearray()
    while value > 0x7F:
        head.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(head) + bytes([value])


def number_field(number: int, value: int) -> bytes:
    """A field with an unsigned number, left out where it is 0, as proto3 does."""
    return varint(number << 3) + varint(value) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """A field with a message or text, also where that is empty."""
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


def text_field(number: int, value: str) -> bytes:
    """A field with text, left out where it is empty."""
    return bytes_field(number, value.encode()) if value else b""
