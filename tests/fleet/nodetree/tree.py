# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A tree of files, directories and symbolic links, kept in memory until it is written in one go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

Content = Union[str, bytes, int]


class Tree:
    """Paths are relative to the node's ``/`` and have no leading slash."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.dirs: set[str] = set()

    def file(self, path: str, content: Content) -> None:
        """Text ends with a newline, as attributes of sysfs do; bytes are taken as they are."""
        self.files[path] = content if isinstance(content, bytes) else f"{content}\n".encode()

    def attrs(self, directory: str, values: dict[str, Content]) -> None:
        for name, value in values.items():
            self.file(f"{directory}/{name}", value)

    def link(self, path: str, target: str) -> None:
        """``target`` is relative to ``/`` as well; what is written is relative to the link, as in the real sysfs."""
        self.links[path] = os.path.relpath(target, os.path.dirname(path))

    def raw_link(self, path: str, target: str) -> None:
        self.links[path] = target

    def directory(self, path: str) -> None:
        self.dirs.add(path)

    def write(self, root: Path) -> None:
        needed: set[str] = set()
        for path in [*self.files, *self.links]:
            needed.add(os.path.dirname(path))
        needed |= self.dirs
        base = str(root)
        made: set[str] = set()
        for path in sorted(needed):
            if path not in made:
                os.makedirs(f"{base}/{path}", exist_ok=True)
                made.add(path)
        for path, content in self.files.items():
            handle = os.open(f"{base}/{path}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                if content:
                    os.write(handle, content)
            finally:
                os.close(handle)
        for path, target in self.links.items():
            os.symlink(target, f"{base}/{path}")
