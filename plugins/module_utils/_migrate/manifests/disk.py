# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Manifests on the disk, where others may write: regular files only, up to a size, and written below a directory only.

Whoever writes in a repository may put a link there that leads to a file of somebody else, or a pipe that never ends.
"""

from __future__ import annotations

import os
import stat
from typing import Dict, Iterator, List, NamedTuple, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

_ENDINGS = (".yml", ".yaml", ".json")
# What manifests and values of charts are made of, which is not YAML before.
TEMPLATES = (".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".gotmpl", ".template", ".tftpl", ".jsonnet", ".libsonnet")
# The third name that kustomize looks for.
_NAME = "Kustomization"


class FileError(Exception):
    """A file cannot be read or written; the text says which, and why. ``changed`` are the files that were written."""

    def __init__(self, text: str, changed: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.changed = list(changed)


class Place(NamedTuple):
    """A file: the directory that it was found in, its path from there, and what it is called in results."""

    root: str
    path: str
    below: str

    @property
    def full(self) -> str:
        return os.path.join(self.root, self.path)


def found(given: Sequence[str]) -> List[Place]:
    """The manifests of these files and directories, each once. Raises FileError."""
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
            inside = os.path.join(real, "")
            # They are not followed. Inside, what they lead to is found anyway.
            links = [name for name in names if not _real(directory, name).startswith(inside)]
            for name in sorted([*files, *links]):
                if name.lower().endswith((*_ENDINGS, *TEMPLATES)) or name == _NAME or name in links:
                    path = os.path.relpath(os.path.join(directory, name), real)
                    yield Place(real, path, path)
    else:
        raise FileError(f"{os.path.normpath(given)} is neither a file nor a directory")


def _real(directory: str, name: str) -> str:
    return os.path.realpath(os.path.join(directory, name))


def read(path: str) -> str:
    """Raises FileError."""
    if os.path.islink(path) and os.path.isdir(path):
        raise FileError(
            f"{path} is not read: it is a link to the directory {os.path.realpath(path)}, name that as well"
        )
    try:
        # A pipe is opened without waiting for its other end.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError(f"{path} cannot be read: it is not a regular file")
            content = writing.whole(file)
        if len(content) > writing.LARGEST:
            raise FileError(f"{path} cannot be read: it is larger than {writing.LARGEST >> 20} MiB")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error


def inside(place: Place) -> str:
    """The real path of what is written there. A link stays one: what it leads to is written. Raises FileError."""
    real, top = os.path.realpath(place.full), os.path.realpath(place.root)
    if real == top or os.path.commonpath([real, top]) != top:
        raise FileError(f"{place.full} cannot be written: it is a link to {real}, which is not in {place.root}")
    return real


def write(place: Place, text: str) -> None:
    """Whole or not at all, with the mode of what was there. Raises FileError."""
    real = inside(place)
    try:
        mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o644
        writing.replace(real, text.encode(), mode=mode)
    except OSError as error:
        raise FileError(f"{place.full} cannot be written: {error}") from error
