# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""No pattern of the code lets a line break at the end of a value through."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
FUNCTIONS = ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub")


def text_of(node: ast.expr) -> str:
    """The fixed parts of a text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def is_of_lines(call: ast.Call) -> bool:
    """Whether ``$`` means the end of each line, for a text of many."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in ("M", "MULTILINE")
        for argument in (*call.args, *(keyword.value for keyword in call.keywords))
        for node in ast.walk(argument)
    )


def loose_patterns(source: str) -> Iterator[str]:
    """Patterns with ``$``, which matches before a line break at the end as well, in the code of a module."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        if not isinstance(call.func.value, ast.Name) or call.func.value.id != "re" or call.func.attr not in FUNCTIONS:
            continue
        pattern = text_of(call.args[0])
        if re.search(r"(?:^|[^\\])(?:\\\\)*\$", pattern) and not is_of_lines(call):
            yield pattern


def test_the_end_of_a_value_is_its_end() -> None:
    found = [
        f"{path.relative_to(PLUGINS)}: {pattern}"
        for path in sorted(PLUGINS.rglob("*.py"))
        for pattern in loose_patterns(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "loose"),
    [
        ('re.match("^a$", text)', True),
        ('re.compile(rf"^{name}$", re.ASCII)', True),
        ('re.search("a$|b", text)', True),
        ('re.compile("^a$", re.M)', False),
        ('re.compile("^a$", flags=re.MULTILINE | re.ASCII)', False),
        (r're.compile(r"a\$")', False),
        (r're.compile(r"a\\$")', True),
        ('re.fullmatch("a", text)', False),
    ],
)
def test_what_counts_as_loose(source: str, loose: bool) -> None:
    assert bool(list(loose_patterns(source))) is loose
