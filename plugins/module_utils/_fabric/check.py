# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which cables are wrong: those that differ from what is expected, or else from those of most other nodes.

A fault is only named where it is seen. Where nothing can be compared, because a neighbour is unknown or no place is
that of most nodes, this is said instead.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import units as fabric_units
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.expected import Expected, Place
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink, Neighbour
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import (
    ABSENT,
    DARK,
    NO_FACTS,
    NO_HCA,
    SEEN,
    UNKNOWN,
    Fabric,
    PortView,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.units import Unit, Usual
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

SWAPPED = "swapped"
SAME_LEAF = "same_leaf"
STORAGE = "storage_in_compute"
WRONG_LEAF = "wrong_leaf"
WRONG_PORT = "wrong_port"
MISSING = "missing"
SLOW = "slow_link"
KINDS = (SWAPPED, SAME_LEAF, STORAGE, WRONG_LEAF, WRONG_PORT, MISSING, SLOW)

NO_MAJORITY = "no_majority"
ALONE = "alone"


@dataclass(frozen=True)
class Fault:
    """A cable, or two that are swapped, that is not where it should be. For a link between switches, ``host`` is empty.

    ``ports`` are those of the host. ``expected`` is the leaf, or leaf and port, where the first of them should be.
    """

    kind: str
    host: str
    ports: Tuple[str, ...]
    text: str
    group: str = ""
    expected: str = ""

    @property
    def line(self) -> str:
        return f"{self.host} {', '.join(self.ports)}: {self.text}" if self.host else self.text


@dataclass(frozen=True)
class Unclear:
    """A port that cannot be judged: a code of ``neighbours.REASONS``, NO_MAJORITY or ALONE, and more about it."""

    host: str
    port: str
    code: str
    more: str = ""


@dataclass
class Group:
    """Units and slots of one group; ``rails`` has the rail of each slot that is one on most nodes."""

    name: str
    views: List[PortView]
    units: List[Unit] = field(default_factory=list)
    rails: Dict[str, Optional[int]] = field(default_factory=dict)

    @cached_property
    def _states(self) -> Dict[Tuple[str, str], Counter[str]]:
        """How many ports are in each state, by slot, and by the first host of the unit (empty for all)."""
        units = {host: unit.hosts[0] for unit in self.units for host in unit.hosts}
        found: Dict[Tuple[str, str], Counter[str]] = {}
        for view in self.views:
            for unit in dict.fromkeys(["", units.get(view.host, "")]):
                found.setdefault((view.slot, unit), Counter())[view.state] += 1
        return found

    def states(self, slot: str, unit: Optional[Unit]) -> Counter[str]:
        """How many ports of a slot are in each state: in a unit, or without one in the whole group."""
        return self._states[slot, unit.hosts[0] if unit else ""]

    def called(self, slot: str) -> str:
        """What a slot is called in sentences: its rail, or else its HCA."""
        rail = self.rails.get(slot)
        # Of a bond, the slaves have the same one.
        return slot if rail is None or list(self.rails.values()).count(rail) > 1 else f"rail {rail}"


@dataclass
class Cabling:
    """All that was found. ``names`` has what each switch calls itself, by its GUID or chassis ID."""

    groups: List[Group]
    faults: List[Fault]
    unclear: List[Unclear]
    between: List[FabricLink]
    names: Dict[str, str]
    expected: int = 0

    @property
    def views(self) -> List[PortView]:
        return [view for group in self.groups for view in group.views]


@dataclass(frozen=True)
class _Odd:
    """A port that is elsewhere than it should be."""

    view: PortView
    found: Neighbour
    place: Optional[Place] = None
    usual: Optional[Usual] = None

    def should_be(self, other: Neighbour) -> bool:
        """Whether it should be where another port is."""
        if self.place:
            return self.place.is_switch(other) and (self.place.is_port(other) or not self.place.is_switch(self.found))
        return self.usual is not None and self.usual.leaf == other.id


def _rails(views: Sequence[PortView]) -> Dict[str, Optional[int]]:
    """The rail that each slot is on most nodes. Which ports are up can move rails of a single node."""
    votes: Dict[str, Counter[Optional[int]]] = {}
    for view in views:
        votes.setdefault(view.slot, Counter())[view.rail] += 1
    found: Dict[str, Optional[int]] = {}
    for slot, counts in votes.items():
        rail, most = max(counts.items(), key=lambda item: item[1])
        found[slot] = rail if 2 * most > sum(counts.values()) else None
    return found


def _group(name: str, views: List[PortView]) -> Group:
    leaves: Dict[str, Dict[str, str]] = {}
    for view in views:
        own = leaves.setdefault(view.host, {})
        if view.neighbour and view.neighbour.host is None:
            own[view.slot] = view.neighbour.id
    return Group(name, views, fabric_units.units(leaves), _rails(views))


class _Judge:
    def __init__(self, groups: Sequence[Group], expected: Optional[Expected], names: Mapping[str, str]) -> None:
        self.expected = expected
        self.names = names
        self.faults: List[Fault] = []
        self.unclear: List[Unclear] = []
        self.compute = {
            usual.leaf
            for group in groups
            for unit in group.units
            for slot, usual in unit.usual.items()
            if len(unit.hosts) > 1 and group.rails.get(slot) is not None
        }

    def group(self, group: Group) -> None:
        units = {host: unit for unit in group.units for host in unit.hosts}
        by_host: Dict[str, List[PortView]] = {}
        for view in group.views:
            by_host.setdefault(view.host, []).append(view)
        odd = {host: list(self._odd(group, views, units.get(host))) for host, views in by_host.items()}
        for host, views in by_host.items():
            self._host(group, views, odd[host])

    def _odd(self, group: Group, views: Sequence[PortView], unit: Optional[Unit]) -> Iterator[_Odd]:
        """Ports that are elsewhere than they should be. Says of the others what cannot be judged, or is missing."""
        for view in views:
            place = self.expected.of(view) if self.expected else None
            if view.state == UNKNOWN:
                self.unclear.append(Unclear(view.host, view.name, view.reason))
            elif view.state == DARK:
                self._dark(group, view, unit, place)
            elif view.neighbour and place:
                if not (place.is_switch(view.neighbour) and place.is_port(view.neighbour)):
                    yield _Odd(view, view.neighbour, place)
            elif view.neighbour:
                if unit is None or len(unit.hosts) < 2:
                    self.unclear.append(Unclear(view.host, view.name, ALONE, view.neighbour.where))
                elif view.slot in unit.split:
                    self.unclear.append(Unclear(view.host, view.name, NO_MAJORITY, self._split(group, view.slot, unit)))
                else:
                    usual = unit.odd(view.slot, view.neighbour.id)
                    if usual:
                        yield _Odd(view, view.neighbour, usual=usual)

    def _split(self, group: Group, slot: str, unit: Unit) -> str:
        counts = sorted(unit.split[slot].items(), key=lambda item: (-item[1], item[0]))
        return f"{group.called(slot)} of {len(unit.hosts)} nodes: " + ", ".join(
            f"{count} on {self.names.get(leaf, leaf)}" for leaf, count in counts
        )

    def _dark(self, group: Group, view: PortView, unit: Optional[Unit], place: Optional[Place]) -> None:
        if place:
            where = f"{place.switch}/{place.port}"
            self._say(MISSING, [view], f"no link, expected is {where}", where)
            return
        states, every = group.states(view.slot, unit), group.states(view.slot, None)
        if states[SEEN] <= states[DARK] and group.rails.get(view.slot) is not None:
            # Without its leaf, a rail is dark on all nodes of a unit.
            states, unit = every, None
        seen, others = states[SEEN], sum(states.values()) - 1
        if seen <= states[DARK]:
            if every[SEEN]:
                text = f"{group.called(view.slot)}: {seen} connected, {states[DARK]} without a link"
                self.unclear.append(Unclear(view.host, view.name, NO_MAJORITY, text))
            return
        usual = unit.usual.get(view.slot) if unit else None
        leaf = f" on {self.names.get(usual.leaf, usual.leaf)}" if usual else " connected"
        text = f"no link, {group.called(view.slot)} of {self._others(seen, others)} is{leaf}"
        self._say(MISSING, [view], text, self.names.get(usual.leaf, usual.leaf) if usual else "")

    @staticmethod
    def _others(agreeing: int, others: int) -> str:
        return f"the other {others} nodes" if agreeing == others else f"{agreeing} of the other {others} nodes"

    def _say(self, kind: str, views: Sequence[PortView], text: str, expected: str) -> None:
        first = views[0]
        self.faults.append(Fault(kind, first.host, tuple(view.name for view in views), text, first.group, expected))

    def _host(self, group: Group, views: Sequence[PortView], odd: List[_Odd]) -> None:
        done: Set[str] = set()
        for index, each in enumerate(odd):
            if each.view.slot in done:
                continue
            twin = next(
                (
                    other
                    for other in odd[index + 1 :]
                    if other.view.slot not in done and each.should_be(other.found) and other.should_be(each.found)
                ),
                None,
            )
            if twin:
                done.add(twin.view.slot)
                places = f"{each.view.name} is on {each.found.where}, {twin.view.name} on {twin.found.where}"
                self._say(SWAPPED, [each.view, twin.view], f"swapped: {places}", self._should(each))
            else:
                self._single(group, views, each)

    def _should(self, odd: _Odd) -> str:
        if odd.place:
            return f"{odd.place.switch}/{odd.place.port}"
        return self.names.get(odd.usual.leaf, odd.usual.leaf) if odd.usual else ""

    def _single(self, group: Group, views: Sequence[PortView], odd: _Odd) -> None:
        view, found = odd.view, odd.found
        if odd.place:
            right = f"expected is {self._should(odd)}"
            kind = WRONG_PORT if odd.place.is_switch(found) else WRONG_LEAF
        else:
            usual = odd.usual
            count = self._others(usual.agreeing, usual.known - 1) if usual else ""
            right, kind = f"{group.called(view.slot)} of {count} is on {self._should(odd)}", WRONG_LEAF
        there = found.where if found.host is None else f"{found.host} ({found.where}), not a switch"
        beside = [
            other.name
            for other in views
            if other.slot != view.slot and other.neighbour and other.neighbour.id == found.id and found.host is None
        ]
        if (
            kind == WRONG_LEAF
            and view.slot in group.rails
            and group.rails[view.slot] is None
            and found.id in self.compute
        ):
            kind, there = STORAGE, f"{there}, a leaf of compute rails"
        elif kind == WRONG_LEAF and beside:
            kind, there = SAME_LEAF, f"{there}, like {', '.join(beside)}"
        self._say(kind, [view], f"{there}; {right}" if kind == STORAGE else f"{there}, {right}", self._should(odd))


def _slow(fabric: Fabric) -> List[Fault]:
    """Links between switches that are slower than most of one end's, where most of the other end's are not as slow."""
    links = fabric.between
    speeds: Dict[str, Counter[float]] = {}
    for link in links:
        for guid in (link.guid, link.peer_guid):
            speeds.setdefault(guid, Counter())[link.gbps] += 1
    usual = {
        guid: max(counts, key=lambda speed: (counts[speed], speed))
        for guid, counts in speeds.items()
        if 2 * max(counts.values()) > sum(counts.values())
    }
    found = []
    for link in sorted(links, key=lambda each: (natural_key(each.name), each.guid, each.port)):
        ends = [usual.get(guid) for guid in (link.guid, link.peer_guid)]
        faster = [end for end in ends if end is not None and end > link.gbps]
        if not faster or link.gbps in ends:
            continue
        own, peer = (fabric.names[guid] for guid in (link.guid, link.peer_guid))
        ends_text = f"{own}/{link.port} to {peer}/{link.peer_port}"
        text = f"{ends_text}: {link.gbps:g} Gb/s ({link.width}), most links between switches there have {max(faster):g}"
        found.append(Fault(SLOW, "", (), text, expected=f"{max(faster):g} Gb/s"))
    return found


def _absent(groups: Sequence[Group], hosts: Mapping[str, str], expected: Optional[Expected]) -> Iterator[Unclear]:
    """Ports that a host should have, because most nodes of its group or the expected cabling do, and has not."""
    own: Dict[str, Set[str]] = {}
    names: Set[Tuple[str, str]] = set()
    for group in groups:
        for view in group.views:
            own.setdefault(view.host, set()).add(view.slot)
            names |= {(view.host, name) for name in view.names}
    missed: Dict[str, List[str]] = {}
    for group in groups:
        members = [host for host, name in hosts.items() if name == group.name]
        counts = Counter(slot for host in members for slot in own.get(host, ()))
        usual = sorted((slot for slot, count in counts.items() if 2 * count > len(members)), key=natural_key)
        for host in members:
            missed[host] = [slot for slot in usual if slot not in own.get(host, ())]
    for host, port in expected.places if expected else ():
        if host in hosts and (host, port) not in names and port not in missed.setdefault(host, []):
            missed[host].append(port)
    for host, ports in missed.items():
        if ports and host not in own:
            yield Unclear(host, "", NO_HCA)
        elif ports:
            yield from (Unclear(host, port, ABSENT) for port in ports)


def check(
    views: Sequence[PortView],
    fabric: Fabric,
    expected: Optional[Expected] = None,
    silent: Sequence[str] = (),
    hosts: Optional[Mapping[str, str]] = None,
) -> Cabling:
    """The faults of a fleet, in the order of its hosts, and what cannot be judged.

    ``silent`` hosts have no facts; ``hosts`` has the group of those that have, by default of those with ``views``.
    """
    by_group: Dict[str, List[PortView]] = {}
    for view in views:
        by_group.setdefault(view.group, []).append(view)
    groups = [_group(name, own) for name, own in by_group.items()]
    names = dict(fabric.names)
    for view in views:
        if view.neighbour:
            names.setdefault(view.neighbour.id, view.neighbour.switch)
    judge = _Judge(groups, expected, names)
    judge.unclear += [Unclear(host, "", NO_FACTS) for host in silent]
    judge.unclear += _absent(groups, hosts or {view.host: view.group for view in views}, expected)
    for group in groups:
        judge.group(group)
    rows = len(expected.places) if expected else 0
    order = {host: index for index, host in enumerate(dict.fromkeys(view.host for view in views))}
    faults = sorted(judge.faults, key=lambda fault: (order[fault.host], natural_key(fault.ports[0])))
    return Cabling(groups, faults + _slow(fabric), judge.unclear, fabric.between, names, rows)
