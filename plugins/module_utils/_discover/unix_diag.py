# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Sockets of the running node that are bound to a file, asked of the kernel (sock_diag(7), uapi/linux/unix_diag.h).

By the file itself: in a mount namespace of its own, anybody can bind a socket to the same path, and the kernel's table
``/proc/net/unix`` shows the path alone.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from typing import List, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink

LISTENS, CONNECTED = 10, 1
_SOCK_DIAG = 4
_BY_FAMILY = 20
_SHOW_FILE, _SHOW_PEER = 2, 4
_FILE, _PEER = 1, 2
_REQUEST = struct.Struct("=BBHIIIII")
_MESSAGE = struct.Struct("=BBBBIII")
_HEADER = 16
_PAIR = struct.Struct("=II")


class Bound(NamedTuple):
    """A socket: it listens, or it is the accepting end of a connection, with the inode of the other end."""

    state: int
    peer: int


def bound(path: str) -> List[Bound]:
    """The sockets bound to the file at ``path``. Raises OSError where the kernel cannot tell."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    if not stat.S_ISSOCK(status.st_mode):
        return []
    # The kernel's numbers of 32 bits: of the inode, and of the device as it has them itself.
    device = os.major(status.st_dev) << 20 | os.minor(status.st_dev)
    wanted = _PAIR.pack(status.st_ino & 0xFFFFFFFF, device)
    states = 1 << LISTENS | 1 << CONNECTED
    body = _REQUEST.pack(socket.AF_UNIX, 0, 0, states, 0, _SHOW_FILE | _SHOW_PEER, 0, 0)
    sock = netlink.open_socket(_SOCK_DIAG)
    try:
        answers = netlink.ask(sock, netlink.request(_BY_FAMILY, netlink.NLM_F_DUMP, body))
    finally:
        sock.close()
    found = []
    for raw in answers:
        given = netlink.attributes(raw, _MESSAGE.size)
        if given.get(_FILE) == wanted:
            peer = given.get(_PEER, b"")
            found.append(
                Bound(_MESSAGE.unpack_from(raw, _HEADER)[2], struct.unpack("=I", peer)[0] if len(peer) == 4 else 0)
            )
    return found
