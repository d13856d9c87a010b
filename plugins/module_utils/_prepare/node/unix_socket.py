# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Unix sockets of the node: who listens and who is connected, as the kernel knows, never by the socket's file alone.

The file may be left behind, as containerd's is when NRI is switched off.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from typing import List, Optional, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import unix_diag
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

NRI_SOCKET = "/var/run/nri/nri.sock"
_LISTENS = 0x10000
_CONNECTED = "03"


def _states(files: Files, path: str) -> List[int]:
    """The state of every socket bound to ``path``: LISTENS or CONNECTED."""
    if files.root == "/":
        try:
            return [found.state for found in unix_diag.bound(path)]
        except OSError:
            # A kernel without that question has a table, which names paths only.
            if not _is_socket(path):
                return []
    wanted = os.path.realpath(path)
    found = []
    # As the kernel's net/unix/af_unix.c prints it.
    for line in (files.text("/proc/net/unix") or "").splitlines()[1:]:
        words = line.split(None, 7)
        if len(words) == 8 and words[7].endswith(os.path.basename(path)) and os.path.realpath(words[7]) == wanted:
            if int(words[3], 16) & _LISTENS:
                found.append(unix_diag.LISTENS)
            elif words[5] == _CONNECTED:
                found.append(unix_diag.CONNECTED)
    return found


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def listening(files: Files, path: str) -> bool:
    """Whether a process listens there, read from the kernel without disturbing the runtime."""
    return unix_diag.LISTENS in _states(files, path)


def connected(files: Files, path: str) -> int:
    """How many NRI plugins are connected at the moment; each uses one connection."""
    return _states(files, path).count(unix_diag.CONNECTED)


def accepts(path: str, timeout: float = 5) -> bool:
    """Whether a connection is really accepted."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


_SOCKET = re.compile(r"socket:\[([0-9]+)\]")


def _inodes(pid: int) -> Set[int]:
    """The sockets of a process."""
    found: Set[int] = set()
    directory = f"/proc/{pid}/fd"
    for name in os.listdir(directory):
        try:
            match = _SOCKET.fullmatch(os.readlink(f"{directory}/{name}"))
        except OSError:
            continue
        if match:
            found.add(int(match.group(1)))
    return found


def is_connected(pid: int, path: str) -> Optional[bool]:
    """Whether a process has a connection that was accepted at the socket ``path``; ``None`` if the kernel cannot tell.

    The runtime closes that of a plugin which it does not register, or which breaks the protocol.
    """
    try:
        return bool(_inodes(pid).intersection(found.peer for found in unix_diag.bound(path)))
    except OSError:
        return None
