# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The directory of the ledgers: replaced files as they were, and a lock, by which one run at a time changes a node."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Iterable, Iterator, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored, is_temporary
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.writing import make_directories


@contextlib.contextmanager
def exclusive(files: Files, directory: str) -> Iterator[None]:
    """Wait for the lock and hold it. The directory exists meanwhile, and is removed at the end if it is empty.

    :raises HostError: the directory cannot be made or locked.
    """
    full = files.full(directory)
    try:
        descriptor = _acquire(full)
    except OSError as error:
        raise HostError(f"{directory}: {error.strerror}") from error
    try:
        yield
    finally:
        try:
            files.remove_empty_directory(directory)
        finally:
            # Not only by closing it: a child process may have inherited the descriptor.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


@contextlib.contextmanager
def shared(files: Files, directory: str) -> Iterator[bool]:
    """Wait until no run holds the lock, and keep others from taking it; false without the directory, which stays so.

    :raises HostError: the directory cannot be locked.
    """
    full = files.full(directory)
    try:
        descriptor = _share(full)
    except OSError as error:
        raise HostError(f"{directory}: {error.strerror}") from error
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _share(full: str) -> Optional[int]:
    while True:
        try:
            descriptor = os.open(full, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            # The run that held it may have removed the directory, or another one made a new one.
            if _is_at(descriptor, full):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _acquire(full: str) -> int:
    while True:
        make_directories(full)
        try:
            descriptor = os.open(full, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # The holder before us may have removed it, and somebody else may have locked a new one.
            if _is_at(descriptor, full):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, full: str) -> bool:
    try:
        there = os.stat(full)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


class Originals:
    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self.directory = directory

    def place(self, path: str) -> str:
        """Where the original of ``path`` is kept."""
        return self.directory + path

    def keep(self, path: str, original: Stored) -> None:
        """Save it for root only: it may hold secrets."""
        self._files.write(self.place(path), Stored(original.content, 0o600, os.geteuid(), os.getegid()))

    def stored(self, path: str) -> Optional[Stored]:
        return self._files.stored(self.place(path))

    def saved(self) -> List[str]:
        """Full paths of all files there, half-written ones as well."""
        top = self._files.full(self.directory)
        return [os.path.join(directory, name) for directory, _below, names in os.walk(top) for name in names]

    def paths(self) -> List[str]:
        """Files that have an original."""
        top = self._files.full(self.directory)
        return [full[len(top) :] for full in self.saved() if not is_temporary(full)]

    def drop(self, paths: Iterable[str]) -> None:
        """Remove the originals of ``paths``, what was half-written, and directories that are then empty.

        :raises HostError: one cannot be removed.
        """
        for full in [*filter(is_temporary, self.saved()), *(self._files.full(self.place(path)) for path in paths)]:
            _unlink(full)
        for directory, _below, _names in os.walk(self._files.full(self.directory), topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)


def _unlink(full: str) -> None:
    try:
        os.unlink(full)
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError(f"{full}: {error.strerror}") from error
