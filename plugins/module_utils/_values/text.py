# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Numbers and lists of names in sentences, lines of columns, and texts of others as people may see them."""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping, Optional, Sequence

# Letters and marks without a width: the rest of what Unicode calls Default_Ignorable_Code_Point.
_EMPTY = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def counted(number: int, noun: str) -> str:
    """``1 host``, ``2 hosts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(texts: Sequence[str], at_most: int = 4, separator: str = ", ") -> str:
    """``a, b, c, d and 3 more``; empty for no texts."""
    more = len(texts) - at_most
    return separator.join(texts[:at_most]) + (f" and {more} more" if more > 0 else "")


def aligned(rows: Sequence[Sequence[str]], left: Optional[int] = None) -> List[str]:
    """Lines of columns as wide as their widest value, the first ``left`` of them (by default all) flush left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.ljust(width) if left is None or column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def visible(text: str, kept: str = "\n\t") -> str:
    """The text with each character that nobody sees written as JSON does, such as ``\\u001b``; ``kept`` stay.

    These are what ``str.isprintable`` says, by the tables of Unicode: escape sequences and other control characters,
    marks that change the direction of writing or have no width, separators other than a blank, lone surrogates. A
    terminal obeys some of them, and others make a text look like another one. JSON stays the same JSON.
    """
    if text.isprintable() and not _EMPTY.search(text):
        return text
    return "".join(char if char in kept or _is_seen(char) else json.dumps(char)[1:-1] for char in text)


def _is_seen(char: str) -> bool:
    return char.isprintable() and not _EMPTY.match(char)


def visible_in(value: Any) -> Any:
    """Lists and maps with each text in them as :func:`visible` gives it, names included; all else as it is."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible_in(name): visible_in(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_in(each) for each in value]
    return value
