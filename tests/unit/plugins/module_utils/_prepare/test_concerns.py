# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What one concern is told that only another one knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import concerns
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import exporter
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons import daemon_node

# A containerd with a socket of its own.
RUNNING = {
    "sys/fs/cgroup/system.slice/containerd.service/cgroup.procs": "415\n",
    "proc/415/comm": "containerd\n",
    "proc/415/stat": "415 (containerd) S 1 415 415 0 -1 4194560" + " 0" * 12 + " 4200 1\n",
    "proc/415/cmdline": "/usr/bin/containerd\0--address\0/run/own.sock\0",
    "proc/stat": "btime 1700000000\n",
}


@pytest.mark.parametrize(
    ("own", "socket"),
    [
        ({}, None),
        ({"runtime": "none"}, None),
        ({"runtime": "containerd"}, None),
        ({"runtime": "k3s"}, "/run/k3s/containerd/containerd.sock"),
        ({"runtime": "rke2"}, "/run/k3s/containerd/containerd.sock"),
        ({"runtime": "crio"}, "/var/run/crio/crio.sock"),
    ],
)
def test_the_exporter_asks_the_runtime_that_the_variable_names(
    tmp_path: Path, own: Dict[str, Any], socket: Any
) -> None:
    options = daemon_node.options(exporter.SPEC, tmp_path, directory="/d", **own)
    concerns.change("daemons", {"exporter": options}, False)
    written = json.loads((tmp_path / exporter.DAEMON.config[1:]).read_text())
    assert written.get("runtime_socket") == socket
    gone = daemon_node.options(exporter.SPEC, tmp_path, state="absent", **own)
    assert concerns.change("daemons", {"exporter": gone}, False)["changed"] is True


def test_the_socket_is_that_of_the_running_daemon(tmp_path: Path) -> None:
    for name, text in RUNNING.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    options = daemon_node.options(exporter.SPEC, tmp_path, directory="/d", runtime="containerd")
    concerns.change("daemons", {"exporter": options}, False)
    assert json.loads((tmp_path / exporter.DAEMON.config[1:]).read_text())["runtime_socket"] == "/run/own.sock"
