# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of a benchmark: its nouns, and how it is written to ``benchmark.json`` and read back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read as facts_read

VERSION = 1
# Of the times of a run: 0, 5, ..., 100 percent.
QUANTILES = 21
# Kinds of templates. Only those of the last one have to reach what ports can carry.
BASELINE, FLOOR, RDMA = "unaligned", "floor", "rdma"
KINDS = (RDMA, BASELINE, FLOOR)
VERDICTS = ("pass", "fail", "impossible")


@dataclass
class BenchmarkEnd:
    """One end of a run. ``numa`` is the NUMA node to which the process was pinned, ``None`` where it was not."""

    node: str
    memory: str
    gpu: Optional[str]
    pinned: bool
    numa: Optional[int]


@dataclass
class BenchmarkRun:
    """One operation and block size in one pair of pods. Times in seconds, sizes in bytes, GB are 10^9 bytes.

    ``transport`` is the row of UCX's table, ``path`` how GPU and NIC are connected (``nvidia-smi topo -m``).
    ``counted`` are bytes that the ports counted, ``limit_gb_s`` what ports and PCIe can carry; ``None`` where unknown.
    """

    group: str
    template: str
    request: str
    kind: str
    repetition: int
    operation: str
    bytes: int
    warmup: int
    iterations: int
    avg_gb_s: float
    avg_seconds: float
    p50_seconds: float
    p95_seconds: float
    p99_seconds: float
    quantiles_seconds: List[float]
    transport: str
    devices: List[str]
    path: List[str]
    counted: Optional[int]
    limit_gb_s: Optional[float]
    initiator: BenchmarkEnd
    target: BenchmarkEnd


@dataclass
class BenchmarkFault:
    """A pair, or an operation of it, that gave no result."""

    group: str
    template: str
    repetition: int
    text: str


@dataclass
class BenchmarkLine:
    """All runs of a template with one operation and block size.

    ``spread`` is (max - min) / mean. ``ratio`` and ``latency_change`` (of the average time, -0.3 is 30 % less) are
    against the group's unaligned template, ``fraction`` is the mean's of ``limit_gb_s``. ``memory`` is that of the
    initiator and the target.
    """

    group: str
    template: str
    kind: str
    operation: str
    bytes: int
    runs: int
    memory: str
    pinned: str
    mean_gb_s: float
    min_gb_s: float
    max_gb_s: float
    spread: float
    avg_seconds: float
    p50_seconds: float
    p99_seconds: float
    limit_gb_s: Optional[float]
    fraction: Optional[float]
    ratio: Optional[float] = None
    latency_change: Optional[float] = None
    verdict: str = "impossible"
    text: str = ""


@dataclass
class KvTime:
    """Estimated seconds for a KV cache with the mean bandwidth of a template's largest WRITE."""

    group: str
    template: str
    seconds: float


@dataclass
class KvLine:
    """A model's KV cache for a prompt, in bytes."""

    model: str
    tokens: int
    bytes: int
    times: List[KvTime] = field(default_factory=list)


@dataclass
class PublishedFigure:
    """What one template reached on others' hardware."""

    gb_s: float
    seconds: float


@dataclass
class Published:
    """What others have published of their hardware. Nothing is compared with it."""

    source: str
    hardware: str
    operation: str
    bytes: int
    aligned: PublishedFigure
    unaligned: PublishedFigure


@dataclass
class BenchmarkDocument:
    """All that one run of the benchmark found; ``parameters`` are what was asked for."""

    created: Optional[str]
    collection: str
    parameters: Dict[str, Any]
    skipped: List[str]
    errors: List[BenchmarkFault]
    runs: List[BenchmarkRun]
    summary: List[BenchmarkLine]
    kv: List[KvLine]
    published: List[Published]


# A byte in the longest time that a log may have.
_LEAST_GB_S = 1e-15


class BenchmarkDocumentError(ValueError):
    """The data is not a document of this version."""


def plain(whole: BenchmarkDocument) -> Dict[str, Any]:
    """The document as the dictionary that is written as JSON."""
    return {"version": VERSION, **asdict(whole)}


def read(value: Any) -> BenchmarkDocument:
    """The document from its dictionary. Raises BenchmarkDocumentError."""
    version = value.get("version") if isinstance(value, Mapping) else None
    if version != VERSION:
        raise BenchmarkDocumentError(f"version is {version!r}, it must be {VERSION}")
    try:
        found = facts_read.typed(BenchmarkDocument, value)
    except facts_read.FactsError as error:
        raise BenchmarkDocumentError(str(error)) from None
    for index, run in enumerate(found.runs):
        times = run.quantiles_seconds
        if len(times) != QUANTILES or times != sorted(times) or times[0] <= 0:
            raise BenchmarkDocumentError(f"runs[{index}].quantiles_seconds must be {QUANTILES} ascending times")
    for index, line in enumerate(found.summary):
        if line.kind not in KINDS or line.verdict not in VERDICTS:
            raise BenchmarkDocumentError(f"summary[{index}] is of an unknown kind or verdict")
        if line.bytes < 1 or min(line.min_gb_s, line.mean_gb_s, line.max_gb_s) < _LEAST_GB_S:
            raise BenchmarkDocumentError(f"summary[{index}] has a size or bandwidth that is not above 0")
    return found
