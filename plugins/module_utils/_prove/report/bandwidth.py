# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What was measured, per group, test and rail: figures, a matrix of host pairs, and who is behind the slow ones."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Document, End, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import count, figure, names, span
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.natural import natural_key

# So many rows and columns are readable on one page, with a figure in each cell.
MATRIX_UP_TO = 16
_NAMES_UP_TO = 60
_BAD = ("fail", "warn")
_REMEDY = "Compare port rate, PCIe link, NUMA pinning and cable of these hosts with one that is fast."


@dataclass
class Series:
    """All measurements of one test in one group on one rail."""

    group: str
    test: str
    unit: str
    rail: str
    measurements: List[Measurement] = field(default_factory=list)

    @property
    def bad(self) -> int:
        return sum(one.verdict in _BAD for one in self.measurements)


@dataclass
class Story:
    """One sentence about the measurements of a series that have one verdict, and the hosts it is about."""

    text: str
    remedy: str
    hosts: List[str]
    times: int


@dataclass
class Cell:
    """The worst measurement between two blocks of hosts, of ``times``."""

    worst: Measurement
    times: int = 1


@dataclass
class Matrix:
    """Blocks of hosts, in order, and a cell for each pair of positions that was measured.

    ``directed`` is false where each pair was measured one way only; its cell is then above the diagonal.
    """

    blocks: List[List[str]]
    cells: Dict[Tuple[int, int], Cell]
    directed: bool


def quality(one: Measurement) -> Optional[float]:
    """The value as a fraction of the threshold, above 1 where it is better than demanded."""
    if not one.threshold:
        return None
    if one.unit == "Gb/s":
        return one.value / one.threshold
    return one.threshold / one.value if one.value else math.inf


def _badness(one: Measurement) -> Tuple[bool, float, float]:
    found = quality(one)
    more_is_better = one.unit == "Gb/s"
    return (one.verdict not in _BAD, 1.0 if found is None else found, one.value if more_is_better else -one.value)


def worst(many: Iterable[Measurement], limit: int) -> List[Measurement]:
    """The measurements that fell short, the furthest from their threshold first."""
    return sorted((one for one in many if one.verdict in _BAD), key=_badness)[:limit]


def _rails(document: Document) -> Dict[Tuple[str, str, int], int]:
    """The rail of each port. A group has as many rails as most of its hosts have usable ports."""
    usable: Dict[str, Counter[int]] = {}
    for host in document.hosts.values():
        if host.known.usable:
            usable.setdefault(host.group, Counter())[len(host.known.usable)] += 1
    found = {}
    for name, host in document.hosts.items():
        if host.group in usable and host.facts:
            rails = max(usable[host.group].items(), key=lambda item: (item[1], item[0]))[0]
            every = ports.ports(host.known)
            for rail, port in ports.rails_of([], every, rails, {}, False).items():
                found[name, port.hca, port.number] = rail
    return found


def port(end: End) -> str:
    return f"{end.hca}/{end.port}"


def _rail(one: Measurement, rails: Mapping[Tuple[str, str, int], int]) -> str:
    ends = [rails.get((end.host, end.hca, end.port)) for end in (one.source, one.target)]
    if None not in ends and ends[0] == ends[1]:
        return f"rail {ends[0]}"
    return port(one.source) if port(one.source) == port(one.target) else "different rails"


def series(document: Document) -> List[Series]:
    """All series, by group, test and rail."""
    rails = _rails(document)
    found: Dict[Tuple[str, str, str, str], Series] = {}
    for one in document.bandwidth:
        key = (one.group, one.test, one.unit, _rail(one, rails))
        found.setdefault(key, Series(*key)).measurements.append(one)
    return [found[key] for key in sorted(found, key=lambda key: [natural_key(part) for part in key])]


def figures(many: Sequence[Measurement]) -> Dict[str, Any]:
    """Number of measurements and of those that fell short; least, median and greatest value, thresholds, as text."""
    values = [one.value for one in many]
    return {
        "pairs": len(many),
        "short": sum(one.verdict in _BAD for one in many),
        "least": figure(min(values)),
        "median": figure(statistics.median(values)),
        "greatest": figure(max(values)),
        "threshold": span(one.threshold for one in many),
        "expected": span(one.expected for one in many),
    }


def _ends(one: Measurement) -> Set[str]:
    return {one.source.host, one.target.host}


def culprits(many: Sequence[Measurement], every: Sequence[Measurement]) -> List[str]:
    """Few hosts that have one end of each of ``many``, which are part of ``every``.

    The host whose measurements are bad most often goes first, then what it does not explain, until nothing is left.
    """
    total = Counter(host for one in every for host in _ends(one))
    of_host: Dict[str, List[Measurement]] = {}
    for one in many:
        for host in _ends(one):
            of_host.setdefault(host, []).append(one)
    left = {host: len(of_host[host]) for host in sorted(of_host, key=natural_key)}
    explained: Set[int] = set()
    found: Set[str] = set()
    while any(left.values()):
        first = max(left, key=lambda host: (left[host] / total[host], left[host]))
        own = [one for one in of_host[first] if id(one) not in explained]
        # Of a single pair nobody knows which end it is.
        found |= {first} if len(own) > 1 else _ends(own[0])
        for one in own:
            explained.add(id(one))
            for host in _ends(one):
                left[host] -= 1
    return sorted(found, key=natural_key)


def story(series: Series, verdict: str) -> Story:
    """What is to be said about the measurements with this verdict."""
    many = [one for one in series.measurements if one.verdict == verdict]
    where = f"On {series.rail} of {series.group}"
    if verdict not in _BAD:
        hosts = sorted({host for one in many for host in _ends(one)}, key=natural_key)
        text = f"{where}, {count(len(many), 'measurement')} as good as demanded."
        if verdict == "impossible":
            text = f"{where}, {count(len(many), 'measurement')} not judged, such as: {many[0].text}."
        return Story(text, "", hosts, len(many))
    first = worst(many, 1)[0]
    hosts = culprits(many, series.measurements)
    ends = f"{first.source.host} {port(first.source)} to {first.target.host} {port(first.target)}"
    demanded = f"{span(one.threshold for one in many)} {series.unit}"
    text = (
        f"{where}, {len(many)} of {len(series.measurements)} miss {demanded},"
        f" all with {names(hosts, _NAMES_UP_TO)} at one end."
        f" The worst, {ends}, has {figure(first.value)} {series.unit}."
    )
    return Story(text, _REMEDY, hosts, len(many))


def matrix(series: Series, up_to: int = MATRIX_UP_TO) -> Matrix:
    """The pairs of a series. More than ``up_to`` hosts share rows and columns, evenly, in natural order."""
    hosts = sorted({host for one in series.measurements for host in _ends(one)}, key=natural_key)
    number = min(len(hosts), up_to)
    place = {host: index * number // len(hosts) for index, host in enumerate(hosts)}
    blocks: List[List[str]] = [[] for _block in range(number)]
    for host in hosts:
        blocks[place[host]].append(host)
    pairs = {(one.source.host, one.target.host) for one in series.measurements}
    directed = any(left != right and (right, left) in pairs for left, right in pairs)
    cells: Dict[Tuple[int, int], Cell] = {}
    for one in series.measurements:
        row, column = place[one.source.host], place[one.target.host]
        position = (row, column) if directed else (min(row, column), max(row, column))
        cell = cells.get(position)
        if cell is None:
            cells[position] = Cell(one)
        else:
            cell.times += 1
            cell.worst = min(cell.worst, one, key=_badness)
    return Matrix(blocks, cells, directed)
