# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Unix sockets of the node: who listens and who is connected, as the kernel knows, never by the socket's file.

The file may be left behind, as containerd's is when NRI is switched off, or be somebody else's. Sockets are read from
the kernel's table, the process at the other end of a connection by sock_diag(7).
"""

from __future__ import annotations

import os
import re
import socket
import struct
from typing import Iterator, List, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink, unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

NRI_SOCKET = "/var/run/nri/nri.sock"
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
    """Whether a process listens there, and on a live node one of root, without disturbing the runtime."""
    listens = any(flags & _LISTENS for flags, _state in _sockets(files, path))
    return listens and (unix_file.is_roots(path) or not files.live)


def connected(files: Files, path: str) -> int:
    """How many NRI plugins are connected at the moment; each uses one connection."""
    return sum(state == _CONNECTED for _flags, state in _sockets(files, path))


def accepts(path: str, timeout: float = 5) -> bool:
    """Whether a connection is really accepted, by a process of root."""
    if not unix_file.is_roots(path):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


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


def is_connected(pid: int, path: str) -> Optional[bool]:
    """Whether a process has a connection that was accepted at the socket ``path``; ``None`` if the kernel cannot tell.

    The runtime closes that of a plugin which it does not register, or which breaks the protocol.
    """
    try:
        return bool(_inodes(pid).intersection(_peers(path)))
    except OSError:
        return None
