# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Figures from sysfs: those of a node, and files that no driver has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import ports

PORT = "sys/class/infiniband/mlx5_0/ports/1"
FILES = {
    f"{PORT}/state": "4: ACTIVE\n",
    f"{PORT}/phys_state": "5: LinkUp\n",
    f"{PORT}/rate": "400 Gb/sec (4X NDR)\n",
    f"{PORT}/link_layer": "InfiniBand\n",
    f"{PORT}/lid": "0x11\n",
    f"{PORT}/sm_lid": "0x1\n",
    f"{PORT}/sm_sl": "0\n",
    f"{PORT}/counters/port_rcv_data": "10\n",
    f"{PORT}/counters/VL15_dropped": "2\n",
    f"{PORT}/hw_counters/np_cnp_sent": "18446744073709551615\n",
}


def laid_out(root: Path, files: Dict[str, str]) -> Tree:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Tree(str(root))


def test_a_port_is_read(tmp_path: Path) -> None:
    port = ports.read(laid_out(tmp_path, FILES), "mlx5_0")["ports"]["1"]
    assert (port["state_id"], port["physical_state_id"], port["rate_bytes_per_second"]) == (4, 5, 50000000000)
    assert (port["lid"], port["sm_lid"], port["sm_sl"]) == (17, 1, 0)
    assert port["counters"] == {"port_rcv_data": 10, "VL15_dropped": 2}
    assert port["hw"] == {"np_cnp_sent": 2**64 - 1}


@pytest.mark.parametrize("content", ["", "N/A (no PMA)\n", "-1\n", "1e9\n", "\u0661\n", "9" * 5000, "1\n2\n", "\0\0"])
def test_what_is_no_number_is_no_counter(content: str, tmp_path: Path) -> None:
    files = {**FILES, f"{PORT}/counters/port_rcv_data": content, f"{PORT}/rate": content, f"{PORT}/state": content}
    port = ports.read(laid_out(tmp_path, files), "mlx5_0")["ports"]["1"]
    assert port["counters"] == {"VL15_dropped": 2}
    assert (port["rate_bytes_per_second"], port["state_id"]) == (None, None)


def test_files_that_sysfs_never_has_neither_block_nor_fill_memory(tmp_path: Path) -> None:
    tree = laid_out(tmp_path, FILES)
    os.mkfifo(tmp_path / PORT / "hw_counters/fifo")
    (tmp_path / PORT / "hw_counters/link").symlink_to("/etc/passwd")
    (tmp_path / PORT / 'hw_counters/quote"} 1').write_text("1")
    (tmp_path / PORT / "hw_counters/binary").write_bytes(bytes(range(256)))
    with open(tmp_path / PORT / "hw_counters/huge", "wb") as file:
        file.truncate(1 << 32)
    for number in range(400):
        (tmp_path / PORT / f"hw_counters/more_{number}").write_text("1")
    found = ports.read(tree, "mlx5_0")["ports"]["1"]["hw"]
    assert len(found) == 256
    assert set(found) <= {"np_cnp_sent", *(f"more_{number}" for number in range(400))}


def test_a_software_device_is_looked_at_again_once_its_netdev_is_back(tmp_path: Path) -> None:
    parent = {f"sys/class/infiniband/rxe5/{name}": text for name, text in (("parent", "ens1\n"), ("ports/1/rate", ""))}
    tree = laid_out(tmp_path, parent)
    away = ports.read(tree, "rxe5")
    (tmp_path / "sys/devices/pci0000:3a/0000:3b:00.0/net/ens1").mkdir(parents=True)
    (tmp_path / "sys/class/net").mkdir()
    (tmp_path / "sys/class/net/ens1").symlink_to("../../devices/pci0000:3a/0000:3b:00.0/net/ens1")
    back = ports.read(tree, "rxe5", away)
    assert (away["pci"], back["pci"]) == ("", "0000:3b:00.0")
    # And keeps what it was while it is in a pod.
    (tmp_path / "sys/class/net/ens1").unlink()
    assert ports.read(tree, "rxe5", back)["pci"] == "0000:3b:00.0"


def test_what_stays_is_read_again_once_the_kernel_has_made_the_hca_again(tmp_path: Path) -> None:
    tree = laid_out(tmp_path, {**FILES, "sys/class/infiniband/mlx5_0/fw_ver": "28.39.1002"})
    before = ports.read(tree, "mlx5_0")
    (tmp_path / "sys/class/infiniband/mlx5_0/fw_ver").write_text("28.40.0000")
    assert ports.read(tree, "mlx5_0", before)["firmware"] == "28.39.1002"
    (tmp_path / "sys/class/infiniband/mlx5_0").rename(tmp_path / "old")
    tree = laid_out(tmp_path, {**FILES, "sys/class/infiniband/mlx5_0/fw_ver": "28.40.0000"})
    assert ports.read(tree, "mlx5_0", before)["firmware"] == "28.40.0000"
