# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""DRANET's provider webhook on a Unix socket (``pkg/cloudprovider/webhook/webhook.go`` of v1.4.0).

DRANET asks for one device after another, at each scan, and keeps nothing: what fails once is not published until the
next scan.
"""

from __future__ import annotations

import json
import os
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, Dict, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import (
    ConfigurationError,
    Devices,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.systemd import log, notify

# Seconds: DRANET gives up after 10.
_PATIENCE = 5.0
_MOST_CLIENTS = 32
# Bytes of a request's body, which is one device with three names.
_LONGEST = 16384
# Seconds between two signs of life, which systemd waits 60 for.
_BEAT = 5.0


class Source:
    """The file, read again when it has changed. One that cannot be used changes nothing, and is told of once."""

    def __init__(self, path: str) -> None:
        """Raises OSError or ConfigurationError."""
        self._path, self._lock, self._told = path, threading.Lock(), ""
        self._seen, self._devices = self._read()

    def _read(self) -> Tuple[Tuple[int, int, int], Devices]:
        with open(self._path, encoding="utf-8") as file:
            found = os.fstat(file.fileno())
            return (found.st_ino, found.st_mtime_ns, found.st_size), configuration.read(file.read())

    def devices(self) -> Devices:
        """What the file says now."""
        with self._lock:
            try:
                found = os.stat(self._path)
                if (found.st_ino, found.st_mtime_ns, found.st_size) != self._seen:
                    self._seen, self._devices = self._read()
                    log("the file was read again", file=self._path, devices=len(self._devices))
                self._told = ""
            except (OSError, ValueError, ConfigurationError) as error:
                if str(error) != self._told:
                    self._told = str(error)
                    log("the file cannot be used, so the values before it stay", file=self._path, error=str(error))
            return self._devices


class _Request(BaseHTTPRequestHandler):
    server: Webhook
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "zerocopy-rdma-attributes", ""

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.patience)

    def do_GET(self) -> None:
        if self.path == "/health":
            # Without a profile provider, DRANET would run on where nobody listens, without attributes.
            self._answer(200, {"cloudProvider": True, "profileProvider": True})
        else:
            self._answer(404, {"error": "there is no such path"})

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        if self.path == "/GetDeviceAttributes":
            address = body.get("pci_address")
            # Devices without a PCI function, such as veths, are asked about as well.
            values = self.server.source.devices().get(address, {}) if isinstance(address, str) else {}
            self._answer(200, configuration.attributes(values))
        elif self.path == "/GetDeviceConfig":
            self._answer(200, {})
        else:
            self._answer(404, {"error": "this provider has no such call, and no profiles"})

    def _body(self) -> Optional[Dict[str, Any]]:
        """The request, ``None`` if it was refused."""
        text = self.headers.get("Content-Length", "")
        if not (text.isascii() and text.isdigit()):
            self._answer(411, {"error": "Content-Length is missing"})
            return None
        if len(text) > 9 or int(text) > _LONGEST:
            self._answer(413, {"error": f"at most {_LONGEST} bytes are read"})
            return None
        try:
            found = json.loads(self.rfile.read(int(text)))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self._answer(400, {"error": "the request is no JSON object"})
            return None
        return found

    def _answer(self, code: int, content: Dict[str, Any]) -> None:
        body = json.dumps(content, sort_keys=True).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        # Go's client does not repeat a POST on a connection that it kept and that has just been closed.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: each scan would be a page of them."""


class Webhook(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """One thread for each connection, so that one that says nothing keeps nobody waiting."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: str, source: Source, patience: float = _PATIENCE) -> None:
        """``patience`` is in seconds, for each time that nothing comes. Raises OSError."""
        self.source, self.patience = source, patience
        self._free = threading.BoundedSemaphore(_MOST_CLIENTS)
        super().__init__(path, _Request)

    def server_bind(self) -> None:
        # What a daemon has left that was killed. The directory is ours alone.
        if os.path.lexists(str(self.server_address)):
            os.unlink(str(self.server_address))
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(timeout=self.patience):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log("a client has gone before it had its answer, or sent what is no request")

    def service_actions(self) -> None:
        notify("WATCHDOG=1")

    def run(self) -> None:
        """Serve until the process is ended."""
        self.serve_forever(poll_interval=_BEAT)
