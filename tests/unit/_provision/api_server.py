# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""An HTTP server on loopback that answers as told, for clients of the API server."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
import urllib3

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import THREADS, Client

# Status, headers and body of an answer; None closes the connection without one.
Reply = Optional[Tuple[int, Dict[str, str], Any]]
OK: Reply = (200, {}, {"fine": True})


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        # What a path (without its query) always answers, and the answers of all others in turn.
        self.paths: Dict[str, Reply] = {}
        self.replies: List[Reply] = []
        # Where it is set, it answers all others: from method, path with query, and body.
        self.decide: Optional[Callable[[str, str, bytes], Reply]] = None
        self.seen: List[Tuple[str, str, Dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), body))
        replies, path = self.server.replies, self.path.partition("?")[0]
        if self.server.decide is not None and path not in self.server.paths:
            reply = self.server.decide(self.command, self.path, body)
        else:
            reply = self.server.paths[path] if path in self.server.paths else replies.pop(0) if replies else OK
        if reply is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        status, headers, content = reply
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PATCH = do_POST = do_DELETE = _answer  # noqa: N815  (http.server's names)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Client:
    return Client(
        urllib3.PoolManager(maxsize=THREADS), server.url + "/", lambda: urllib3.HTTPHeaderDict({"X-Auth": "a"})
    )


def status(code: int, message: str = "no", reason: str = "", **details: Any) -> Reply:
    return code, {}, {"kind": "Status", "message": message, "reason": reason, "details": details}


def nested(levels: int) -> bytes:
    """A value of this many levels. The API server takes 10,000 (sigs.k8s.io/json)."""
    return b'{"a":[' * (levels // 2) + b"]}" * (levels // 2)


class Clock:
    """Time that passes only when something waits for it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
