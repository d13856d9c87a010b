# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The way back of a node whose runtime is gone, was replaced, or is broken."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import records
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime import test_files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import (
    NODES,
    make,
    tree,
)
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
WORDS = "are restored without asking it, and it is not restarted: "
CRIO = {"etc/crio/crio.conf.d/10-crio.conf": ""}


def gone(node: Node) -> None:
    """Removed as a package is, which leaves changed files behind."""
    Path(node.full("/containerd")).unlink()
    node.active = "inactive"


def rejects(node: Node) -> None:
    """Its configuration is one that it does not read, edited since."""
    path = Path(node.full(f"/{MAIN}"))
    path.write_text(path.read_text() + "[plugins\n")


def broken(node: Node) -> None:
    node.active = "activating"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(gone, "is not installed"), (rejects, "rejects its present"), (broken, "already broken before any change")],
)
def test_by_the_ledger_alone(
    node: Node, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Node], None], reason: str
) -> None:
    call(node)
    restarts = len(node.restarts)
    damage(node)

    def silent(layout: Any, effective: Any) -> List[records.Leak]:
        raise HostError("nobody answers")

    monkeypatch.setenv("PATH", node.root)
    monkeypatch.setattr(records, "find", silent)
    predicted = call(node, check=True, state="absent")
    done = call(node, state="absent")
    assert (done.changes, done.warnings) == (predicted.changes, predicted.warnings)
    assert set(kinds(done)) == {"file"}
    assert WORDS in done.warnings[-1]
    assert reason in done.warnings[-1]
    assert text(node) == USERS + ("[plugins\n" if damage is rejects else "")
    assert [path.name for path in Path(node.full("/etc/containerd")).iterdir()] == ["config.toml"]
    assert not Path(node.full("/var/lib/zerocopy-rdma")).exists()
    assert len(node.restarts) == restarts
    assert call(node, state="absent").warnings == []


def test_a_runtime_that_had_failed_before_need_not_start(node: Node) -> None:
    call(node)
    node.active = "failed"
    node.fails = [HostError("containerd.service does not start: still not")]
    done = call(node, state="absent")
    assert done.facts["restarted"] is False
    assert done.warnings == [
        "containerd.service does not start: still not. It had failed before as well; its files are restored"
    ]
    assert text(node) == USERS
    assert not Path(node.full("/var/lib/zerocopy-rdma")).exists()


def test_one_that_ran_gets_its_files_again_if_it_does_not_start(node: Node) -> None:
    call(node)
    good = text(node)
    node.fails = [HostError("no")]
    with pytest.raises(HostError, match=r"no\. The previous files were restored and .* is running"):
        call(node, state="absent")
    assert text(node) == good


def replaced(root: Path) -> None:
    shutil.rmtree(root / "usr", ignore_errors=True)
    for path, content in CRIO.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(content)


@pytest.mark.parametrize("name", ["containerd 2", "k3s", "rke2", "crio"])
def test_below_a_root(tmp_path: Path, name: str) -> None:
    """What is another runtime's, or none's, is put back as before, byte for byte."""
    rows: Dict[str, Dict[str, Any]] = {
        "none": {"runtime": "none"},
        "another beside it": {},
    }
    for case, options in rows.items():
        root = make(tmp_path / case, NODES[name])
        before = tree(root)
        test_files.call(root)
        if case == "another beside it" and name != "crio":
            replaced(tmp_path / case)
            before = {**before, **{path: entry for path, entry in tree(root).items() if path.startswith("etc/crio")}}
        predicted = test_files.call(root, check=True, state="absent", **options)
        done = test_files.call(root, state="absent", **options)
        assert (done.changes, done.warnings) == (predicted.changes, predicted.warnings)
        assert done.changes != []
        assert (WORDS + "rdma_runtime_flavour is none" in "".join(done.warnings)) == (case == "none")
        after = tree(root)
        assert {path: after.get(path) for path in before} == before
        assert [path for path in after if "zerocopy" in path] == []


def test_nothing_to_put_back_is_no_warning(tmp_path: Path) -> None:
    done = test_files.call(make(tmp_path, {}), state="absent", runtime="none")
    assert (done.changes, done.warnings) == ([], [])
    with pytest.raises(HostError, match="none is for state absent"):
        test_files.call(str(tmp_path), runtime="none")
