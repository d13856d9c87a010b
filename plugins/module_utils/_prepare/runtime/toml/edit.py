# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Edits single lines of a user's TOML, marked so that the edits can be reverted exactly."""

from __future__ import annotations

import re
from typing import Any, Callable, Collection, Dict, List, Match, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    Path,
    TomlDocument,
    header,
    lines_of,
    quoted,
)

MARK = "# zerocopy.rdma"
_OURS = re.compile(
    r"(?P<new>[^\n]*?)[ \t]+# zerocopy\.rdma(?:, (?:was: (?P<was>[^\n]*)|(?P<open>after an open line)))?"
)
_LEFT = re.compile(r"""^(?:[^"'=]|"[^"]*"|'[^']*')*=[ \t]*""")


def strip(
    text: str,
    original: Optional[str],
    named: Callable[[str], bool] = lambda path: True,
    copied: Callable[[Path], bool] = lambda path: False,
) -> str:
    """The text without our edits; other changes made since are kept.

    ``original`` is the file before our first edit, ``None`` where there was none. Its lines are not
    ours, even if they look like it, and neither are lines within a multi-line value.

    A line of ours that others need loses only its mark: ``imports`` to which they have added files other than ours
    (``named``), the header of a table to which they have added something, and the keys of such a table that stand for
    defaults which the table would lose (``copied``).
    """
    ours = marked(text, original)
    kept: List[str] = []
    shared = _shared(text, ours, named, copied) if ours else set()
    opened: Dict[int, str] = {}
    for number, line in enumerate(lines_of(text)):
        found, end = ours.get(number), line[len(line.rstrip("\r\n")) :]
        if found is not None and number not in shared and found.group("was") is None:
            if found.group("open") and kept:
                opened.setdefault(len(kept) - 1, kept[-1])
                kept[-1] = kept[-1].rstrip("\r\n")
            continue
        if line.strip():
            # What others have added since needs the end of the line above it.
            for at, whole in opened.items():
                kept[at] = whole
            opened.clear()
        kept.append(line if found is None else found.group("new" if number in shared else "was") + end)
    return "".join(kept)


def marked(text: str, original: Optional[str]) -> Dict[int, Match[str]]:
    """Our lines by their numbers."""
    if MARK not in text:
        return {}
    theirs = {line.rstrip("\r\n") for line in lines_of(original or "")}
    inside = _inside(text)
    found: Dict[int, Match[str]] = {}
    for number, line in enumerate(lines_of(text)):
        body = line.rstrip("\r\n")
        ours = _OURS.fullmatch(body) if MARK in body and body not in theirs and number not in inside else None
        if ours is not None:
            found[number] = ours
    return found


def _inside(text: str) -> Set[int]:
    """Lines that end within a multi-line value."""
    try:
        statements = TomlDocument(masked(text), "").keys.values()
    except HostError:
        return set()
    return {number for at in statements for number in range(at.first, at.last)}


def _shared(
    text: str, ours: Dict[int, Match[str]], named: Callable[[str], bool], copied: Callable[[Path], bool]
) -> Set[int]:
    """Our lines without which something that others have added would be lost, or mean something else."""
    try:
        document = TomlDocument(masked(text), "")
    except HostError:
        return set()
    added = {number for number, line in ours.items() if line.group("was") is None}
    theirs = {path: at.first for path, at in document.keys.items() if at.last not in added}
    tables = {path: number for path, number in document.tables.items() if number not in added}
    kept = _shared_imports(text, document, ours, named)
    for path, number in document.tables.items():
        if number not in added:
            continue
        end = min((other for other in document.tables.values() if other > number), default=len(text))
        defaults = {
            line
            for key, at in document.keys.items()
            if key[: len(path)] == path and at.last in added and copied(key)
            for line in (at.last, document.tables.get(key[:-1], at.last))
        }
        below = any(other[: len(path)] == path for other in [*theirs, *tables])
        if any(number < at < end for at in theirs.values()) or (defaults and below):
            kept |= {number, *defaults}
    return kept


def _shared_imports(
    text: str, document: TomlDocument, ours: Dict[int, Match[str]], named: Callable[[str], bool]
) -> Set[int]:
    at = document.keys.get(("imports",))
    line = ours.get(at.last) if at else None
    if at is None or line is None:
        return set()
    before = "".join(lines_of(text)[at.first : at.last]) + (line.group("was") or "")
    try:
        sides = [document.get(("imports",)), TomlDocument(before, "").get(("imports",), [])]
    except HostError:
        return {at.last}
    now, former = ([entry for entry in side if not named(str(entry))] for side in sides)
    return set() if now == former else {at.last}


