# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Unary gRPC calls over a unix socket, without a library: of the container runtime (CRI), and of the kubelet.

HTTP/2 and gRPC as far as one unary call needs them: RFC 9113, RFC 7541 (literals only), and gRPC's PROTOCOL-HTTP2.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from typing import List, Sequence, Tuple

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_ACK = _END_STREAM = 1
_END_HEADERS = 4
_LARGE = 0x3FFFFFFF
# What containerd sends at most (defaults.DefaultMaxSendMsgSize); what pods there are takes far less.
_LARGEST = 1 << 24


class RejectedError(Exception):
    """The service answers with an error, of which this reads no more."""


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _literal(text: str) -> bytes:
    raw = text.encode()
    if len(raw) < 127:
        return bytes([len(raw)]) + raw
    return bytes([127, (len(raw) - 127) & 0x7F | 0x80, (len(raw) - 127) >> 7]) + raw


def _request(method: str, message: bytes, metadata: Sequence[Tuple[str, str]]) -> bytes:
    headers = [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost")]
    headers += [("content-type", "application/grpc"), ("te", "trailers"), *metadata]
    block = b"".join(b"\0" + _literal(name) + _literal(value) for name, value in headers)
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + _frame(_SETTINGS, 0, 0, struct.pack(">HI", 4, _LARGE))
        + _frame(_WINDOW, 0, 0, struct.pack(">I", _LARGE))
        + _frame(_HEADERS, _END_HEADERS, 1, block)
        + _frame(_DATA, _END_STREAM, 1, struct.pack(">BI", 0, len(message)) + message)
    )


def call(
    path: str, method: str, message: bytes = b"", metadata: Sequence[Tuple[str, str]] = (), timeout: float = 10
) -> bytes:
    """The service's answer, which has to be whole within ``timeout`` seconds.

    Raises OSError: nobody listens, or what comes is no answer. Raises RejectedError: the service answers with an error.
    """
    deadline = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(path)
        connection.sendall(_request(method, message, metadata))
        answer = _answer(connection, deadline)
    if len(answer) < 5:
        raise RejectedError(f"{path} rejects {method}")
    return answer[5 : 5 + struct.unpack(">I", answer[1:5])[0]]


def _answer(connection: socket.socket, deadline: float) -> bytes:
    collected = bytearray()
    while True:
        head = _exactly(connection, 9, deadline)
        length, kind, flags, stream = struct.unpack(">I", b"\0" + head[:3])[0], head[3], head[4], head[5:9]
        if len(collected) + length > _LARGEST:
            raise OSError(errno.EMSGSIZE, f"the answer is larger than {_LARGEST} bytes")
        payload = _exactly(connection, length, deadline)
        if kind == _SETTINGS and not flags & _ACK:
            connection.sendall(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            connection.sendall(_frame(_PING, _ACK, 0, payload))
        elif kind in (_RESET, _GOAWAY):
            return bytes(collected)
        elif stream == b"\0\0\0\1":
            if kind == _DATA:
                collected += payload
            if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                return bytes(collected)


def _exactly(connection: socket.socket, length: int, deadline: float) -> bytes:
    chunks: List[bytes] = []
    while length:
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        connection.settimeout(left)
        chunk = connection.recv(min(length, 1 << 20))
        if not chunk:
            raise ConnectionResetError("connection closed")
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)
