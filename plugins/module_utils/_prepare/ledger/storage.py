# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The directory of the ledgers: replaced files as they were, and a lock, by which one run at a time changes a node."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import Iterable, Iterator, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored, is_temporary
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.writing import make_directories

# Longer than any run, of which an import of images and a restart of the runtime take longest.
_PATIENCE = 900.0
_INTERVAL = 0.1
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def lock_of(directory: str) -> str:
    """The file that is locked. Not the directory: everybody can open that, and could keep a lock on it for ever."""
    return f"{directory}/lock"


def is_unused(files: Files, directory: str) -> bool:
    """Whether it is there and has nothing in it, as a run leaves it that is killed at its start or end."""
    return files.exists(directory) and files.names(directory) in ([], ["lock"])


@contextlib.contextmanager
def exclusive(files: Files, directory: str) -> Iterator[None]:
    """Wait for the lock and hold it. The directory exists meanwhile, and is removed at the end if it is empty.

    :raises HostError: the directory cannot be made or locked, or another run does not end.
    """
    path = lock_of(directory)
    full = files.full(directory)
    try:
        descriptor = _acquire(full, path)
    except OSError as error:
        raise HostError(f"{directory}: {error.strerror}") from error
    try:
        yield
    finally:
        try:
            if is_unused(files, directory):
                # Those who wait for it notice, and begin anew.
                _unlink(lock_of(full))
                files.remove_empty_directory(directory)
        finally:
            _release(descriptor)


@contextlib.contextmanager
def shared(files: Files, directory: str) -> Iterator[bool]:
    """Wait until no run holds the lock, and keep others from taking it; false without a lock, which is not made.

    :raises HostError: the lock cannot be used, or another run does not end.
    """
    path = lock_of(directory)
    try:
        descriptor = _share(lock_of(files.full(directory)), path)
    except OSError as error:
        raise HostError(f"{path}: {error.strerror}") from error
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _release(descriptor)


def _release(descriptor: int) -> None:
    # Not only by closing it: a child process may have inherited the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _share(full: str, path: str) -> Optional[int]:
    while True:
        try:
            descriptor = os.open(full, _FLAGS)
        except FileNotFoundError:
            return None
        if not _is_ours(descriptor):
            os.close(descriptor)
            return None
        # The run that held it may have removed the lock, or another one made a new one.
        if _holds(descriptor, fcntl.LOCK_SH, full, path):
            return descriptor


def _acquire(directory: str, path: str) -> int:
    full = lock_of(directory)
    while True:
        make_directories(directory)
        try:
            descriptor = os.open(full, _FLAGS | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue
        if not _is_ours(descriptor):
            os.close(descriptor)
            _unlink(full)
            continue
        # The holder before us may have removed it, and somebody else may have locked a new one.
        if _holds(descriptor, fcntl.LOCK_EX, full, path):
            return descriptor


def _is_ours(descriptor: int) -> bool:
    """Whether nobody else can open it, and so hold it for ever: the directory may have been writable for all before."""
    status = os.fstat(descriptor)
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _holds(descriptor: int, kind: int, full: str, path: str) -> bool:
    """Whether the lock is held now; else it was one of a file that is gone, and is closed.

    :raises HostError: another run does not end.
    """
    try:
        _wait(descriptor, kind, path)
        if _is_at(descriptor, full):
            return True
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return False


def _wait(descriptor: int, kind: int, path: str) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise HostError(
                    f"another run has held {path} for {_PATIENCE:.0f} s, so nothing was done here: wait until it ends,"
                    f" or find its process with 'fuser -v {path}' and end it"
                ) from error
        time.sleep(_INTERVAL)


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