def without_references(text: str, original: Optional[str], ours: Collection[str], key: str) -> str:
    """The text without the paths ``ours`` in ``imports`` and as the value of any ``key``.

    A program that rewrites the file keeps them and drops our comments. Values of ``original`` are restored.
    """
    if not any(path in text for path in ours):
        return text
    try:
        document, former = TomlDocument(masked(text), ""), TomlDocument(masked(original or ""), "")
    except HostError:
        return text
    lines = lines_of(text)
    for path, at in sorted(document.keys.items(), key=lambda item: -item[1].first):
        value = document.get(path)
        if path == ("imports",) and isinstance(value, list):
            new: Any = [entry for entry in value if entry not in ours]
            same = new == value
            new = None if not new and former.get(path) is None else new
        else:
            same = path[-1] != key or not isinstance(value, str) or value not in ours
            new = next((former.get(other) for other in former.keys if other[-2:] == path[-2:]), None)
        if not same and new != value:
            left = _LEFT.match(lines[at.first])
            rest = lines[at.last][at.column :]
            lines[at.first : at.last + 1] = (
                [] if new is None else [f"{left.group() if left else ''}{quoted(new)}{rest}"]
            )
    return "".join(lines)


def masked(text: str) -> str:
    """A Go template as TOML: lines with template actions become comments, so that line numbers are kept."""
    return "".join("#\n" if "{{" in line else line for line in lines_of(text))


def set_keys(text: str, name: str, keys: Sequence[Tuple[Path, Any]]) -> str:
    """The text with these keys set, by marked lines.

    :raises HostError: a key is written in a way that cannot be changed by line.
    """
    document = TomlDocument(masked(text), name)
    lines = lines_of(text)
    replaced: Dict[int, str] = {}
    below: Dict[int, List[str]] = {}
    tables: Dict[Path, List[Tuple[str, Any]]] = {}
    for path, value in keys:
        at = document.keys.get(path)
        line = document.tables.get(path[:-1])
        if at is not None:
            if at.first != at.last:
                raise HostError(f"{name}, line {at.first + 1}: put this key on a single line so that it can be changed")
            left = _LEFT.match(lines[at.first])
            replaced[at.first] = (left.group() if left else "") + quoted(value)
        elif line is not None:
            indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
            below.setdefault(line, []).append(f"{indent}  {path[-1]} = {quoted(value)}")
        else:
            _addable(document, name, path[:-1])
            tables.setdefault(path[:-1], []).append((path[-1], value))
    # From the end, so that earlier line numbers stay valid.
    lines = _insert(lines, len(lines), _rows(list(tables.items()))) if tables else lines
    for number in sorted({*replaced, *below}, reverse=True):
        if number in below:
            lines = _insert(lines, number + 1, below[number])
        else:
            lines = _replace(lines, number, replaced[number])
    return "".join(lines)


def _addable(document: TomlDocument, name: str, path: Path) -> None:
    found = document.get(path)
    if found is not None and getattr(found, "how", "") != "implicit":
        raise HostError(f"{name}: write {'.'.join(path)} as a table with a header so that keys can be added to it")


def append(text: str, tables: Sequence[Tuple[Path, Sequence[Tuple[str, Any]]]]) -> str:
    """The text with whole new tables at its end."""
    lines = lines_of(text)
    return "".join(_insert(lines, len(lines), _rows(tables)))


def _rows(tables: Sequence[Tuple[Path, Sequence[Tuple[str, Any]]]]) -> List[str]:
    rows: List[str] = []
    for path, keys in tables:
        rows.append(header(path))
        rows += [f"  {key} = {quoted(value)}" for key, value in keys]
    return rows


def add_imports(text: str, name: str, paths: Sequence[str]) -> str:
    """The text with these files added to its ``imports``.

    :raises HostError: ``imports`` is no array.
    """
    document = TomlDocument(text, name)
    lines = lines_of(text)
    at = document.keys.get(("imports",))
    entries = ", ".join(quoted(path) for path in paths)
    if at is None:
        version = document.keys.get(("version",))
        return "".join(_insert(lines, version.last + 1 if version else 0, [f"imports = [{entries}]"]))
    if not isinstance(document.get(("imports",)), list):
        raise HostError(f"{name}, line {at.first + 1}: imports must be a list of files")
    inner = lines[at.last][: at.column - 1]
    before = "".join([*lines[at.first : at.last], inner])
    open_end = _code(before).rstrip().endswith((",", "["))
    return "".join(_replace(lines, at.last, f"{inner.rstrip()}{'' if open_end else ', '}{entries}]"))


def _code(text: str) -> str:
    """Without comments, precise enough to tell the last character."""
    return "\n".join(re.sub(r"""^((?:[^"'#]|"[^"]*"|'[^']*')*)#.*""", r"\1", line) for line in text.split("\n"))


def _replace(lines: List[str], index: int, new: str) -> List[str]:
    old = lines[index]
    body = old.rstrip("\r\n")
    return [*lines[:index], f"{new}  {MARK}, was: {body}{old[len(body) :]}", *lines[index + 1 :]]


def _insert(lines: List[str], index: int, new: Sequence[str]) -> List[str]:
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    made = [f"{line}  {MARK}{end}" for line in new]
    if index and not lines[index - 1].endswith("\n"):
        made[0] = f"{end}{new[0]}  {MARK}, after an open line{end}"
    return [*lines[:index], *made, *lines[index:]]
