# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""References in docstrings and comments, such as ``:mod:`steps```, name something that exists."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
LIBRARY = PLUGINS / "module_utils"
REFERENCE = re.compile(r":(?P<kind>mod|class|func|meth|data|attr|exc):`(?P<name>[^`]+)`")


@functools.cache
def _names(source: Path) -> set[str]:
    """What a file defines or imports at its top level, and ``Class.member``, ``member`` for a class beside it."""
    found: set[str] = set()
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = {name for part in node.body for name in _defined(part)}
            found |= members | {f"{node.name}.{name}" for name in members}
        found.update(_defined(node))
    return found


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _file(start: Path, dotted: str) -> Path | None:
    """The file or package of this name, searched in the package of ``start`` and in those around it."""
    for package in [start.parent, *start.parents, LIBRARY]:
        if package != PLUGINS and PLUGINS not in package.parents:
            continue
        path = package / dotted.replace(".", "/")
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    return None


def _resolves(source: Path, kind: str, name: str) -> bool:
    if kind == "mod":
        return _file(source, name) is not None
    if name in _names(source):
        return True
    # The name of a file, then that of something in it; of a class, also its member.
    parts = name.split(".")
    files = ((_file(source, ".".join(parts[:cut])), ".".join(parts[cut:])) for cut in range(1, len(parts)))
    return any(file is not None and rest in _names(file) for file, rest in files)


@pytest.mark.parametrize("room", [*sorted(path.parent.name for path in LIBRARY.glob("*/__init__.py")), "."])
def test_references_name_something(room: str) -> None:
    folders = [LIBRARY / room] if room != "." else [PLUGINS / name for name in ("action", "modules", "plugin_utils")]
    sources = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    assert sources
    wrong = [
        f"{source.relative_to(PLUGINS)}: {match.group()}"
        for source in sources
        for match in REFERENCE.finditer(source.read_text())
        if not _resolves(source, match["kind"], match["name"])
    ]
    assert not wrong, "\n".join(wrong)
