# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whose connections a socket has, asked of this machine's kernel."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import unix_diag
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import need_root

_CONNECT = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    print("connected", flush=True)
    sys.stdin.read()
"""


def without_unix_diag(path: str) -> bool:
    """Whether the kernel knows no such question; any other answer of it is for the test to judge."""
    try:
        unix_diag.bound(path)
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.EPROTONOSUPPORT)
    return False


def test_a_process_is_known_by_its_connection(tmp_path: Path) -> None:
    path = str(tmp_path / "nri.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        other = subprocess.Popen(
            [sys.executable, "-c", _CONNECT, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "connected\n"
            accepted, _address = server.accept()
            with accepted:
                if without_unix_diag(path):
                    pytest.skip("this kernel has no unix_diag")
                assert unix_socket.is_connected(other.pid, path) is True
                # It only listens there.
                assert unix_socket.is_connected(os.getpid(), path) is False
                assert unix_socket.is_connected(other.pid, str(tmp_path / "other.sock")) is False
                os.symlink(tmp_path, tmp_path / "run")
                assert unix_socket.is_connected(other.pid, str(tmp_path / "run" / "nri.sock")) is True
            # The runtime has closed it.
            assert unix_socket.is_connected(other.pid, path) is False
        finally:
            other.communicate()
        assert unix_socket.is_connected(other.pid, path) is None


_FAKE = """\
import os, socket, subprocess, sys
path = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", os.path.dirname(path)], check=True)
with socket.socket(socket.AF_UNIX) as server:
    server.bind(path)
    server.listen()
    print("listens", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("left", [False, True], ids=["nothing is there", "a file is left"])
def test_a_listener_at_the_path_in_another_mount_namespace_is_none(tmp_path: Path, left: bool) -> None:
    """As a pod with hostNetwork can do, whose containers have the host's network and files of their own."""
    need_root()
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare of util-linux")
    path = tmp_path / "nri" / "nri.sock"
    path.parent.mkdir()
    if left:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    fake = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", _FAKE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert fake.stdout is not None
        if fake.stdout.readline() != "listens\n":
            pytest.skip("may not mount; CI runs this as root of a machine of its own")
        assert f" {path}\n" in Path("/proc/net/unix").read_text()
        if without_unix_diag(str(path)):
            pytest.skip("this kernel has no unix_diag")
        assert not unix_socket.listening(Files(), str(path))
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            assert unix_socket.listening(Files(), str(path))
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
                accepted, _address = server.accept()
                assert unix_socket.connected(Files(), str(path)) == 1
                accepted.close()
    finally:
        fake.communicate()
