# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which rails of each group reach each other, as tables for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.rails import (
    NOT_REACHED,
    PARTLY,
    REACHED,
    UNKNOWN,
    RailMatrix,
    matrix_of,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

WORDS = {REACHED: "yes", PARTLY: "partly", NOT_REACHED: "no", UNKNOWN: "?"}
LEGEND = "from the rail at the left to the one at the top; with ! it is not as rdma_links_rail_reachability says"


@dataclass(frozen=True)
class RailCell:
    """``good`` is ``None`` where nothing was said of these rails, or nothing is known."""

    state: str
    good: Optional[bool]

    @property
    def text(self) -> str:
        return f"{WORDS[self.state]}{'!' if self.good is False else ''}"


@dataclass(frozen=True)
class RailTable:
    """``rows`` and their cells are in the order of ``rails``."""

    group: str
    rails: List[int]
    rows: List[List[RailCell]]

    @property
    def uniform(self) -> bool:
        """Whether the same is true of each two rails, and right, so that a sentence says it."""
        cells = [cell for place, row in enumerate(self.rows) for other, cell in enumerate(row) if place != other]
        return len({cell.state for cell in cells}) == 1 and all(cell.good is not False for cell in cells)


def _cell(state: str, wanted: Optional[bool]) -> RailCell:
    known = wanted is not None and state != UNKNOWN
    return RailCell(state, state == (REACHED if wanted else NOT_REACHED) if known else None)


def _table(group: str, found: RailMatrix) -> RailTable:
    wanted = found.wanted
    rows = [
        [_cell(state, wanted[place][other] if wanted and place != other else None) for other, state in enumerate(row)]
        for place, row in enumerate(found.matrix)
    ]
    return RailTable(group, found.rails, rows)


def tables(document: VerifyDocument) -> List[RailTable]:
    """One for each group whose rails were tried."""
    every = ((str(check.group), matrix_of(check)) for check in document.checks)
    # What is otherwise than wanted has a check for each way in which it is, with the same matrix.
    found = {group: _table(group, matrix) for group, matrix in every if matrix}
    return [found[group] for group in sorted(found, key=natural_key)]
