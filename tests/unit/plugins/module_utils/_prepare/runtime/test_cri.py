# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""gRPC calls, answered with what a containerd really sent (tests/unit/fixtures/runtime)."""

from __future__ import annotations

import base64
import json
import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, Dict, Iterator, List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import cri
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import records as runtime_records
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import Effective

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "runtime"
ANSWERS = {
    name: base64.b64decode(text)
    for name, text in json.loads((FIXTURES / "cri-2.1.9.json").read_text(encoding="utf-8")).items()
}
GOOD = "5c8ea45be0482c5edceb14deb2257cc889c0ec1657310a3bd4eb68dbd9c92e4a"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Gives each connection its recorded answer; the returned path is the socket's."""
    servers: List[socket.socket] = []

    def serve(*answers: bytes) -> str:
        # A path of a unix socket has at most 107 bytes.
        path = str(tmp_path / str(len(servers)))
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        servers.append(server)
        server.bind(path)
        server.listen()

        def answer() -> None:
            for recorded in answers:
                connection = server.accept()[0]
                with connection:
                    assert connection.recv(24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                    connection.sendall(recorded)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass

        threading.Thread(target=answer, daemon=True).start()
        return path

    yield serve
    for server in servers:
        server.close()


def test_what_containerd_answered(served: Callable[..., str]) -> None:
    path = served(*(ANSWERS[name] for name in ("_version", "_sandboxes", "_stored", "_records", "_refused")))
    assert cri.version(path) == "containerd 2.1.9+unknown"
    assert cri.sandboxes(path) == [GOOD]
    assert cri.stored_sandboxes(path) == [GOOD]
    assert cri.sandbox_records(path) == {GOOD: "good_lab_uid-good_0"}
    with pytest.raises(HostError, match=r"rejects /runtime\.v1\.RuntimeService/Nothing"):
        cri.call(path, "/runtime.v1.RuntimeService/Nothing")


def test_a_containerd_that_dies_while_it_answers(served: Callable[..., str]) -> None:
    for length in (0, 5, 20, 100):
        path = served(ANSWERS["_version"][:length])
        with pytest.raises(HostError, match="does not answer: connection closed"):
            cri.version(path)


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"/none does not answer: No such file"):
        cri.version(str(tmp_path / "none"))


def test_which_records_belong_to_no_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: List[Tuple[int, Dict[str, str], List[str], List[str], List[str]]] = [
        (3, {"a": "x_0", "b": "x_0", "c": "y_0"}, ["c"], [], ["a", "b"]),
        # Even one: the next start would take it for a pod.
        (3, {"a": "x_0", "c": "y_0"}, ["c"], [], ["a"]),
        (3, {"c": "y_0"}, ["c"], [], []),
        (4, {}, [], [], []),
        # containerd 1.7 has no sandbox store.
        (2, {"a": "x_0", "c": "y_0"}, [], ["c"], []),
        (2, {"a": "x_0", "b": "x_0"}, [], ["b"], ["a"]),
    ]
    layout = RuntimeLayout("containerd", "containerd.service", "", "", "", "/none", ())
    now = iter(range(0, 1000, 2))
    clock = SimpleNamespace(monotonic=lambda: next(now), sleep=lambda seconds: None)
    monkeypatch.setattr(runtime_records, "time", clock)
    for version, records, stored, listed, expected in rows:
        monkeypatch.setattr(cri, "sandbox_records", lambda path, given=records: given)
        monkeypatch.setattr(cri, "stored_sandboxes", lambda path, given=stored: given)
        monkeypatch.setattr(cri, "sandboxes", lambda path, given=listed: given)
        leaks = runtime_records.find(layout, Effective({"version": version}, complete=True))
        assert [leak.identity for leak in leaks] == expected


def test_an_attach_on_its_way_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: List[str] = []
    monkeypatch.setattr(cri, "sandbox_records", lambda path: {"a": "x_0"})
    monkeypatch.setattr(cri, "stored_sandboxes", lambda path: list(stored))
    clock = SimpleNamespace(monotonic=lambda: 0, sleep=lambda seconds: stored.append("a"))
    monkeypatch.setattr(runtime_records, "time", clock)
    layout = RuntimeLayout("containerd", "containerd.service", "", "", "", "/none", ())
    assert runtime_records.find(layout, Effective({"version": 3}, complete=True)) == []
