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

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import End, Measurement, VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import figure, names, span
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

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
        return sum(measured.verdict in _BAD for measured in self.measurements)


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


def quality(measured: Measurement) -> Optional[float]:
    """The value as a fraction of the threshold, above 1 where it is better than demanded."""
    if not measured.threshold:
        return None
    if measured.unit == "Gb/s":
        return measured.value / measured.threshold
    return measured.threshold / measured.value if measured.value else math.inf


def _badness(measured: Measurement) -> Tuple[bool, float, float]:
    found = quality(measured)
    more_is_better = measured.unit == "Gb/s"
    return (
        measured.verdict not in _BAD,
        1.0 if found is None else found,
        measured.value if more_is_better else -measured.value,
    )


def worst(many: Iterable[Measurement], limit: int) -> List[Measurement]:
    """The measurements that fell short, the furthest from their threshold first."""
    return sorted((measured for measured in many if measured.verdict in _BAD), key=_badness)[:limit]


def port(end: End) -> str:
    return f"{end.hca}/{end.port}"


def _rail(measured: Measurement, rails: Mapping[Tuple[str, str], int]) -> str:
    ends = [rails.get((end.host, port(end))) for end in (measured.source, measured.target)]
    if None not in ends and ends[0] == ends[1]:
        return f"rail {ends[0]}"
    return port(measured.source) if port(measured.source) == port(measured.target) else "different rails"


def series(document: VerifyDocument) -> List[Series]:
    """All series, by group, test and rail."""
    rails = {(name, at): rail for name, host in document.hosts.items() for at, rail in host.rails.items()}
    found: Dict[Tuple[str, str, str, str], Series] = {}
    for measured in document.bandwidth:
        key = (measured.group, measured.test, measured.unit, _rail(measured, rails))
        found.setdefault(key, Series(*key)).measurements.append(measured)
    return [found[key] for key in sorted(found, key=lambda key: [natural_key(part) for part in key])]


def figures(many: Sequence[Measurement]) -> Dict[str, Any]:
    """Number of measurements and of those that fell short; least, median and greatest value, thresholds, as text."""
    values = [measured.value for measured in many]
    return {
        "pairs": len(many),
        "short": sum(measured.verdict in _BAD for measured in many),
        "least": figure(min(values)),
        "median": figure(statistics.median(values)),
        "greatest": figure(max(values)),
        "threshold": span(measured.threshold for measured in many),
        "expected": span(measured.expected for measured in many),
    }


def _ends(measured: Measurement) -> Set[str]:
    return {measured.source.host, measured.target.host}


def culprits(many: Sequence[Measurement], every: Sequence[Measurement]) -> List[str]:
    """Few hosts that have one end of each of ``many``, which are part of ``every``.

    The host whose measurements are bad most often goes first, then what it does not explain, until nothing is left.
    """
    total = Counter(host for measured in every for host in _ends(measured))
    of_host: Dict[str, List[Measurement]] = {}
    for measured in many:
        for host in _ends(measured):
            of_host.setdefault(host, []).append(measured)
    left = {host: len(of_host[host]) for host in sorted(of_host, key=natural_key)}
    explained: Set[int] = set()
    found: Set[str] = set()
    while any(left.values()):
        first = max(left, key=lambda host: (left[host] / total[host], left[host]))
        own = [measured for measured in of_host[first] if id(measured) not in explained]
        # Of a single pair nobody knows which end it is.
        found |= {first} if len(own) > 1 else _ends(own[0])
        for measured in own:
            explained.add(id(measured))
            for host in _ends(measured):
                left[host] -= 1
    return sorted(found, key=natural_key)


def story(series: Series, verdict: str) -> Story:
    """What is to be said about the measurements with this verdict."""
    many = [measured for measured in series.measurements if measured.verdict == verdict]
    where = f"On {series.rail} of {series.group}"
    if verdict not in _BAD:
        hosts = sorted({host for measured in many for host in _ends(measured)}, key=natural_key)
        text = f"{where}, {counted(len(many), 'measurement')} as good as required."
        if verdict == "impossible":
            text = f"{where}, {counted(len(many), 'measurement')} not judged, such as: {many[0].text}."
        return Story(text, "", hosts, len(many))
    first = worst(many, 1)[0]
    hosts = culprits(many, series.measurements)
    ends = f"{first.source.host} {port(first.source)} to {first.target.host} {port(first.target)}"
    demanded = f"{span(measured.threshold for measured in many)} {series.unit}"
    text = (
        f"{where}, {len(many)} of {counted(len(series.measurements), 'measurement')} missed {demanded},"
        f" all with {names(hosts, _NAMES_UP_TO)} at one end."
        f" The worst, {ends}, has {figure(first.value)} {series.unit}."
    )
    return Story(text, _REMEDY, hosts, len(many))


def matrix(series: Series) -> Matrix:
    """The pairs of a series. More than ``MATRIX_UP_TO`` hosts share rows and columns, evenly, in natural order."""
    hosts = sorted({host for measured in series.measurements for host in _ends(measured)}, key=natural_key)
    number = min(len(hosts), MATRIX_UP_TO)
    place = {host: index * number // len(hosts) for index, host in enumerate(hosts)}
    blocks: List[List[str]] = [[] for _block in range(number)]
    for host in hosts:
        blocks[place[host]].append(host)
    pairs = {(measured.source.host, measured.target.host) for measured in series.measurements}
    directed = any(left != right and (right, left) in pairs for left, right in pairs)
    cells: Dict[Tuple[int, int], Cell] = {}
    for measured in series.measurements:
        row, column = place[measured.source.host], place[measured.target.host]
        position = (row, column) if directed else (min(row, column), max(row, column))
        cell = cells.get(position)
        if cell is None:
            cells[position] = Cell(measured)
        else:
            cell.times += 1
            cell.worst = min(cell.worst, measured, key=_badness)
    return Matrix(blocks, cells, directed)
