# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import cri
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import service as runtime_service
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import Effective
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import configured, daemon, detect
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.service import Service

# The journal of a guest's containerd 2.1.9 whose NRI socket has an impossible path.
JOURNAL = """\
time="2026-11-21T15:55:05.038816910Z" level=info msg="Start event monitor"
time="2026-11-21T15:55:05.040467480Z" level=fatal msg="Failed to run CRI service" error="failed to set up NRI for CRI \
service: failed to start NRI interface: failed to create socket \\"/proc/none/nri.sock\\": mkdir /proc/none"
containerd.service: Main process exited, code=exited, status=1/FAILURE
"""
ON = Effective({"version": 3}, complete=True)


class Systemd:
    """A runner that plays back what systemctl said, the last answer for ever."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: List[str] = []

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Any = None) -> Completed:
        self.asked.append(" ".join(argv))
        if argv[0] == "journalctl":
            return Completed(0, JOURNAL, "")
        if argv[1] == "show":
            return Completed(0, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0], "")
        return Completed(1 if argv[1] == "restart" else 0, "", "Job for containerd.service failed\n")


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_service, "_INTERVAL", 0)


def service(root: Path, systemd: Systemd) -> Service:
    (root / "etc/containerd").mkdir(parents=True, exist_ok=True)
    return Service(Files(str(root)), detect(Files(str(root)), "containerd"), systemd)


def test_a_unit_that_is_starting_is_waited_for(tmp_path: Path) -> None:
    starting, running = "ActiveState=activating\nSubState=start\n", "ActiveState=active\nSubState=running\n"
    state = service(tmp_path, Systemd(starting, starting, running)).state()
    assert (state.active, state.failed, state.wanted) == ("active", False, True)
    state = service(tmp_path, Systemd("ActiveState=activating\nSubState=auto-restart\n")).state()
    assert (state.failed, state.wanted) == (True, True)
    state = service(tmp_path, Systemd("ActiveState=inactive\nSubState=dead\n")).state()
    assert (state.failed, state.wanted) == (False, False)


def test_a_failed_restart_says_why(tmp_path: Path) -> None:
    systemd = Systemd("ActiveState=failed\nSubState=failed\n")
    with pytest.raises(HostError, match=r"does not start: Failed to run CRI service: .*'/proc/none/nri\.sock': mkdir"):
        service(tmp_path, systemd).restart()
    assert systemd.asked[:3] == [
        "systemctl daemon-reload",
        "systemctl reset-failed containerd.service",
        "systemctl restart containerd.service",
    ]


def test_ready_is_when_the_cri_answers_and_nri_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: List[Any] = [HostError("refused"), HostError("refused"), "containerd 2", "containerd 2"]
    accepted = [False, True]

    def version(path: str, timeout: float = 0) -> str:
        answer = answers.pop(0)
        if isinstance(answer, HostError):
            raise answer
        return str(answer)

    monkeypatch.setattr(cri, "version", version)
    monkeypatch.setattr(unix_socket, "accepts", lambda path: accepted.pop(0))
    unit = service(tmp_path, Systemd("ActiveState=active\nSubState=running\n"))
    assert unit.await_ready(ON) == "containerd 2"
    assert answers == accepted == []
    answers = [HostError("refused")] * 9
    with pytest.raises(HostError, match=r"restarted but is not ready \(refused\): Failed to run CRI service"):
        unit.await_ready(ON, deadline=-1)
    with pytest.raises(HostError, match="does not stay up"):
        service(tmp_path, Systemd("ActiveState=failed\nSubState=failed\n")).await_ready(ON)


@pytest.mark.parametrize(
    "group",
    [
        "system.slice/containerd.service",
        "systemd/system.slice/containerd.service",
        # With Slice=podruntime.slice, Slice=kube-runtime.slice, Slice=-.slice.
        "podruntime.slice/containerd.service",
        "systemd/kube.slice/kube-runtime.slice/containerd.service",
        "containerd.service",
    ],
)
def test_the_daemon_is_found_by_its_control_group(tmp_path: Path, group: str) -> None:
    files = {
        # The containerd of another system, in a container.
        "sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/containerd.service/cgroup.procs": "416\n",
        "sys/fs/cgroup/user.slice/user-1.slice/user@1.service/app.slice/containerd.service/cgroup.procs": "416\n",
        f"sys/fs/cgroup/{group}/cgroup.procs": "20\n415\n",
        "proc/20/comm": "containerd-shim\n",
        "proc/415/comm": "containerd\n",
        "proc/415/stat": "415 (containerd) S 1 415 415 0 -1 4194560" + " 0" * 12 + " 4200 1\n",
        "proc/415/cmdline": "/usr/bin/containerd\0--config=/etc/own.toml\0-a\0/run/own.sock\0",
        "proc/sys/kernel/random/boot_id": "b00t\n",
        "proc/stat": "cpu 1 2\nbtime 1700000000\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    layout = RuntimeLayout("containerd", "containerd.service", "/etc/containerd/config.toml", "", "", "/run/x", ())
    found = daemon(Files(str(tmp_path)), layout)
    assert found is not None
    assert (found.pid, found.identity, found.started) == (415, "b00t/415/4200", 1700000042.0)
    changed = configured(layout, found)
    assert (changed.main, changed.socket) == ("/etc/own.toml", "/run/own.sock")
