# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The benchmark's figures: bandwidth by block size and template, and how long transfers took.

Plots are in units of the SVG, narrow enough for a telephone. Each template has a number, by which it looks alike in all
plots of its group, and a mark of its own, since not everybody sees colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.document import size
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    FLOOR,
    KINDS,
    BenchmarkDocument,
    BenchmarkLine,
    BenchmarkRun,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

WIDTH = 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 12, 36
_HEIGHT = 170
# Templates with numbers above that look like others.
STYLES = 5
# Places of a run's quantiles.
_LEAST, _QUARTER, _MEDIAN, _THREE_QUARTERS, _GREATEST = 0, 5, 10, 15, 20
_NAME_HEIGHT, _ROW_HEIGHT = 18, 16
_UNITS = (("s", 1.0), ("ms", 1e-3), ("\u00b5s", 1e-6))


@dataclass
class Tick:
    """A labelled place on an axis."""

    at: float
    text: str


@dataclass
class TransferTemplate:
    """What was measured under one name; ``style`` is the number of its look, ``None`` for TCP."""

    name: str
    kind: str
    style: Optional[int]

    @property
    def look(self) -> str:
        return "floor" if self.style is None else f"s{self.style}"


@dataclass
class Point:
    """The mean of all runs with one block size; a bar goes from ``low`` to ``high``, the slowest and fastest run."""

    x: float
    y: float
    low: float
    high: float
    title: str


@dataclass
class Curve:
    template: TransferTemplate
    about: str
    points: List[Point] = field(default_factory=list)


@dataclass
class BandwidthPlot:
    """One operation of a group. ``limit`` is where the least is that port and PCIe of its templates can carry."""

    title: str
    curves: List[Curve]
    x_ticks: List[Tick]
    y_ticks: List[Tick]
    limit: Optional[Tick]
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = _TOP + _HEIGHT
    height: int = _TOP + _HEIGHT + _BOTTOM


@dataclass
class TransferBox:
    """The transfers of one run: all, the middle half, median and p99 on the time axis."""

    y: float
    text: str
    title: str
    least: float
    quarter: float
    median: float
    three_quarters: float
    p99: float
    greatest: float


@dataclass
class Boxes:
    """The runs of one template below its name."""

    template: TransferTemplate
    y: float
    text: str
    rows: List[TransferBox] = field(default_factory=list)


@dataclass
class TimesPlot:
    """One operation and block size of a group."""

    title: str
    templates: List[Boxes]
    ticks: List[Tick]
    unit: str
    bottom: float
    left: int = _LEFT
    right: int = WIDTH - _RIGHT

    @property
    def height(self) -> float:
        return self.bottom + _BOTTOM


@dataclass
class TransfersPage:
    """What is shown of a group; ``smaller`` and ``others`` are of blocks that are not the largest."""

    group: str
    largest: List[Tuple[TransferTemplate, BenchmarkLine]]
    smaller: List[Tuple[TransferTemplate, BenchmarkLine]]
    bandwidth: List[BandwidthPlot]
    times: List[TimesPlot]
    others: List[TimesPlot]


def _step(span: float, steps: int) -> float:
    """A round step, of which about so many fit."""
    power: float = 10.0 ** math.floor(math.log10(span / steps))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * steps >= span * 0.999)


def _ticks(first: float, last: float, steps: int) -> List[float]:
    """Round values; the first is not above ``first``, the last not below ``last``."""
    step = _step(last - first, steps) if last > first else (abs(first) or 1.0)
    start, end = math.floor(first / step + 1e-9), math.ceil(last / step - 1e-9)
    return [number * step for number in range(start, max(end, start + 1) + 1)]


def _templates(lines: Sequence[BenchmarkLine]) -> Dict[str, TransferTemplate]:
    kinds = {line.name: line.kind for line in lines}
    names = sorted(kinds, key=lambda name: (KINDS.index(kinds[name]), natural_key(name)))
    numbered = [name for name in names if kinds[name] != FLOOR]
    return {
        name: TransferTemplate(name, kinds[name], numbered.index(name) % STYLES if name in numbered else None)
        for name in names
    }


def _bandwidth(lines: Sequence[BenchmarkLine], known: Dict[str, TransferTemplate], operation: str) -> BandwidthPlot:
    sizes = sorted({line.bytes for line in lines})
    limits = [line.limit_gb_s for line in lines if line.limit_gb_s is not None]
    limit = min(limits) if limits else None
    values = _ticks(0, max([line.max_gb_s for line in lines] + ([limit] if limit else [])), 5)
    bottom = _TOP + _HEIGHT
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])
    room = WIDTH - _LEFT - _RIGHT - 40

    def across(number: int) -> float:
        share = (math.log2(number) - first) / (last - first) if last > first else 0.5
        return round(_LEFT + 20 + share * room, 1)

    def up(value: float) -> float:
        return round(bottom - value / values[-1] * _HEIGHT, 1)

    curves = []
    for template in known.values():
        own = [line for line in lines if line.name == template.name]
        points = [
            Point(
                across(line.bytes),
                up(line.mean_gb_s),
                up(line.min_gb_s),
                up(line.max_gb_s),
                f"{template.name}, {size(line.bytes)}: {line.mean_gb_s:.3g} GB/s",
            )
            for line in own
        ]
        if points:
            about = sorted({f"{line.memory}, {line.pinned}" for line in own}, key=natural_key)
            curves.append(Curve(template, "; ".join(about), points))
    return BandwidthPlot(
        title=operation,
        curves=curves,
        x_ticks=[Tick(across(number), size(number)) for number in sizes],
        y_ticks=[Tick(up(value), f"{value:g}") for value in values],
        limit=None if limit is None else Tick(up(limit), f"{limit:.3g} GB/s: what port and PCIe can carry"),
    )


