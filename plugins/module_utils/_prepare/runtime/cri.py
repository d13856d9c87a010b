# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Unary gRPC calls over a unix socket, without a library.

HTTP/2 and gRPC as far as one unary call needs them: RFC 9113, RFC 7541 (literals only), and gRPC's PROTOCOL-HTTP2.
"""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_ACK = _END_STREAM = 1
_END_HEADERS = 4
_LARGE = 0x3FFFFFFF
_NAMESPACE = [("containerd-namespace", "k8s.io")]


@dataclass(frozen=True)
class CriImage:
    """``identity`` is the digest of the image's configuration, ``sha256:`` and 64 digits; ``names`` have a tag each."""

    identity: str
    names: Tuple[str, ...]


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
    """The service's answer; ``timeout`` in seconds for each wait.

    :raises HostError: nobody listens, or the service answers with an error.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(path)
            connection.sendall(_request(method, message, metadata))
            answer = _answer(connection)
        except OSError as error:
            raise HostError(f"{path} does not answer: {error.strerror or error}") from error
    if len(answer) < 5:
        raise HostError(f"{path} rejects {method}")
    return answer[5 : 5 + struct.unpack(">I", answer[1:5])[0]]


def _answer(connection: socket.socket) -> bytes:
    collected = b""
    while True:
        head = _exactly(connection, 9)
        length, kind, flags, stream = struct.unpack(">I", b"\0" + head[:3])[0], head[3], head[4], head[5:9]
        payload = _exactly(connection, length)
        if kind == _SETTINGS and not flags & _ACK:
            connection.sendall(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            connection.sendall(_frame(_PING, _ACK, 0, payload))
        elif kind in (_RESET, _GOAWAY):
            return collected
        elif stream == b"\0\0\0\1":
            if kind == _DATA:
                collected += payload
            if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                return collected


def _exactly(connection: socket.socket, length: int) -> bytes:
    chunks: List[bytes] = []
    while length:
        chunk = connection.recv(min(length, 1 << 20))
        if not chunk:
            raise ConnectionResetError("connection closed")
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def version(path: str) -> str:
    """Name and version of the runtime, as reported by its CRI.

    :raises HostError: the CRI does not answer (yet).
    """
    answer = call(path, "/runtime.v1.RuntimeService/Version", timeout=5)
    return f"{protobuf.text(answer, 2)} {protobuf.text(answer, 3)}"


def sandboxes(path: str) -> List[str]:
    """IDs of all pod sandboxes that the CRI knows, in any state.

    :raises HostError: the CRI does not answer.
    """
    answer = call(path, "/runtime.v1.RuntimeService/ListPodSandbox")
    return [protobuf.text(item, 1) for item in protobuf.submessages(answer, 1)]


def stored_sandboxes(path: str) -> List[str]:
    """IDs in the sandbox store of containerd 2; 1.7 stores none.

    :raises HostError: containerd does not answer.
    """
    answer = call(path, "/containerd.services.sandbox.v1.Store/List", metadata=_NAMESPACE)
    return [protobuf.text(item, 1) for item in protobuf.submessages(answer, 1)]


def sandbox_records(path: str) -> Dict[str, str]:
    """Id and sandbox name of every sandbox record in containerd's own store, whether the CRI knows it or not.

    Numbers of fields are those of containerd's ``api/services/containers/v1``; the name is in the JSON that the CRI
    plugin keeps as an extension of the record.

    :raises HostError: containerd does not answer.
    """
    request = protobuf.text_field(1, 'labels."io.cri-containerd.kind"==sandbox')
    answer = call(path, "/containerd.services.containers.v1.Containers/List", request, _NAMESPACE)
    records = {}
    for container in protobuf.submessages(answer, 1):
        for extension in protobuf.submessages(container, 10):
            if protobuf.text(extension, 1) != "io.cri-containerd.sandbox.metadata":
                continue
            try:
                kept = json.loads(protobuf.text(next(protobuf.submessages(extension, 2)), 2))
                records[protobuf.text(container, 1)] = str(kept["Metadata"]["Name"])
            except (ValueError, KeyError, TypeError, StopIteration):
                continue
    return records


def image(path: str, name: str) -> Optional[CriImage]:
    """The image of that name or identity, or ``None`` when the CRI has none.

    :raises HostError: the CRI does not answer.
    """
    answer = call(path, "/runtime.v1.ImageService/ImageStatus", _image_spec(name))
    for found in protobuf.submessages(answer, 1):
        names = tuple(value.decode("utf-8", "replace") for value in protobuf.submessages(found, 2))
        # CRI-O leaves the algorithm out.
        return CriImage("sha256:" + protobuf.text(found, 1).rpartition(":")[2], names)
    return None


def remove_image(path: str, name: str) -> None:
    """Remove the image under all its names; fine when there is none.

    :raises HostError: the CRI does not answer, or refuses.
    """
    call(path, "/runtime.v1.ImageService/RemoveImage", _image_spec(name), timeout=60)


def _image_spec(name: str) -> bytes:
    """A request with an ``ImageSpec`` as its first field, whose first field is the name."""
    return protobuf.bytes_field(1, protobuf.bytes_field(1, name.encode()))
