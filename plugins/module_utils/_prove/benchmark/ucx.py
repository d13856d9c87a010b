# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""UCX's tables of protocols, as UCX_PROTO_INFO=y logs them: over what each size of a transfer goes.

A table is logged when the first transfer of its kind is made to an endpoint, for all sizes. Its form is that of
ucp_proto_select_info in src/ucp/proto/proto_debug.c; logs of UCX 1.23 (NIXL 1.5.1) are in tests/unit/fixtures/nixl.
Older versions write peer and transfer side by side, in one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Iterator, List, Optional, Sequence, Tuple

_CELLS = re.compile(r"\|([^|]{1,300})\|([^|]{1,300})\|([^|]{1,1000})\|\s*")
_TITLES = re.compile(r"\|[^|]{1,300}\|(?:[^|]{1,300}\|)?\s*")
_PEER = re.compile(r"\S{1,200} (self|intra-node|inter-node) cfg#[0-9]{1,6}")
_RANGE = re.compile(r"([0-9]{1,15}[KMGT]?)(?:\.\.([0-9]{1,15}[KMGT]?|inf))?")
# Ports with several paths (those of 400 Gb/s have two) have the number of one behind them.
_LANE = re.compile(r"([a-z][a-z0-9_]{0,30})/([^/]{1,60})(?:/path[0-9]{1,3})?")
_SHARE = re.compile(r"(?<!\S)([0-9]{1,3})% on(?!\S)")
# UCP_PROTO_CONFIG_STR_MAX of src/ucp/proto/proto.h, without the zero at the end.
_LONGEST = 127
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
# Of NIXL's operations, how UCX calls what moves the data.
CALLS = {"WRITE": "ucp_put", "READ": "ucp_get"}


@dataclass(frozen=True)
class ProtoRow:
    """Sizes in bytes, ``last`` included, ``None`` without an end. ``lanes`` are transports and devices.

    What has no form of a lane is one without a transport. ``cut`` says that there are more lanes than UCX wrote.
    """

    first: int
    last: Optional[int]
    config: str
    lanes: Tuple[Tuple[str, str], ...]
    cut: bool = False

    def holds(self, size: int) -> bool:
        return self.first <= size and (self.last is None or size <= self.last)


@dataclass
class ProtoTable:
    """``peer`` is ``self``, ``intra-node`` or ``inter-node``; ``what`` the transfer in UCX's words."""

    peer: str
    what: str
    rows: List[ProtoRow] = field(default_factory=list)


def _bytes(text: str) -> int:
    unit = text[-1] if text[-1] in _UNITS else ""
    return int(text[: len(text) - len(unit)]) << _UNITS[unit]


def _row(cells: Sequence[str]) -> Optional[ProtoRow]:
    match = _RANGE.fullmatch(cells[0])
    if not match:
        return None
    first = _bytes(match[1])
    last = first if match[2] is None else None if match[2] == "inf" else _bytes(match[2])
    return ProtoRow(first, last, cells[2], tuple(_lanes(cells[2])), _cut(cells[2]))


def _lanes(config: str) -> Iterator[Tuple[str, str]]:
    for word in config.replace(",", " ").split():
        if "/" in word:
            match = _LANE.fullmatch(word)
            yield (match[1], match[2]) if match else ("", word)


def _cut(config: str) -> bool:
    """Each share is rounded down, so that all of them may be less than 100 by less than 1 each."""
    shares = [int(share) for share in _SHARE.findall(config)]
    return len(config) >= _LONGEST or (bool(shares) and sum(shares) <= 100 - len(shares))


def tables(lines: Sequence[str]) -> List[ProtoTable]:
    """The tables in these lines of UCX's log; what is none is left out."""
    found: List[ProtoTable] = []
    peer = ""
    for line in lines:
        text = line[line.find("|") :] if "|" in line else ""
        cells = _CELLS.fullmatch(text)
        for title in text.split("|")[1:-1] if _TITLES.fullmatch(text) else ():
            head = _PEER.fullmatch(title.strip())
            if head:
                peer = head[1]
            elif peer:
                found.append(ProtoTable(peer, title.strip()))
                peer = ""
        if cells and found:
            row = _row([cell.strip() for cell in cells.groups()])
            if row:
                found[-1].rows.append(row)
    return found


def payload(found: Sequence[ProtoTable], operation: str, size: int) -> List[Tuple[str, ProtoRow]]:
    """Peer and row of each table by which a block of ``size`` bytes may have gone to the other end.

    The endpoint that a process has to itself carries none of it.
    """
    mine = [table for table in found if table.peer != "self" and CALLS[operation] in table.what]
    return [(table.peer, row) for table in mine for row in table.rows if row.holds(size)]
