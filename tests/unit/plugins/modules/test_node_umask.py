# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module under the umask of whoever runs it: the same modes, and nothing that a local user can replace."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import module as end
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import run as run_tool
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_node import NodeTree
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import make, tree
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.test_killed import CASES
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    as_nobody,
    within_reach,
)

Run = Callable[..., Dict[str, Any]]
PROGRAM = b"#!/usr/bin/env python3\n"
MASKS = (0o000, 0o022, 0o077)
SECRET = "# a password\n"


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _node(root: Path) -> None:
    root.mkdir(exist_ok=True)
    NodeTree(root)
    (root / "etc/containerd").mkdir(parents=True)
    (root / "etc/containerd/config.toml").write_text(f"{SECRET}version = 2\n")
    (root / "etc/containerd/config.toml").chmod(0o600)


def _everything(run_part: Run, root: Path) -> None:
    """Each concern of the module, one after the other, each of which changes something."""
    plugin = {
        "program": base64.b64encode(PROGRAM).decode(),
        "digest": hashlib.sha256(PROGRAM).hexdigest(),
        "interpreter": "/usr/bin/python3",
        "root": str(root),
    }
    links = [{"name": "rail0", "hca": "mlx5_0", "addresses": ["10.20.0.11/16"], "mtu": 9000, "rail_table": 100}]
    for part, options in (
        ("kernel", {"root": str(root), "netns_mode": "exclusive", "user_memlock": "unlimited"}),
        ("links", {"root": str(root), "links": links, "unmanaged": [{"pci": "0000:82:00.2"}]}),
        ("runtime", {"root": str(root)}),
        ("daemons", {"inject": plugin}),
    ):
        done = run_part(part, **options)
        assert done.get("changed") is True, (part, done)


def _modes(root: Path) -> Dict[str, int]:
    return {str(path.relative_to(root)): path.lstat().st_mode for path in sorted(root.rglob("*"))}


def _secrets(root: Path) -> List[str]:
    """Files in which whoever calls this reads the secret, and ledgers."""
    found = []
    for directory, _below, names in os.walk(str(root)):
        for path in (Path(directory, name) for name in names):
            if os.access(str(path), os.R_OK) and (path.name == "ledger.json" or SECRET.encode() in path.read_bytes()):
                found.append(str(path.relative_to(root)))
    return found


def test_modes_are_the_same_under_every_umask(run_part: Run) -> None:
    """And what only root could read a local user finds nowhere."""
    found: Dict[int, Dict[str, int]] = {}
    with within_reach() as top:
        for mask in MASKS:
            root = top / oct(mask)
            _node(root)
            os.umask(mask)
            _everything(run_part, root)
            assert os.umask(0o022) == mask
            found[mask] = _modes(root)
            originals = [name for name in _secrets(root) if "/originals/" in name]
            assert (len(originals), as_nobody(functools.partial(_secrets, root))) == (1, [])
    assert found[0o000] == found[0o022] == found[0o077]
    ledgers = [mode for name, mode in found[0o022].items() if name.endswith("/ledger.json")]
    assert {mode & 0o777 for mode in ledgers} == {0o600}
    for name in ("usr/local/libexec", "etc/systemd/system/multi-user.target.wants", "var/lib/zerocopy-rdma"):
        assert found[0o022][name] & 0o777 == 0o755, name


@pytest.mark.parametrize("mask", MASKS, ids=oct)
@pytest.mark.parametrize(("act", "files"), CASES)
def test_the_library_alone_does_not_depend_on_it_either(
    tmp_path: Path, act: Callable[[str, bool], None], files: Dict[str, str], mask: int
) -> None:
    found: List[Dict[str, int]] = []
    for umask in (0o022, mask):
        root = make(tmp_path / f"{umask:03o}-{mask:03o}-{len(found)}", files)
        os.umask(umask)
        act(root, True)
        os.umask(0o022)
        found.append({path: mode for path, (mode, _content) in tree(root).items()})
    assert found[0] == found[1]


def test_a_local_user_cannot_replace_what_root_runs(run_part: Run) -> None:
    with within_reach() as root:
        _node(root)
        os.umask(0o000)
        _everything(run_part, root)

        def attack() -> List[str]:
            done = []
            for directory, below, names in os.walk(str(root)):
                for name in (*below, *names):
                    if os.access(os.path.join(directory, name), os.W_OK):
                        done.append(os.path.join(directory, name))
            return done

        assert as_nobody(attack) == []


def test_the_tools_of_the_node_make_files_as_usual(tmp_path: Path) -> None:
    class Module:
        _diff = False

        def exit_json(self, **_result: Any) -> None:
            """The real one ends the process."""

    def call() -> Dict[str, Any]:
        run_tool(["sh", "-c", f"mkdir {tmp_path}/made && touch {tmp_path}/made/file"])
        return {}

    os.umask(0o000)
    module: Any = Module()
    end.answer(module, call)
    assert os.umask(0o022) == 0o000
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "made", tmp_path / "made/file")] == [0o755, 0o644]
