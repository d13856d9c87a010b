# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Files that are not what they should be: FIFOs, endless files, counters that a device does not keep."""

from __future__ import annotations

import errno
import inspect
import os
import sys
import threading
from pathlib import Path
from typing import Any, List, Optional
from unittest import mock

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, system
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import tree as discover_tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def in_time(call: Any) -> Any:
    """What ``call`` returns; fails when it hangs."""
    answers: List[Any] = []
    thread = threading.Thread(target=lambda: answers.append(call()), daemon=True)
    thread.start()
    thread.join(10)
    assert answers, "still waiting after 10 s"
    return answers[0]


def test_a_link_out_of_a_recorded_node_leads_nowhere(tmp_path: Path) -> None:
    put(tmp_path / "other" / "name", "other")
    put(tmp_path / "node" / "devices" / "a" / "name", "own")
    for link, target in (
        ("a", "devices/a"),
        ("out", "../other"),
        ("devices/out", str(tmp_path / "other" / "name")),
        ("devices/in", "../devices/a/name"),
    ):
        os.symlink(target, str(tmp_path / "node" / link))
    tree = Tree(str(tmp_path / "node"))
    assert [tree.text(path) for path in ("a/name", "devices/in", "devices/../a/name")] == ["own"] * 3
    assert [tree.text(path) for path in ("out/name", "devices/out", "../other/name", "devices/../../other/name")] == [
        None
    ] * 4
    assert [tree.resolve(path) for path in ("a/name", "devices/..", "out")] == ["devices/a/name", None, None]


def test_links_of_a_recorded_node_lead_where_the_kernel_would_follow_them(tmp_path: Path) -> None:
    put(tmp_path / "devices" / "pci" / "a" / "name", "own")
    for link, target in (
        ("class", "devices"),
        ("devices/again", "../class/pci/./a"),
        ("devices/pci/a/up", "../.."),
        ("rooted", str(tmp_path / "devices" / "again")),
        # To a directory whose parent is not the link's.
        ("deep", "class/again/up/again/../a"),
        ("one", "two"),
        ("two", "one"),
        ("self", "self/self"),
        ("nowhere", "absent/name"),
    ):
        os.symlink(target, str(tmp_path / link))
    paths = ["class", "class/again/name", "devices/pci/a/up/again/name", "rooted/name", "deep/name", "rooted/../a/name"]
    tree = Tree(str(tmp_path))
    for path in (*paths, *reversed(paths)):
        real = os.path.realpath(str(tmp_path / path))
        assert (path, tree.resolve(path)) == (path, os.path.relpath(real, os.path.realpath(str(tmp_path))))
    loops = ("one", "two", "one/name", "self", "self/name", "nowhere", "bad\0name", "bad\0name")
    assert [(path, tree.text(path)) for path in loops] == [(path, None) for path in loops]
    assert tree.unreadable == {"/bad\\0name": "not a name"}


def test_links_that_the_kernel_does_not_follow_lead_nowhere(tmp_path: Path) -> None:
    put(tmp_path / "other", "other")
    node = tmp_path / "node"
    node.mkdir()
    links = [f"link{number}" for number in range(200)]
    for link, target in zip(links, [*links[1:], "../other"]):
        os.symlink(target, str(node / link))
    found, before = set(), sys.getrecursionlimit()
    # Each link takes several frames, so most of these chains are too long.
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        for link in links:
            tree = Tree(str(node))
            found.add((tree.text(link), tree.text(links[-20])))
    finally:
        sys.setrecursionlimit(before)
    # Wherever the recursion ends, no link may be left that the kernel would follow out of the node.
    assert found == {(None, None)}


def test_a_fifo_is_an_empty_file(tmp_path: Path) -> None:
    os.mkfifo(str(tmp_path / "state"))
    tree = Tree(str(tmp_path))
    assert in_time(lambda: tree.text("state")) is None
    assert in_time(lambda: tree.contents("")) == {"state": b""}


