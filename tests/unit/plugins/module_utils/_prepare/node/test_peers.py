# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whose connections a socket has, asked of this machine's kernel."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket

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
        list(unix_socket._peers(path))
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
