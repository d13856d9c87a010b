# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A daemon of ours as one file, made of the files of this library that it needs: the same bytes for the same sources.

A daemon is named by the module that has its ``main``, such as ``_strategies.inject.daemon.main``.
"""

from __future__ import annotations

import ast
import io
import zipfile
from pathlib import Path
from typing import Dict, Iterator

_PREFIX = "ansible_collections.zerocopy.rdma.plugins.module_utils"
_LIBRARY = Path(__file__).resolve().parents[1]
# The oldest date that a zip file can have.
_DATE = (1980, 1, 1, 0, 0, 0)


def _imported(source: str) -> Iterator[str]:
    """Modules of the library that a file imports, by their names below it; some are names in a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(f"{_PREFIX}."):
            base = node.module[len(_PREFIX) + 1 :]
            for alias in node.names:
                yield f"{base}.{alias.name}" if base else alias.name
                if base:
                    yield base


def sources(start: str) -> Dict[str, str]:
    """The files of the library that the daemon needs, by the names of their modules."""
    found: Dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        path = _LIBRARY.joinpath(*name.split(".")).with_suffix(".py")
        if name not in found and path.is_file():
            found[name] = path.read_text(encoding="utf-8")
            waiting += _imported(found[name])
    return found


def build(start: str) -> bytes:
    """The content of the file, for ``python3 inject.pyz``; not compressed, so that it depends on no zlib."""
    files = {"__main__.py": f"import sys\n\nfrom {_PREFIX}.{start} import main\n\nsys.exit(main())\n"}
    for name, source in sources(start).items():
        path = Path(*_PREFIX.split("."), *name.split(".")).with_suffix(".py")
        files[str(path)] = source
        files.update({str(parent / "__init__.py"): "" for parent in path.parents if str(parent) != "."})
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text.encode())
    return b"#!/usr/bin/env python3\n" + content.getvalue()
