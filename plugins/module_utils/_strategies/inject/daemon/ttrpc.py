# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""ttrpc messages in the frames of NRI's multiplexer, as bytes.

Sources: containerd/ttrpc 1.2, PROTOCOL.md and request.proto; containerd/nri 0.12, pkg/net/multiplex.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Dict, Iterator

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf

REQUEST, RESPONSE = 1, 2
# Connections within the one socket (nri, pkg/api/plugin.go and adaptation): to the plugin, and to the runtime.
TO_PLUGIN, TO_RUNTIME = 1, 2
# Codes of google.rpc.Status.
OK, INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED, INTERNAL = 0, 3, 9, 12, 13

_FRAME = struct.Struct(">II")
_HEADER = struct.Struct(">IIBB")
# The longest message (ttrpc, channel.go), and frame (nri, pkg/net/multiplex/ttrpc.go).
_LONGEST = 4 << 20
_LONGEST_FRAME = _LONGEST + _HEADER.size


class WireError(Exception):
    """The other side does not send ttrpc: only a new connection helps."""


@dataclass(frozen=True)
class Message:
    """One request or response; ``connection`` is one of those within the socket."""

    connection: int
    stream: int
    kind: int
    payload: bytes

    def encoded(self) -> bytes:
        """The bytes for the socket."""
        content = _HEADER.pack(len(self.payload), self.stream, self.kind, 0) + self.payload
        return _FRAME.pack(self.connection, len(content)) + content


class Reader:
    """Assembles messages from the bytes that a socket delivers, in chunks of any size."""

    def __init__(self) -> None:
        self._raw = bytearray()
        self._by_connection: Dict[int, bytearray] = {TO_PLUGIN: bytearray(), TO_RUNTIME: bytearray()}

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete with these bytes. Raises WireError."""
        self._raw += data
        while len(self._raw) >= _FRAME.size:
            connection, length = _FRAME.unpack_from(self._raw)
            if length > _LONGEST_FRAME:
                raise WireError(f"a frame of {length} bytes")
            end = _FRAME.size + length
            if len(self._raw) < end:
                return
            content = self._raw[_FRAME.size : end]
            del self._raw[:end]
            # As NRI does, with what is for a connection that nobody has opened.
            if connection in self._by_connection:
                waiting = self._by_connection[connection]
                waiting += content
                yield from _messages(connection, waiting)


def _messages(connection: int, waiting: bytearray) -> Iterator[Message]:
    while len(waiting) >= _HEADER.size:
        length, stream, kind, _flags = _HEADER.unpack_from(waiting)
        if length > _LONGEST:
            raise WireError(f"a message of {length} bytes")
        end = _HEADER.size + length
        if len(waiting) < end:
            return
        payload = bytes(waiting[_HEADER.size : end])
        del waiting[:end]
        yield Message(connection, stream, kind, payload)


@dataclass(frozen=True)
class Call:
    """A request: the method of a service, and its message."""

    service: str
    method: str
    payload: bytes

    def encoded(self) -> bytes:
        """As the payload of a message."""
        return (
            protobuf.text_field(1, self.service)
            + protobuf.text_field(2, self.method)
            + protobuf.bytes_field(3, self.payload)
        )


def call(payload: bytes) -> Call:
    """The request in a message. Raises ProtobufError."""
    return Call(protobuf.text(payload, 1), protobuf.text(payload, 2), protobuf.submessage(payload, 3))


def answer(payload: bytes) -> bytes:
    """A response without an error."""
    return protobuf.bytes_field(2, payload)


def failure(code: int, text: str) -> bytes:
    """A response with an error, whose text the other side shows."""
    return protobuf.bytes_field(1, protobuf.number_field(1, code) + protobuf.text_field(2, text))


def error_of(payload: bytes) -> str:
    """The error in a response, empty if there is none. Raises ProtobufError."""
    status = protobuf.submessage(payload, 1)
    code = protobuf.integer(status, 1)
    return protobuf.text(status, 2) or f"code {code}" if code else ""
