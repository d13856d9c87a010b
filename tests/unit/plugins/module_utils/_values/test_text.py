# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What others wrote, as people see it: nothing in it steers a terminal or looks like something else."""

from __future__ import annotations

import json
import random

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible, visible_in

UNSEEN = {
    "escape": "\x1b",
    "backspace": "\b",
    "carriage return": "\r",
    "delete": "\x7f",
    "C1 introducer": "\x9b",
    "next line": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "override of direction": "\u202e",
    "isolate of direction": "\u2067",
    "mark of direction": "\u200f",
    "Arabic mark of direction": "\u061c",
    "space of no width": "\u200b",
    "joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "no-break space": "\u00a0",
    "Hangul filler": "\u3164",
    "combining joiner": "\u034f",
    "variation selector": "\ufe0f",
    "tag": "\U000e0041",
    "lone surrogate": "\udc9b",
    "noncharacter": "\uffff",
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_nobody_sees_is_written_out(name: str) -> None:
    found = visible(f"a{UNSEEN[name]}b")
    assert found.isascii()
    assert json.loads(f'"{found}"') == f"a{UNSEEN[name]}b"


def test_all_that_is_seen_stays() -> None:
    text = "Stra\u00dfe \u65e5\u672c \u2192 5 \u00b5s {\"a\": 'b\\c'} \U0001f600\n\tmore"
    assert visible(text) == text
    assert visible(text, kept="").endswith("\\n\\tmore")


def test_any_text_leaves_in_characters_that_are_seen() -> None:
    chosen = random.Random(35)
    alphabet = [*UNSEEN.values(), *'ab \\"\n\t\u00fc\u65e5\U0001f600', *map(chr, chosen.sample(range(0x110000), 2000))]
    for _number in range(500):
        text = "".join(chosen.choices(alphabet, k=chosen.randrange(40)))
        found = visible(text)
        assert all(char.isprintable() or char in "\n\t" for char in found), ascii(text)
        assert not set(UNSEEN.values()) & set(found), ascii(text)
        assert visible(found) == found
        # Whatever can be written is written: a log is opened as UTF-8, a page as well.
        found.encode()
        # JSON is the same document. As in any JSON, two surrogates that lie side by side are one character.
        written = json.dumps({text: [text]}, ensure_ascii=False)
        assert json.loads(visible(written)) == json.loads(json.dumps({text: [text]})), ascii(text)


def test_lists_and_maps_keep_their_shape() -> None:
    given = {"a\x1b": ["\u202eb", ("c", 1, None, True)], "d": {"e": 2.5}}
    assert visible_in(given) == {"a\\u001b": ["\\u202eb", ["c", 1, None, True]], "d": {"e": 2.5}}
