# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which process is at the other end of a Unix socket's connections, as the kernel knows (sock_diag(7))."""

from __future__ import annotations

import os
import re
import socket
import struct
from typing import Iterator, Optional, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink

# include/uapi/linux/netlink.h, sock_diag.h and unix_diag.h.
_SOCK_DIAG = 4
_BY_FAMILY = 20
_SHOW_NAME, _SHOW_PEER = 1, 4
_NAME, _PEER = 0, 2
_ESTABLISHED = 1
_REQUEST = struct.Struct("=BBHIIIII")
_MESSAGE = struct.Struct("=BBBBIII")
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


def _peers(path: str) -> Iterator[int]:
    """The other ends of the connections that were accepted at ``path``. Raises OSError."""
    wanted = os.path.realpath(path)
    body = _REQUEST.pack(socket.AF_UNIX, 0, 0, 1 << _ESTABLISHED, 0, _SHOW_NAME | _SHOW_PEER, 0, 0)
    sock = netlink.open_socket(_SOCK_DIAG)
    try:
        answers = netlink.ask(sock, netlink.request(_BY_FAMILY, netlink.NLM_F_DUMP, body))
    finally:
        sock.close()
    for raw in answers:
        given = netlink.attributes(raw, _MESSAGE.size)
        name, peer = given.get(_NAME, b"").rstrip(b"\0"), given.get(_PEER, b"")
        # An abstract name begins with a zero byte.
        if len(peer) == 4 and name.startswith(b"/") and os.path.realpath(os.fsdecode(name)) == wanted:
            yield struct.unpack("=I", peer)[0]


def connected(pid: int, path: str) -> Optional[bool]:
    """Whether a process has a connection that was accepted at the socket ``path``; ``None`` if the kernel cannot tell.

    The runtime closes that of a plugin which it does not register, or which breaks the protocol.
    """
    try:
        return bool(_inodes(pid).intersection(_peers(path)))
    except OSError:
        return None
