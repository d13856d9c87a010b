# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which rails of a group reach each other, as the evidence of a check has it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check

ID = "host.rails"
STATES = REACHED, PARTLY, NOT_REACHED, UNKNOWN = ("reached", "partly", "not reached", "unknown")


@dataclass(frozen=True)
class RailMatrix:
    """``matrix`` has the state from each rail (a row) to each other one, in the order of ``rails``.

    ``wanted`` is whether they must reach each other, or must not, ``None`` where nobody says so. ``tried`` is how much
    was tried of each way (``0 3``), ``contrary`` what of it is otherwise than wanted, not all of it where it is much.
    """

    rails: List[int]
    matrix: List[List[str]]
    wanted: Optional[List[List[bool]]]
    tried: Dict[str, int]
    contrary: List[str]


def matrix_of(check: Check) -> Optional[RailMatrix]:
    """The matrix in the evidence of a check, ``None`` where it has none, or none of this shape."""
    if check.id != ID or set(check.evidence) != {field.name for field in fields(RailMatrix)}:
        return None
    found = RailMatrix(**check.evidence)
    tables = [found.matrix] if found.wanted is None else [found.matrix, found.wanted]
    if not isinstance(found.rails, list) or not all(_is_square(rows, len(found.rails)) for rows in tables):
        return None
    return found if all(state in STATES for row in found.matrix for state in row) else None


def _is_square(rows: Any, side: int) -> bool:
    return isinstance(rows, list) and [len(row) if isinstance(row, list) else -1 for row in rows] == [side] * side