def _times(runs: Sequence[BenchmarkRun], known: Dict[str, TransferTemplate], title: str) -> TimesPlot:
    least = min(run.quantiles_seconds[_LEAST] for run in runs)
    greatest = max(run.quantiles_seconds[_GREATEST] for run in runs)
    unit, factor = next((unit for unit in _UNITS if greatest >= unit[1]), _UNITS[-1])
    values = _ticks(least / factor, greatest / factor, 5)

    def across(seconds: float) -> float:
        share = (seconds / factor - values[0]) / (values[-1] - values[0])
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    y = float(_TOP)
    found = []
    for template in known.values():
        own = sorted((run for run in runs if _name(run, known) == template.name), key=lambda run: run.repetition)
        if not own:
            continue
        ends = sorted({_end(run) for run in own}, key=natural_key)
        boxes = Boxes(template, y + _NAME_HEIGHT - 6, f"{template.name}: {'; '.join(ends)}")
        y += _NAME_HEIGHT
        for run in own:
            told = ", ".join(
                f"{name} {value / factor:.3g} {unit}"
                for name, value in (("p50", run.p50_seconds), ("p95", run.p95_seconds), ("p99", run.p99_seconds))
            )
            boxes.rows.append(
                TransferBox(
                    y + _ROW_HEIGHT / 2,
                    f"run {run.repetition}",
                    f"{template.name}, run {run.repetition}: {told}",
                    least=across(run.quantiles_seconds[_LEAST]),
                    quarter=across(run.quantiles_seconds[_QUARTER]),
                    median=across(run.quantiles_seconds[_MEDIAN]),
                    three_quarters=across(run.quantiles_seconds[_THREE_QUARTERS]),
                    p99=across(run.p99_seconds),
                    greatest=across(run.quantiles_seconds[_GREATEST]),
                )
            )
            y += _ROW_HEIGHT
        found.append(boxes)
        y += 4
    return TimesPlot(title, found, [Tick(across(value * factor), f"{value:.6g}") for value in values], unit, y)


def _name(run: BenchmarkRun, known: Dict[str, TransferTemplate]) -> str:
    """Under which its line is shown: in documents of older versions, all requests of a template had one."""
    return run.name if run.name in known else run.template


def _end(run: BenchmarkRun) -> str:
    near = f", {'/'.join(run.path)}" if run.path else ""
    return f"{run.initiator.memory}{near}"


def groups(document: BenchmarkDocument) -> List[TransfersPage]:
    """What is shown of each group. TCP is in no plot of times, since all others would be a dot beside it."""
    found = []
    for group in sorted({line.group for line in document.summary}, key=natural_key):
        lines = [line for line in document.summary if line.group == group]
        runs = [run for run in document.runs if run.group == group and run.kind != FLOOR]
        known = _templates(lines)
        largest = max(line.bytes for line in lines)
        operations = sorted({line.operation for line in lines}, reverse=True)
        by_size: Dict[Tuple[str, int], List[BenchmarkRun]] = {}
        for run in runs:
            by_size.setdefault((run.operation, run.bytes), []).append(run)
        drawn = [
            (number, _times(by_size[operation, number], known, f"{operation}, {size(number)}"))
            for operation in operations
            for number in sorted({run.bytes for run in runs}, reverse=True)
            if (operation, number) in by_size
        ]
        ordered = sorted(lines, key=lambda line: (list(known).index(line.name), line.operation != "WRITE", line.bytes))
        found.append(
            TransfersPage(
                group,
                [(known[line.name], line) for line in ordered if line.bytes == largest],
                [(known[line.name], line) for line in ordered if line.bytes != largest],
                [_bandwidth([line for line in lines if line.operation == name], known, name) for name in operations],
                [plot for number, plot in drawn if number == largest],
                [plot for number, plot in drawn if number != largest],
            )
        )
    return found


def verdict(document: BenchmarkDocument) -> str:
    """The worst of it: an error is worse than a slow port, and neither passes."""
    verdicts = {line.verdict for line in document.summary}
    if document.errors or "fail" in verdicts:
        return "fail"
    return "pass" if "pass" in verdicts else "impossible"
