# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reads and writes a node's files below any root, atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from typing import Dict, List, Optional, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, UnreadableError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.writing import LARGEST, make_directories, whole

# Always the same name, so that what a killed run left behind is overwritten and renamed by the next one. It begins
# with a dot and ends like no configuration file, so neither systemd, NetworkManager, kmod nor containerd reads it.
# CRI-O does, in its drop-in directory.
_TEMPORARY = ".{}.zerocopy-rdma.tmp"
_ENDING = _TEMPORARY.rpartition("}")[2]
_ACL = "system.posix_acl_access"
# The kernel's own, of the content that is replaced.
_OF_CONTENT = ("security.ima", "security.evm")


@dataclass(frozen=True)
class Stored:
    """A file as it is: content and who may do what."""

    content: bytes
    mode: int
    uid: int
    gid: int


def is_temporary(path: str) -> bool:
    """Whether it is a file that a killed run left half-written."""
    return os.path.basename(path).startswith(".") and path.endswith(_ENDING)


class Files:
    """The files of one node below ``root``; paths are absolute, as the node sees them.

    A symbolic link is followed as the node would follow it: an absolute target is below ``root`` as well.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = os.path.realpath(root)
        self.live = self.root == "/"
        if not os.path.isdir(self.root):
            raise HostError(f"root: {root!r} is not a directory")

    def full(self, path: str) -> str:
        """Where the node's ``path`` is on this machine, links followed.

        :raises HostError: the path is not absolute, or its links go in circles.
        """
        if not path.startswith("/"):
            raise HostError(f"{path!r} is not an absolute path")
        if self.live:
            return os.path.realpath(path)
        parts, followed = path.split("/")[::-1], 0
        done: List[str] = []
        while parts:
            part = parts.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del done[-1:]
                continue
            here = os.path.join(self.root, *done, part)
            if not os.path.islink(here):
                done.append(part)
                continue
            followed += 1
            if followed > 40:
                raise HostError(f"{path}: too many levels of symbolic links")
            try:
                target = os.readlink(here)
            except OSError as error:
                # It was replaced meanwhile, for example, or the disk does not give it.
                raise UnreadableError(f"{path}: {error.strerror}") from error
            if target.startswith("/"):
                done = []
            parts.extend(target.split("/")[::-1])
        return os.path.join(self.root, *done)

    def stored(self, path: str) -> Optional[Stored]:
        """The file, or ``None`` when there is none.

        :raises UnreadableError: there is one that cannot be read, or it is not a regular file.
        """
        full = self.full(path)
        try:
            # Non-blocking: opening a FIFO would wait for a writer.
            descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                # A link to /dev/null masks a file.
                if not stat.S_ISREG(status.st_mode) and status.st_rdev != os.makedev(1, 3):
                    raise UnreadableError(f"{path} is not a regular file")
                with open(descriptor, "rb", closefd=False) as handle:
                    content = whole(handle)
                    if len(content) > LARGEST:
                        raise UnreadableError(f"{path} is larger than {LARGEST} bytes")
                    return Stored(content, status.st_mode & 0o7777, status.st_uid, status.st_gid)
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UnreadableError(f"{path}: {error.strerror}") from error

    def text(self, path: str) -> Optional[str]:
        """The file's text exactly as it is, or ``None`` when there is none."""
        stored = self.stored(path)
        return None if stored is None else stored.content.decode("utf-8", "surrogateescape")

    def _is_masked(self, path: str) -> bool:
        return self.full(path) == os.path.join(self.root, "dev/null")

    def refuse_masked(self, path: str) -> None:
        """Verify that the file may be written.

        :raises HostError: it is a link to /dev/null, by which an administrator says that there shall be no such file,
            and by which the device would be replaced.
        """
        if self._is_masked(path):
            raise HostError(f"{path} is a link to /dev/null, which masks it: remove the link, or do without this file")

    def exists(self, path: str) -> bool:
        return os.path.exists(self.full(path))

    def names(self, directory: str) -> List[str]:
        """Sorted names in a directory; empty when there is none."""
        try:
            return sorted(os.listdir(self.full(directory)))
        except OSError:
            return []

    def missing_directories(self, path: str) -> List[str]:
        """Directories that must be made for ``path``, outermost first."""
        missing, parent = [], os.path.dirname(path)
        while parent != "/" and not os.path.isdir(self.full(parent)):
            missing.append(parent)
            parent = os.path.dirname(parent)
        return missing[::-1]

    def write(self, path: str, stored: Stored) -> None:
        """Replace or create the file in one step that survives a crash at any moment.

        :raises HostError: the system refuses. The old file is then untouched, unless only the last step failed: the
            sync of its directory.
        """
        self.refuse_masked(path)
        full = self.full(path)
        directory, name = os.path.split(full)
        temporary = os.path.join(directory, _TEMPORARY.format(name))
        try:
            make_directories(directory)
            # Whatever is there: writing into a FIFO, for example, would wait for a reader.
            self.discard_temporary(path)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(stored.content)
                _own(handle.fileno(), stored)
                _keep_attributes(full, handle.fileno())
                # Last: the change of the owner takes bits away, and an access control list has some of the others.
                os.fchmod(handle.fileno(), stored.mode)
                handle.flush()
                os.fsync(handle.fileno())
            os.rename(temporary, full)
            _sync_directory(directory)
        except OSError as error:
            self.discard_temporary(path)
            raise HostError(f"{path}: {error.strerror}") from error

    def is_half_written(self, path: str) -> bool:
        """Whether a run was killed while it wrote ``path``."""
        directory, name = os.path.split(self.full(path))
        return os.path.lexists(os.path.join(directory, _TEMPORARY.format(name)))

    def discard_temporary(self, path: str) -> None:
        """Remove what a run that was killed while it wrote ``path`` left behind."""
        directory, name = os.path.split(self.full(path))
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, _TEMPORARY.format(name)))

    def remove(self, path: str) -> None:
        """Remove the file; fine when it is already gone."""
        if self._is_masked(path):
            return
        full = self.full(path)
        try:
            os.unlink(full)
            _sync_directory(os.path.dirname(full))
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"{path}: {error.strerror}") from error

    def remove_empty_directory(self, path: str) -> None:
        """Remove the directory if nothing is in it."""
        with contextlib.suppress(OSError):
            os.rmdir(self.full(path))


def _own(descriptor: int, stored: Stored) -> None:
    if os.geteuid() == 0:
        os.fchown(descriptor, stored.uid, stored.gid)


def _attributes(file: Union[str, int]) -> Dict[str, bytes]:
    """Extended attributes, with the access control list and the SELinux label; none where there can be none."""
    found: Dict[str, bytes] = {}
    try:
        names = os.listxattr(file)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return found
    for name in names:
        if name not in _OF_CONTENT:
            # One that vanishes meanwhile, or that this user may not read.
            with contextlib.suppress(OSError):
                found[name] = os.getxattr(file, name)
    return found


def _keep_attributes(full: str, descriptor: int) -> None:
    """A replaced file keeps its attributes; a new one has what the kernel gives it for its directory.

    :raises OSError: an access control list cannot be kept. Others, such as labels, the system's policy may refuse.
    """
    try:
        old = _attributes(full)
    except FileNotFoundError:
        return
    new = _attributes(descriptor)
    for name in {*old, *new}:
        if old.get(name) == new.get(name):
            continue
        try:
            if name in old:
                os.setxattr(descriptor, name, old[name])
            else:
                os.removexattr(descriptor, name)
        except OSError:
            if name == _ACL:
                raise


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # File systems that do not sync directories, such as some of FUSE and of networks.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
