# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The order in which people count: ``mlx5_10`` after ``mlx5_9``."""

from __future__ import annotations

import re
from typing import List, Tuple

_RUNS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> List[Tuple[int, int, str]]:
    """Sort key by which ``node10`` follows ``node9``."""
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in _RUNS.split(name) if part]