def test_a_fifo_that_somebody_writes_to_is_told(tmp_path: Path) -> None:
    os.mkfifo(str(tmp_path / "state"))
    # Opened for both directions, a FIFO has a writer without waiting for one.
    writer = os.open(str(tmp_path / "state"), os.O_RDWR)
    try:
        tree = Tree(str(tmp_path))
        assert in_time(lambda: tree.text("state")) is None
        assert tree.unreadable == {"/state": "EAGAIN"}
    finally:
        os.close(writer)


def test_a_file_without_an_end_is_told(tmp_path: Path) -> None:
    put(tmp_path / "big", "x" * 5000)
    with mock.patch.object(discover_tree, "_LARGEST", 4096):
        tree = Tree(str(tmp_path))
        assert tree.data("big") is None
    assert tree.unreadable == {"/big": "too large"}


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (errno.EINVAL, {}),
        (errno.EOPNOTSUPP, {}),
        (errno.EIO, {"/symbol_error": "EIO"}),
        (errno.EACCES, {"/symbol_error": "permission"}),
    ],
)
def test_a_counter_that_the_driver_does_not_keep_is_absent(tmp_path: Path, refusal: int, expected: Any) -> None:
    put(tmp_path / "symbol_error", "3\n")
    tree = Tree(str(tmp_path))
    with mock.patch.object(os, "read", side_effect=OSError(refusal, "refused")):
        assert tree.counter("symbol_error") is None
    assert tree.unreadable == expected


@pytest.mark.parametrize(
    ("text", "value", "unreadable"),
    [
        ("17\n", 17, {}),
        ("N/A (no PMA)\n", None, {}),
        ("many\n", None, {"/symbol_error": "not a number"}),
    ],
)
def test_counters_are_numbers_or_not_kept(tmp_path: Path, text: str, value: Optional[int], unreadable: Any) -> None:
    put(tmp_path / "symbol_error", text)
    tree = Tree(str(tmp_path))
    assert tree.counter("symbol_error") == value
    assert tree.unreadable == unreadable


def groups(root: Path, **kinds: str) -> None:
    """One IOMMU group of the given type per function of that name."""
    (root / "sys/kernel/iommu_groups").mkdir(parents=True)
    (root / "sys/bus/pci").mkdir(parents=True)
    for number, (function, kind) in enumerate(kinds.items()):
        put(root / f"sys/kernel/iommu_groups/{number}/type", kind + "\n")
        directory = root / "sys/bus/pci/devices" / function
        directory.mkdir(parents=True)
        (directory / "iommu_group").symlink_to(f"../../../../kernel/iommu_groups/{number}")


def iommu(root: Path, *functions: str) -> Optional[str]:
    return system.iommu_mode(system.iommu_modes(Tree(str(root)), functions))


def test_without_an_iommu_the_kernel_shows_no_group(tmp_path: Path) -> None:
    groups(tmp_path)
    assert iommu(tmp_path, "gpu", "nic") == "off"


def test_iommu_is_unknown_where_the_node_did_not_say(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci").mkdir(parents=True)
    assert iommu(tmp_path, "gpu", "nic") is None


def test_iommu_is_unknown_without_a_function_to_ask_about(tmp_path: Path) -> None:
    groups(tmp_path, gpu="identity")
    assert iommu(tmp_path) is None


def test_a_function_in_no_group_is_not_translated(tmp_path: Path) -> None:
    groups(tmp_path, gpu="DMA-FQ")
    assert iommu(tmp_path, "gpu") == "translated"
    assert iommu(tmp_path, "nic") == "off"
    assert iommu(tmp_path, "gpu", "nic") == "mixed"


def test_an_hca_without_a_place_in_pcie_is_not_software(tmp_path: Path) -> None:
    put(tmp_path / "sys/class/infiniband/mlx5_0/node_type", "1: CA\n")
    put(tmp_path / "sys/devices/virtual/infiniband/siw0/node_type", "4: RNIC\n")
    (tmp_path / "sys/class/infiniband/siw0").symlink_to("../../devices/virtual/infiniband/siw0")
    found = {hca.name: (hca.software, hca.driver) for hca in infiniband.hcas(Tree(str(tmp_path)), counters=False)}
    assert found == {"mlx5_0": (False, None), "siw0": (True, "siw")}
