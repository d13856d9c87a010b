# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

Run = Callable[..., Dict[str, Any]]


@pytest.fixture
def run(run_part: Run) -> Run:
    return partial(run_part, "kernel")


def test_an_image(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "lib/modules/5.15.0-119-generic"
    directory.mkdir(parents=True)
    (directory / "modules.dep").write_text("kernel/drivers/infiniband/core/ib_umad.ko.zst:\n")
    (directory / "modules.builtin").write_text("kernel/drivers/infiniband/core/ib_core.ko\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=ubuntu\n")
    (tmp_path / "var/lib").mkdir(parents=True)
    root = str(tmp_path)
    options = {
        "root": root,
        "modules": ["ib-umad", "ib_core"],
        "options": {"mlx5_core": {"prof_sel": 3}},
        "blacklist": ["irdma"],
        "netns_mode": "exclusive",
    }
    before = sorted(path.name for path in tmp_path.rglob("*"))
    predicted = run(_ansible_check_mode=True, **options)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    done = run(**options)
    assert done == predicted
    assert (done["changed"], done["reboot_required"], done["netns_mode"]) == (True, False, None)
    assert done["modules"] == {"ib_umad": {"state": "available"}, "ib_core": {"state": "builtin"}}
    assert [change["kind"] for change in done["changes"]] == ["file", "file"]
    assert (tmp_path / "etc/modules-load.d/zerocopy-rdma.conf").read_text().endswith("\nib_umad\nib_core\n")
    assert (
        (tmp_path / "etc/modprobe.d/zerocopy-rdma.conf")
        .read_text()
        .endswith("\noptions ib_core netns_mode=0\noptions mlx5_core prof_sel=3\nblacklist irdma\n")
    )
    assert run(**options)["changed"] is False
    missing = run(root=root, modules=["rdma_rxe"])
    assert missing["msg"] == (
        "modules: 'rdma_rxe' does not exist for the kernel 5.15.0-119-generic; it is in the package "
        "linux-modules-extra-5.15.0-119-generic"
    )
    # Two sets of files know nothing of each other.
    assert run(root=root, modules=["ib_umad"], name="storage")["changed"] is True
    assert run(**options)["changed"] is False
    assert run(root=root, name="storage", state="absent")["changed"] is True
    undone = run(root=root, state="absent", modules=["never"], _ansible_check_mode=True)
    assert run(root=root, state="absent", modules=["never"]) == undone
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert run(root=root, state="absent")["changed"] is False


def test_bad_input_is_named(run: Run, tmp_path: Path) -> None:
    result = run(root=str(tmp_path), modules=["a/b"])
    assert "modules: 'a/b' is not the name of a kernel module" in result["msg"]
    assert "is not a directory" in run(root=str(tmp_path / "none"))["msg"]


OURS = "# Written by zerocopy.rdma.kernel_modules, which overwrites it; state absent restores it.\n"
BLOCK = "# BEGIN ANSIBLE MANAGED BLOCK\n* - memlock 65536\nroot - memlock 65536\n# END ANSIBLE MANAGED BLOCK\n"


@pytest.mark.parametrize(
    ("found", "theirs"),
    [
        (None, None),
        ("alice - nofile 4096\n", "alice - nofile 4096\n"),
        ("alice - nofile 4096", "alice - nofile 4096"),
        # Left by the role of version 0.1.0 with blockinfile, alone or beside an administrator's lines.
        (BLOCK, None),
        ("alice - nofile 4096\n" + BLOCK + "bob - nofile 1\n", "alice - nofile 4096\nbob - nofile 1\n"),
        # A block of the same name with other lines is an administrator's.
        (BLOCK.replace("65536", "1", 1), BLOCK.replace("65536", "1", 1)),
    ],
)
@pytest.mark.parametrize("applied", [True, False])
def test_the_limit_of_users_is_taken_back_without_a_loss(
    run: Run, tmp_path: Path, found: str, theirs: str, applied: bool
) -> None:
    limits = tmp_path / "etc/security/limits.d/90-zerocopy-rdma.conf"
    limits.parent.mkdir(parents=True)
    (tmp_path / "var/lib").mkdir(parents=True)
    if found is not None:
        limits.write_text(found)
        limits.chmod(0o640)
    if applied:
        predicted = run(root=str(tmp_path), user_memlock="unlimited", _ansible_check_mode=True)
        done = run(root=str(tmp_path), user_memlock="unlimited")
        assert done == predicted
        assert [change["kind"] for change in done["changes"]] == ["file"]
        lines = theirs + "\n" if theirs and not theirs.endswith("\n") else theirs or ""
        assert limits.read_text() == lines + OURS + "* - memlock unlimited\nroot - memlock unlimited\n"
        assert run(root=str(tmp_path), user_memlock="unlimited")["changed"] is False
        assert run(root=str(tmp_path), user_memlock="2048")["changed"] is True
        assert limits.read_text() == lines + OURS + "* - memlock 2048\nroot - memlock 2048\n"
    predicted = run(root=str(tmp_path), state="absent", _ansible_check_mode=True)
    assert run(root=str(tmp_path), state="absent") == predicted
    if theirs is None:
        assert not limits.exists()
    else:
        assert limits.read_text() == theirs
        assert limits.stat().st_mode & 0o777 == 0o640
    assert list((tmp_path / "var/lib").iterdir()) == []


def test_a_limit_that_is_none_is_refused(run: Run, tmp_path: Path) -> None:
    for limit in ("64G", "0", "-1", "63", "unlimited\n", "64\nroot - nproc 1"):
        assert run(root=str(tmp_path), user_memlock=limit)["msg"].startswith("user_memlock is ")


def test_the_documented_recovery_restores_a_node_without_its_ledger(run: Run, tmp_path: Path) -> None:
    options = {"root": str(tmp_path), "options": {"mlx5_core": {"prof_sel": 3}}, "user_memlock": "unlimited"}
    limits, modprobe = tmp_path / "etc/security/limits.d/90-zerocopy-rdma.conf", tmp_path / "etc/modprobe.d"
    limits.parent.mkdir(parents=True)
    limits.write_text("alice - nofile 4096\n")
    limits.chmod(0o640)
    (tmp_path / "var/lib").mkdir(parents=True)
    assert run(**options)["changed"] is True
    ledger = tmp_path / "var/lib/zerocopy-rdma/kernel_modules/ledger.json"
    ledger.write_text(ledger.read_text()[:100])
    assert "docs/recovery.md" in run(**options)["msg"]
    text = (Path(__file__).resolve().parents[4] / "docs/recovery.md").read_text()
    script = text.split("```sh\n")[1].split("```")[0]
    assert script.startswith("root=/\n")
    subprocess.run(["sh", "-euc", script.replace("root=/", f"root={tmp_path}", 1)], check=True)
    assert limits.read_text() == "alice - nofile 4096\n"
    assert limits.stat().st_mode & 0o777 == 0o640
    assert list(modprobe.iterdir()) == []
    assert run(**options)["changed"] is True
    assert run(root=str(tmp_path), state="absent")["changed"] is True
    assert limits.read_text() == "alice - nofile 4096\n"


@pytest.mark.parametrize(
    "options",
    [
        {"name": "a\n"},
        {"modules": ["rdma_cm\n"]},
        {"blacklist": ["irdma\n"]},
        {"options": {"mlx5_core\n": {"prof_sel": 3}}},
        {"options": {"mlx5_core": {"prof_sel\n": 3}}},
        *({"options": {"mlx5_core": {"prof_sel": f"3{end}options x y=1"}}} for end in "\n\r\v\f\x85\u2028\u2029"),
        {"options": {"mlx5_core": {"prof_sel": "3\n"}}},
    ],
)
def test_names_and_values_have_no_line_ends(run: Run, tmp_path: Path, options: Dict[str, Any]) -> None:
    assert run(root=str(tmp_path), **options)["failed"] is True
    assert list(tmp_path.iterdir()) == []
