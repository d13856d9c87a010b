# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.modules import kernel_modules

Run = Callable[..., Dict[str, Any]]


@pytest.fixture
def run(run_module: Run) -> Run:
    return partial(run_module, kernel_modules)


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
