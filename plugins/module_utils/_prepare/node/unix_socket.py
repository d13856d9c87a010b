# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The state of the NRI socket, by the kernel's table of sockets and by connecting, never by the file.

containerd leaves the socket's file behind when NRI is switched off.
"""

from __future__ import annotations

import os
import socket
from typing import List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

DEFAULT = "/var/run/nri/nri.sock"
_LISTENS = 0x10000
_CONNECTED = "03"


def _sockets(files: Files, path: str) -> List[Tuple[int, str]]:
    """Flags and state of every socket bound to ``path``, as the kernel's ``net/unix/af_unix.c`` prints them."""
    wanted = os.path.realpath(path)
    found = []
    for line in (files.text("/proc/net/unix") or "").splitlines()[1:]:
        words = line.split(None, 7)
        if len(words) == 8 and words[7].endswith(os.path.basename(path)) and os.path.realpath(words[7]) == wanted:
            found.append((int(words[3], 16), words[5]))
    return found


def listening(files: Files, path: str) -> bool:
    """Whether a process listens there, read from the kernel without disturbing the runtime."""
    return any(flags & _LISTENS for flags, _state in _sockets(files, path))


def connected(files: Files, path: str) -> int:
    """How many NRI plugins are connected at the moment; each uses one connection."""
    return sum(state == _CONNECTED for _flags, state in _sockets(files, path))


def accepts(path: str, timeout: float = 5) -> bool:
    """Whether a connection is really accepted."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(path)
        except OSError:
            return False
    return True
