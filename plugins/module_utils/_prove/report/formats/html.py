# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document as one HTML file that needs nothing else.

What is shown is computed here; how it looks is in ``verify.html.j2`` of the role.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.document import size
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Measurement, VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import (
    bandwidth,
    commands,
    findings,
    fleet,
    most,
    rails,
    topology,
    transfers,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.causes import BAD
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import drawing, page
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import (
    WORDS,
    duration,
    evidence,
    figure,
    names,
    percent,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# Lower bounds of the shades of a heat map, as fractions of the threshold.
_SHADES = (0.5, 0.8, 1.0, 1.05)
_WORST = 12
# Characters of what a check has seen.
_EVIDENCE = 2000


@dataclass
class Heat:
    """A cell of a heat map; ``shade`` is 0 (far too slow) to 4, ``None`` where there is no threshold."""

    text: str
    title: str
    shade: Optional[int]
    short: bool


@dataclass
class HeatMap:
    """A matrix as rows of cells, with a name and what is to be said about it."""

    name: str
    text: str
    labels: List[str]
    rows: List[List[Optional[Heat]]]
    directed: bool


@dataclass
class Bandwidth:
    """All measurements of one group: a row of figures for each series, heat maps ``shown`` at once and ``others``."""

    group: str
    rows: List[Dict[str, Any]] = field(default_factory=list)
    shown: List[HeatMap] = field(default_factory=list)
    others: List[HeatMap] = field(default_factory=list)


def pair(measured: Measurement) -> str:
    ends = [f"{end.host} {bandwidth.port(end)}" for end in (measured.source, measured.target)]
    return f"{ends[0]} \u2192 {ends[1]}"


def _heat(cell: bandwidth.Cell) -> Heat:
    worst = cell.worst
    found = bandwidth.quality(worst)
    shade = None if found is None else sum(found >= bound for bound in _SHADES)
    short = worst.verdict in ("fail", "warn")
    of_many = f", the worst of {cell.times}" if cell.times > 1 else ""
    title = f"{pair(worst)}: {figure(worst.value)} {worst.unit}{of_many}"
    return Heat(figure(worst.value), title, shade, short)


def _text(series: bandwidth.Series, aggregated: bool) -> str:
    verdicts = Counter(measured.verdict for measured in series.measurements)
    parts = [f"{series.bad} of {len(series.measurements)} miss the threshold"] if series.bad else []
    if not series.bad and verdicts["pass"]:
        parts.append(f"{verdicts['pass']} as good as required")
    if verdicts["impossible"]:
        parts.append(f"{verdicts['impossible']} not judged")
    if aggregated:
        parts.append("a cell shows the worst pair of two blocks of hosts")
    return "; ".join(parts)


def _heat_map(series: bandwidth.Series) -> HeatMap:
    matrix = bandwidth.matrix(series)
    places = range(len(matrix.blocks))
    cells = {position: _heat(cell) for position, cell in matrix.cells.items()}
    return HeatMap(
        name=f"{series.test}, {series.rail}",
        text=_text(series, aggregated=any(len(block) > 1 for block in matrix.blocks)),
        labels=[fold(block) for block in matrix.blocks],
        rows=[[cells.get((row, column)) for column in places] for row in places],
        directed=matrix.directed,
    )


def _bandwidth(document: VerifyDocument) -> List[Bandwidth]:
    """Heat maps where all is well are among the ``others``, but for one of each test."""
    found: Dict[str, Bandwidth] = {}
    seen = set()
    every = bandwidth.series(document)
    for series in sorted(every, key=lambda series: series.bad == 0):
        known = found.setdefault(series.group, Bandwidth(series.group))
        shown = series.bad or (series.group, series.test) not in seen
        (known.shown if shown else known.others).append(_heat_map(series))
        seen.add((series.group, series.test))
    for series in every:
        known = found[series.group]
        known.rows.append(dict(bandwidth.figures(series.measurements), series=series))
    return [found[group] for group in sorted(found, key=natural_key)]


@dataclass
class HostRow:
    """A host with links to its findings and its drawing; ``warnings`` are those of its facts."""

    name: str
    anchor: str
    verdict: str
    findings: List[findings.ReportFinding]
    shape: str
    warnings: List[str]


def _rows(
    document: VerifyDocument, picture: findings.Picture, shapes: Sequence[topology.DrawnShape]
) -> Dict[str, HostRow]:
    drawn = {host: shape.anchor for shape in shapes for host in shape.hosts}
    found = {
        name: HostRow(
            name,
            f"host-{number}",
            picture.hosts[name],
            [],
            drawn.get(name, ""),
            most.cut([warning.text for warning in document.hosts[name].known.warnings], "warnings"),
        )
        for number, name in enumerate(sorted(document.hosts, key=natural_key), start=1)
    }
    for finding in picture.findings:
        for each in (finding, *finding.consequences):
            for host in each.hosts if each.verdict in BAD else ():
                if host in found:
                    found[host].findings.append(each)
    return found


def _evidence(values: Mapping[str, Any]) -> str:
    text = evidence(values)
    return text if len(text) <= _EVIDENCE else f"{text[:_EVIDENCE]}\u2026"


def html(document: VerifyDocument) -> str:
    """The whole page."""
    picture = findings.picture(document)
    shapes = topology.shapes(document)
    rows = _rows(document, picture, shapes)
    filters: Dict[str, Any] = {
        "figure": figure,
        "evidence": _evidence,
        "sentences": most.sentences,
        "cut": most.cut,
        "more": most.more,
        "fold": fold,
        "counted": counted,
        "names": names,
        "pair": pair,
        "size": size,
        "percent": percent,
        "duration": duration,
        "rows": lambda hosts: [rows[host] for host in hosts if host in rows],
    }
    return page.rendered(
        "verify.html.j2",
        filters,
        document=document,
        picture=picture,
        rows=rows,
        # Of facts alone, nothing was checked.
        judged=bool(document.checks or document.bandwidth or not document.hosts),
        words=WORDS,
        most=most.MOST,
        groups=fleet.groups(document, picture.hosts),
        shapes=[(shape, [drawing.draw(node) for node in shape.numa]) for shape in shapes],
        bandwidth=_bandwidth(document),
        command=lambda mend, hosts: commands.command(mend, hosts, document).line,
        rails=rails.tables(document),
        rails_legend=rails.LEGEND,
        worst=bandwidth.worst(document.bandwidth, _WORST),
        transfers=transfers.groups(document.benchmark) if document.benchmark else [],
        transfers_verdict=transfers.verdict(document.benchmark) if document.benchmark else "",
    )
