# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import multiprocessing
import os
import shutil
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import document, storage
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    nobody_keeps,
    within_reach,
)

LOCK = "var/lib/zerocopy-rdma/lock"
THEIRS, OURS, LINKED = "/etc/main.toml", "/etc/conf.d/deep/ours.conf", "/etc/linked"

FIRST = [File(THEIRS, "imports = []\nold = 1\n"), File(OURS, "one\n", 0o600), File(LINKED, "changed\n")]
SECOND = [File(THEIRS, "imports = [1]\nold = 1\n"), File("/etc/conf.d/second.conf", "two\n")]


class Killed(BaseException):
    """What SIGKILL is to the code: nothing after it runs."""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here cuts the power, and thousands of writes would wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "main.toml").write_text("old = 1\n")
    (etc / "main.toml").chmod(0o640)
    (etc / "real").write_text("as it was\n")
    (etc / "linked").symlink_to("/etc/real")
    return tmp_path


def tree(node: Path) -> Dict[str, Tuple[int, Any]]:
    """Every path with its mode and its content or target."""
    found: Dict[str, Tuple[int, Any]] = {}
    for path in sorted(node.rglob("*")):
        status = path.lstat()
        content: Any = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(node))] = (status.st_mode, content)
    return found


def run(node: Path, wanted: Sequence[File]) -> List[str]:
    """One run of a module, check mode first; returns the paths it changed."""
    before = tree(node)
    predicted = [change.change for change in Ledger(Files(str(node)), "test").compare(wanted)]
    assert tree(node) == before
    ledger = Ledger(Files(str(node)), "test")
    with ledger.locked():
        changes = ledger.compare(wanted)
        ledger.apply(changes)
    assert [change.change for change in changes] == predicted
    return [change.path for change in changes]


def test_a_second_run_changes_nothing_and_absent_restores_everything(node: Path) -> None:
    before = tree(node)
    assert run(node, FIRST) == sorted([THEIRS, OURS, LINKED])
    after = tree(node)
    assert run(node, FIRST) == []
    assert tree(node) == after
    assert (node / "etc/main.toml").stat().st_mode & 0o777 == 0o640
    assert (node / "etc/real").read_text() == "changed\n"
    assert run(node, SECOND) == sorted([THEIRS, OURS, LINKED, "/etc/conf.d/second.conf"])
    assert (node / "etc/real").read_text() == "as it was\n"
    run(node, [])
    assert {path: entry for path, entry in tree(node).items() if not path.startswith("var")} == before
    assert not (node / "var/lib/zerocopy-rdma").exists()


def test_what_somebody_else_changed_since_is_left_alone(node: Path) -> None:
    run(node, FIRST)
    (node / "etc/main.toml").write_text("theirs\n")
    ledger = Ledger(Files(str(node)), "test")
    changes = ledger.compare([])
    assert [change.path for change in changes] == sorted([OURS, LINKED])
    assert len(ledger.warnings) == 1
    assert "/var/lib/zerocopy-rdma/test/originals/etc/main.toml" in ledger.warnings[0]


def test_a_released_file_is_written_and_forgotten(node: Path) -> None:
    run(node, FIRST)
    run(node, [*FIRST[1:], File(THEIRS, "ours is out\n", release=True)])
    assert Ledger(Files(str(node)), "test").known == sorted([OURS, LINKED])
    assert (node / "etc/main.toml").read_text() == "ours is out\n"


