# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole exporter as the program that prepare installs, on a recorded node's files."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import (
    Configuration,
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import program
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.test_ports import FILES, laid_out


def awaited(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


class Running:
    """The program, and what it writes."""

    def __init__(self, scratch: Path, **own: Any) -> None:
        self.scratch, self.directory = scratch, scratch / "textfiles"
        self.directory.mkdir()
        laid_out(scratch / "node", FILES)
        config = scratch / "exporter.json"
        config.write_text(json.dumps({"directory": str(self.directory), "interval": 5, **own}))
        pyz = scratch / "exporter.pyz"
        pyz.write_bytes(program.build("_exporter.main"))
        self.log = scratch / "log"
        argv = [sys.executable, "-I", str(pyz), "--config", str(config), "--root", str(scratch / "node")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                argv, stderr=log, env={**os.environ, "NOTIFY_SOCKET": str(scratch / "notify")}
            )

    @property
    def text(self) -> str:
        path = self.directory / configuration.FILE_NAME
        return path.read_text() if path.exists() else ""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: List[Running] = []

    def begin(**own: Any) -> Running:
        running.append(Running(tmp_path, **own))
        return running[0]

    yield begin
    for each in running:
        each.process.kill()
        each.process.wait()


def test_it_writes_a_file_and_takes_it_away(start: Callable[..., Running], tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        running = start()
        said = set()
        while b"READY=1" not in said:
            said.add(systemd.recv(100))
    assert 'rdma_port_state_id{device="mlx5_0",port="1"} 4' in running.text
    assert os.listdir(running.directory) == [configuration.FILE_NAME]
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(60) == 0
    assert os.listdir(running.directory) == []


def test_it_serves_metrics_and_survives_clients_that_are_none(start: Callable[..., Running]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = start(directory="", listen=f"127.0.0.1:{port}")

    def asked(request: bytes) -> bytes:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(request)
                found = b""
                while True:
                    data = connection.recv(1 << 16)
                    if not data:
                        return found
                    found += data
        except ConnectionError:
            return b""

    answer = awaited(
        lambda: (found := asked(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")).startswith(b"HTTP/1.1 200") and found
    )
    head, _blank, body = answer.partition(b"\r\n\r\n")
    assert b"Content-Length: %d\r\n" % len(body) in head
    assert b'rdma_port_state_id{device="mlx5_0",port="1"} 4\n' in body
    silent = [socket.create_connection(("127.0.0.1", port)) for _client in range(10)]
    for request in (b"POST /metrics HTTP/1.1\r\n\r\n", b"GET /../etc/passwd HTTP/1.1\r\n\r\n", b"\xff\0\r\n\r\n"):
        assert asked(request).startswith(b"HTTP/1.1 404")
    assert asked(b"x" * 100000) == b""
    assert asked(b"HEAD /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200")
    for client in silent:
        client.close()
    assert running.process.poll() is None


def test_a_file_that_cannot_be_written_is_said_once_and_the_old_one_stays(start: Callable[..., Running]) -> None:
    running = start()
    before = awaited(lambda: running.text)
    # As on a full disk, whoever writes: nothing can be made in the place of the new file.
    (running.directory / f"{configuration.FILE_NAME}.tmp").mkdir()
    awaited(lambda: "the metrics cannot be written" in running.log.read_text())
    assert running.text == before
    stamp = [line for line in before.splitlines() if line.startswith("rdma_exporter_last_look_timestamp_seconds ")]
    assert len(stamp) == 1
    (running.directory / f"{configuration.FILE_NAME}.tmp").rmdir()
    awaited(lambda: running.text != before)
    assert running.log.read_text().count("the metrics cannot be written") == 1


def test_an_hca_that_appears_and_goes_is_told_of(start: Callable[..., Running]) -> None:
    running = start()
    awaited(lambda: running.text)
    (running.scratch / "node/sys/class/infiniband/mlx5_0").rename(running.scratch / "away")
    awaited(lambda: "rdma_port_state_id" not in running.text)
    # One look is not enough to say that it is gone.
    assert 'rdma_device_present{device="mlx5_0",pci_address=""} 1' in running.text


def test_a_kernel_log_that_cannot_be_read_costs_nothing_else(start: Callable[..., Running]) -> None:
    up, count = 'rdma_exporter_source_up{source="kernel_log"}', "rdma_device_kernel_faults_total"
    running = start()
    awaited(lambda: running.text)
    assert f"{up} 0\n" in running.text
    assert count not in running.text
    assert 'rdma_port_state_id{device="mlx5_0",port="1"} 4' in running.text
    assert "kernel_log: [Errno 2]" in running.log.read_text()
    # Now it can be.
    (running.scratch / "node/dev").mkdir()
    error = "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing"
    (running.scratch / "node/dev/kmsg").write_text(f"3,7,7000,-;{error}\n")
    awaited(lambda: f"{up} 1\n" in running.text)
    assert f'{count}{{device="nvidia_peermem",pci_address="",kind="peermem_error"}} 1\n' in running.text


@pytest.mark.parametrize(
    ("content", "right"),
    [
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"directory": "/d", "listen": "0.0.0.0:1"}', "exactly one of them"),
        ("{}", "exactly one of them"),
        ('{"directory": "d"}', "an absolute path"),
        ('{"directory": 7}', "it must be like"),
        ('{"listen": "localhost:9880"}', "an IP address and a port"),
        ('{"listen": "0.0.0.0:70000"}', "an IP address and a port"),
        ('{"directory": "/d", "interval": 1}', "5 to 300 seconds"),
        ('{"directory": "/d", "interval": true}', "it must be like 15"),
        ('{"directory": "/d", "more": 1}', "is not one of directory"),
        ('{"directory": "/d", "rails": [{"name": "0"}]}', "name, hca, port and pci"),
        ('{"directory": "/d", "gpu_vendors": "10de"}', "a list of text"),
    ],
)
def test_a_wrong_configuration_is_refused(content: str, right: str) -> None:
    with pytest.raises(ConfigurationError, match=right):
        configuration.read(content)


def test_addresses_of_both_families() -> None:
    found: Dict[str, Any] = {text: configuration.address(text) for text in ("0.0.0.0:80", "[::]:9880")}
    assert found == {"0.0.0.0:80": ("0.0.0.0", 80), "[::]:9880": ("::", 9880)}
    assert configuration.read('{"listen": "[::]:9880"}') == Configuration(listen="[::]:9880")
