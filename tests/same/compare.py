# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Compares the results of both trees, byte for byte, except for the differences that accepted.yml lists."""

from __future__ import annotations

import difflib
import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.zerocopy.rdma.tests.bench.trees import TreeError

# Of one file; a manifest that is new altogether says nothing in its thousandth line.
_LINES = 60


@dataclass
class Accepted:
    """One difference that is meant, and what of it was seen."""

    path: str
    lines: list[str]
    used: set[str] = field(default_factory=set)

    def unused(self) -> list[str]:
        return sorted(set(self.lines or [""]) - self.used)


def accepted(entries: list[dict[str, Any]]) -> list[Accepted]:
    """The entries of accepted.yml; each has to have a reason."""
    for entry in entries:
        known = {"path", "reason", "lines"}
        if not entry.get("path") or not str(entry.get("reason") or "").strip() or set(entry) - known:
            raise TreeError(f"accepted.yml: {entry}: it must have path, reason and, where wanted, lines")
    return [Accepted(entry["path"], list(entry.get("lines") or [])) for entry in entries]


def compare(prefix: str, old: Path, new: Path, meant: list[Accepted]) -> tuple[int, list[str]]:
    """How many files were compared, and a text for each difference that is not accepted.

    :arg prefix: of the names of files, ``<part>/<scenario>``.
    """
    before, after = _files(old), _files(new)
    names = sorted({*before, *after})
    found = []
    for name in names:
        if before.get(name) == after.get(name):
            continue
        text, changed = _difference(name, before.get(name), after.get(name))
        if not _accepted([entry for entry in meant if fnmatch.fnmatch(f"{prefix}/{name}", entry.path)], changed):
            found.append(f"--- {prefix}/{name}\n{text}")
    return len(names), found


def _accepted(entries: list[Accepted], changed: list[str]) -> bool:
    """Whether a file to which these entries apply may differ in these lines. Notes every pattern that matched."""
    whole = [entry for entry in entries if not entry.lines]
    for entry in whole:
        entry.used.add("")
    left = set(range(len(changed)))
    for entry in entries:
        for pattern in entry.lines:
            found = {number for number, line in enumerate(changed) if re.search(pattern, line)}
            left -= found
            entry.used.update([pattern] if found else [])
    return bool(whole) or bool(changed and not left)


def _files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _difference(name: str, old: bytes | None, new: bytes | None) -> tuple[str, list[str]]:
    """A text for people, and the lines that differ (none where they are not text).

    Of a file that one tree alone has, the first is ``only in ...``: an empty one has no other.
    """
    try:
        texts = [(one or b"").decode() for one in (old, new)]
    except UnicodeDecodeError:
        return f"binary, {len(old or b'')} and {len(new or b'')} bytes", []
    state = ["only in BASE"] if new is None else ["only in the working tree"] if old is None else []
    before, after = (text.splitlines() for text in texts)
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    shown = lines[:_LINES]
    if len(lines) > _LINES:
        shown.append(f"... {len(lines) - _LINES} more lines")
    return "\n".join([*state, *shown]), [*state, *(line for line in lines if line.startswith(("+", "-")))]
