# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import importlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    TomlDocument,
    header,
    quoted,
)

try:
    loads = importlib.import_module("tomllib").loads
except ImportError:
    loads = None

KEYS = st.sampled_from(["a", "b", "c-1", "'d.e'", '"f\\u0067"', "9"])
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=6)
GOOD = "0xFf_0 0o17 0b1_0 +1_000 1e3 -inf '' \"\" 'a#b' \"\\u00e4\""
BAD = '01 1_ 1. .5 0X1 True nope \'a 1979-05-27 07:32:00 "\\ud800" 1e 0x'
SCALARS = st.one_of(
    st.booleans().map(quoted),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    TEXTS.map(quoted),
    st.sampled_from(GOOD.split() + BAD.split()),
    st.sampled_from(["'''\n'a''b'''", '"""a\\\n   b"""', '"""""a"""""', '"a\nb"', "'''a''''''", '"\\x"']),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.tuples(st.lists(inner, max_size=3), st.sampled_from(["", ",", "\n", " # c\n", ",,"])).map(
            lambda made: f"[{', '.join(made[0])}{made[1]}]"
        ),
        st.lists(st.tuples(KEYS, inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key} = {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=4,
)
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(".".join)
LINES = st.one_of(
    PATHS.map("[{}]".format),
    PATHS.map("[[{}]]".format),
    st.tuples(PATHS, VALUES).map(lambda made: f"{made[0]} = {made[1]}"),
    st.sampled_from(["", "# comment", "\t", "=", "a", "[a", "[a]]", "a = 1 b = 2", "\x00"]),
)


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return (type(one) is type(other) and one == other) or (isinstance(one, (dict, list)) and one == other)


@pytest.mark.skipif(loads is None, reason="tomllib is there from Python 3.11 on")
@settings(max_examples=500, deadline=None)
@given(st.lists(LINES, max_size=7), st.sampled_from(["\n", "\r\n"]))
def test_as_tomllib_reads_it_or_not_at_all(lines, newline):
    text = newline.join(lines)
    try:
        expected = loads(text)
    except (ValueError, RecursionError):
        with pytest.raises(HostError, match=r"^x\.toml, line \d+: "):
            TomlDocument(text, "x.toml")
        return
    if "1979" in text or "07:32" in text:
        return
    assert same(TomlDocument(text, "x.toml").data, expected)


def test_where_things_stand():
    document = TomlDocument(
        'version = 2\nimports = [ # first\n  "a",\n] # c\n\n[a."b.c"]  # t\n  d = 1\n[[l]]\nd=1\n', "x"
    )
    assert document.data == {"version": 2, "imports": ["a"], "a": {"b.c": {"d": 1}}, "l": [{"d": 1}]}
    assert document.tables == {("a", "b.c"): 5}
    spans = {key: (at.first, at.last, at.column) for key, at in document.keys.items()}
    assert spans == {("version",): (0, 0, 11), ("imports",): (1, 3, 1), ("a", "b.c", "d"): (6, 6, 7)}
    assert document.get(("a", "b.c", "d")) == 1
    assert document.get(("a", "x", "d"), "none") == "none"
    assert header(("plugins", "io.x.v1", "runc")) == '[plugins."io.x.v1".runc]'


def test_refusals_name_the_line() -> None:
    for text, said in [
        ("a = 1\na = 2", r"x, line 2: a is defined a second time"),
        ("[a]\n[b]\n[a]", r"x, line 3: a is defined a second time"),
        ("a = {b = 1}\n[a.c]", r"x, line 2: 'a' is not a table"),
        ("a = 2021-01-01", r"x, line 1: '2021-01-01' is not a value that this parser supports"),
        ('{{ template "base" . }}', r"x, line 1: a key cannot begin with '\{\{ template"),
        ("a = 'x", r"x, line 1: a string is not terminated"),
        ("a = " + "[" * 5000, r"x, line 1: too many brackets"),
    ]:
        with pytest.raises(HostError, match=said):
            TomlDocument(text, "x")
