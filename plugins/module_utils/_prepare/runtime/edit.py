# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Changing single lines of a user's TOML, marked so that they can be taken out again exactly."""

from __future__ import annotations

import re
from typing import Any, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import Document, Path, header, quoted

MARK = "# zerocopy.rdma"
_OURS = re.compile(r"^.*[ \t]# zerocopy\.rdma(?:, (?:was: (?P<was>.*)|(?P<open>after an open line)))?$")
_LEFT = re.compile(r"""^(?:[^"'=]|"[^"]*"|'[^']*')*=[ \t]*""")


def strip(text: str) -> str:
    """The text as it was before our edits; whatever else changed since stays."""
    kept: List[str] = []
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        ours = _OURS.match(body) if MARK in body else None
        if ours is None:
            kept.append(line)
        elif ours.group("was") is not None:
            kept.append(ours.group("was") + line[len(body) :])
        elif ours.group("open") and kept:
            kept[-1] = kept[-1].rstrip("\r\n")
    return "".join(kept)


def masked(text: str) -> str:
    """A Go template as TOML: lines with template actions are comments, line numbers stay."""
    return "".join("#\n" if "{{" in line else line for line in text.splitlines(keepends=True))


def set_keys(text: str, name: str, keys: Sequence[Tuple[Path, Any]]) -> str:
    """The text with these keys set, by marked lines.

    :raises HostError: a key is written in a way that cannot be changed by line.
    """
    # A line goes below its table's header, so the last one comes first.
    for path, value in reversed(keys):
        text = _set(text, name, path, value)
    return text


def _set(text: str, name: str, path: Path, value: Any) -> str:
    document = Document(masked(text), name)
    lines = text.splitlines(keepends=True)
    at = document.keys.get(path)
    assignment = f"{path[-1]} = {quoted(value)}"
    if at is not None:
        if at.first != at.last:
            raise HostError(f"{name}, line {at.first + 1}: put this key on one line, so that it can be changed")
        left = _LEFT.match(lines[at.first])
        return _replace(lines, at.first, (left.group() if left else "") + quoted(value))
    line = document.tables.get(path[:-1])
    if line is not None:
        indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
        return _insert(lines, line + 1, [f"{indent}  {assignment}"])
    found = document.get(path[:-1])
    if found is not None and getattr(found, "how", "") != "implicit":
        raise HostError(
            f"{name}: write {'.'.join(path[:-1])} as a table with a header, so that keys can be added to it"
        )
    return _insert(lines, len(lines), [header(path[:-1]), f"  {assignment}"])


def append(text: str, tables: Sequence[Tuple[Path, Sequence[Tuple[str, Any]]]]) -> str:
    """The text with whole new tables at its end."""
    new: List[str] = []
    for path, keys in tables:
        new.append(header(path))
        new += [f"  {key} = {quoted(value)}" for key, value in keys]
    return _insert(text.splitlines(keepends=True), len(text.splitlines()), new)


def add_imports(text: str, name: str, paths: Sequence[str]) -> str:
    """The text with these files added to its ``imports``.

    :raises HostError: ``imports`` is no array.
    """
    document = Document(text, name)
    lines = text.splitlines(keepends=True)
    at = document.keys.get(("imports",))
    entries = ", ".join(quoted(path) for path in paths)
    if at is None:
        version = document.keys.get(("version",))
        return _insert(lines, version.last + 1 if version else 0, [f"imports = [{entries}]"])
    if not isinstance(document.get(("imports",)), list):
        raise HostError(f"{name}, line {at.first + 1}: imports must be a list of files")
    inner = lines[at.last][: at.column - 1]
    before = "".join([*lines[at.first : at.last], inner])
    open_end = _code(before).rstrip().endswith((",", "["))
    return _replace(lines, at.last, f"{inner.rstrip()}{'' if open_end else ', '}{entries}]")


def _code(text: str) -> str:
    """Without comments, as far as telling the last character needs it."""
    return "\n".join(re.sub(r"""^((?:[^"'#]|"[^"]*"|'[^']*')*)#.*""", r"\1", line) for line in text.split("\n"))


def _replace(lines: List[str], index: int, new: str) -> str:
    old = lines[index]
    body = old.rstrip("\r\n")
    return "".join([*lines[:index], f"{new}  {MARK}, was: {body}{old[len(body) :]}", *lines[index + 1 :]])


def _insert(lines: List[str], index: int, new: Sequence[str]) -> str:
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    made = [f"{line}  {MARK}{end}" for line in new]
    if index and not lines[index - 1].endswith("\n"):
        made[0] = f"{end}{new[0]}  {MARK}, after an open line{end}"
    return "".join([*lines[:index], *made, *lines[index:]])
