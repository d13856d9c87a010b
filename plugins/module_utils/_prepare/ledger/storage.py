# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One run at a time changes a node: a lock on a directory, which the kernel releases with the process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Iterator

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files


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


def _acquire(full: str) -> int:
    while True:
        os.makedirs(full, mode=0o755, exist_ok=True)
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
