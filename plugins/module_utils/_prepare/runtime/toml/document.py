# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reads TOML 1.0 as container runtimes use it, with line numbers, and writes single values and headers."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, Dict, List, NoReturn, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

Path = Tuple[str, ...]

# A key that needs no quotes.
BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_INTEGER = re.compile(r"[+-]?(?:0|[1-9](?:_?[0-9])*)(?![\w.+:-])")
_RADIX = re.compile(r"0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*")
_NUMBER = re.compile(
    r"[+-]?(?:inf|nan|(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?)(?![\w.+:-])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# What a byte that is not UTF-8 becomes when a file is read with "surrogateescape".
_NOT_UTF_8 = re.compile(r"[\ud800-\udfff]")
_STRINGS = [
    (re.compile(r'"""\n?((?:\\[\s\S]|[^"\\]|"{1,2}(?!"))*?)"""("{0,2})(?!")'), True),
    (re.compile(r"'''\n?((?:[^']|'{1,2}(?!'))*?)'''('{0,2})(?!')"), False),
    (re.compile(r'"(?!"")((?:\\.|[^"\\\n])*)"'), True),
    (re.compile(r"'(?!'')([^'\n]*)'"), False),
]
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[ \t]*\n[ \t\n]*|[\s\S])")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


class Table(Dict[str, Any]):
    """A table and how it came to be: ``header``, ``implicit`` (only a parent so far), ``dotted`` or ``inline``."""

    how = "implicit"


class _Tables(List[Table]):
    """The tables of one ``[[header]]``."""


@dataclass(frozen=True)
class Statement:
    """Position of ``key = value``: first and last line, from 0, and the column after the value in the last line."""

    first: int
    last: int
    column: int


class TomlDocument:
    """``data``, and the positions of explicit tables and their keys; tables in arrays are in ``data`` only."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.data = Table()
        self.tables: Dict[Path, int] = {}
        self.keys: Dict[Path, Statement] = {}
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._ends = [match.start() for match in re.finditer("\n", self._text)]
        try:
            self._read()
        except RecursionError:
            self._fail("too many brackets within brackets")

    def get(self, path: Path, default: Any = None) -> Any:
        return lookup(self.data, path, default)

    def _line(self, at: int) -> int:
        return bisect_left(self._ends, at)

    def _fail(self, what: str, at: int = -1) -> NoReturn:
        raise HostError(f"{self.name}, line {self._line(self._at if at < 0 else at) + 1}: {what}")

    def _take(self, pattern: Any) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return str(found.group())

    def _is(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _read(self) -> None:
        bad = _NOT_UTF_8.search(self._text)
        if bad:
            self._fail("the text is not UTF-8, as TOML has to be", bad.start())
        bad = _CONTROL.search(self._text)
        if bad:
            self._fail(f"control character {bad.group()!r}", bad.start())
        where, table, listed = (), self.data, False  # type: Path, Table, bool
        while True:
            self._take(_GAP)
            if self._at >= len(self._text):
                return
            start = self._at
            if self._is("[["):
                where, listed = self._header("]]"), True
                table = self._open(where, array=True)
            elif self._is("["):
                where = self._header("]")
                table = self._open(where, array=False)
                listed = self._within_array(where)
                if not listed:
                    self.tables[where] = self._line(start)
            else:
                key = self._assign(table)
                if not listed:
                    last = self._line(self._at)
                    column = self._at - (self._text.rfind("\n", 0, self._at) + 1)
                    self.keys[where + key] = Statement(self._line(start), last, column)
            self._end_of_line()

    def _end_of_line(self) -> None:
        self._take(_BLANK)
        if self._at < len(self._text) and self._text[self._at] not in "#\n":
            self._fail(f"{self._rest()!r} after the end of a value or header")

    def _rest(self) -> str:
        return self._text[self._at : self._at + 20].split("\n")[0]

    def _header(self, close: str) -> Path:
        self._take(_BLANK)
        path = self._path()
        if not self._is(close):
            self._fail(f"a header ends with {close!r}, not {self._rest()!r}")
        return path

    def _path(self) -> Path:
        parts = []
        while True:
            if self._text.startswith(("'", '"'), self._at):
                parts.append(self._string(multiline=False))
            else:
                parts.append(self._take(BARE) or self._fail(f"a key cannot begin with {self._rest()!r}"))
            self._take(_BLANK)
            if not self._is("."):
                return tuple(parts)
            self._take(_BLANK)

    def _within_array(self, path: Path) -> bool:
        node: Any = self.data
        for part in path:
            node = node[part]
            if isinstance(node, _Tables):
                return True
        return False

    def _open(self, path: Path, array: bool) -> Table:
        node = self.data
        for part in path[:-1]:
            child = node.setdefault(part, Table())
            child = child[-1] if isinstance(child, _Tables) else child
            if not isinstance(child, Table) or child.how == "inline":
                self._fail(f"{part!r} is not a table and cannot contain tables")
            node = child
        name, made = path[-1], Table()
        made.how = "header"
        if array:
            tables = node.setdefault(name, _Tables())
            if not isinstance(tables, _Tables):
                self._fail(f"{'.'.join(path)} is already defined as something else")
            tables.append(made)
            return made
        found = node.setdefault(name, made)
        if found is not made and not (isinstance(found, Table) and found.how == "implicit"):
            self._fail(f"{'.'.join(path)} is defined a second time")
        found.how = "header"
        return found

    def _assign(self, table: Table) -> Path:
        path = self._path()
        if not self._is("="):
            self._fail(f"'=' expected after {'.'.join(path)}, not {self._rest()!r}")
        self._take(_BLANK)
        node = table
        for part in path[:-1]:
            child = node.setdefault(part, Table())
            if not isinstance(child, Table) or child.how in ("header", "inline"):
                self._fail(f"{'.'.join(path)} adds to something that is already defined")
            child.how = "dotted"
            node = child
        at = self._at
        value = self._value()
        if path[-1] in node:
            self._fail(f"{'.'.join(path)} is defined a second time", at)
        node[path[-1]] = value
        return path

    def _value(self) -> Any:
        if self._text.startswith(("'", '"'), self._at):
            return self._string(multiline=True)
        if self._is("["):
            return self._array()
        if self._is("{"):
            return self._inline()
        for word, value in (("true", True), ("false", False)):
            if self._is(word):
                return value
        radix = self._take(_RADIX)
        if radix:
            return int(radix.replace("_", ""), 0)
        integer = self._take(_INTEGER)
        if integer:
            return int(integer.replace("_", ""))
        number = self._take(_NUMBER)
        if number:
            return float(number.replace("_", ""))
        return self._fail(f"{self._rest()!r} is not a value that this parser supports")

    def _array(self) -> List[Any]:
        values: List[Any] = []
        while True:
            self._take(_GAP)
            if self._is("]"):
                return values
            values.append(self._value())
            self._take(_GAP)
            if not self._is(",") and not self._text.startswith("]", self._at):
                self._fail("',' or ']' expected in an array")

    def _inline(self) -> Table:
        table = Table()
        self._take(_BLANK)
        closed = self._is("}")
        while not closed:
            self._take(_BLANK)
            self._assign(table)
            self._take(_BLANK)
            closed = self._is("}")
            if not closed and not self._is(","):
                self._fail("',' or '}' expected in an inline table")
        _freeze(table)
        return table

    def _string(self, multiline: bool) -> str:
        start = self._at
        kinds = _STRINGS if multiline else _STRINGS[2:]
        for pattern, escapes in kinds:
            found = pattern.match(self._text, start)
            if found:
                self._at = found.end()
                raw = "".join(found.groups())
                return _ESCAPE.sub(lambda match: self._unescape(match, start), raw) if escapes else raw
        return self._fail("a string is not terminated")

    def _unescape(self, match: Any, start: int) -> str:
        name = match.group(1)
        if name in _ESCAPES:
            return _ESCAPES[name]
        if name[0] in "uU" and len(name) > 1:
            code = int(name[1:], 16)
            if code < 0xD800 or 0xE000 <= code <= 0x10FFFF:
                return chr(code)
        if not name.strip(" \t\n") and "\n" in name:
            return ""
        return self._fail(f"unknown escape {match.group()!r} in a string", start)


def lines_of(text: str) -> List[str]:
    """Lines with their ends, counted as TOML counts them; ``str.splitlines`` also ends lines at U+0085, U+2028, ..."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def lookup(data: Any, path: Path, default: Any = None) -> Any:
    """The value below nested tables, or ``default``."""
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return default
        data = data[part]
    return data


