# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A local user without any rights, played by a process of its own, and a directory that this user can reach."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

NOBODY = 65534


def need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user; CI runs this as root")


@contextlib.contextmanager
def within_reach() -> Iterator[Path]:
    """A directory that everybody can read; that of pytest is its user's only. Needs root."""
    need_root()
    path = Path(tempfile.mkdtemp(prefix="zerocopy-rdma-test-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def as_nobody(act: Callable[[], Any]) -> Any:
    """What ``act`` returns, or the error it raises, when the user calls it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become_nobody()
            try:
                answer: Any = act()
            except Exception as error:  # pylint: disable=broad-except
                answer = error
            os.write(writing, pickle.dumps(answer))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(found)


@contextlib.contextmanager
def nobody_keeps(begin: Callable[[], Any]) -> Iterator[None]:
    """The user calls ``begin`` and keeps what it returns, such as an open file, until the end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become_nobody()
            kept = None
            with contextlib.suppress(OSError):
                kept = begin()
            os.write(writing, b"." if kept is not None else b"-")
            signal.pause()
        finally:
            os._exit(0)
    try:
        os.close(writing)
        os.read(reading, 1)
        yield
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
