# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The plugin's files, its unit, and what is done with it when, below a root of its own.

systemd is played by the test, which does for the plugin what that does for itself: it writes its status, and connects
to a real socket. That systemd takes the unit is tried with ``systemd-analyze`` where there is one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import inject, service
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import DaemonRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.inject import DAEMON
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.status import Status
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons import daemon_node
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons.daemon_node import PROGRAM
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    as_nobody,
    within_reach,
)

OTHER = PROGRAM + b"2"
FILES = (DAEMON.program, DAEMON.config, DAEMON.unit_path)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_INTERVAL", 0)
    monkeypatch.setattr(service, "_RELOAD_SECONDS", 0.5)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[socket.socket]:
    """The runtime's side of the NRI socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "nri.sock"))
        server.listen()
        yield server


class Node:
    """A node below a directory, with its systemd and, where it runs, the plugin."""

    def __init__(self, root: Path, runtime: socket.socket) -> None:
        self.root, self.runtime = root, runtime
        self.files = daemon_node.live(root)
        self.asked: List[str] = []
        self.ends: List[socket.socket] = []
        self.registers, self.starts, self.rejects = True, True, ""
        self.active, self.fragment = "inactive", DAEMON.unit_path
        self.listen(True)

    def listen(self, on: bool) -> None:
        line = f"00: 2 0 00010000 0001 01 4225 {self.root}/nri.sock\n" if on else ""
        path = self.root / "proc/net/unix"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Num Path\n" + line)

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        verb = argv[1]
        if argv[0] == "journalctl":
            return Completed(0, "first\ncannot register: index 10 is taken\n", "")
        if verb == "show":
            pid = os.getpid() if self.active == "active" else 0
            said = f"ActiveState={self.active}\nSubState=running\nMainPID={pid}\nFragmentPath={self.fragment}\n"
            return Completed(0, said, "")
        self.asked.append(verb)
        if verb == "restart":
            self.active = "active" if self.starts else "failed"
            if self.registers and self.starts:
                self.connect()
            self.status(registered=self.registers)
            return Completed(0 if self.starts else 1, "", "Job failed\n")
        if verb == "reload":
            self.status(registered=self.registers, config_error=self.rejects or None)
        if verb == "stop":
            self.active = "inactive"
        return Completed(0, "", "")

    def connect(self) -> None:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.connect(str(self.root / "nri.sock"))
        self.ends += [client, self.runtime.accept()[0]]

    def hang_up(self) -> None:
        for end in self.ends:
            end.close()
        self.ends = []

    def status(self, **own: Any) -> None:
        path = self.root / DAEMON.status[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        known = {
            "version": 1,
            "pid": os.getpid(),
            "registered": True,
            "runtime": {"name": "containerd", "version": "2"},
        }
        path.write_text(json.dumps({**known, "config_error": None, "asked": len(self.asked), **own}))

    def wanted(self, content: Optional[bytes] = PROGRAM, of: bytes = PROGRAM, **own: Any) -> DaemonRequest:
        """Without content, only the digest of a program is known."""
        given = {name: option.get("default") for name, option in inject.SPEC.items()}
        given.update(socket=str(self.root / "nri.sock"), digest=hashlib.sha256(content or of).hexdigest())
        given["program"] = None if content is None else base64.b64encode(content).decode()
        found = inject.request({**given, "interpreter": "/usr/bin/python3", **own})
        assert found is not None
        return found

    def run(self, check: bool = False, content: Optional[bytes] = PROGRAM, **own: Any) -> Dict[str, Any]:
        return self.carry_out(self.wanted(content, **own), check)

    def carry_out(self, wanted: Optional[DaemonRequest], check: bool = False) -> Dict[str, Any]:
        self.asked.clear()
        return inject.carry_out(self.files, wanted, check, self)

    def content(self) -> Dict[str, bytes]:
        """Everything below the root that the module may have written."""
        places = [self.root / name for name in ("etc", "usr", "var")]
        paths = [path for place in places for path in place.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in paths if path.name != "lock"}


@pytest.fixture
def node(tmp_path: Path, runtime: socket.socket) -> Iterator[Node]:
    found = Node(tmp_path, runtime)
    yield found
    found.hang_up()


def kinds(result: Dict[str, Any]) -> List[str]:
    return [f"{one['kind']} {os.path.basename(one['name'])} {one['after']}" for one in result["changes"]]


def test_install_is_whole_and_the_second_run_does_nothing(node: Node) -> None:
    predicted = node.run(check=True)
    assert node.content() == {}
    assert node.asked == []
    done = node.run()
    assert done["changes"] == predicted["changes"]
    assert kinds(done) == [
        "file zerocopy-rdma-inject.service present",
        "file inject.json present",
        "file inject.pyz present",
        "unit zerocopy-rdma-inject.service enabled",
        "service zerocopy-rdma-inject.service started",
    ]
    program = node.root / DAEMON.program[1:]
    assert program.read_bytes() == PROGRAM
    assert program.stat().st_mode & 0o777 == 0o755
    assert os.readlink(node.root / DAEMON.enabled[1:]) == DAEMON.unit_path
    assert json.loads((node.root / DAEMON.config[1:]).read_text())["memlock"] == "unlimited"
    # systemd has to know the unit before it starts it.
    assert node.asked == ["daemon-reload", "reset-failed", "restart"]
    assert (done["service"], done["registered"], done["registered_by"]) == ("active", True, "runtime")
    before = node.content()
    again = node.run()
    assert (again["changed"], again["changes"], again["warnings"], node.asked) == (False, [], [], [])
    assert node.content() == before
    # A comparison needs no more than the digest.
    assert node.run(check=True, content=None)["changed"] is False


def test_only_what_takes_effect_restarts(node: Node) -> None:
    node.run()
    assert kinds(node.run(policy="gpu_containers"))[1:] == ["service zerocopy-rdma-inject.service reloaded"]
    assert node.asked == ["reload"]
    # It connects to the socket, and systemd lets it write the metrics, only when it starts.
    node.run(policy="gpu_containers", metrics="/var/lib/metrics/rdma.prom")
    assert node.asked == ["daemon-reload", "reset-failed", "restart"]
    node.run(content=OTHER, policy="gpu_containers", metrics="/var/lib/metrics/rdma.prom")
    assert node.asked == ["reset-failed", "restart"]
    node.run(content=OTHER)
    node.run(content=OTHER, interpreter="/opt/python/bin/python3")
    assert node.asked == ["daemon-reload", "reset-failed", "restart"]


@pytest.mark.parametrize("file", FILES)
def test_an_edited_file_is_drift_and_put_right(node: Node, file: str) -> None:
    node.run()
    path = node.root / file[1:]
    before = path.read_bytes()
    path.write_bytes(before + b"\n# edited\n")
    found = node.carry_out(node.wanted(None), check=True)
    assert found["changed"]
    assert found["diff"][0]["after_header"] == file
    node.run()
    assert path.read_bytes() == before
    assert {"restart", "reload"} & set(node.asked)


def test_the_diff_shows_the_program_by_its_digest(node: Node) -> None:
    node.run()
    (diff, _live) = node.carry_out(node.wanted(None, of=OTHER), check=True)["diff"]
    digests = [f"sha256 {hashlib.sha256(content).hexdigest()}\n" for content in (PROGRAM, OTHER)]
    assert [diff["before"], diff["after"]] == digests


def test_a_plugin_that_stopped_or_is_not_enabled_is_drift(node: Node) -> None:
    node.run()
    node.active = "failed"
    assert kinds(node.run(check=True)) == ["service zerocopy-rdma-inject.service started"]
    node.run()
    assert node.active == "active"
    (node.root / DAEMON.enabled[1:]).unlink()
    assert kinds(node.run()) == ["unit zerocopy-rdma-inject.service enabled"]
    assert node.asked == ["daemon-reload"]


def test_a_killed_run_is_completed(node: Node) -> None:
    node.run()
    node.starts = False
    with pytest.raises(HostError, match=r"does not start: first \| cannot register"):
        node.run(content=OTHER)
    # The files are right, and the old program runs.
    node.starts, node.active = True, "active"
    assert kinds(node.run(check=True, content=OTHER)) == ["service zerocopy-rdma-inject.service restarted"]
    node.run(content=OTHER)
    assert node.asked[-1] == "restart"
    assert node.run(content=OTHER)["changed"] is False


def test_systemd_reads_a_unit_again_that_a_killed_run_has_written(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.run()

    def killed(plugin: service.DaemonService) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(service.DaemonService, "reload_units", killed)
        with pytest.raises(KeyboardInterrupt):
            node.run(interpreter="/opt/python/bin/python3")
    node.run(interpreter="/opt/python/bin/python3")
    # Without it, systemd would start the old one again.
    assert node.asked == ["daemon-reload", "reset-failed", "restart"]


@pytest.mark.parametrize(
    ("trap", "message"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "which is a link"),
        (os.mkfifo, "which is not a regular file"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 3 << 30), "which is larger than"),
    ],
    ids=["link", "fifo", "huge"],
)
def test_what_the_owner_of_their_directory_made_of_metrics_is_named(
    runtime: socket.socket, trap: Callable[[Path], None], message: str
) -> None:
    with within_reach() as top:
        node, path = Node(top, runtime), top / "var/lib/metrics/x.prom"
        path.parent.mkdir(parents=True)
        os.chown(path.parent, NOBODY, NOBODY)
        assert as_nobody(lambda: trap(path)) is None
        assert path.lstat().st_uid == NOBODY
        with pytest.raises(HostError, match=f"metrics is '/var/lib/metrics/x.prom', {message}.*: remove it"):
            node.run(metrics="/var/lib/metrics/x.prom")
        assert node.asked == []


def test_metrics_never_replace_a_file_of_somebody_else(node: Node) -> None:
    path = node.root / "var/lib/metrics/raid.prom"
    path.parent.mkdir(parents=True)
    path.write_text("# HELP raid_disks Disks.\nraid_disks 4\n")
    for check in (True, False):
        with pytest.raises(HostError, match=r"metrics is '/var/lib/metrics/raid.prom', but this file has"):
            node.run(check, metrics="/var/lib/metrics/raid.prom")
    assert node.asked == []
    assert list(node.content()) == [str(path)]
    path.write_text(Status().metrics())
    assert node.run(metrics="/var/lib/metrics/raid.prom")["changed"]


def test_the_runtime_is_believed_and_not_the_plugin(node: Node) -> None:
    done = node.run()
    assert done["registered_by"] == "runtime"
    node.hang_up()
    found = node.run()
    assert (found["changed"], found["registered"], found["registered_by"]) == (False, False, "")
    # A process of another time wrote it.
    node.connect()
    node.status(pid=1)
    assert node.run()["registered"] is False


def test_where_the_kernel_shows_no_connections_the_plugin_is_believed(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(protocol: int) -> socket.socket:
        raise OSError(93, "Protocol not supported")

    node.run()
    monkeypatch.setattr(netlink, "open_socket", refuse)
    assert node.run()["registered_by"] == "plugin"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2, "pid": 1, "registered": true}', '{"version": 1}'])
def test_a_damaged_status_says_nothing(node: Node, text: str) -> None:
    node.run()
    (node.root / DAEMON.status[1:]).write_text(text)
    assert node.run()["registered"] is False


def test_a_plugin_that_the_runtime_does_not_register_fails_with_its_reason(node: Node) -> None:
    node.registers = False
    with pytest.raises(HostError) as raised:
        node.run(await_seconds=0)
    assert str(raised.value) == (
        f"zerocopy-rdma-inject.service was not registered at {node.root}/nri.sock within 0 s: "
        "first | cannot register: index 10 is taken"
    )


def test_without_nri_it_waits_for_it_and_says_so(node: Node) -> None:
    node.registers = False
    node.listen(False)
    found = node.run(await_seconds=0)
    assert found["warnings"] == [
        f"nothing listens on {node.root}/nri.sock: until NRI is enabled, no container gets devices"
    ]


def test_a_configuration_that_the_plugin_rejects_is_told(node: Node) -> None:
    node.run()
    node.rejects = "policy is 'x'"
    with pytest.raises(HostError, match="keeps its old configuration: policy is 'x'"):
        node.run(umad=True)


def test_absent_puts_the_node_back(node: Node) -> None:
    mine = node.root / "usr/local/libexec/zerocopy-rdma/mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("of the admin")
    before = node.content()
    node.run()
    gone = node.carry_out(None)
    assert kinds(gone)[-2:] == [
        "unit zerocopy-rdma-inject.service disabled",
        "service zerocopy-rdma-inject.service stopped",
    ]
    # While its unit is still there.
    assert node.asked == ["stop", "daemon-reload"]
    assert node.content() == before
    assert not (node.root / DAEMON.enabled[1:]).is_symlink()
    again = node.carry_out(None)
    assert (again["changed"], node.asked) == (False, [])


def edited(node: Node) -> str:
    """With its program."""
    path = node.root / DAEMON.unit_path[1:]
    path.write_text(path.read_text().replace("[Service]", "[Service]\nMemoryMax=1G"))
    return DAEMON.unit_path


def replaced(node: Node) -> str:
    path = node.root / DAEMON.unit_path[1:]
    path.write_text(f"[Service]\nExecStart=/opt/other --config {DAEMON.config}\n")
    return DAEMON.unit_path


def elsewhere(node: Node) -> str:
    """Somebody removed ours, so that the one of a package counts."""
    (node.root / DAEMON.unit_path[1:]).unlink()
    node.fragment = f"/usr/lib/systemd/system/{DAEMON.unit}"
    path = node.root / node.fragment[1:]
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\nExecStart=/opt/other\n")
    return node.fragment


def before_ours(node: Node) -> str:
    """From a directory that comes before that of ours, which is as we wrote it."""
    node.fragment = f"/run/systemd/transient/{DAEMON.unit}"
    path = node.root / node.fragment[1:]
    path.parent.mkdir(parents=True)
    path.write_text(f"[Service]\nExecStart=/usr/bin/python3 {DAEMON.program} --config {DAEMON.config}\n")
    return node.fragment


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (edited, FILES),
        (replaced, (DAEMON.config, DAEMON.unit_path)),
        (elsewhere, ()),
        (before_ours, (DAEMON.program, DAEMON.config)),
    ],
)
def test_the_service_of_a_unit_that_is_somebody_elses_by_now_goes_on(
    node: Node, change: Callable[[Node], str], kept: Sequence[str]
) -> None:
    node.run()
    unit = change(node)
    for check in (True, False):
        gone = node.carry_out(None, check)
        assert {"unit", "service"}.isdisjoint(each["kind"] for each in gone["changes"])
        assert gone["warnings"][-1] == (
            f"{DAEMON.unit} is left as it is (active), with the files that it needs: {unit} is not the unit that this "
            "collection wrote. If nobody needs it, disable and stop it, remove that file, and repeat the run"
        )
    assert "stop" not in node.asked
    assert node.active == "active"
    assert (node.root / DAEMON.enabled[1:]).is_symlink()
    assert [path for path in FILES if (node.root / path[1:]).exists()] == list(kept)
    # What is said there leads to the end.
    node.active, node.fragment = "inactive", ""
    (node.root / unit[1:]).unlink()
    (node.root / DAEMON.enabled[1:]).unlink()
    assert node.carry_out(None)["warnings"] == []
    assert [path for path in FILES if (node.root / path[1:]).exists()] == []
    assert (node.carry_out(None, check=True)["changed"], node.asked) == (False, [])


def test_a_drop_in_of_an_admin_stays_and_is_no_edit(node: Node) -> None:
    node.run()
    drop_in = node.root / f"{DAEMON.unit_path[1:]}.d/limits.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nMemoryMax=1G\n")
    gone = node.carry_out(None)
    assert (gone["warnings"], node.asked, node.active) == ([], ["stop", "daemon-reload"], "inactive")
    assert drop_in.read_text() == "[Service]\nMemoryMax=1G\n"
    assert not any((node.root / path[1:]).exists() for path in FILES)


def test_below_another_root_an_edited_unit_stays_enabled(node: Node) -> None:
    node.files.live = False
    node.run()
    edited(node)
    assert len(node.carry_out(None)["warnings"]) == 2
    assert (node.root / DAEMON.enabled[1:]).is_symlink()
    assert all((node.root / path[1:]).exists() for path in FILES)


def test_a_node_that_never_had_it_is_not_touched(node: Node) -> None:
    before = node.content()
    assert node.carry_out(None)["changed"] is False
    assert node.asked == []
    assert node.content() == before


def test_an_admins_file_comes_back(node: Node) -> None:
    path = node.root / DAEMON.config[1:]
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    node.run()
    assert path.read_text() != "mine\n"
    node.carry_out(None)
    assert path.read_text() == "mine\n"


def test_below_another_root_nothing_is_run(node: Node) -> None:
    node.files.live = False
    found = node.run()
    assert kinds(found)[-1] == "unit zerocopy-rdma-inject.service enabled"
    assert node.asked == []
    assert "service" not in found
    assert node.run()["changed"] is False
    node.carry_out(None)
    assert node.content() == {}


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"digest": None}, "digest is missing: the controller has to add it"),
        ({"digest": "0" * 64}, "program does not have the SHA-256 digest of the option digest"),
        ({"program": "%%"}, "program is not base64"),
        ({"memlock": "1G"}, "memlock is '1G', it must be unlimited or a number of bytes"),
        ({"socket": "nri.sock"}, "socket is 'nri.sock'"),
        ({"metrics": "/var/../x.prom"}, "metrics is '/var/../x.prom'"),
        ({"exclude": ["mlx5_0", "3b:0.0"]}, "exclude is '3b:0.0', it must be a PCI address like 0000:1a:00.0"),
        ({"exclude": ["mlx5 0"]}, "exclude is 'mlx5 0', it must be the name of an HCA like mlx5_0"),
        ({"interpreter": "/usr/bin/python3 -c"}, "interpreter is '/usr/bin/python3 -c'"),
        ({"interpreter": "/home/admin/venv/bin/python3"}, "it must not be below /home/"),
    ],
)
def test_what_is_refused(node: Node, own: Dict[str, Any], said: str) -> None:
    with pytest.raises(HostError) as raised:
        node.run(**own)
    assert said in str(raised.value)
    assert node.content() == {}


def test_a_change_without_the_program_is_refused_before_it_begins(node: Node) -> None:
    with pytest.raises(HostError, match="program is missing"):
        node.run(content=None)
    assert node.asked == []
    assert not (node.root / DAEMON.program[1:]).exists()


def test_hcas_are_excluded_by_their_addresses_as_the_kernel_has_them(node: Node) -> None:
    asked = ["mlx5_0", "0000:3B:00.0", "5e:00.1"]
    assert node.wanted(exclude=asked).config["exclude"] == ["mlx5_0", "0000:3b:00.0", "0000:5e:00.1"]


def test_locked_memory(node: Node) -> None:
    limits = [node.wanted(memlock=text).config["memlock"] for text in ("0", "65536", "unlimited")]
    assert limits == [0, 65536, "unlimited"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("metrics", ["", "/var/lib/node_exporter/rdma.prom"])
def test_systemd_understands_the_unit(tmp_path: Path, metrics: str) -> None:
    text = inject.unit("/bin/true", metrics)
    assert daemon_node.complaints(DAEMON.unit, text, tmp_path) == []
    lines = text.splitlines()
    if metrics:
        # The directory may be that of node_exporter's user, and a plugin that is killed does not clean up.
        assert f"ReadWritePaths=-{os.path.dirname(metrics)}" in lines
        assert "CapabilityBoundingSet=CAP_DAC_OVERRIDE" in lines
        assert f"ExecStopPost=-/bin/rm -f {metrics} {metrics}.tmp" in lines
    else:
        assert "CapabilityBoundingSet=" in lines
