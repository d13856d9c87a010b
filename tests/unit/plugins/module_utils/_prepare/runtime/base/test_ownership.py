# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is ours and what is not: files that other programs rewrite or name, and lines that only look like ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import keys
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import CONCERN
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import TomlDocument
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import (
    call,
    make,
    tree,
)

MAIN = "etc/containerd/config.toml"
CONF_D = "etc/containerd/conf.d"
SPEC = "/etc/containerd/zerocopy-rdma-base-spec.json"
NRI = "/etc/containerd/conf.d/90-zerocopy-rdma-nri.toml"
RUNTIMES_3 = "plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes"
RUNTIMES = "plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes"
USERS = f"""version = 2
[{RUNTIMES}.runc]
  runtime_type = "io.containerd.runc.v2"
[{RUNTIMES}.own]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = "/etc/own.json"
"""


@pytest.fixture
def root(tmp_path: Path) -> str:
    return make(tmp_path, {MAIN: USERS, "etc/own.json": '{"process": {}}'})


def rewrite(root: str) -> None:
    """As a program does that reads TOML and writes it again: the comments are gone."""
    path = Path(root, MAIN)
    lines = [line.partition("  # zerocopy.rdma")[0] for line in path.read_text().splitlines()]
    path.write_text("\n".join(["oom_score = -999", *lines]) + "\n")


@pytest.fixture
def without_cdi(monkeypatch: pytest.MonkeyPatch) -> None:
    """That CDI was switched on by us can no longer be told in a rewritten file."""
    monkeypatch.setattr(keys, "_cdi", lambda effective: [])


def test_a_rewritten_configuration_names_none_of_our_files_in_the_end(root: str) -> None:
    call(root)
    rewrite(root)
    assert NRI in Path(root, MAIN).read_text()
    predicted = call(root, check=True, state="absent")
    taken = call(root, state="absent")
    assert taken.changes == predicted.changes
    assert any("was rewritten by another program" in warning for warning in taken.warnings)
    # That CDI was switched on by us can no longer be told.
    cdi = '[plugins."io.containerd.grpc.v1.cri"]\n  enable_cdi = true\n'
    assert Path(root, MAIN).read_text() == f"oom_score = -999\n{USERS}{cdi}"
    assert not any("zerocopy" in path for path in tree(root))
    assert call(root, state="absent").changes == []


