# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Where metrics go: a file for node_exporter's textfile collector, or whoever asks for ``/metrics``."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import Dict, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import FILE_NAME
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

_MOST, _LONGEST = 16, 8192
_SECONDS = 10.0
_CHUNK = 1 << 16


class Textfile:
    """The file in a directory of node_exporter's textfile collector."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, FILE_NAME)

    def write(self, text: str) -> None:
        """Replace the file, so that readers see the old or the new one. Raises OSError."""
        writing.replace(self.path, text.encode("utf-8", "replace"), f"{FILE_NAME}.tmp")

    def remove(self) -> None:
        """Remove it: node_exporter would show its last values for ever."""
        with contextlib.suppress(OSError):
            writing.remove(self.path)


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.since = connection, time.monotonic()
        self.request, self.answer = b"", b""


class Listener:
    """HTTP/1.1 as far as Prometheus needs it, one answer for each connection; nothing blocks."""

    def __init__(self, address: Tuple[str, int]) -> None:
        """Listen. Raises OSError."""
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(address)
        self._socket.listen(_MOST)
        self._socket.setblocking(False)
        self._clients: Dict[int, _Client] = {}
        self._body = b""

    def write(self, text: str) -> None:
        """What is answered from now on."""
        self._body = text.encode("utf-8", "replace")

    def waiting(self) -> Tuple[List[int], List[int]]:
        """What to wait for: descriptors to read from, and those to write to."""
        now = time.monotonic()
        for number, client in list(self._clients.items()):
            if now - client.since > _SECONDS:
                self._close(number)
        reading = [number for number, client in self._clients.items() if not client.answer]
        # Others wait in the kernel until one of these has its answer, or was too slow.
        first = [self._socket.fileno()] if len(self._clients) < _MOST else []
        return first + reading, [number for number, client in self._clients.items() if client.answer]

    def ready(self, readable: List[int], writable: List[int]) -> None:
        """Go on with these."""
        if self._socket.fileno() in readable:
            with contextlib.suppress(OSError):
                connection = self._socket.accept()[0]
                connection.setblocking(False)
                self._clients[connection.fileno()] = _Client(connection)
        for number in [*readable, *writable]:
            client = self._clients.get(number)
            if client:
                try:
                    self._go_on(number, client)
                except BlockingIOError:
                    continue
                except OSError:
                    self._close(number)

    def _go_on(self, number: int, client: _Client) -> None:
        if not client.answer:
            data = client.connection.recv(_CHUNK)
            client.request += data
            if b"\r\n\r\n" in client.request or b"\n\n" in client.request:
                client.answer = self._answer(client.request)
            elif not data or len(client.request) > _LONGEST:
                self._close(number)
                return
        if client.answer:
            client.answer = client.answer[client.connection.send(client.answer[:_CHUNK]) :]
            if not client.answer:
                self._close(number)

    def _answer(self, request: bytes) -> bytes:
        words = request.split(b"\n", 1)[0].split()
        path = words[1].split(b"?")[0] if len(words) == 3 else b""
        if not self._body or words[:1] not in ([b"GET"], [b"HEAD"]) or path != b"/metrics":
            code = b"503 Service Unavailable" if path == b"/metrics" and not self._body else b"404 Not Found"
            return b"HTTP/1.1 " + code + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: %d\r\n"
        body = self._body if words[0] == b"GET" else b""
        return head % len(self._body) + b"Connection: close\r\n\r\n" + body

    def _close(self, number: int) -> None:
        self._clients.pop(number).connection.close()
