# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Things that take minutes to make, kept under a name that says what they are made of."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .paths import CACHE
from .progress import say


@contextmanager
def locked(root: Path = CACHE) -> Iterator[None]:
    """Let one build run at a time; the kernel drops the lock with the process, so it is never stale."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting until another build in {root} is done")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def content(directory: Path) -> bytes:
    """Names and contents of all files below a directory, for the digest in a key."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return b"".join(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes() for path in files)


def entry(key: str, build: Callable[[Path], None], root: Path = CACHE) -> Path:
    """Return the cache entry, built in a scratch directory and renamed when complete."""
    target = root / key
    if target.exists():
        return target
    with locked(root):
        if target.exists():
            return target
        for leftover in root.glob("building-*"):
            shutil.rmtree(leftover)
        scratch = root / f"building-{key}"
        scratch.mkdir()
        build(scratch)
        os.rename(scratch, target)
        return target


def prune(keep: set[str], *kinds: str) -> list[str]:
    """Remove the entries whose names begin with one of the kinds and are not to be kept; return their names."""
    gone = []
    with locked():
        for kind in kinds:
            for path in sorted(CACHE.glob(f"{kind}-*")):
                if path.name not in keep:
                    shutil.rmtree(path)
                    gone.append(path.name)
    return gone
