# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The file of a Unix socket: who can have put it there, and whether a socket is bound to it.

The kernel's table of sockets (``/proc/net/unix``) has the words with which a socket was bound. In a container or after
a chroot they lead to another file, and what was bound may have been replaced since.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from typing import List

# As in the kernel.
_MOST_LINKS = 40


def is_trusted(path: str) -> bool:
    """Whether only root and this user can have put there what an absolute path leads to, and it is a socket.

    That is so if all on the way belongs to them, links as well, and nobody else may write to a directory; in one like
    /tmp others may, but cannot replace what is not theirs. Raises OSError: something is not there, or may not be read.
    """
    trusted = {0, os.geteuid(), os.stat("/").st_uid}
    waiting: List[str] = path.split("/")[::-1]
    here, links = "/", 0
    while waiting:
        name = waiting.pop()
        if name in ("", ".", ".."):
            here = os.path.dirname(here) if name == ".." else here
            continue
        place = os.path.join(here, name)
        found = os.lstat(place)
        if found.st_uid not in trusted:
            return False
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(place)
            here = "/" if target.startswith("/") else here
            waiting += target.split("/")[::-1]
        elif stat.S_ISDIR(found.st_mode) and not _is_closed(found):
            return False
        else:
            here = place
    return stat.S_ISSOCK(os.lstat(here).st_mode)


def _is_closed(directory: os.stat_result) -> bool:
    """Whether others can take nothing away that is in a directory; root's group may."""
    others = stat.S_IWOTH | (stat.S_IWGRP if directory.st_gid else 0)
    return bool(directory.st_mode & stat.S_ISVTX) or not directory.st_mode & others


def is_bound(path: str) -> bool:
    """Whether a stream socket is bound to the file, listening or not; its owner does not notice.

    A datagram socket cannot be connected to it: the kernel (net/unix/af_unix.c, ``unix_find_bsd``) says that the types
    differ, or that nothing is bound there. To ask sock_diag(7) would load a module. Raises OSError.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
        found = asking.connect_ex(path)
    if found not in (0, errno.EPROTOTYPE, errno.ECONNREFUSED, errno.ENOENT):
        raise OSError(found, os.strerror(found), path)
    return found == errno.EPROTOTYPE


def is_roots(path: str) -> bool:
    """Whether a stream socket of root, or of this user, is bound there. False where that cannot be read."""
    try:
        return is_trusted(path) and is_bound(path)
    except OSError:
        return False
