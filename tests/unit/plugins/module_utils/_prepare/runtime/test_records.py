# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A containerd that does not start because of sandbox records, started once without its CRI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, List, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import records, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import Effective
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import RUNTIMES
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_exec_start import shown
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_run import (
    MAIN,
    USERS,
    Node,
    call,
    kinds,
    node,
    text,
)

__all__ = ["node"]
# The fixture replaces it.
_UNDO = records.undo

LAYOUT = RUNTIMES["containerd"].layout("containerd.service")
RECOVERY = "run/zerocopy-rdma-recovery.toml"
OVERRIDE = "run/systemd/system/containerd.service.d/90-zerocopy-rdma-recovery.conf"
EFFECTIVE = Effective({"version": 3}, complete=True)


class Systemd:
    """A runner that keeps what a restart found in ``/run``."""

    def __init__(self, root: Path, argv: str) -> None:
        self.root, self.argv = root, argv
        self.found: List[str] = []

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Any = None) -> Completed:
        if argv[1] == "restart":
            self.found += [(self.root / path).read_text() for path in (OVERRIDE, RECOVERY)]
        return Completed(0, shown(self.argv) if argv[1] == "show" else "", "")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """The sockets that were asked for records; none has any."""
    found: List[str] = []

    def now(socket: str, version: int) -> List[records.Leak]:
        found.append(socket)
        return []

    monkeypatch.setattr(records, "now", now)
    return found


def make(root: Path, *paths: str) -> Files:
    for path in ("run/x", *paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("version = 3\n")
    return Files(str(root))


def test_it_is_started_with_the_root_and_the_configuration_of_its_unit(tmp_path: Path, asked: List[str]) -> None:
    files = make(tmp_path, "etc/containerd/config.toml", "etc/site.toml")
    systemd = Systemd(
        tmp_path, "/opt/containerd --config /etc/site.toml --root /mnt/c --state /run/c --address /run/c/c.sock"
    )
    assert records.recover_stopped(files, LAYOUT, EFFECTIVE, systemd) == []
    assert systemd.found == [
        "[Service]\nExecStart=\nExecStart=/opt/containerd --config /run/zerocopy-rdma-recovery.toml"
        " --root /mnt/c --state /run/c --address /run/c/c.sock\n",
        'version = 3\nimports = ["/etc/site.toml"]\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n',
    ]
    assert asked == ["/run/c/c.sock"]
    assert not any((tmp_path / path).exists() for path in (OVERRIDE, RECOVERY))


def test_defaults_are_imported_where_there_are_any(tmp_path: Path, asked: List[str]) -> None:
    systemd = Systemd(tmp_path, "/usr/bin/containerd")
    records.recover_stopped(make(tmp_path), LAYOUT, EFFECTIVE, systemd)
    records.recover_stopped(make(tmp_path, "etc/containerd/config.toml"), LAYOUT, EFFECTIVE, systemd)
    assert ["imports" in text for text in systemd.found] == [False, False, False, True]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ("/usr/bin/containerd $OPTIONS", "because of '.OPTIONS'"),
        ("/usr/local/bin/wrapper", "must start containerd itself"),
        ("/usr/bin/containerd --config /etc/gone.toml", "/etc/gone.toml, which its ExecStart names as --config, does"),
    ],
)
def test_it_is_not_started_with_less_than_its_unit_says(
    tmp_path: Path, asked: List[str], argv: str, reason: str
) -> None:
    systemd = Systemd(tmp_path, argv)
    with pytest.raises(HostError, match=rf"so nothing is changed: .*{reason}"):
        records.recover_stopped(make(tmp_path, "etc/containerd/config.toml"), LAYOUT, EFFECTIVE, systemd)
    assert (systemd.found, asked) == ([], [])
    assert not any((tmp_path / path).exists() for path in (OVERRIDE, RECOVERY))


def _killed_in_a_recovery(node: Node, monkeypatch: pytest.MonkeyPatch, main: str) -> None:
    recovery = "/run/zerocopy-rdma-recovery.toml"
    for path, content in (
        (recovery, f'version = 3\nimports = ["{main}"]\n'),
        ("/run/systemd/system/containerd.service.d/90-zerocopy-rdma-recovery.conf", "[Service]\n"),
    ):
        Path(node.full(path)).parent.mkdir(parents=True, exist_ok=True)
        Path(node.full(path)).write_text(content)
    own, node.arguments = node.arguments, ["/usr/bin/containerd", "--config", recovery, ""]

    def execute(argv: Sequence[str], timeout: float = 60, stdin: Any = None) -> Completed:
        if argv[0] != "systemctl":
            done: Completed = node.containerd(argv, timeout, stdin)
            return done
        if argv[1] == "restart":
            node.starts, node.arguments = node.starts + 1, own
        return Completed(0, "", "")

    monkeypatch.setattr(records, "undo", _UNDO)
    monkeypatch.setattr(run.RuntimeRun.__init__, "__defaults__", (execute,))


@pytest.mark.parametrize("main", ["/etc/containerd/config.toml", "/etc/containerd/own.toml"])
def test_after_a_killed_recovery_the_units_own_files_count(
    node: Node, monkeypatch: pytest.MonkeyPatch, main: str
) -> None:
    Path(node.full("/etc/containerd/own.toml")).write_text(USERS)
    node.arguments[1:1] = [] if main.endswith("config.toml") else ["--config", main]
    _killed_in_a_recovery(node, monkeypatch, main)
    predicted = call(node, check=True)
    done = call(node)
    assert done.changes == predicted.changes
    assert main in [change.name for change in done.changes]
    assert os.listdir(node.full("/run")) == ["systemd"]
    good = Path(node.full(main)).read_text()
    assert call(node).changes == []
    _killed_in_a_recovery(node, monkeypatch, main)
    assert call(node).changes == []
    assert Path(node.full(main)).read_text() == good
    _killed_in_a_recovery(node, monkeypatch, main)
    call(node, state="absent")
    assert (text(node), Path(node.full("/etc/containerd/own.toml")).read_text()) == (USERS, USERS)
    assert os.listdir(node.full("/run")) == ["systemd"]


def test_the_start_after_a_killed_recovery_is_not_that_for_the_new_files(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    _killed_in_a_recovery(node, monkeypatch, f"/{MAIN}")
    assert call(node, restart=False).facts["restart_pending"] is True
    assert kinds(call(node)) == ["service"]
