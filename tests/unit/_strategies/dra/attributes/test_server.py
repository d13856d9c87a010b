# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The daemon as the program that prepare installs, asked as DRANET 1.4.0 asks (pkg/cloudprovider/webhook)."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import (
    configuration,
    daemon_options,
    server,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import (
    ConfigurationError,
)

FIRST, SECOND = "0000:1a:00.0", "0000:3b:00.0"
DEVICES = {FIRST: {"rail": 3, "leaf": "leaf-3", "rate_gbps": 400, "link_layer": "InfiniBand"}, SECOND: {"rail": 4}}
# Far above what a slow machine needs: until then a test waits for what does not come.
SECONDS = 60


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))


def ask(path: Path, call: str, body: Any = None) -> tuple[int, Any]:
    connection = Connection(path)
    try:
        connection.request("GET" if body is None else "POST", call, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def attributes(path: Path, address: str | None, **more: str) -> Any:
    own = {} if address is None else {"pci_address": address}
    return ask(path, "/GetDeviceAttributes", {"name": "nic", **own, **more})


def write(path: Path, content: Any) -> None:
    """As prepare replaces it."""
    other = path.with_name(".new")
    other.write_text(content if isinstance(content, str) else json.dumps({"devices": content}))
    other.replace(path)


@pytest.fixture(name="config")
def make_config(tmp_path: Path) -> Path:
    path = tmp_path / "attributes.json"
    write(path, DEVICES)
    return path


@pytest.fixture(name="listening")
def make_listening(tmp_path: Path, config: Path) -> Iterator[Path]:
    """The socket of a server in a thread, which waits for half a second."""
    path = tmp_path / "webhook.sock"
    with server.Webhook(str(path), server.Source(str(config)), patience=0.5) as webhook:
        thread = threading.Thread(target=webhook.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield path
        webhook.shutdown()
        thread.join()


def test_answers_as_dranet_expects_them(listening: Path) -> None:
    assert ask(listening, "/health") == (200, {"cloudProvider": True, "profileProvider": True})
    assert attributes(listening, FIRST, mac_address="02:00:00:00:00:01") == (
        200,
        {
            "zerocopy.rdma/rail": {"int": 3},
            "zerocopy.rdma/leaf": {"string": "leaf-3"},
            "zerocopy.rdma/rateGbps": {"int": 400},
            "zerocopy.rdma/linkLayer": {"string": "InfiniBand"},
        },
    )
    assert ask(listening, "/GetDeviceConfig", {"name": "nic", "pci_address": FIRST}) == (200, {})


def test_a_device_that_the_file_does_not_have_gets_nothing(listening: Path) -> None:
    for address in ("0000:ff:00.0", "", None):
        assert attributes(listening, address) == (200, {})
    assert ask(listening, "/GetDeviceAttributes", {"name": "nic", "pci_address": [FIRST]}) == (200, {})


@pytest.mark.parametrize("call", ["/GetProfileConfig", "/ReleaseProfileConfig", "/"])
def test_other_calls_are_refused(listening: Path, call: str) -> None:
    assert ask(listening, call, {"device": {"name": "nic"}})[0] == 404
    assert ask(listening, call)[0] == 404


def test_a_changed_file_is_read_again_and_a_broken_one_is_not_used(
    listening: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(config, {FIRST: {"rail": 5}})
    assert attributes(listening, FIRST)[1] == {"zerocopy.rdma/rail": {"int": 5}}
    assert attributes(listening, SECOND)[1] == {}
    capsys.readouterr()
    for broken in ("{", {FIRST: {"rail": "5"}}):
        write(config, broken)
        for _again in range(3):
            assert attributes(listening, FIRST)[1] == {"zerocopy.rdma/rail": {"int": 5}}
    config.unlink()
    assert attributes(listening, FIRST)[1] == {"zerocopy.rdma/rail": {"int": 5}}
    told = [json.loads(line)["error"] for line in capsys.readouterr().err.splitlines()]
    assert [error.split(":")[0] for error in told] == [
        "the file is not JSON",
        f"devices['{FIRST[:4]}",
        "[Errno 2] No such file or directory",
    ]
    write(config, {FIRST: {"rail": 6}})
    assert attributes(listening, FIRST)[1] == {"zerocopy.rdma/rail": {"int": 6}}


def raw(path: Path, request: bytes) -> bytes:
    """What is answered to these bytes, until the other side closes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(SECONDS)
        connection.connect(str(path))
        connection.sendall(request)
        found = b""
        while True:
            data = connection.recv(4096)
            if not data:
                return found
            found += data


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (b"Content-Length: 16385\r\n\r\n", 413),
        (b"Content-Length: 99999999999999999999\r\n\r\n", 413),
        (b"\r\n", 411),
        (b"Content-Length: -1\r\n\r\n", 411),
        (b"Content-Length: 2\r\n\r\n[]", 400),
        (b'Content-Length: 9\r\n\r\n{"name": ', 400),
        (b"Content-Length: 8000\r\n\r\n" + b"[" * 8000, 400),
        (b"X: " + b"a" * 70000 + b"\r\n\r\n", 431),
    ],
)
def test_a_request_of_the_wrong_size_or_form_is_refused(listening: Path, headers: bytes, code: int) -> None:
    found = raw(listening, b"POST /GetDeviceAttributes HTTP/1.1\r\n" + headers)
    assert found.split(b" ", 2)[1] == str(code).encode()
    assert attributes(listening, SECOND)[1] == {"zerocopy.rdma/rail": {"int": 4}}


def test_each_answer_ends_its_connection(listening: Path) -> None:
    body = b'{"name": "nic"}'
    request = b"POST /GetDeviceConfig HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    assert raw(listening, request + request).count(b"HTTP/1.1") == 1


def test_those_that_say_nothing_keep_nobody_waiting_and_are_sent_away(tmp_path: Path, config: Path) -> None:
    path = tmp_path / "patient.sock"
    with server.Webhook(str(path), server.Source(str(config)), patience=SECONDS) as webhook:
        threading.Thread(target=webhook.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _one in range(8)]
        for connection in silent:
            connection.connect(str(path))
        silent[0].sendall(b"POST /GetDeviceAttributes HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        assert attributes(path, SECOND)[1] == {"zerocopy.rdma/rail": {"int": 4}}
        for connection in silent:
            connection.close()
        webhook.shutdown()


def test_more_than_it_has_threads_for_are_served_when_others_have_gone(listening: Path) -> None:
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _one in range(server._MOST_CLIENTS)]
    for connection in silent:
        connection.settimeout(SECONDS)
        connection.connect(str(listening))
    # Each is sent away when its patience has ended.
    for connection in silent:
        assert connection.recv(1) == b""
        connection.close()
    assert attributes(listening, SECOND)[1] == {"zerocopy.rdma/rail": {"int": 4}}


def test_the_program_that_is_installed(tmp_path: Path, config: Path) -> None:
    program, path = tmp_path / "attributes.pyz", tmp_path / "webhook.sock"
    program.write_bytes(daemon_options.program())
    # Of one that was killed.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(SECONDS)
        systemd.bind(str(tmp_path / "notify"))
        argv = [sys.executable, "-I", str(program), "--config", str(config), "--socket", str(path)]
        env = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        with subprocess.Popen(argv, stderr=subprocess.PIPE, env=env) as process:
            assert systemd.recv(100) == b"READY=1"
            assert attributes(path, SECOND)[1] == {"zerocopy.rdma/rail": {"int": 4}}
            assert systemd.recv(100) == b"WATCHDOG=1"
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
    write(config, {"nic": {}})
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stderr)["message"]) == (78, "the daemon cannot start")


@pytest.mark.parametrize(
    ("devices", "right"),
    [
        ([], "devices must be a map"),
        ({"1a:00.0": {}}, "a PCI address like 0000:1a:00.0"),
        ({"0000:1A:00.0": {}}, "a PCI address like 0000:1a:00.0"),
        ({FIRST: 3}, "must be a map of rail, leaf, rate_gbps, link_layer"),
        ({FIRST: {"numa": 1}}, "it must be one of rail, leaf, rate_gbps, link_layer"),
        ({FIRST: {"rail": "3"}}, "rail is '3', it must be an integer of 0 to"),
        ({FIRST: {"rail": True}}, "an integer of 0 to"),
        ({FIRST: {"rail": -1}}, "an integer of 0 to"),
        ({FIRST: {"rail": 2**63}}, "an integer of 0 to"),
        ({FIRST: {"rate_gbps": 0}}, "an integer of 1 to"),
        ({FIRST: {"rate_gbps": 2.5}}, "an integer of 1 to"),
        ({FIRST: {"leaf": ""}}, "1 to 64 printable"),
        ({FIRST: {"leaf": "l" * 65}}, "1 to 64 printable"),
        ({FIRST: {"leaf": "a\nb"}}, "1 to 64 printable"),
        ({FIRST: {"link_layer": "ethernet"}}, "InfiniBand or Ethernet"),
        ({f"{number:04x}:00:00.0": {} for number in range(1025)}, "at most 1024"),
    ],
)
def test_what_the_api_server_would_refuse_is_refused_before(devices: Any, right: str) -> None:
    with pytest.raises(ConfigurationError, match=right):
        configuration.read(json.dumps({"devices": devices}))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"devices": {}, "more": 1}', "[" * 100000])
def test_what_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        configuration.read(text)
