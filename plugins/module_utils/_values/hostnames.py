# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Host names folded into ranges, ``h100-[001-003,007]``, and the order in which people count them."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Tuple

_RUNS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> List[Tuple[int, int, str]]:
    """Sort key by which ``node10`` follows ``node9``."""
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in _RUNS.split(name) if part]


NO_NODE = "the cluster has no node of this name"
_NUMBERED = re.compile("(.*?)([0-9]{1,18})([^0-9]*)")


def ranges(numbers: List[str]) -> str:
    """Ascending numbers as ``1-3,7``, each end written as it was given."""
    runs: List[List[str]] = []
    for digits in numbers:
        if runs and int(digits) == int(runs[-1][-1]) + 1:
            runs[-1].append(digits)
        else:
            runs.append([digits])
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def no_node(host: str) -> str:
    """What is wrong with a host whose node the cluster lacks, and what to do."""
    right = "join the node to the cluster, give host and node the same name, or remove the host from its group"
    return f"{host}: {NO_NODE}: {right}"


def fold(hosts: Iterable[str]) -> str:
    """Host names as a short text; names that differ in their last number only share one bracket.

    Numbers of different width are never folded together, so every name can be read back.
    """
    buckets: Dict[Tuple[str, str, int], List[str]] = {}
    for host in sorted(set(hosts), key=natural_key):
        match = _NUMBERED.fullmatch(host)
        if match:
            buckets.setdefault((match.group(1), match.group(3), len(match.group(2))), []).append(match.group(2))
        else:
            buckets.setdefault((host, "", 0), []).append("")
    parts = []
    for (head, tail, _width), numbers in buckets.items():
        middle = numbers[0] if len(numbers) == 1 else f"[{ranges(numbers)}]"
        parts.append(head + middle + tail)
    return ",".join(parts)
