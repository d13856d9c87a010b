# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of a benchmark: its runs, their summary, and what others have published."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import kv, summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.model import (
    VERSION,
    BenchmarkFault,
    BenchmarkRun,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.runs import Found

# Others' hardware: nothing here is compared with it.
PUBLISHED: Sequence[Mapping[str, Any]] = (
    {
        "source": "DRANET, example of KV-cache transfers with NIXL",
        "hardware": "2 nodes with 8 H100 80GB and 8 ConnectX VFs each, 4 GPUs and 4 NICs per NUMA node",
        "operation": "WRITE",
        "bytes": 1 << 30,
        "aligned": {"gb_s": 39.07, "seconds": 0.02749},
        "unaligned": {"gb_s": 27.54, "seconds": 0.03899},
    },
)


@dataclass
class BenchmarkSettings:
    """What was asked for. ``fraction`` is demanded of what ports carry; ``models`` are those of the KV table."""

    parameters: Mapping[str, Any]
    fraction: float
    models: Sequence[Mapping[str, Any]] = ()
    skipped: Sequence[str] = field(default_factory=list)


def document(found: Found, settings: BenchmarkSettings, collection: str, created: Optional[str]) -> Dict[str, Any]:
    runs: List[BenchmarkRun] = [one for one in found if isinstance(one, BenchmarkRun)]
    faults = [one for one in found if isinstance(one, BenchmarkFault)]
    lines = summary.lines(runs, settings.fraction)
    return {
        "version": VERSION,
        "created": created,
        "collection": collection,
        "parameters": {**settings.parameters, "fraction": settings.fraction},
        "skipped": list(settings.skipped),
        "errors": [asdict(fault) for fault in faults],
        "runs": [asdict(run) for run in runs],
        "summary": [asdict(line) for line in lines],
        "kv": [asdict(line) for line in kv.table(settings.models, lines)],
        "published": [dict(one) for one in PUBLISHED],
    }


def _size(number: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >= 1 << power:
            return f"{number / (1 << power):g} {unit}"
    return f"{number} B"


def text(found: Mapping[str, Any]) -> List[str]:
    """The summary in lines for people."""
    lines = []
    for one in found["summary"]:
        line = (
            f"{one['group']} {one['template']}: {one['operation']} {_size(one['bytes'])}, {one['mean_gb_s']:.3g} GB/s"
        )
        line += f" (spread {one['spread']:.0%} of {one['runs']} runs; {one['memory']}, {one['pinned']})"
        if one["ratio"] is not None:
            line += f", {one['ratio']:.2f} times unaligned, latency {one['latency_change']:+.1%}"
        lines.append(f"{line}: {one['text']}" if one["verdict"] != "impossible" else line)
    for one in found["kv"]:
        times = ", ".join(f"{time['group']} {time['template']} {time['seconds'] * 1e3:.3g} ms" for time in one["times"])
        lines.append(
            f"KV cache of {one['model']}, {one['tokens']} tokens, {_size(one['bytes'])}: {times or 'no WRITE'}"
        )
    lines += [f"{one['group']} {one['template']}, run {one['repetition']}: {one['text']}" for one in found["errors"]]
    for one in found["published"]:
        lines.append(
            f"For comparison, others' hardware ({one['source']}; {one['hardware']}): {one['operation']}"
            f" {_size(one['bytes'])}, {one['aligned']['gb_s']} GB/s aligned, {one['unaligned']['gb_s']} GB/s unaligned"
        )
    return lines
