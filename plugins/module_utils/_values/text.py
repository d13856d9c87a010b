# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Numbers and lists of names in sentences, and lines of columns."""

from __future__ import annotations

from typing import List, Optional, Sequence


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
