# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The module on a node that is only files. What it does to a running one is proven in the lab."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import apply
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_node import NodeTree

Run = Callable[..., Dict[str, Any]]

LINKS = [
    {"name": "rail0", "hca": "mlx5_0", "addresses": ["10.20.0.11/16"], "mtu": 9000, "rail_table": 100},
    {"name": "rail1", "hca": "mlx5_1", "addresses": ["10.20.1.11/16"], "rail_table": 101, "vlans": [{"id": 7}]},
]
UNMANAGED = [{"pci": "0000:82:00.2"}]


@pytest.fixture
def run(run_part: Run, tmp_path: Path) -> Run:
    """Runs the module on the node with the given options."""
    NodeTree(tmp_path)

    def call(**options: Any) -> Dict[str, Any]:
        return run_part("links", **{"root": str(tmp_path), **options})

    return call


def files(root: Path) -> Dict[str, Any]:
    found = {}
    for directory in ("etc", "var"):
        for path in (root / directory).rglob("*"):
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


def test_check_mode_predicts_and_the_second_run_changes_nothing(run: Run, tmp_path: Path) -> None:
    before = files(tmp_path)
    predicted = run(links=LINKS, unmanaged=UNMANAGED, _ansible_check_mode=True)
    assert files(tmp_path) == before
    done = run(links=LINKS, unmanaged=UNMANAGED)
    assert done == predicted
    assert [change["name"].rsplit("/", 1)[-1] for change in done["changes"]] == [
        "rail0.nmconnection",
        "rail1.7.nmconnection",
        "rail1.nmconnection",
        "90-zerocopy-rdma-links.conf",
        "90-zerocopy-rdma-unmanaged.rules",
    ]
    profile = tmp_path / "etc/NetworkManager/system-connections/rail0.nmconnection"
    assert profile.stat().st_mode & 0o777 == 0o600
    assert [(link["netdev"], link["state"]) for link in done["links"]] == [
        ("ens1np0", "written"),
        ("ens2np0", "written"),
    ]
    after = files(tmp_path)
    again = run(links=LINKS, unmanaged=UNMANAGED)
    assert (again["changed"], again["changes"], files(tmp_path)) == (False, [], after)


def test_absent_leaves_no_trace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "etc/NetworkManager/system-connections/other.nmconnection").write_text("[connection]\n")
    before = files(tmp_path)
    run(links=LINKS, unmanaged=UNMANAGED)
    predicted = run(state="absent", _ansible_check_mode=True)
    assert run(state="absent")["changes"] == predicted["changes"] != []
    assert files(tmp_path) == before
    assert run(state="absent")["changed"] is False


def test_a_link_that_is_no_longer_listed_goes(run: Run, tmp_path: Path) -> None:
    run(links=LINKS)
    changes = run(links=LINKS[:1])["changes"]
    assert {change["name"].rsplit("/", 1)[-1]: change["after"] for change in changes} == {
        "rail1.7.nmconnection": "absent",
        "rail1.nmconnection": "absent",
        "90-zerocopy-rdma-links.conf": "present",
    }


class Killed(BaseException):
    """SIGKILL, as far as a test in the same process can have it."""


@pytest.mark.parametrize("step", range(0, 24, 3))
def test_killed_anywhere_the_next_run_completes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    before = files(tmp_path)
    left = [step]
    real = {name: getattr(os, name) for name in ("rename", "unlink", "fsync")}

    def killing(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return real[name](*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in real:
            patch.setattr(os, name, killing(name))
        with contextlib.suppress(Killed):
            run(links=LINKS, unmanaged=UNMANAGED)
    run(links=LINKS[:1])
    assert run(links=LINKS[:1])["changed"] is False
    run(state="absent")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": [{"name": "a", "hca": "mlx5_7"}]}, "the node has no HCA 'mlx5_7'; it has: mlx5_0, mlx5_1"),
        ({"links": [{"name": "a\n", "hca": "mlx5_0"}]}, "links: name: 'a\\n' is not a name of letters"),
        ({"links": [], "rollback_seconds": 5}, "rollback_seconds is 5, it must be 10 to 600 seconds"),
        ({"unmanaged": [{}]}, "unmanaged: exactly one of hca, pci and mac selects the port, but none is given"),
        ({"confirm": ""}, "confirm: there is no checkpoint with a root other than /"),
        ({"root": "/nonexistent"}, "root: '/nonexistent' is not a directory"),
    ],
)
def test_bad_input_is_named_and_nothing_is_changed(
    run: Run, tmp_path: Path, options: Dict[str, Any], message: str
) -> None:
    before = files(tmp_path)
    result = run(**options)
    assert result["failed"] is True
    assert message in result["msg"]
    assert files(tmp_path) == before


def test_a_failure_puts_the_files_back(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(links=LINKS[:1])
    before = files(tmp_path)

    def fail(self: Any) -> None:
        self._ledger.apply(self._plan.files)
        raise HostError("links: rail1: ens2np0 did not come up")

    monkeypatch.setattr(apply.LinkTransaction, "_change", fail)
    result = run(links=[dict(LINKS[0], mtu=4000), LINKS[1]])
    assert result["msg"] == "links: rail1: ens2np0 did not come up; everything was rolled back"
    assert files(tmp_path) == before


def test_what_cannot_be_put_back_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(links=LINKS[:1])
    before = files(tmp_path)
    real, written = Files.write, []

    def full(self: Files, path: str, stored: Any) -> None:
        if path.startswith("/etc/"):
            written.append(path)
            if len(written) > 1:
                raise HostError(f"{path}: No space left on device")
        real(self, path, stored)

    with monkeypatch.context() as patch:
        patch.setattr(Files, "write", full)
        result = run(links=[dict(LINKS[0], mtu=4000), LINKS[1]])
    first, second = written[:2]
    assert result["msg"].startswith(f"{second}: No space left on device; not everything could be rolled back: {first}")
    assert files(tmp_path) != before
    run(links=LINKS[:1])
    found = files(tmp_path)
    assert {path: text for path, text in found.items() if "/etc/" in path} == {
        path: text for path, text in before.items() if "/etc/" in path
    }
    run(state="absent")
    assert not (tmp_path / "var/lib/zerocopy-rdma").exists()
