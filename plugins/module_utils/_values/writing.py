# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Directories and files where others may write, too.

Modes do not depend on the umask of the caller. A link is followed only if nobody but root and this user can have put it
there, and a file is replaced by a new one: what another user has put in its place is not written to, or waited for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import BinaryIO, List, Optional, Tuple

_ACL = "system.posix_acl_access"
# As in the kernel.
_MOST_LINKS = 40
# Enough for any file that people write, and for what we write.
LARGEST = 1 << 24
# Controllers that are no Linux machines have no O_PATH.
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_directories(path: str) -> None:
    """Make a directory, and those above it that are missing, with the mode 0755. Raises OSError."""
    if not os.path.isdir(path):
        os.close(_opened(os.path.abspath(path), make=True))


def replace(path: str, content: bytes, temporary: str = "", mode: int = 0o644, follow: bool = False) -> None:
    """Make a file, or replace it so that readers see the old or the new one; directories are made as well.

    ``temporary`` is its name until it is complete, in the same directory; a random one without. With ``follow``, a
    link that can be trusted stays, and what it leads to is replaced. Raises OSError.
    """
    directory, name = _place(path, follow, make=True)
    try:
        new = temporary or f".{os.urandom(8).hex()}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(new, flags, 0o600, dir_fd=directory), "wb") as file:
            try:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.rename(new, name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(new, dir_fd=directory)
                raise
    finally:
        os.close(directory)


def remove(path: str) -> None:
    """Remove a file, or a link and not what it leads to. Raises OSError."""
    directory = _opened(os.path.dirname(os.path.abspath(path)))
    try:
        os.unlink(os.path.basename(path), dir_fd=directory)
    finally:
        os.close(directory)


def read(path: str, follow: bool = False) -> bytes:
    """A regular file that is not larger than LARGEST, never through another user's link. Raises OSError."""
    directory, name = _place(path, follow)
    # A FIFO without a writer would be waited for.
    more = os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        # Closes a directory as well, which a file object refuses.
        with open(name, "rb", opener=lambda name, flags: os.open(name, flags | more, dir_fd=directory)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "is not a regular file", path)
            content = whole(file)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link", path) from error
        raise
    finally:
        os.close(directory)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"is larger than {LARGEST} bytes", path)
    return content


def whole(file: BinaryIO) -> bytes:
    """What a file has, at most one byte more than LARGEST.

    In parts: the kernel refuses to read an entry of /proc/sys into a buffer of some MiB (``proc_sys_call_handler``).
    """
    parts: List[bytes] = []
    left = LARGEST + 1
    while left:
        part = file.read(min(left, 1 << 16))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def text(path: str, follow: bool = False) -> str:
    """The text of such a file, empty if there is none; what is no text is replaced. Raises OSError."""
    try:
        return read(path, follow).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _place(path: str, follow: bool, make: bool = False) -> Tuple[int, str]:
    """The directory of a file, and the name of the file there."""
    directory, name = os.path.split(os.path.abspath(path))
    here = _opened(directory, make)
    for _turn in range(_MOST_LINKS):
        try:
            target = _target(name, here) if follow else None
        except PermissionError:
            # Another user's link is replaced like any file.
            target = None
        except BaseException:
            os.close(here)
            raise
        if target is None:
            return here, name
        directory, name = os.path.split(target.rstrip("/"))
        try:
            here = _opened(directory, make, here)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
    os.close(here)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _opened(path: str, make: bool = False, start: Optional[int] = None) -> int:
    """The directory, by way of links that can be trusted; with ``make``, those that are missing are made.

    A relative one is below the directory ``start``, which is closed.
    """
    try:
        here = os.open("/" if start is None or path.startswith("/") else ".", _DIRECTORY, dir_fd=start)
    finally:
        if start is not None:
            os.close(start)
    parts, followed = path.split("/")[::-1], 0
    try:
        while parts:
            part = parts.pop()
            if part in ("", "."):
                continue
            target = _target(part, here)
            if target is None:
                below = _below(part, here, make)
            else:
                followed += 1
                if followed > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                parts += target.split("/")[::-1]
                below = os.open("/" if target.startswith("/") else ".", _DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
    except BaseException as error:
        os.close(here)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, path) from error
        raise
    return here


def _target(name: str, directory: int) -> Optional[str]:
    """Where a link leads, ``None`` where there is no link. Raises PermissionError if another user may have made it."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    above = os.fstat(directory)
    ours = {status.st_uid, above.st_uid} <= {0, os.geteuid()}
    if not ours or above.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
        raise PermissionError(errno.EPERM, f"{name} is a link that another user can change, so it is not followed")
    return os.readlink(name, dir_fd=directory)


def _below(name: str, directory: int, make: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
    made = True
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
    except FileExistsError:
        # Somebody else was faster.
        made = False
    if made:
        _complete(name, directory)
    return os.open(name, _DIRECTORY, dir_fd=directory)


def _complete(name: str, directory: int) -> None:
    """Add the permissions that the umask took, but not those that the directory above keeps from all below it."""
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        have = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if 0o755 & ~have and not _has_acl(descriptor):
            os.fchmod(descriptor, have | 0o755)
    finally:
        os.close(descriptor)


def _has_acl(descriptor: int) -> bool:
    # File systems may have no such attributes, and other systems no such function.
    with contextlib.suppress(OSError, AttributeError):
        return _ACL in os.listxattr(descriptor)
    return False
