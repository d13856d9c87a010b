# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""When the runtime is restarted, and what happens if that fails or the run is killed. On guests, molecule proves it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import converge, records, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options as runtime_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import CONCERN
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import RuntimeOutcome
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.records import Leak
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import (
    Daemon,
    daemon,
    detect,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.service import UnitState
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.runtimes import Containerd
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_exec_start import shown

MAIN = "etc/containerd/config.toml"
USERS = "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nenable_selinux = true\n"


class Killed(BaseException):
    """What SIGKILL is to the code: nothing after it runs."""


class Node(Files):
    """This machine's files as if ``/`` were elsewhere, with one unit that can be restarted."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.live = True
        self.starts = 1
        self.restarts: List[str] = []
        self.fails: List[BaseException] = []
        self.active = "active"
        self.stopped = False
        self.arguments = ["/usr/bin/containerd", ""]
        self.leaks: List[Leak] = []
        self.containerd = Containerd("2.1.9")
        self.containerd.root = str(root)

    def full(self, path: str) -> str:
        return self.root + path


# Above the kernel's PID_MAX_LIMIT (include/linux/threads.h): the code looks at /proc/PID/exe of the machine.
NO_PID = 2**22 + 1


class Service:
    """Stands for systemd's side of ``_runtime_service.Service``."""

    def __init__(self, node: Node, layout: RuntimeLayout, execute: Any) -> None:
        self.node, self.layout = node, layout

    def daemon(self) -> Optional[Daemon]:
        if self.node.stopped:
            return None
        return Daemon(NO_PID, f"boot/{NO_PID}/{self.node.starts}", 2**33, tuple(self.node.arguments))

    def state(self) -> UnitState:
        return UnitState(self.node.active, self.node.active in ("failed", "activating"))

    def journal(self) -> str:
        return "its last words"

    def restart(self) -> None:
        self.node.restarts.append(Path(self.node.full(f"/{MAIN}")).read_text())
        if self.node.fails:
            raise self.node.fails.pop(0)
        self.node.starts += 1

    def await_ready(self, effective: Any) -> str:
        return "containerd 2.1.9"

    def await_plugins(self, effective: Any, before: int, seconds: float) -> int:
        return 0


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    (tmp_path / MAIN).parent.mkdir(parents=True)
    (tmp_path / MAIN).write_text(USERS)
    (tmp_path / "var/lib").mkdir(parents=True)
    (tmp_path / "containerd").write_text("")
    (tmp_path / "containerd").chmod(0o755)
    made = Node(tmp_path)

    def service(files: Files, layout: RuntimeLayout, execute: Any) -> Service:
        return Service(made, layout, execute)

    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(run, "Service", service)
    monkeypatch.setattr(run.RuntimeRun.__init__, "__defaults__", (made.containerd,))
    monkeypatch.setattr(converge, "detect", lambda files, runtime: detect(files, "containerd"))
    monkeypatch.setattr(converge, "daemon", lambda files, layout: service(files, layout, None).daemon())
    monkeypatch.setattr(unix_socket, "listening", lambda files, path: True)
    monkeypatch.setattr(unix_socket, "connected", lambda files, path: 0)
    monkeypatch.setattr(records, "find", lambda layout, effective: made.leaks)
    monkeypatch.setattr(records, "now", lambda socket, version: made.leaks)
    monkeypatch.setattr(records, "undo", lambda files, layout, execute: False)
    return made


def call(node: Node, check: bool = False, **options: Any) -> RuntimeOutcome:
    params: Dict[str, Any] = {name: spec.get("default") for name, spec in runtime_options.ARGUMENTS.items()}
    return converge.converge(runtime_options.request({**params, **options}, check), node)


def kinds(outcome: RuntimeOutcome) -> List[str]:
    return [change.kind for change in outcome.changes]


def notes(node: Node) -> Dict[str, Any]:
    return Ledger(node, CONCERN).notes


def text(node: Node) -> str:
    return Path(node.full(f"/{MAIN}")).read_text()


def test_nothing_is_planned_twice_for_a_unit_with_a_slice_of_its_own(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "sys/fs/cgroup/podruntime.slice/containerd.service/cgroup.procs": "4711\n",
        "proc/4711/comm": "containerd\n",
        "proc/4711/stat": "4711 (containerd) S" + " 0" * 18 + " 4200\n",
        "proc/4711/cmdline": "/usr/bin/containerd\0",
        "proc/stat": "btime 1700000000\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(converge, "daemon", daemon)
    call(node)
    asked = len(node.containerd.asked)
    assert call(node).changes == []
    assert len(node.containerd.asked) == asked


def test_one_restart_for_all(node: Node) -> None:
    predicted = call(node, check=True)
    assert notes(node) == {}
    done = call(node)
    assert (done.changes, done.facts["restarted"]) == (predicted.changes, True)
    assert kinds(done)[-1] == "service"
    assert {"nri", "handlers"} <= done.facts.keys()
    again = call(node)
    assert again.changes == []
    assert again.facts.keys() == done.facts.keys() - {"version", "plugins_missing"}
    assert len(node.restarts) == 1
    assert call(node, memlock="").facts["restarted"] is True
    assert call(node, state="absent").facts["restarted"] is True
    assert notes(node) == {}


def resigned(node: Node, change: Callable[[Dict[str, Any]], None]) -> None:
    """The ledger with another content and its digest, as another version would write it."""
    path = Path(node.full(f"/var/lib/zerocopy-rdma/{CONCERN}/ledger.json"))
    data = json.loads(path.read_text())
    change(data["notes"])
    path.write_text(json.dumps({**data, "digest": document._digest(data)}))


def test_notes_of_another_form_are_refused(node: Node) -> None:
    call(node)
    resigned(node, lambda notes: notes.update(parts=["nri"]))
    with pytest.raises(HostError, match=r"ledger\.json is damaged"):
        call(node)


def test_another_versions_cache_is_not_seen(node: Node) -> None:
    call(node)
    good = notes(node)
    asked = len(node.containerd.asked)
    resigned(node, lambda notes: notes["seen"].update(files="all"))
    assert call(node).changes == []
    assert len(node.containerd.asked) > asked
    assert (notes(node), len(node.restarts)) == (good, 1)


def test_a_restart_that_was_left_to_a_later_call(node: Node) -> None:
    first = call(node, memlock="", restart=False)
    assert (first.facts["restart_pending"], node.restarts) == (True, [])
    assert call(node).facts["restarted"] is True
    assert len(node.restarts) == 1
    assert "pending" not in notes(node)


def test_a_restart_that_fails_puts_back_what_ran_before(node: Node) -> None:
    call(node, memlock="")
    good = text(node)
    assert len(node.restarts) == 1
    node.fails = [HostError("containerd.service does not start: it cannot")]
    with pytest.raises(
        HostError, match=r"it cannot\. The previous files were restored and containerd\.service is running"
    ):
        call(node)
    assert (text(node), node.restarts[1:]) == (good, [node.restarts[1], good])
    assert node.restarts[1] != good
    assert list(notes(node)["parts"]) == ["nri"]
    assert call(node, memlock="").changes == []
    node.fails = [HostError("no"), HostError("not even so")]
    with pytest.raises(HostError, match=r"no\. The previous files were restored, but: not even so"):
        call(node)
    assert text(node) == good
    # What is left is to be restarted into.
    assert kinds(call(node, memlock="")) == ["service"]
    call(node, state="absent")
    assert text(node) == USERS
    assert not Path(node.full("/var/lib/zerocopy-rdma")).exists()


def test_all_since_the_last_good_restart_is_put_back(node: Node) -> None:
    call(node, memlock="", restart=False)
    node.fails = [HostError("no")]
    with pytest.raises(HostError, match=r"no\. The previous files were restored"):
        call(node)
    assert text(node) == USERS
    assert not Path(node.full("/var/lib/zerocopy-rdma")).exists()


def test_what_runs_since_somebody_elses_restart_is_put_back(node: Node) -> None:
    call(node, memlock="", restart=False)
    node.starts += 1
    good = text(node)
    node.fails = [HostError("no")]
    with pytest.raises(HostError, match=r"no\. The previous files were restored"):
        call(node)
    assert text(node) == good != USERS
    assert list(notes(node)["parts"]) == ["nri"]


@pytest.mark.parametrize("active", ["activating", "failed"])
def test_files_that_a_runtime_fails_with_are_not_taken_over(node: Node, active: str) -> None:
    node.fails = [Killed()]
    with pytest.raises(Killed):
        call(node, memlock="")
    node.starts, node.active = node.starts + 1, active
    node.fails = [HostError("no")]
    with pytest.raises(HostError, match=r"no\. The previous files were restored"):
        call(node)
    assert text(node) == USERS


def test_a_file_that_cannot_be_written_leaves_nothing_to_be_restarted_for(node: Node) -> None:
    refused = Path(node.full(f"/{MAIN}")).with_name(".config.toml.zerocopy-rdma.tmp")
    refused.mkdir()
    with pytest.raises(HostError, match=r"^/etc/containerd/config\.toml: "):
        call(node)
    refused.rmdir()
    assert os.listdir(node.full("/etc/containerd")) == ["config.toml"]
    assert call(node, state="absent").changes == []
    call(node, memlock="")
    refused.mkdir()
    with pytest.raises(HostError, match=r"^/etc/containerd/config\.toml: "):
        call(node)
    refused.rmdir()
    assert call(node, memlock="").changes == []
    assert len(node.restarts) == 1


def test_killed_before_its_restart(node: Node) -> None:
    node.fails = [Killed()]
    with pytest.raises(Killed):
        call(node)
    assert kinds(call(node, check=True)) == ["service"]
    assert kinds(call(node)) == ["service"]
    assert call(node).changes == []
    assert len(node.restarts) == 2


def test_killed_and_restarted_by_somebody_else(node: Node) -> None:
    node.fails = [Killed()]
    with pytest.raises(Killed):
        call(node)
    node.starts += 1
    assert call(node).changes == []
    assert "pending" not in notes(node)
    assert len(node.restarts) == 1


def test_a_stopped_runtime_is_not_started(node: Node) -> None:
    node.active = "inactive"
    assert kinds(call(node, memlock="")) == ["file", "file"]
    assert call(node, memlock="").changes == []
    assert node.restarts == []


def test_nri_that_is_configured_but_does_not_listen(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    call(node)
    monkeypatch.setattr(unix_socket, "listening", lambda files, path: False)
    assert kinds(call(node)) == ["service"]


def test_left_behind_records_stop_a_restart(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: List[Leak] = []
    monkeypatch.setattr(records, "remove", lambda layout, leaks, execute: removed.extend(leaks))
    node.leaks = [Leak("0f38942f46b9aaaa", "bad_lab_uid-bad_0")]
    for check in (True, False):
        with pytest.raises(
            HostError,
            match=r"not restarted: 1 .*bad_lab_uid-bad_0 \(0f38942f46b9\)\. Set rdma_runtime_recover_sandboxes to ",
        ):
            call(node, check=check)
    assert (text(node), node.restarts) == (USERS, [])
    predicted = call(node, check=True, memlock="", recover_sandboxes=True)
    assert removed == []
    assert call(node, memlock="", recover_sandboxes=True).changes == predicted.changes
    assert kinds(predicted) == ["file", "file", "sandbox_record", "service"]
    assert removed == node.leaks


def test_left_behind_records_are_found_without_a_restart(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: List[Leak] = []
    monkeypatch.setattr(records, "remove", lambda layout, leaks, execute: removed.extend(leaks))
    call(node)
    settled = call(node)
    assert "sandbox_records" not in settled.facts
    node.leaks = [Leak("0f38942f46b9aaaa", "bad_lab_uid-bad_0")]
    for check in (True, False):
        found = call(node, check=check)
        assert (found.changes, found.facts["sandbox_records"]) == ([], ["bad_lab_uid-bad_0 (0f38942f46b9)"])
        assert "). Set rdma_runtime_recover_sandboxes to remove them;" in found.warnings[0]
    assert kinds(call(node, check=True, recover_sandboxes=True)) == ["sandbox_record"]
    assert removed == []
    assert call(node, recover_sandboxes=True).facts["sandbox_records_removed"] == [str(node.leaks[0])]
    assert (removed, len(node.restarts)) == (node.leaks, 1)


def test_a_runtime_that_was_broken_before_is_left_alone(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(layout: RuntimeLayout, effective: Any) -> List[Leak]:
        raise HostError("nobody answers")

    monkeypatch.setattr(records, "find", silent)
    node.active = "activating"
    with pytest.raises(HostError, match=r"already broken before any change \(nobody answers\): its last words"):
        call(node)
    assert (text(node), node.restarts) == (USERS, [])


def test_a_new_containerd_is_asked_again(node: Node) -> None:
    call(node)
    asked = len(node.containerd.asked)
    call(node)
    assert len(node.containerd.asked) == asked
    Path(node.full("/containerd")).write_text("newer")
    node.containerd.spec = node.containerd.spec.replace("1.2.0", "1.3.0")
    outcome = call(node)
    assert [change.name for change in outcome.changes] == [
        "/etc/containerd/zerocopy-rdma-base-spec.json",
        "containerd.service",
    ]


def test_a_runtime_with_other_arguments_is_asked_again(node: Node) -> None:
    """Somebody has changed the command line in its unit and restarted it."""
    call(node)
    own = "/etc/containerd/own.toml"
    Path(node.full(own)).write_text(USERS)
    node.arguments[1:1] = ["--config", own]
    assert [change.name for change in call(node).changes] == [f"/{MAIN}", own, "containerd.service"]
    assert text(node) == USERS
    assert call(node).changes == []


def test_a_stopped_runtime_has_the_files_that_its_unit_names(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "/etc/containerd/own.toml"
    Path(node.full(own)).write_text(USERS)
    node.stopped, node.active = True, "failed"

    def execute(argv: Sequence[str], timeout: float = 60, stdin: Any = None) -> Completed:
        if argv[:2] == ["systemctl", "show"]:
            return Completed(0, shown(f"/usr/bin/containerd --config {own}"), "")
        done: Completed = node.containerd(argv, timeout, stdin)
        return done

    monkeypatch.setattr(run.RuntimeRun.__init__, "__defaults__", (execute,))
    assert own in [change.name for change in call(node).changes]
    assert text(node) == USERS
