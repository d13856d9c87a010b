# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.modules import rdma_facts

Run = Callable[..., Dict[str, Any]]


@pytest.fixture
def run(run_module: Run) -> Run:
    return partial(run_module, rdma_facts)


def test_a_node_without_anything_has_facts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    result = run(root=str(tmp_path))
    assert result["changed"] is False
    facts = result["ansible_facts"]["rdma"]
    assert (facts["hcas"], facts["gpus"], facts["usable"], facts["warnings"]) == ([], [], [], [])


def test_check_mode_is_no_different(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert run(root=str(tmp_path), _ansible_check_mode=True) == run(root=str(tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gather_subset": ["ports"]}, "gather_subset: 'ports' is not one of all, hcas"),
        ({"gpu_vendors": ["nvidia"]}, "gpu_vendors: 'nvidia' is not 4 hexadecimal digits"),
        ({"gpu_classes": ["3"]}, "gpu_classes: '3' is not 4 hexadecimal digits"),
        ({}, "has no directory 'sys', so it is not a node's root directory"),
    ],
)
def test_bad_input_is_named(run: Run, tmp_path: Path, options: Dict[str, Any], message: str) -> None:
    result = run(root=str(tmp_path), **options)
    assert result["failed"] is True
    assert message in result["msg"]


def test_sys_that_leads_out_of_root_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/sys").mkdir(parents=True)
    (tmp_path / "node").mkdir()
    (tmp_path / "node/sys").symlink_to(tmp_path / "elsewhere/sys")
    result = run(root=str(tmp_path / "node"))
    assert result["failed"] is True
    assert f"leads to '{tmp_path}/elsewhere/sys', outside that directory" in result["msg"]


def test_any_class_may_count_as_gpu(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    directory.mkdir(parents=True)
    for name, value in {"vendor": "0x1da3", "device": "0x1020", "class": "0x0b4000"}.items():
        (directory / name).write_text(value + "\n")
    facts = run(root=str(tmp_path), gpu_vendors=["1da3"], gpu_classes=["0b40"])["ansible_facts"]["rdma"]
    assert [gpu["pci"]["class_id"] for gpu in facts["gpus"]] == ["0b4000"]


def test_vendor_ids_may_be_written_as_lspci_or_sysfs_write_them(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    directory.mkdir(parents=True)
    for name, value in {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "numa_node": "0"}.items():
        (directory / name).write_text(value + "\n")
    for written in ("10de", "0x10DE"):
        gpus = run(root=str(tmp_path), gpu_vendors=[written])["ansible_facts"]["rdma"]["gpus"]
        assert [gpu["pci"]["address"] for gpu in gpus] == ["0000:01:00.0"]
