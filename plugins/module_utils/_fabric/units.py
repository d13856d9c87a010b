# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Units: nodes of a group whose ports are on the same leaves, and the leaf on which most of them have each slot.

A fleet has one or many units, such as racks or scalable units, and nobody has to say which. A unit is found by its
leaves, whatever the order of a node's cables, so two cables that are swapped do not move a node out of it. No decision
depends on the names or the order of hosts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Counter as Counts
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

# Slot to leaf, of the ports of one node that are seen.
Leaves = Mapping[str, str]
# How many nodes must agree against one that is all by itself with the single port that it has.
_ENOUGH = 3


@dataclass(frozen=True)
class Usual:
    """Where a slot is in a unit: ``leaf``, on ``agreeing`` of ``known`` nodes."""

    leaf: str
    agreeing: int
    known: int


@dataclass
class Unit:
    """Its nodes, where each slot usually is, and the slots of which that cannot be told, with nodes by leaf."""

    hosts: List[str] = field(default_factory=list)
    usual: Dict[str, Usual] = field(default_factory=dict)
    split: Dict[str, Dict[str, int]] = field(default_factory=dict)

    def odd(self, slot: str, leaf: str) -> Optional[Usual]:
        """Where others have the slot, if this leaf is not where it should be."""
        usual = self.usual.get(slot)
        return usual if usual and usual.leaf != leaf else None


def usual(leaves: Counts[str]) -> Optional[Usual]:
    """The leaf of most nodes: more than half, where no other leaf has more than a quarter, or several nodes.

    Others that are many are no mistakes of a few: the site spreads this slot over leaves, or counts of hosts decide.
    """
    known = sum(leaves.values())
    if not known:
        return None
    leaf, agreeing = max(leaves.items(), key=lambda item: (item[1], item[0]))
    others = [count for other, count in leaves.items() if other != leaf]
    if 2 * agreeing <= known or any(count > 1 and 4 * count > known for count in others):
        return None
    return Usual(leaf, agreeing, known)


def _pattern(leaves: Leaves) -> Tuple[Tuple[str, str], ...]:
    return tuple(sorted(leaves.items()))


def _common(own: Counts[str], other: Counts[str]) -> int:
    return sum((own & other).values())


class _Cluster:
    """Patterns that belong together; the first one, which most nodes have, speaks for it."""

    def __init__(self, pattern: Tuple[Tuple[str, str], ...], hosts: Sequence[str]) -> None:
        self.leaves = Counter(leaf for _slot, leaf in pattern)
        self.pattern = dict(pattern)
        self.hosts = list(hosts)


def _nearest(pattern: Tuple[Tuple[str, str], ...], clusters: Sequence[_Cluster]) -> List[Tuple[int, _Cluster]]:
    """Those with the most leaves in common, and with the most slots on the same leaf, if there are any."""
    leaves = Counter(leaf for _slot, leaf in pattern)
    found: List[Tuple[Tuple[int, int], _Cluster]] = []
    for cluster in clusters:
        common = _common(leaves, cluster.leaves)
        if common:
            placed = sum(cluster.pattern.get(slot) == leaf for slot, leaf in pattern)
            found.append(((common, placed), cluster))
    best = max((rank for rank, _cluster in found), default=(0, 0))
    return [(rank[0], cluster) for rank, cluster in found if rank == best]


def _clusters(nodes: Mapping[str, Leaves]) -> List[_Cluster]:
    hosts: Dict[Tuple[Tuple[str, str], ...], List[str]] = {}
    for host, leaves in nodes.items():
        if leaves:
            hosts.setdefault(_pattern(leaves), []).append(host)
    ordered = sorted(hosts, key=lambda pattern: (-len(hosts[pattern]), -len(pattern), pattern))
    clusters: List[_Cluster] = []
    by_leaf: Dict[str, List[_Cluster]] = {}
    for pattern in ordered:
        near = {id(cluster): cluster for _slot, leaf in pattern for cluster in by_leaf.get(leaf, ())}
        best = _nearest(pattern, list(near.values()))
        if len(best) == 1 and 2 * best[0][0] > len(pattern):
            best[0][1].hosts += hosts[pattern]
            continue
        cluster = _Cluster(pattern, hosts[pattern])
        clusters.append(cluster)
        for leaf in cluster.leaves:
            by_leaf.setdefault(leaf, []).append(cluster)
    return clusters


def _adopted(clusters: Sequence[_Cluster]) -> List[_Cluster]:
    """The clusters, with nodes that are alone in theirs beside those that they have any leaf in common with."""
    several = [cluster for cluster in clusters if len(cluster.hosts) > 1]
    found = list(several)
    for cluster in clusters:
        if len(cluster.hosts) > 1:
            continue
        best = _nearest(tuple(cluster.pattern.items()), several)
        if not best and len(cluster.pattern) == 1 and len(several) == 1 and len(clusters) == 2:
            # The only port of the only node that is elsewhere.
            best = [(0, several[0])] if len(several[0].hosts) >= _ENOUGH else []
        if len(best) == 1:
            best[0][1].hosts += cluster.hosts
        else:
            found.append(cluster)
    return found


def units(nodes: Mapping[str, Leaves]) -> List[Unit]:
    """The units of a group, and the usual leaf of each slot. Nodes of which nothing is seen are in none."""
    found = []
    for cluster in _adopted(_clusters(nodes)):
        unit = Unit(sorted(cluster.hosts, key=natural_key))
        slots: FrozenSet[str] = frozenset(slot for host in unit.hosts for slot in nodes[host])
        for slot in sorted(slots):
            leaves = Counter(nodes[host][slot] for host in unit.hosts if slot in nodes[host])
            most = usual(leaves)
            if most is None:
                unit.split[slot] = dict(sorted(leaves.items()))
            else:
                unit.usual[slot] = most
        found.append(unit)
    return sorted(found, key=lambda unit: natural_key(unit.hosts[0]))