def test_a_rewritten_configuration_is_completed_and_can_be_taken_back(root: str, without_cdi: None) -> None:
    call(root)
    rewrite(root)
    call(root)
    assert call(root).changes == []
    data = TomlDocument(Path(root, MAIN).read_text(), "").data
    handlers = data["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]
    assert {name: table["base_runtime_spec"] for name, table in handlers.items()} == {
        "runc": SPEC,
        "own": SPEC.replace(".json", "-own.json"),
    }
    assert data["imports"] == [NRI]
    call(root, state="absent")
    assert Path(root, MAIN).read_text() == f"oom_score = -999\n{USERS}"


def test_a_configuration_that_we_made_and_another_program_rewrote(tmp_path: Path, without_cdi: None) -> None:
    root = make(tmp_path, {"usr/bin/containerd": ""})
    original = tree(root)
    call(root, memlock="")
    path = Path(root, MAIN)
    path.write_text(path.read_text().replace("  # zerocopy.rdma", ""))
    call(root, state="absent")
    assert tree(root) == original


def test_a_file_that_somebody_elses_configuration_names_is_kept(tmp_path: Path) -> None:
    theirs = f"version = 3\n[{RUNTIMES_3}.nvidia]\n  base_runtime_spec = '{SPEC}'\n"
    root = make(tmp_path, {MAIN: f"version = 3\nimports = ['/{CONF_D}/*.toml']\n"})
    call(root)
    other = Path(root, CONF_D, "99-nvidia.toml")
    other.write_text(theirs)
    call(root)
    assert call(root).changes == []
    assert other.read_text() == theirs
    for _again in range(2):
        taken = call(root, state="absent")
        assert [warning for warning in taken.warnings if f"{SPEC} is kept because /{CONF_D}/99-nvidia.toml" in warning]
        assert Path(root + SPEC).exists()
    assert [path for path in tree(root) if "90-zerocopy" in path] == []
    other.unlink()
    call(root, state="absent")
    assert not any("zerocopy" in path for path in tree(root))


def test_a_drop_in_that_somebody_else_imports_is_kept_without_settings(tmp_path: Path) -> None:
    main = f"version = 3\nimports = ['{NRI}']\n[{RUNTIMES_3}.runc]\n"
    root = make(tmp_path, {MAIN: f"version = 3\nimports = ['/{CONF_D}/*.toml']\n"})
    call(root, memlock="")
    Path(root, MAIN).write_text(main)
    taken = call(root, state="absent")
    assert "is kept because /etc/containerd/config.toml" in taken.warnings[0]
    assert TomlDocument(Path(root + NRI).read_text(), "").data == {"version": 3}
    assert Path(root, MAIN).read_text() == main


LOOKS_LIKE_OURS = f"""version = 2
oom_score = 0  # zerocopy.rdma
# was tried here  # zerocopy.rdma, was: nothing
[{RUNTIMES}.runc]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["a  # zerocopy.rdma"]
[debug]
  level = \"\"\"
  # zerocopy.rdma
\"\"\"
"""


def test_lines_that_only_look_like_ours_stay(tmp_path: Path) -> None:
    root = make(tmp_path, {MAIN: LOOKS_LIKE_OURS})
    original = tree(root)
    call(root)
    kept = Path(root, MAIN).read_text()
    assert [line for line in LOOKS_LIKE_OURS.split("\n") if line not in kept.split("\n")] == []
    added = '[metrics]\naddress = """\n  # zerocopy.rdma\n"""\n'
    Path(root, MAIN).write_text(kept + added)
    call(root)
    call(root, state="absent")
    assert Path(root, MAIN).read_text() == LOOKS_LIKE_OURS + added
    Path(root, MAIN).write_text(LOOKS_LIKE_OURS)
    call(root)
    call(root, state="absent")
    assert tree(root) == original


@pytest.mark.parametrize(
    ("main", "theirs"),
    [
        ({MAIN: "version = 2\n"}, NRI),
        ({MAIN: "version = 2\n"}, SPEC),
        ({MAIN: "version = 2\n"}, "/etc/systemd/system/containerd.service.d/90-zerocopy-rdma-memlock.conf"),
        ({"etc/crio/crio.conf": ""}, "/etc/crio/crio.conf.d/90-zerocopy-rdma-nri.conf"),
    ],
)
def test_a_file_of_our_name_that_we_did_not_write_is_not_replaced(tmp_path: Path, main, theirs: str) -> None:
    root = make(tmp_path, {**main, theirs[1:]: "# mine\n"})
    before = tree(root)
    with pytest.raises(HostError, match=f"{theirs} already exists and was not written by this module"):
        call(root)
    assert tree(root) == before


def test_a_file_of_our_kind_of_name_that_we_did_not_write_is_read(tmp_path: Path) -> None:
    theirs = f"version = 2\n[{RUNTIMES}.kata]\n  runtime_type = 'io.containerd.kata.v2'\n"
    main = f"version = 2\nimports = ['/{CONF_D}/*.toml']\n"
    root = make(tmp_path, {MAIN: main, f"{CONF_D}/90-zerocopy-rdma-mine.toml": theirs})
    assert call(root).facts["handlers"] == ["kata", "runc"]


def test_a_lost_original_is_not_needed(root: str) -> None:
    call(root)
    Path(f"{root}/var/lib/zerocopy-rdma/runtime/originals/{MAIN}").unlink()
    assert call(root, request_timeout="50s").changes != []
    call(root, state="absent")
    assert Path(root, MAIN).read_text() == USERS
    assert not any("zerocopy" in path for path in tree(root))


def test_a_lost_ledger_changes_nothing(root: str) -> None:
    call(root)
    ledger = Ledger(Files(root), CONCERN)
    before = tree(root)
    ledger.files.remove(ledger.path)
    with pytest.raises(HostError, match="is missing, although there are originals"):
        call(root)
    shutil.rmtree(ledger.files.full(ledger.directory))
    assert call(root).changes == []
    assert {path: text for path, text in tree(root).items() if path in before and not path.startswith("var")} == {
        path: text for path, text in before.items() if not path.startswith("var")
    }