def _killed_at(node: Path, wanted: Sequence[File], moment: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the run was killed: at its ``moment``-th step on the file system."""
    steps = [0]

    def counted(real: Any) -> Any:
        def step(*arguments: Any, **keywords: Any) -> Any:
            steps[0] += 1
            if steps[0] == moment:
                raise Killed
            return real(*arguments, **keywords)

        return step

    with monkeypatch.context() as patch:
        for name in ("rename", "unlink", "mkdir", "rmdir", "open", "fsync"):
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            ledger = Ledger(Files(str(node)), "test")
            with ledger.locked():
                ledger.apply(ledger.compare(wanted))
        except Killed:
            return True
    return False


def test_a_file_that_cannot_be_written_leaves_all_as_they_were(node: Path) -> None:
    (node / "var/lib").mkdir(parents=True)
    before = tree(node)
    refused = node / "etc/.main.toml.zerocopy-rdma.tmp"
    for wanted in (FIRST, SECOND, []):
        refused.mkdir()
        with pytest.raises(HostError, match=r"^/etc/main\.toml: "):
            run(node, wanted)
        refused.rmdir()
        assert tree(node) == before
        run(node, wanted)
        before = tree(node)
    assert not (node / "var/lib/zerocopy-rdma").exists()


def _syncing(error: int, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system on which the sync of this directory, and of no file, fails."""

    def fsync(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), directory.stat()):
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_does_not_sync_directories_will_do(
    node: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    before = tree(node)
    _syncing(error, node / "etc", monkeypatch)
    assert run(node, FIRST) == sorted([THEIRS, OURS, LINKED])
    run(node, [])
    assert {path: entry for path, entry in tree(node).items() if not path.startswith("var")} == before


def test_a_directory_that_cannot_be_synced_leaves_all_as_they_were(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (node / "var/lib").mkdir(parents=True)
    before = tree(node)
    with monkeypatch.context() as patch:
        _syncing(errno.EIO, node / "etc", patch)
        with pytest.raises(HostError, match="Input/output error"):
            run(node, FIRST)
    assert tree(node) == before


def test_no_original_goes_whose_file_cannot_be_put_back(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(node)
    rename = os.rename
    renamed: List[str] = []

    def once(source: str, target: str) -> None:
        if target == str(node / "etc/main.toml"):
            renamed.append(target)
            if len(renamed) > 1:
                _refuse()
        rename(source, target)

    with monkeypatch.context() as patch:
        _syncing(errno.EIO, node / "etc", patch)
        patch.setattr(os, "rename", once)
        with pytest.raises(HostError, match="Input/output error"):
            run(node, FIRST[:1])
    assert (node / "etc/main.toml").read_text() == FIRST[0].content
    run(node, [])
    assert {path: entry for path, entry in tree(node).items() if not path.startswith("var")} == before


@pytest.mark.parametrize("devices", [True, False])
def test_a_masked_file_is_refused_and_the_null_device_stays(node: Path, devices: bool) -> None:
    (node / "var/lib").mkdir(parents=True)
    null = node / "dev/null"
    if devices:
        null.parent.mkdir()
        null.write_text("")
    run(node, FIRST)
    (node / "etc/main.toml").unlink()
    (node / "etc/main.toml").symlink_to("/dev/null")
    before = tree(node)
    for check in (True, False):
        with pytest.raises(HostError, match=r"^/etc/main\.toml is a link to /dev/null"):
            run(node, SECOND) if not check else Ledger(Files(str(node)), "test").compare(SECOND)
        assert tree(node) == before
    run(node, SECOND[1:])
    run(node, [])
    assert (node / "etc/main.toml").is_symlink()
    assert null.exists() == devices


def _but_ledger(found: Dict[str, Any]) -> Dict[str, Any]:
    """It may go on to accept what the killed run found as one of ours."""
    return {path: entry for path, entry in found.items() if not path.endswith("ledger.json")}


def test_a_released_file_whose_run_was_killed_is_forgotten_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its original differs from it, and goes nevertheless."""
    for moment in range(1, 200):
        node = tmp_path / str(moment)
        (node / "etc").mkdir(parents=True)
        (node / "etc/main.toml").write_text("old = 1\n")
        run(node, FIRST[:1])
        released = [File(THEIRS, "ours is out\n", release=True)]
        killed = _killed_at(node, released, moment, monkeypatch)
        ledger = Ledger(Files(str(node)), "test")
        if ledger.known:
            run(node, released)
        ledger = Ledger(Files(str(node)), "test")
        ledger.clear()
        assert ledger.unclaimed() == []
        assert (node / "etc/main.toml").read_text() == "ours is out\n"
        assert not (node / "var/lib/zerocopy-rdma").exists(), moment
        if not killed:
            break
    else:
        pytest.fail("the run was killed each time: more moments are needed")
    assert moment > 10


def test_a_run_killed_anywhere_is_completed_by_the_next_and_can_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fresh(name: str, first: Optional[Sequence[File]]) -> Path:
        node = tmp_path / name
        (node / "etc").mkdir(parents=True)
        (node / "etc/main.toml").write_text("old = 1\n")
        (node / "etc/real").write_text("as it was\n")
        (node / "etc/linked").symlink_to("/etc/real")
        if first is not None:
            run(node, first)
        return node

    def copied(node: Path, name: str) -> Path:
        shutil.copytree(str(node), str(tmp_path / name), symlinks=True)
        return tmp_path / name

    original = tree(fresh("original", None))
    whole = {"old = 1\n", "as it was\n"} | {file.content for file in [*FIRST, *SECOND]}
    tried = 0
    for name, first, wanted in [("new", None, FIRST), ("update", FIRST, SECOND), ("absent", SECOND, [])]:
        before = fresh(f"{name}-before", first)
        reference = copied(before, f"{name}-reference")
        run(reference, wanted)
        expected = tree(reference)
        for moment in range(1, 200):
            completed = copied(before, f"{name}-{moment}")
            if not _killed_at(completed, wanted, moment, monkeypatch):
                break
            undone = copied(completed, f"{name}-{moment}-undone")
            for path in ("etc/main.toml", "etc/real"):
                assert (completed / path).read_text() in whole, (name, moment)
            run(completed, wanted)
            assert _but_ledger(tree(completed)) == _but_ledger(expected), (name, moment)
            run(undone, [])
            left = {path: entry for path, entry in tree(undone).items() if not path.startswith("var")}
            assert left == original, (name, moment)
            tried += 1
        else:
            pytest.fail(f"{name}: the run was killed each time: more moments are needed")
    assert tried > 40


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("", "is damaged"),
        ("[" * 100_000, "is damaged"),
        ("[]", "is damaged"),
        ("{}", "is damaged"),
        ('{"format": 9}', "has version 9, which a newer .* up to 3: update the collection. Nothing was changed$"),
        ('{"format": 3}', r"is damaged \(it does not have its own digest\)"),
        ('{"format": 0}', "is damaged"),
        ('{"format": "1"}', "is damaged"),
    ],
)
def test_a_ledger_that_cannot_be_read_stops_the_run(node: Path, text: str, message: str) -> None:
    run(node, FIRST)
    (node / "var/lib/zerocopy-rdma/test/ledger.json").write_text(text)
    with pytest.raises(HostError, match=message):
        Ledger(Files(str(node)), "test")


def _signed(data: Any) -> str:
    """The text of a ledger with its digest, as a faulty version would write it."""
    return json.dumps({**data, "digest": document._digest(data)})


def test_a_ledger_that_somebody_edited_is_refused_and_loses_no_original(node: Path) -> None:
    run(node, FIRST)
    path = node / "var/lib/zerocopy-rdma/test/ledger.json"
    path.write_text(path.read_text().replace("/etc/main.toml", "/etc/mian.toml"))
    before = tree(node)
    for wanted in (FIRST, SECOND, []):
        with pytest.raises(HostError, match="does not have its own digest"):
            run(node, wanted)
        assert tree(node) == before


def test_an_older_ledger_with_a_wrong_path_loses_no_original(node: Path) -> None:
    run(node, FIRST)
    path = node / "var/lib/zerocopy-rdma/test/ledger.json"
    data = json.loads(path.read_text().replace("/etc/main.toml", "/etc/mian.toml"))
    del data["digest"], data["spent"]
    path.write_text(json.dumps({**data, "format": 2}))
    before = tree(node)
    with pytest.raises(HostError, match=r"/etc/mian\.toml cannot be restored"):
        run(node, [])
    assert tree(node) == before
    original = node / "var/lib/zerocopy-rdma/test/originals/etc/main.toml"
    # Also when the entry is lost as a whole: what no entry names is kept as long as it is needed.
    del data["files"]["/etc/mian.toml"]
    path.write_text(json.dumps({**data, "format": 2}))
    for _run in range(2):
        ledger = Ledger(Files(str(node)), "test")
        with ledger.locked():
            ledger.apply(ledger.compare([]))
        assert original.read_text() == "old = 1\n"
        assert f"originals{THEIRS} is an original that" in "".join(ledger.warnings)
    (node / "etc/main.toml").write_text(original.read_text())
    run(node, [])
    Ledger(Files(str(node)), "test").clear()
    assert not (node / "var/lib/zerocopy-rdma").exists()


def test_a_value_of_another_type_anywhere_is_damage_and_no_traceback(node: Path) -> None:
    run(node, FIRST)
    path = node / "var/lib/zerocopy-rdma/test/ledger.json"
    good = json.loads(path.read_text())
    before = tree(node)

    def places(data: Any) -> List[Tuple[Any, Any]]:
        """Every container and key in the data."""
        keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        return [(data, key) for key in keys] + [place for key in keys for place in places(data[key])]

    tried = 0
    for number in range(len(places(good))):
        for value in (7, "x", [7], {"x": 7}, True, None):
            data = json.loads(json.dumps(good))
            container, key = places(data)[number]
            container[key] = value
            path.write_text(_signed(data))
            # Another format, mode or digest of the right type may be right.
            with contextlib.suppress(HostError):
                ledger = Ledger(Files(str(node)), "test", {"loaded": document.listed(document.text)})
                ledger.compare([])
            tried += 1
    assert tried > 100
    data = dict(good, notes={"loaded": "rdma_cm"})
    path.write_text(_signed(data))
    with pytest.raises(HostError, match=r"is damaged \(notes is missing or has the wrong type\)"):
        Ledger(Files(str(node)), "test", {"loaded": document.listed(document.text)})
    path.write_text(json.dumps(good, indent=1, sort_keys=True) + "\n")
    assert tree(node) == before


def test_a_ledger_of_format_1_is_read(node: Path) -> None:
    before = tree(node)
    run(node, FIRST)
    path = node / "var/lib/zerocopy-rdma/test/ledger.json"
    data = json.loads(path.read_text())
    data["format"] = 1
    del data["digest"], data["spent"]
    for entry in data["files"].values():
        (entry["before"] or {}).pop("digest", None)
    path.write_text(json.dumps(data))
    run(node, [])
    assert {path: entry for path, entry in tree(node).items() if not path.startswith("var")} == before


def test_a_deleted_ledger_beside_originals_stops_the_run(node: Path) -> None:
    run(node, FIRST)
    (node / "var/lib/zerocopy-rdma/test/ledger.json").unlink()
    before = tree(node)
    with pytest.raises(HostError, match="is missing, although there are originals"):
        run(node, FIRST)
    assert tree(node) == before


def test_an_original_that_was_modified_is_not_put_back(node: Path) -> None:
    run(node, FIRST)
    original = node / "var/lib/zerocopy-rdma/test/originals/etc/main.toml"
    original.write_text("")
    with pytest.raises(HostError, match=r"main\.toml was modified or is damaged"):
        run(node, [])
    original.unlink()
    with pytest.raises(HostError, match=r"main\.toml is missing"):
        run(node, [])
    assert (node / "etc/main.toml").read_text() == FIRST[0].content


def test_what_a_killed_first_run_left_goes_with_a_teardown(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(node)
    left, moment = set(), 0
    while True:
        moment += 1
        killed = _killed_at(node, FIRST, moment, monkeypatch)
        ledger = Ledger(Files(str(node)), "test")
        if not killed or ledger.known:
            break
        left |= set(tree(node)) - set(before)
        ledger.clear()
        assert {path: entry for path, entry in tree(node).items() if path != "var/lib" and path != "var"} == before
    # Of an original, of a temporary file, and of directories.
    assert {path for path in left if path.endswith("originals/etc/main.toml")}
    assert {path for path in left if path.endswith(".tmp")}


@pytest.mark.parametrize("state", ["file", "read-only"])
def test_a_state_directory_that_cannot_be_used_is_a_message(node: Path, state: str) -> None:
    directory = node / "var/lib/zerocopy-rdma"
    if state == "file":
        directory.parent.mkdir(parents=True)
        directory.write_text("")
        with pytest.raises(HostError, match="/var/lib/zerocopy-rdma"):
            run(node, FIRST)
        return
    run(node, FIRST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "unlink", _refuse)
        with pytest.raises(HostError, match="Read-only file system"):
            run(node, [])


def _refuse(*_arguments: Any, **_options: Any) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_an_original_that_cannot_be_removed_is_a_message(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(node, FIRST)
    unlink = os.unlink
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", lambda path: _refuse() if "/originals/" in str(path) else unlink(path))
        with pytest.raises(HostError, match=r"originals/etc/\w+: Read-only file system"):
            run(node, [])


def _await_lock(pid: int, lock: Path) -> None:
    """Until the process has opened the lock, which another one holds."""
    end = time.monotonic() + 30
    while not any(_is_open(entry, lock) for entry in Path(f"/proc/{pid}/fd").iterdir()):
        assert time.monotonic() < end, "the process does not wait for the lock"
        time.sleep(0.01)


def _is_open(entry: Path, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return entry.samefile(path)
    return False


def _start(node: Path, wanted: Sequence[File]) -> Any:
    process = multiprocessing.get_context("fork").Process(target=_apply, args=(node, wanted))
    process.start()
    return process


def _apply(node: Path, wanted: Sequence[File]) -> None:
    ledger = Ledger(Files(str(node)), "test")
    with ledger.locked():
        ledger.apply(ledger.compare(wanted))


def test_a_run_that_waited_for_a_teardown_keeps_the_original_again(node: Path) -> None:
    before = tree(node)
    run(node, FIRST)
    ledger = Ledger(Files(str(node)), "test")
    with ledger.locked():
        waiting = _start(node, SECOND)
        _await_lock(waiting.pid, node / LOCK)
        ledger.apply(ledger.compare([]))
    waiting.join(30)
    assert waiting.exitcode == 0
    assert (node / "etc/main.toml").read_text() == SECOND[0].content
    assert run(node, SECOND) == []
    run(node, [])
    assert {path: entry for path, entry in tree(node).items() if not path.startswith("var")} == before


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def test_a_lock_that_is_gone_counts_for_nothing(node: Path) -> None:
    run(node, FIRST)
    lock = node / LOCK
    ledger = Ledger(Files(str(node)), "test")
    first = _locked(lock)
    waiting = _start(node, SECOND)
    _await_lock(waiting.pid, lock)
    # A teardown ends with the removal of the directory, and another run begins before the waiting one gets the lock.
    ledger.apply(ledger.compare([]))
    lock.unlink()
    lock.parent.rmdir()
    lock.parent.mkdir()
    second = _locked(lock)
    fcntl.flock(first, fcntl.LOCK_UN)
    _await_lock(waiting.pid, lock)
    assert (node / "etc/main.toml").read_text() == "old = 1\n"
    fcntl.flock(second, fcntl.LOCK_UN)
    waiting.join(30)
    assert waiting.exitcode == 0
    assert (node / "etc/main.toml").read_text() == SECOND[0].content
    os.close(first)
    os.close(second)


def test_a_run_that_does_not_end_is_named_after_a_while(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(node, FIRST)
    monkeypatch.setattr(storage, "_PATIENCE", 0.3)
    held = _locked(node / LOCK)
    ledger = Ledger(Files(str(node)), "test")
    for waits in (lambda: ledger.steady(lambda: None), ledger.locked().__enter__):
        with pytest.raises(HostError, match=r"another run has held /var/lib/zerocopy-rdma/lock for 0 s.*fuser"):
            waits()
    os.close(held)
    assert run(node, FIRST) == []


def test_a_local_user_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_PATIENCE", 0.3)
    with within_reach() as node:
        (node / "etc").mkdir()
        wanted = [File("/etc/new", "1\n")]
        run(node, wanted)
        state = node / "var/lib/zerocopy-rdma"

        def lock_all() -> List[int]:
            held = []
            for path in (state, *state.rglob("*"), *state.parents):
                with contextlib.suppress(OSError):
                    descriptor = os.open(path, os.O_RDONLY)
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held.append(descriptor)
            return held

        with nobody_keeps(lock_all):
            with pytest.raises(BlockingIOError):
                fcntl.flock(os.open(state, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert run(node, [*wanted, File("/etc/second", "2\n")]) == ["/etc/second"]
            assert run(node, []) == ["/etc/new", "/etc/second"]
        assert not state.exists()


def test_a_lock_that_somebody_else_made_is_replaced() -> None:
    with within_reach() as node:
        (node / "etc").mkdir()
        run(node, [File("/etc/new", "1\n")])
        (node / LOCK).unlink()
        # As it was after a run under umask 000.
        (node / LOCK).parent.chmod(0o777)
        with nobody_keeps(lambda: _locked(node / LOCK)):
            assert (node / LOCK).stat().st_uid == NOBODY
            assert run(node, []) == ["/etc/new"]


def test_links_stay_inside_the_root(node: Path) -> None:
    (node / "etc/out").symlink_to("/../../../../etc/passwd")
    assert Files(str(node)).full("/etc/out") == str(node / "etc/passwd")
    (node / "etc/loop").symlink_to("loop")
    with pytest.raises(HostError, match="too many levels"):
        Files(str(node)).full("/etc/loop")


def test_what_is_looked_at_is_never_half_of_another_run(node: Path) -> None:
    run(node, FIRST)
    reading, answer = multiprocessing.get_context("fork").Pipe(duplex=False)

    def look() -> None:
        ledger = Ledger(Files(str(node)), "test")
        answer.send(ledger.steady(lambda: [change.path for change in ledger.compare(SECOND)]))

    ledger = Ledger(Files(str(node)), "test")
    with ledger.locked():
        waiting: Any = multiprocessing.get_context("fork").Process(target=look)
        waiting.start()
        _await_lock(waiting.pid, node / LOCK)
        ledger.apply(ledger.compare(SECOND))
    assert reading.poll(30)
    assert reading.recv() == []
    waiting.join(30)


def test_a_first_run_that_began_meanwhile_is_looked_at_again(node: Path) -> None:
    ledger = Ledger(Files(str(node)), "test")
    looks: List[List[str]] = []

    def look() -> List[str]:
        """Somebody else's file, as it seems, until the other run's ledger is read."""
        looks.append(list(ledger.known))
        if len(looks) == 1:
            run(node, FIRST)
        if (node / OURS[1:]).exists() and OURS not in ledger.known:
            raise HostError(f"{OURS} was not written by this module: remove it")
        return ledger.known

    assert ledger.steady(look) == sorted([THEIRS, OURS, LINKED])
    assert looks == [[], sorted([THEIRS, OURS, LINKED])]


def test_looking_leaves_no_trace(node: Path) -> None:
    before = tree(node)
    ledger = Ledger(Files(str(node)), "test")
    with pytest.raises(HostError, match="no"):
        ledger.steady(_no)
    assert ledger.steady(lambda: ledger.compare([])) == []
    assert tree(node) == before


def _no() -> None:
    raise HostError("no")


LINES = [
    File("/etc/limits.conf", "# ours\n* 1\n", lines=True),
    File("/etc/theirs.conf", "old\n# ours\n* 1\n", lines=True),
]


def test_lines_that_somebody_appended_stay(node: Path) -> None:
    (node / "etc/theirs.conf").write_text("old\n")
    run(node, LINES)
    for name in ("limits.conf", "theirs.conf"):
        with (node / "etc" / name).open("a") as handle:
            handle.write("root 9\n")
    ledger = Ledger(Files(str(node)), "test")
    assert ledger.compare(LINES) == []
    assert ledger.warnings == [
        f"lines that somebody appended to /etc/{name} are kept" for name in ("limits.conf", "theirs.conf")
    ]
    # Also when ours change, and when they go.
    newer = [File(file.path, (file.content or "").replace("* 1", "* 2"), lines=True) for file in LINES]
    for _run in range(2):
        run(node, newer)
        assert (node / "etc/limits.conf").read_text() == "# ours\n* 2\nroot 9\n"
    run(node, [])
    assert (node / "etc/limits.conf").read_text() == "root 9\n"
    assert (node / "etc/theirs.conf").read_text() == "old\nroot 9\n"
    assert not (node / "var/lib/zerocopy-rdma").exists()


def test_lines_behind_a_killed_runs_are_told_from_it(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of its texts are ours, and one is how the other begins."""
    path, first = node / "etc/limits.conf", LINES[:1]
    run(node, first)
    longer = [File(first[0].path, (first[0].content or "") + "* 2\n", lines=True)]
    moment = 0
    while not path.read_text().endswith("* 2\n"):
        moment += 1
        assert _killed_at(node, longer, moment, monkeypatch)
    with path.open("a") as handle:
        handle.write("root 9\n")
    run(node, longer)
    assert path.read_text() == "# ours\n* 1\n* 2\nroot 9\n"


def test_what_is_no_file_of_lines_is_written_whole(node: Path) -> None:
    run(node, FIRST)
    (node / OURS[1:]).write_text("one\nappended\n")
    run(node, FIRST)
    assert (node / OURS[1:]).read_text() == "one\n"


def test_what_somebody_tightened_stays(node: Path) -> None:
    group = os.getegid()
    if os.geteuid() == 0:
        group = 4242
    run(node, FIRST)
    for name, mode in (("main.toml", 0o600), ("conf.d/deep/ours.conf", 0o400)):
        os.chown(node / "etc" / name, -1, group)
        (node / "etc" / name).chmod(mode)
    assert run(node, FIRST) == []
    changed = [File(THEIRS, "new\n"), File(OURS, "two\n", 0o600)]
    run(node, changed)
    for name, mode in (("main.toml", 0o600), ("conf.d/deep/ours.conf", 0o400)):
        status = (node / "etc" / name).stat()
        assert (status.st_mode & 0o777, status.st_gid) == (mode, group)
    # What was loosened of ours is no wish.
    (node / OURS[1:]).chmod(0o666)
    assert run(node, changed) == [OURS]
    assert (node / OURS[1:]).stat().st_mode & 0o777 == 0o600
    run(node, [])
    status = (node / "etc/main.toml").stat()
    assert (status.st_mode & 0o777, status.st_gid) == (0o600, group)


def test_a_half_written_ledger_is_removed_in_a_steady_state(node: Path) -> None:
    run(node, FIRST)
    left = node / "var/lib/zerocopy-rdma/test/.ledger.json.zerocopy-rdma.tmp"
    left.write_text("{")
    before = tree(node)
    Ledger(Files(str(node)), "test").clear()
    assert tree(node) == {path: entry for path, entry in before.items() if not path.endswith(".tmp")}
