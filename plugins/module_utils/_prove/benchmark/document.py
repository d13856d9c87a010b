# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of a benchmark: its runs, their summary, and what others have published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.runs import Found
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    RDMA,
    BenchmarkDocument,
    BenchmarkFault,
    BenchmarkLine,
    BenchmarkRun,
    Published,
    PublishedFigure,
)

# Others' hardware: nothing here is compared with it.
PUBLISHED: Sequence[Published] = (
    Published(
        source="DRANET, example of KV-cache transfers with NIXL",
        hardware="2 nodes with 8 H100 80GB and 8 ConnectX VFs each, 4 GPUs and 4 NICs per NUMA node",
        operation="WRITE",
        bytes=1 << 30,
        aligned=PublishedFigure(39.07, 0.02749),
        unaligned=PublishedFigure(27.54, 0.03899),
    ),
)


@dataclass
class BenchmarkSettings:
    """What was asked for. ``fraction`` is demanded of what ports carry; ``models`` are those of the KV table."""

    parameters: Mapping[str, Any]
    fraction: float
    models: Sequence[Mapping[str, Any]] = ()
    skipped: Sequence[str] = field(default_factory=list)


def document(found: Found, settings: BenchmarkSettings, collection: str, created: Optional[str]) -> BenchmarkDocument:
    runs: List[BenchmarkRun] = [entry for entry in found if isinstance(entry, BenchmarkRun)]
    lines = summary.lines(runs, settings.fraction)
    return BenchmarkDocument(
        created=created,
        collection=collection,
        parameters={**settings.parameters, "fraction": settings.fraction},
        skipped=list(settings.skipped),
        errors=[entry for entry in found if isinstance(entry, BenchmarkFault)],
        runs=runs,
        summary=lines,
        kv=summary.table(settings.models, lines),
        published=list(PUBLISHED),
    )


def size(number: int) -> str:
    """``1 GiB``, ``1.5 MiB``."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >= 1 << power:
            return f"{number / (1 << power):g} {unit}"
    return f"{number} B"


def title(line: BenchmarkLine) -> str:
    return f"{line.group} {line.name}: {line.operation} {size(line.bytes)}"


def text(found: BenchmarkDocument) -> List[str]:
    """The summary in lines for people."""
    lines = []
    for mean in found.summary:
        line = f"{title(mean)}, {mean.mean_gb_s:.3g} GB/s"
        line += f" (spread {mean.spread:.0%} of {mean.runs} runs; {mean.memory}, {mean.pinned})"
        if mean.ratio is not None:
            line += f", {mean.ratio:.2f} times unaligned, latency {mean.latency_change or 0:+.1%}"
        lines.append(f"{line}: {mean.text}" if mean.kind == RDMA else line)
    for entry in found.kv:
        times = ", ".join(f"{time.group} {time.name} {time.seconds * 1e3:.3g} ms" for time in entry.times)
        lines.append(f"KV cache of {entry.model}, {entry.tokens} tokens, {size(entry.bytes)}: {times or 'no WRITE'}")
    lines += [f"{fault.group} {fault.name}, run {fault.repetition}: {fault.text}" for fault in found.errors]
    lines += [
        f"For comparison, others' hardware ({figure.source}; {figure.hardware}): {figure.operation} "
        f"{size(figure.bytes)}, {figure.aligned.gb_s} GB/s aligned, {figure.unaligned.gb_s} GB/s unaligned"
        for figure in found.published
    ]
    return lines
