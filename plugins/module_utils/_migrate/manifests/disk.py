# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Manifests on the disk, where others may write: regular files only, up to a size, and written below a directory only.

Whoever writes in a repository may put a link there that leads to a file of somebody else, or a pipe that never ends.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from typing import Dict, Iterator, List, NamedTuple, Sequence

_ENDINGS = (".yml", ".yaml", ".json")
# An hour of parsing.
LARGEST = 16 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DiskError(Exception):
    """A file cannot be read or written; the text says which, and why."""


class Place(NamedTuple):
    """A file: the directory that it was found in, its path from there, and what it is called in results."""

    root: str
    path: str
    below: str

    @property
    def full(self) -> str:
        return os.path.join(self.root, self.path)


def found(given: Sequence[str]) -> List[Place]:
    """The manifests of these files and directories, each once. Raises DiskError."""
    places: Dict[str, Place] = {}
    for path in given:
        for place in _places(path):
            places.setdefault(place.full, place)
    below = {place.below for place in places.values()}
    if len(below) < len(places):
        # Files of the same name: all have the path below the directory that they have in common.
        common = os.path.commonpath([os.path.realpath(path) for path in given])
        return [place._replace(below=os.path.relpath(place.full, common)) for place in places.values()]
    return list(places.values())


def _places(given: str) -> Iterator[Place]:
    real = os.path.realpath(given)
    if os.path.isfile(real):
        yield Place(*os.path.split(real), os.path.basename(os.path.normpath(given)))
    elif os.path.isdir(real):
        for directory, names, files in os.walk(real):
            # Directories of the repository itself, such as .git.
            names[:] = sorted(name for name in names if not name.startswith("."))
            for name in sorted(files):
                if name.lower().endswith(_ENDINGS):
                    path = os.path.relpath(os.path.join(directory, name), real)
                    yield Place(real, path, path)
    else:
        raise DiskError(f"{os.path.normpath(given)} is neither a file nor a directory")


def read(path: str) -> str:
    """Raises DiskError."""
    try:
        # A pipe is opened without waiting for its other end.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DiskError(f"{path} cannot be read: it is not a regular file")
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DiskError(f"{path} cannot be read: it is larger than {LARGEST >> 20} MiB")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DiskError(f"{path} cannot be read: {error}") from error


def inside(root: str, below: str) -> str:
    """The real path of what is written there. A link stays one: what it leads to is written. Raises DiskError."""
    path, top = os.path.join(root, below), os.path.realpath(root)
    real = os.path.realpath(path)
    if real == top or os.path.commonpath([real, top]) != top:
        raise DiskError(f"{path} cannot be written: it is a link to {real}, which is not in {root}")
    return real


def write(root: str, below: str, text: str) -> None:
    """Whole or not at all, with the mode of what was there. Raises DiskError."""
    real, top = inside(root, below), os.path.realpath(root)
    parent, name = os.path.split(os.path.relpath(real, top))
    try:
        directory = _directory(top, parent)
        try:
            _replace(directory, name, text)
        finally:
            os.close(directory)
    except OSError as error:
        raise DiskError(f"{os.path.join(root, below)} cannot be written: {error}") from error


def _directory(top: str, path: str) -> int:
    """A directory, made if it is not there. A link that somebody puts there meanwhile is not followed."""
    os.makedirs(top, exist_ok=True)
    found = os.open(top, _DIRECTORY)
    try:
        for step in path.split(os.sep) if path else ():
            with contextlib.suppress(FileExistsError):
                os.mkdir(step, dir_fd=found)
            outer = found
            found = os.open(step, _DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
            os.close(outer)
    except BaseException:
        os.close(found)
        raise
    return found


def _replace(directory: int, name: str, text: str) -> None:
    temporary = f".rdma-migrate-{secrets.token_hex(8)}"
    with open(os.open(temporary, _NEW, 0o600, dir_fd=directory), "wb") as file:
        try:
            try:
                mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode & 0o777
            except FileNotFoundError:
                mode = 0o644
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            os.unlink(temporary, dir_fd=directory)
            raise
