# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which nodes are under the same leaves, by their rails alone, as one value for each node that a scheduler can use.

Where each rail has a leaf of its own, no single leaf has a node, so leaves that have the same nodes are one *leaf
group*. topograph merges such switches as well, and calls them by one of them (NVIDIA/topograph, pkg/topology/merger.go
of v1.0.0); here that is the first by name. Nothing is guessed: a node gets no value if one of its rails is not where it
should be, or if that cannot be told.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.check import (
    ALONE,
    NO_MAJORITY,
    WRONG_PORT,
    Cabling,
    Unclear,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import (
    DARK,
    FABRIC_UNREAD,
    IN_POD,
    LLDP_NOT_ASKED,
    NO_FACTS,
    NO_HCA,
    REASONS,
    PortView,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

_OTHER = re.compile("[^A-Za-z0-9_.-]+")
_DIGITS = 8
_OWN = {
    NO_MAJORITY: "no leaf is that of most nodes",
    ALONE: "no other node of the group is on its leaves",
}
# A cable does not move while its NIC is in a pod, or while nobody looks at it.
_PASSING = (IN_POD, NO_FACTS, NO_HCA, LLDP_NOT_ASKED, FABRIC_UNREAD)


@dataclass
class LeafGroups:
    """By host the value of its leaf group, why it has none, or why nothing is known of it at the moment."""

    values: Dict[str, str] = field(default_factory=dict)
    without: Dict[str, str] = field(default_factory=dict)
    unseen: Dict[str, str] = field(default_factory=dict)


def read(document: Any) -> LeafGroups:
    """What :func:`leaf_groups` found, out of JSON. Raises ValueError."""
    parts = ("values", "without", "unseen")
    found: Dict[str, Dict[str, str]] = {}
    for part in parts:
        own = document.get(part) if isinstance(document, Mapping) else None
        if not isinstance(own, dict) or not all(isinstance(text, str) for text in own.values()):
            raise ValueError(f"leaf_groups.{part} must be text by host")
        found[part] = own
    wrong = sorted(host for host, own in found["values"].items() if not names.is_label_value(own))
    if wrong:
        raise ValueError(f"leaf_groups.values has {found['values'][wrong[0]]!r} of {wrong[0]}, which is no label value")
    return LeafGroups(**found)


def value(name: str, identity: str, unique: bool = True) -> str:
    """The value of a label that stands for a switch: its name, where that is one and no other switch has it.

    Otherwise it is made of the name and a digest of the GUID or chassis ID, which is the same in each run.
    """
    if unique and names.is_label_value(name):
        return name
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_DIGITS]
    readable = _OTHER.sub("-", name)[: names.LONGEST_LABEL - _DIGITS - 1].strip("_.-")
    return f"{readable or 'switch'}-{digest}"


def _reason(entry: Unclear) -> str:
    why = _OWN.get(entry.code) or REASONS.get(entry.code) or entry.code
    return f"{entry.port}: {why}" if entry.port else why


def _doubt(rails: Sequence[PortView], faults: Sequence[str]) -> str:
    """Why a node has no leaf group, whatever others have; empty if it may have one."""
    if faults:
        return "; ".join(faults)
    if not rails:
        return "no port of it is a rail"
    direct = [view.name for view in rails if view.neighbour and view.neighbour.host is not None]
    if direct:
        return f"{joined(direct)}: the other end is a host, not a switch"
    if all(view.state == DARK for view in rails):
        return "no rail of it has a link"
    return ""


class _Sets:
    """Which sets of leaves, as nodes have them, are one group: the largest ones, each with those that are in it."""

    def __init__(self, nodes: Mapping[FrozenSet[str], int]) -> None:
        """``nodes`` is how many nodes have each set."""
        self._by_leaf: Dict[str, List[FrozenSet[str]]] = {}
        for leaves in nodes:
            for leaf in leaves:
                self._by_leaf.setdefault(leaf, []).append(leaves)
        # Nodes with fewer rails are on some of the same leaves.
        self._largest = {leaves: self._containing(leaves) for leaves in nodes}
        self._nodes: Counter[FrozenSet[str]] = Counter()
        for leaves, largest in self._largest.items():
            if len(largest) == 1:
                self._nodes[largest[0]] += nodes[leaves]
        self.groups = {leaves: self._group(largest) for leaves, largest in self._largest.items()}

    def _containing(self, leaves: FrozenSet[str]) -> List[FrozenSet[str]]:
        there = [other for other in self._by_leaf[min(leaves)] if leaves <= other]
        return [other for other in there if not any(other < more for more in there)]

    def _rivals(self, leaf: str) -> List[FrozenSet[str]]:
        """The largest sets with this leaf, those that most nodes have first."""
        found = {largest for leaves in self._by_leaf[leaf] for largest in self._largest[leaves] if leaf in largest}
        return sorted(found, key=lambda leaves: -self._nodes[leaves])

    def _group(self, largest: Sequence[FrozenSet[str]]) -> Optional[FrozenSet[str]]:
        """``None`` where a leaf belongs rather to a set that more nodes have, or as many."""
        if len(largest) != 1:
            return None
        for leaf in largest[0]:
            first, *others = self._rivals(leaf)
            if first != largest[0] or (others and self._nodes[first] == self._nodes[others[0]]):
                return None
        return largest[0]

    def shared(self, leaves: FrozenSet[str]) -> Set[str]:
        """The leaves of its group that belong to several."""
        every = {leaf for largest in self._largest[leaves] for leaf in largest}
        return {leaf for leaf in every if len(self._rivals(leaf)) > 1}


def _rails(cabling: Cabling) -> Dict[str, List[PortView]]:
    """The ports of each host that are rails on most nodes of its group. Those of a storage network never are."""
    found: Dict[str, List[PortView]] = {}
    for group in cabling.groups:
        for view in group.views:
            found.setdefault(view.host, [])
            if group.rails.get(view.slot) is not None:
                found[view.host].append(view)
    return found


def _values(groups: Set[FrozenSet[str]], switches: Mapping[str, str]) -> Dict[FrozenSet[str], str]:
    """The value of each group, by its first leaf; ``switches`` has the name of each switch that a port is on."""
    users = Counter(switches.values())
    found = {}
    for leaves in groups:
        first = min(leaves, key=lambda leaf: (natural_key(switches[leaf]), leaf))
        found[leaves] = value(switches[first], first, users[switches[first]] == 1)
    return found


def of_part(cabling: Cabling) -> LeafGroups:
    """Of a run with a part of the fleet: what a node shares with others, and how they are called, cannot be told."""
    return LeafGroups(unseen=dict.fromkeys((view.host for view in cabling.views), "cabling ran with --limit"))


def leaf_groups(cabling: Cabling) -> LeafGroups:
    """The leaf group of each node of a fleet. Depends on no order of hosts, and not on names of hosts."""
    found = LeafGroups()
    rails = _rails(cabling)
    faults: Dict[str, List[str]] = {}
    for fault in cabling.faults:
        # In the wrong port, a cable is on the right leaf all the same.
        if fault.kind != WRONG_PORT and {view.name for view in rails.get(fault.host, ())} & set(fault.ports):
            faults.setdefault(fault.host, []).append(fault.line.partition(" ")[2])
    unclear: Dict[str, List[Unclear]] = {}
    for entry in cabling.unclear:
        if not entry.port or entry.port in {view.name for view in rails.get(entry.host, ())}:
            unclear.setdefault(entry.host, []).append(entry)
    placed: Dict[str, FrozenSet[str]] = {}
    for host in dict.fromkeys([*rails, *unclear]):
        doubts = unclear.get(host, [])
        if doubts and not faults.get(host) and all(entry.code in _PASSING for entry in doubts):
            found.unseen[host] = "; ".join(map(_reason, doubts))
            continue
        doubt = _doubt(rails.get(host, ()), faults.get(host, ())) or "; ".join(map(_reason, doubts))
        if doubt:
            found.without[host] = doubt
        else:
            placed[host] = frozenset(view.neighbour.id for view in rails[host] if view.neighbour)
    sets = _Sets(Counter(placed.values()))
    switches = {view.neighbour.id: view.neighbour.switch for view in cabling.views if view.neighbour}
    values = _values({group for group in sets.groups.values() if group}, switches)
    for host, leaves in placed.items():
        group = sets.groups[leaves]
        if group:
            found.values[host] = values[group]
        else:
            shared = joined(sorted((switches[leaf] for leaf in sets.shared(leaves)), key=natural_key))
            found.without[host] = f"{shared}: other nodes there have their other rails on other leaves"
    return found
