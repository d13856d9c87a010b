# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Summarises the runs of a template, compared with the unaligned template and with what ports can carry."""

from __future__ import annotations

from statistics import mean
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.model import (
    BASELINE,
    RDMA,
    BenchmarkLine,
    BenchmarkRun,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

_Key = Tuple[str, str, str, int]


def _of_ends(run: BenchmarkRun, values: Sequence[str]) -> str:
    return values[0] if values[0] == values[1] else " to ".join(values)


def _memory(run: BenchmarkRun) -> str:
    return _of_ends(run, [run.initiator.memory, run.target.memory])


def _pinned(run: BenchmarkRun) -> str:
    ends = (run.initiator, run.target)
    nodes = ["not pinned" if not end.pinned else f"NUMA {'?' if end.numa is None else end.numa}" for end in ends]
    return _of_ends(run, nodes)


def _one(texts: Sequence[str]) -> str:
    return ", ".join(sorted(set(texts), key=natural_key))


def _line(key: _Key, runs: Sequence[BenchmarkRun]) -> BenchmarkLine:
    values = [run.avg_gb_s for run in runs]
    middle = mean(values)
    limits = [run.limit_gb_s for run in runs]
    known = [limit for limit in limits if limit is not None]
    limit = min(known) if len(known) == len(limits) else None
    return BenchmarkLine(
        group=key[0],
        template=key[1],
        kind=runs[0].kind,
        operation=key[2],
        bytes=key[3],
        runs=len(runs),
        memory=_one([_memory(run) for run in runs]),
        pinned=_one([_pinned(run) for run in runs]),
        mean_gb_s=middle,
        min_gb_s=min(values),
        max_gb_s=max(values),
        spread=(max(values) - min(values)) / middle,
        avg_seconds=mean(run.avg_seconds for run in runs),
        p50_seconds=mean(run.p50_seconds for run in runs),
        p99_seconds=mean(run.p99_seconds for run in runs),
        limit_gb_s=limit,
        fraction=None if limit is None else middle / limit,
    )


def _judge(line: BenchmarkLine, largest: bool, fraction: float) -> None:
    """Only the largest blocks have to reach what ports carry, of templates that are not there for comparison."""
    if line.kind != RDMA:
        line.text = "for comparison"
    elif not largest:
        line.text = "only the largest blocks are judged"
    elif line.fraction is None:
        line.text = "not judged: what the ports carry is unknown, or they are software devices"
    else:
        line.verdict = "pass" if line.fraction >= fraction else "fail"
        line.text = f"{line.fraction:.0%} of what port and PCIe can carry, {fraction:.0%} is required"


def lines(runs: Sequence[BenchmarkRun], fraction: float) -> List[BenchmarkLine]:
    """The summary by group, template, operation and size. ``fraction`` is what is demanded of what ports carry."""
    by_key: Dict[_Key, List[BenchmarkRun]] = {}
    for run in runs:
        by_key.setdefault((run.group, run.template, run.operation, run.bytes), []).append(run)
    found = [_line(key, mine) for key, mine in by_key.items()]
    found.sort(key=lambda line: (natural_key(line.group), natural_key(line.template), line.operation, line.bytes))
    largest = max((line.bytes for line in found), default=0)
    for line in found:
        base = _baseline(line, found)
        if base is not None:
            line.ratio = line.mean_gb_s / base.mean_gb_s
            line.latency_change = line.avg_seconds / base.avg_seconds - 1
        _judge(line, line.bytes == largest, fraction)
    return found


def _baseline(line: BenchmarkLine, found: Sequence[BenchmarkLine]) -> Optional[BenchmarkLine]:
    """The group's unaligned template with the same operation and size, in the same memory.

    None where the line is of it, and where there are several, since which is meant is not known.
    """
    same = [
        other
        for other in found
        if (other.group, other.operation, other.bytes, other.memory)
        == (line.group, line.operation, line.bytes, line.memory)
        and other.kind == BASELINE
    ]
    return same[0] if line.kind == RDMA and len(same) == 1 else None
