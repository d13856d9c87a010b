# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Numbers and lists of names in sentences."""

from __future__ import annotations

from typing import Sequence


def counted(number: int, noun: str) -> str:
    """``1 host``, ``2 hosts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(texts: Sequence[str], at_most: int = 4, separator: str = ", ") -> str:
    """``a, b, c, d and 3 more``; empty for no texts."""
    more = len(texts) - at_most
    return separator.join(texts[:at_most]) + (f" and {more} more" if more > 0 else "")
