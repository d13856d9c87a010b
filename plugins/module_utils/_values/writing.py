# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How directories are made, by whoever makes one: nobody else may write there, whatever the umask of the caller."""

from __future__ import annotations

import contextlib
import os

_ACL = "system.posix_acl_access"


def make_directories(path: str, mode: int = 0o755) -> None:
    """Make a directory, and those above it that are missing, all with this mode. Raises OSError."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above not in ("", path):
        make_directories(above, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    _complete(path, mode)


def _complete(path: str, mode: int) -> None:
    """Add the permissions that the umask took, but not those that the directory above keeps from all below it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        have = os.fstat(descriptor).st_mode & 0o7777
        if mode & ~have and not _has_acl(descriptor):
            os.fchmod(descriptor, have | mode)
    finally:
        os.close(descriptor)


def _has_acl(descriptor: int) -> bool:
    # Controllers that are no Linux machines have no such function, and file systems may have no such attributes.
    with contextlib.suppress(OSError, AttributeError):
        return _ACL in os.listxattr(descriptor)
    return False
