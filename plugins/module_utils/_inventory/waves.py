# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""In which waves nodes are changed: a ramp for the fleet, and a limit for each group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Counter as Counts
from typing import Dict, List, Sequence, Union

Size = Union[int, str]
# One node first: if anything goes wrong on it, the others are still unchanged.
RAMP: Sequence[Size] = (1, "10%", "25%")


@dataclass(frozen=True)
class WaveMember:
    """A node to be changed; ``at_most`` is how many of its group may be in one wave, 0 for no limit."""

    host: str
    group: str
    at_most: int = 0


def number(size: Size, of: int) -> int:
    """A number of nodes, or the percentage of ``of`` that ``25%`` says; at least 1, as Ansible's ``serial``."""
    text = str(size)
    return max(1, int(text[:-1]) * of // 100 if text.endswith("%") else int(text))


def waves(members: Sequence[WaveMember], ramp: Sequence[Size] = RAMP) -> List[List[str]]:
    """Hosts of each wave, in their order as far as the limits allow.

    The sizes of ``ramp`` (whole numbers, or percentages of all members) are those of the first waves; the last holds
    for all that follow.
    """
    sizes = [number(size, len(members)) for size in ramp]
    waiting = list(members)
    found: List[List[str]] = []
    while waiting:
        size = sizes[min(len(found), len(sizes) - 1)]
        taken: Counts[str] = Counter()
        wave: List[str] = []
        later: List[WaveMember] = []
        for member in waiting:
            if len(wave) < size and (not member.at_most or taken[member.group] < member.at_most):
                taken[member.group] += 1
                wave.append(member.host)
            else:
                later.append(member)
        found.append(wave)
        waiting = later
    return found


def limits(sizes: Dict[str, List[Size]], members: Counts[str]) -> Dict[str, int]:
    """The limit of each group: the lowest that one of its hosts says, percentages of its ``members``."""
    return {group: min(number(size, members[group]) for size in said) for group, said in sizes.items() if said}
