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


@contextmanager
def locked() -> Iterator[None]:
    """Let one build run at a time; the kernel drops the lock with the process, so it is never stale."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(key: str, build: Callable[[Path], None]) -> Path:
    """Return the cache entry, built in a scratch directory and renamed when complete."""
    with locked():
        target = CACHE / key
        if target.exists():
            return target
        for leftover in CACHE.glob("building-*"):
            shutil.rmtree(leftover)
        scratch = CACHE / f"building-{key}"
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
