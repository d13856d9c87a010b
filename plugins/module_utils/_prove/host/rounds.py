# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which hosts are measured with each other, and when: in a round, each host is in at most one pair."""

from __future__ import annotations

from typing import List, Sequence, Tuple, TypeVar

# All pairs of this many hosts take 15 rounds, some minutes; more hosts would take proportionally longer.
ALL_UP_TO = 16

_T = TypeVar("_T")


def tournament(hosts: Sequence[_T]) -> List[List[Tuple[_T, _T]]]:
    """All pairs, each once, in N-1 rounds for even N and N for odd N (circle method: one stays, the others rotate)."""
    seats = list(range(len(hosts)))
    if len(seats) % 2:
        # Who meets nobody sits this round out.
        seats.append(-1)
    half = len(seats) // 2
    found = []
    for turn in range(len(seats) - 1):
        order = seats[:1] + seats[1 + turn :] + seats[1 : 1 + turn]
        pairs = list(zip(order[:half], reversed(order[half:])))
        found.append([(hosts[min(pair)], hosts[max(pair)]) for pair in pairs if -1 not in pair])
    return found


def ring(hosts: Sequence[_T]) -> List[List[Tuple[_T, _T]]]:
    """Each host with the next one and the last with the first: two rounds for even N, three for odd N above one."""
    count = len(hosts)
    pairs = [(hosts[at], hosts[(at + 1) % count]) for at in range(count if count > 2 else count - 1)]
    # Around an odd ring, the last pair meets a host of the first in either of the two.
    last = [pairs.pop()] if len(pairs) % 2 and count > 2 else []
    return [matching for matching in (pairs[0::2], pairs[1::2], last) if matching]


def rounds(hosts: Sequence[_T], pairs: str) -> List[List[Tuple[_T, _T]]]:
    """The rounds of one group. ``auto`` is ``all`` up to ALL_UP_TO hosts, else ``ring``."""
    if pairs == "none" or len(hosts) < 2:
        return []
    if pairs == "all" or (pairs == "auto" and len(hosts) <= ALL_UP_TO):
        return tournament(hosts)
    return ring(hosts)
