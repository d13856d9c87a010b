# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger

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
        for name in ("rename", "unlink", "rmdir", "open", "fsync"):
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            ledger = Ledger(Files(str(node)), "test")
            with ledger.locked():
                ledger.apply(ledger.compare(wanted))
        except Killed:
            return True
    return False


def _but_ledger(found: Dict[str, Any]) -> Dict[str, Any]:
    """It may go on to accept what the killed run found as one of ours."""
    return {path: entry for path, entry in found.items() if not path.endswith("ledger.json")}


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

    original = tree(fresh("original", None))
    whole = {"old = 1\n", "as it was\n"} | {file.content for file in [*FIRST, *SECOND]}
    tried = 0
    for name, first, wanted in [("new", None, FIRST), ("update", FIRST, SECOND), ("absent", SECOND, [])]:
        reference = fresh(f"{name}-reference", first)
        run(reference, wanted)
        expected = tree(reference)
        for moment in range(1, 200):
            completed, undone = fresh(f"{name}-{moment}", first), fresh(f"{name}-{moment}-undone", first)
            if not _killed_at(completed, wanted, moment, monkeypatch):
                break
            for path in ("etc/main.toml", "etc/real"):
                assert (completed / path).read_text() in whole, (name, moment)
            run(completed, wanted)
            assert _but_ledger(tree(completed)) == _but_ledger(expected), (name, moment)
            assert _killed_at(undone, wanted, moment, monkeypatch)
            run(undone, [])
            left = {path: entry for path, entry in tree(undone).items() if not path.startswith("var")}
            assert left == original, (name, moment)
            tried += 1
    assert tried > 40


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is damaged"), ('{"format": 9}', "newer version"), ("[]", "is damaged")],
)
def test_a_ledger_that_cannot_be_read_stops_the_run(node: Path, text: str, message: str) -> None:
    run(node, FIRST)
    (node / "var/lib/zerocopy-rdma/test/ledger.json").write_text(text)
    with pytest.raises(HostError, match=message):
        Ledger(Files(str(node)), "test")


def test_links_stay_inside_the_root(node: Path) -> None:
    (node / "etc/out").symlink_to("/../../../../etc/passwd")
    assert Files(str(node)).full("/etc/out") == str(node / "etc/passwd")
    (node / "etc/loop").symlink_to("loop")
    with pytest.raises(HostError, match="too many levels"):
        Files(str(node)).full("/etc/loop")