def _freeze(table: Table) -> None:
    table.how = "inline"
    for value in table.values():
        if isinstance(value, Table):
            _freeze(value)


def quoted(value: Any) -> str:
    """A boolean, number, text or list of these as TOML; JSON's form of them is TOML's too."""
    if isinstance(value, str):
        # DEL is the one character that JSON allows as it is and TOML does not.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(quoted(entry) for entry in value) + "]"
    return json.dumps(value)


def header(path: Path) -> str:
    """``[a."b.c"]`` for a path."""
    parts = [part if BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in path]
    return f"[{'.'.join(parts)}]"


def merge(into: Dict[str, Any], key: str, value: Any) -> None:
    """Set a value below ``key``; tables are merged key by key."""
    if isinstance(value, dict) and isinstance(into.get(key), dict):
        into[key] = dict(into[key])
        for name, inner in value.items():
            merge(into[key], name, inner)
    else:
        into[key] = value


def differences(old: Any, new: Any, where: Tuple[str, ...] = ()) -> List[Tuple[Tuple[str, ...], Any, Any]]:
    """Leaves that differ between two configurations, with both values; ``None`` where there is none."""
    if isinstance(old, dict) or isinstance(new, dict):
        before, after = (side if isinstance(side, dict) else {} for side in (old, new))
        if (isinstance(old, dict) and isinstance(new, dict)) or (old is None or new is None):
            found = []
            for key in [*before, *(key for key in after if key not in before)]:
                found += differences(before.get(key), after.get(key), (*where, key))
            return found
    return [] if old == new and type(old) is type(new) else [(where, old, new)]


def overlaid(data: Dict[str, Any], other: Dict[str, Any]) -> Dict[str, Any]:
    """A copy with the leaves of the other on top."""
    result = dict(data)
    for key, value in other.items():
        merge(result, key, value)
    return result


def with_keys(data: Dict[str, Any], keys: Dict[Tuple[str, ...], Any]) -> Dict[str, Any]:
    """A copy with these leaves set."""
    result: Dict[str, Any] = {}
    for path, value in keys.items():
        branch: Any = value
        for part in reversed(path[1:]):
            branch = {part: branch}
        merge(result, path[0], branch)
    return overlaid(data, result)
