# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Asking the kernel by netlink: requests, answers and attributes (include/uapi/linux/netlink.h)."""

from __future__ import annotations

import errno
import socket
import struct
import sys
from typing import Dict, Iterator, List, Optional, Tuple

NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_DUMP = 0x300

_NLMSG_ERROR = 2
_NLMSG_DONE = 3
# NLM_F_DUMP_INTR: the objects changed while the kernel wrote the dump, so some may be missing.
_INTERRUPTED = 0x10
_ATTEMPTS = 10
_HEADER = struct.Struct("=IHHII")
# The kernel fills dump buffers of up to 32 KiB (net/netlink/af_netlink.c, NLMSG_GOODSIZE and netlink_dump).
_BUFFER = 65536
_TIMEOUT = 5


def request(kind: int, flags: int, body: bytes = b"") -> bytes:
    """An encoded netlink request with sequence number 1."""
    return _HEADER.pack(_HEADER.size + len(body), kind, NLM_F_REQUEST | flags, 1, 0) + body


def split(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """Netlink messages in a received buffer, as (type, whole message)."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind = struct.unpack_from("=IH", data, offset)
        if length < _HEADER.size:
            return
        yield kind, data[offset : offset + length]
        offset += (length + 3) & ~3


def ask(sock: socket.socket, message: bytes) -> List[bytes]:
    """All answers to a request. Raises OSError with the kernel's error number when it is refused.

    A dump that may be incomplete is requested again: if a netdev or route is missing, the management NIC looks free.
    """
    for _attempt in range(_ATTEMPTS):
        sock.send(message)
        answers = _answers(sock)
        if answers is not None:
            return answers
    raise OSError(errno.EAGAIN, "the objects kept changing while the kernel listed them")


def _answers(sock: socket.socket) -> Optional[List[bytes]]:
    """The answers to one request, ``None`` if some may be missing. Raises OSError."""
    answers: List[bytes] = []
    whole = True
    while True:
        for kind, raw in split(sock.recv(_BUFFER)):
            (flags,) = struct.unpack_from("=H", raw, 6)
            whole = whole and not flags & _INTERRUPTED
            if kind in (_NLMSG_ERROR, _NLMSG_DONE):
                # A dump that fails half-way ends with the error.
                code = struct.unpack_from("=i", raw, _HEADER.size)[0] if len(raw) >= _HEADER.size + 4 else 0
                if code < 0:
                    raise OSError(-code, "netlink request refused")
                return answers if whole else None
            answers.append(raw)


def open_socket(protocol: int) -> socket.socket:
    """A netlink socket that gives up after five seconds of silence. Raises OSError where the kernel lacks it."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    sock.settimeout(_TIMEOUT)
    return sock


def attributes(raw: bytes, offset: int = 0) -> Dict[int, bytes]:
    """Attributes of one message by number. ``offset``: length of the message's own fields behind the netlink header."""
    return attributes_at(raw, _HEADER.size + offset)


def attributes_at(raw: bytes, offset: int) -> Dict[int, bytes]:
    """Attributes by number, from ``offset`` to the end; of several with one number the last."""
    return dict(each(raw, offset))


def each(raw: bytes, offset: int) -> Iterator[Tuple[int, bytes]]:
    """All attributes from ``offset`` to the end, as (number, value)."""
    while offset + 4 <= len(raw):
        length, kind = struct.unpack_from("=HH", raw, offset)
        if length < 4:
            break
        # Above them are the flags NLA_F_NESTED and NLA_F_NET_BYTEORDER.
        yield kind & 0x3FFF, raw[offset + 4 : offset + length]
        offset += (length + 3) & ~3


def number(value: Optional[bytes]) -> Optional[int]:
    """An unsigned integer of 8 to 64 bits in the byte order of this machine."""
    return int.from_bytes(value, sys.byteorder) if value else None


def text(value: Optional[bytes]) -> str:
    return (value or b"").rstrip(b"\0").decode("utf-8", "replace")
