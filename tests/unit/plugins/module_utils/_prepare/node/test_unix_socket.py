# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import socket
from pathlib import Path

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED

# /proc/net/unix of a guest with containerd 2.1.9 (kernel 7.2); the last line as with a plugin connected.
RECORDED = """\
Num       RefCount Protocol Flags    Type St Inode Path
0000000065e7b5a7: 00000002 00000000 00010000 0001 01  4222 /run/containerd/containerd.sock.ttrpc
0000000073bc65a0: 00000002 00000000 00010000 0001 01  4225 /var/run/nri/nri.sock
00000000cd0238ff: 00000002 00000000 00010000 0001 01  4229 /run/containerd/containerd.sock
00000000d12b06a1: 00000003 00000000 00000000 0001 03  4310
00000000a55e9b06: 00000003 00000000 00000000 0001 03  4311 /var/run/nri/nri.sock
"""


def test_the_kernels_table_tells_who_listens_and_who_is_connected(tmp_path: Path) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/unix").write_text(RECORDED)
    files = Files(str(tmp_path))
    assert unix_socket.listening(files, "/var/run/nri/nri.sock")
    assert unix_socket.connected(files, "/var/run/nri/nri.sock") == 1
    assert not unix_socket.listening(files, "/elsewhere/nri.sock")


def test_a_file_that_stayed_behind_accepts_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "nri.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()
        assert unix_socket.accepts(path)
    assert Path(path).exists()
    assert not unix_socket.accepts(path)


def test_pods_with_the_old_limit(tmp_path: Path) -> None:
    def process(pid: int, name: str, parent: int, limit: str = "8388608") -> None:
        directory = tmp_path / str(pid)
        directory.mkdir()
        # A name may have blanks and brackets in it.
        (directory / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0 -1\n")
        (directory / "limits").write_text(f"Limit  Soft\nMax locked memory         {limit}  {limit}  bytes\n")

    (tmp_path / "self").mkdir()
    for pid, name, parent, limit in [
        (1, "systemd", 0, "8388608"),
        (10, "containerd", 1, "unlimited"),
        (20, "containerd-shim", 1, "unlimited"),
        (21, "pause) S 1", 20, "8388608"),
        (22, "vllm", 20, "8388608"),
        (30, "containerd-shim", 1, "unlimited"),
        (31, "pause", 30, "unlimited"),
    ]:
        process(pid, name, parent, limit)
    assert pods.with_lower_limit(UNLIMITED, str(tmp_path)) == 1
    assert pods.with_lower_limit(65536, str(tmp_path)) == 0
