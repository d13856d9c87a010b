# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Damages an expanded tree and puts it right again; test_properties.py in tests/unit chooses the damage."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import typing
from pathlib import Path
from typing import Any, Callable, Iterator
from unittest import mock

GARBAGE = (
    b"",
    b"\n",
    b"\0\0\0\0",
    b"a\0b\n",
    b"\xff\xfe\x80\n",
    b"-1\n",
    b"0x\n",
    b"0xffffffffffffffffffffffff\n",
    b"9" * 400 + b"\n",
    b"9" * 5000 + b"\n",
    b"0-4294967295\n",
    b"9" * 400 + b" Gb/sec (4X EDR)\n",
    b"9" * 400 + b".0 GT/s PCIe\n",
    b"1e999\n",
    b"nan\n",
    b": \n",
    b"4:\n",
    "\u00b2\u0664\n".encode(),
    "1-\u00b2\n".encode(),
    b"..\n",
    b"../../../../etc\n",
    b"/\n",
    b"x" * 5000 + b"\n",
    b"a b\tc\n" * 3,
    b"Max locked memory\n",
    b"ffff:ffff\n",
)
ERRORS = (errno.EINVAL, errno.EACCES, errno.EIO, errno.ENODEV, errno.ENOENT, errno.EPERM, errno.ESTALE)

NUMBERS = (b"", b"-1", b"0", b"9" * 20, b"9" * 400, b"9" * 5000, "\u00b2".encode(), "\u0664".encode(), b"1 1", b"\0")

LOSSES = ("remove", "empty", "half", "cut", "fault", "break")
KINDS = (*LOSSES, "write", "numbers", "copy", "loop", "up", "out", "relink", "directory")


class Change(typing.NamedTuple):
    kind: str
    path: str
    content: bytes = b""
    number: bytes = b""
    error: int = errno.EINVAL
    other: str = ""


class Kernel:
    """Stands between Python and the file system: answers some paths with an error and notes which were asked for."""

    def __init__(self, faults: dict[str, int]) -> None:
        self.faults = faults
        self.asked: set[str] = set()
        self.resolving = False

    def check(self, path: Any, follow: bool) -> None:
        if self.resolving or not isinstance(path, (str, os.PathLike)) or "\0" in os.fspath(path):
            return
        self.resolving = True
        try:
            head, tail = os.path.split(os.fspath(path))
            real = os.path.realpath(path) if follow else os.path.join(os.path.realpath(head), tail)
        finally:
            self.resolving = False
        self.asked.add(real)
        if real in self.faults:
            raise OSError(self.faults[real], os.strerror(self.faults[real]), path)

    def __enter__(self) -> Kernel:
        self.stack = contextlib.ExitStack()
        calls = (
            ("os.open", os.open, True),
            ("os.listdir", os.listdir, True),
            ("os.readlink", os.readlink, False),
        )
        for name, function, follow in calls:
            self.stack.enter_context(mock.patch(name, self.checked(function, follow)))
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stack.close()

    def absolute(self, path: Any, dir_fd: int | None) -> Any:
        if dir_fd is None or self.resolving:
            return path
        self.resolving = True
        try:
            return os.path.join(os.path.realpath(f"/proc/self/fd/{dir_fd}"), path)
        finally:
            self.resolving = False

    def checked(self, function: Callable[..., Any], follow: bool) -> Callable[..., Any]:
        def call(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            self.check(self.absolute(path, kwargs.get("dir_fd")), follow)
            return function(path, *args, **kwargs)

        return call


class Node:
    """An expanded tree that is damaged for one example and put right again afterwards."""

    def __init__(self, root: Path, gather: Callable[[Path], object]) -> None:
        self.root = root
        self.aside = root.with_name(root.name + ".aside")
        self.aside.mkdir(exist_ok=True)
        with Kernel({}) as kernel:
            gather(root)
        self.paths: list[str] = []
        # Most files are of a few kinds (gids, counters) and most kinds are never read. Each kind is to be hit
        # equally often, and those that are read most of the time.
        self.read: dict[str, list[str]] = {}
        self.other: dict[str, list[str]] = {}
        for directory, names, files in os.walk(root):
            for name in sorted([*names, *files]):
                full = os.path.join(directory, name)
                path = os.path.relpath(full, root)
                kinds = self.read if full in kernel.asked else self.other
                kinds.setdefault(re.sub(r"[0-9a-f]*\d+[0-9a-f]*", "#", name), []).append(path)
                self.paths.append(path)

    @contextlib.contextmanager
    def damaged(self, changes: list[Change]) -> Iterator[None]:
        undo: list[tuple[str, str]] = []
        faults: dict[str, int] = {}
        try:
            for number, change in enumerate(changes):
                path = os.path.join(self.root, change.path)
                if not os.path.lexists(path):
                    continue
                if change.kind == "fault":
                    faults[path] = change.error
                    continue
                stored = os.path.join(self.aside, str(number))
                os.rename(path, stored)
                undo.append((stored, path))
                self._replace(change, stored, path)
            with Kernel(faults) if faults else contextlib.nullcontext():
                yield
        finally:
            for stored, path in reversed(undo):
                if os.path.islink(path) or os.path.isfile(path):
                    os.unlink(path)
                elif os.path.isdir(path):
                    shutil.rmtree(path)
                os.rename(stored, path)

    def _replace(self, change: Change, stored: str, path: str) -> None:
        regular = os.path.isfile(stored) and not os.path.islink(stored)
        content = Path(stored).read_bytes() if regular else b""
        other = os.path.join(self.root, change.other)
        if change.kind == "write":
            Path(path).write_bytes(change.content)
        elif change.kind == "numbers":
            Path(path).write_bytes(re.sub(rb"\d+", change.number, content))
        elif change.kind == "cut":
            Path(path).write_bytes(re.sub(rb"\S+\s*$", b"", content, flags=re.MULTILINE))
        elif change.kind == "half":
            Path(path).write_bytes(content[: len(content) // 2])
        elif change.kind == "empty":
            Path(path).write_bytes(b"")
        elif change.kind == "copy":
            Path(path).write_bytes(Path(other).read_bytes() if os.path.isfile(other) else change.content)
        elif change.kind == "break":
            os.symlink("nowhere", path)
        elif change.kind == "loop":
            os.symlink(os.path.basename(path), path)
        elif change.kind == "up":
            os.symlink("..", path)
        elif change.kind == "out":
            os.symlink("/", path)
        elif change.kind == "relink":
            os.symlink(os.path.relpath(other, os.path.dirname(path)), path)
        elif change.kind == "directory":
            os.mkdir(path)
