# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of a benchmark: its nouns, and how it is written to ``benchmark.json`` and read back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read as facts_read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.schema import about
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version

VERSION = 1
# Of the times of a run: 0, 5, ..., 100 percent.
QUANTILES = 21
# Kinds of templates. Only those of the last one have to reach what ports can carry.
BASELINE, FLOOR, RDMA = "unaligned", "floor", "rdma"
KINDS = (RDMA, BASELINE, FLOOR)
VERDICTS = ("pass", "fail", "impossible")
_KIND = about("unaligned and floor are there for comparison; only rdma is judged.", enum=KINDS)
_OPERATION = about(enum=("WRITE", "READ"))
_ABOVE_0 = about(exclusiveMinimum=0)
_REQUEST = about("Which of its variants; empty in documents of older versions, which do not tell them apart.")


class _OfRequest:
    """What belongs to one request: a variant of a template, or the template itself."""

    template: str
    request: str

    @property
    def name(self) -> str:
        return self.template if self.request in ("", self.template) else f"{self.template} ({self.request})"


@dataclass
class BenchmarkEnd:
    """One end of a run."""

    node: str
    memory: str = field(metadata=about(enum=("DRAM", "VRAM")))
    gpu: Optional[str] = field(metadata=about("PCI address of the GPU whose memory was used."))
    pinned: bool = field(metadata=about("Whether the process was on the CPUs near its first NIC."))
    numa: Optional[int] = field(
        metadata=about("NUMA node of these CPUs, null where it was not pinned or the NIC has none.")
    )


@dataclass
class BenchmarkRun(_OfRequest):
    """One operation and size in one pair of pods, verified and over the right devices."""

    group: str
    template: str = field(metadata=about("Name in the inventory, or tcp."))
    request: str = field(metadata=about("Which of its variants."))
    kind: str = field(metadata=_KIND)
    repetition: int = field(metadata=about(minimum=1))
    operation: str = field(metadata=_OPERATION)
    bytes: int = field(metadata=about(minimum=1))
    warmup: int = field(metadata=about(minimum=0))
    iterations: int = field(metadata=about(minimum=1))
    avg_gb_s: float = field(metadata=_ABOVE_0)
    avg_seconds: float = field(metadata=_ABOVE_0)
    p50_seconds: float = field(metadata=_ABOVE_0)
    p95_seconds: float = field(metadata=_ABOVE_0)
    p99_seconds: float = field(metadata=_ABOVE_0)
    quantiles_seconds: List[float] = field(
        metadata=about("Of 0, 5, ..., 100 percent.", entries=_ABOVE_0, minItems=QUANTILES, maxItems=QUANTILES)
    )
    transport: str = field(metadata=about("The row of UCX's table of protocols that carried the blocks."))
    devices: List[str] = field(metadata=about("HCAs in it, none over TCP."))
    path: List[str] = field(metadata=about("How GPU and HCAs are connected (nvidia-smi topo -m), empty for DRAM."))
    counted: Optional[int] = field(
        metadata=about(
            "Bytes for which the counters of the initiator's ports grew enough, null where they do not tell."
        )
    )
    limit_gb_s: Optional[float] = field(metadata=about("What ports and PCIe links can carry, null where unknown."))
    initiator: BenchmarkEnd
    target: BenchmarkEnd
    given: Optional[int] = field(
        default=None,
        metadata=about(
            "How many HCAs the initiator's pod was given, null over TCP, where it is not known, and in documents of"
            " older versions."
        ),
    )


@dataclass
class BenchmarkFault(_OfRequest):
    """What gave no result."""

    group: str
    template: str
    repetition: int = field(metadata=about(minimum=1))
    text: str
    request: str = field(default="", metadata=_REQUEST)


@dataclass
class BenchmarkLine(_OfRequest):
    """All runs of a request with one operation and size; times are means of theirs."""

    group: str
    template: str
    kind: str = field(metadata=_KIND)
    operation: str = field(metadata=_OPERATION)
    bytes: int = field(metadata=about(minimum=1))
    runs: int = field(metadata=about(minimum=1))
    memory: str = field(metadata=about("Of initiator and target."))
    pinned: str = field(metadata=about("NUMA nodes of both."))
    mean_gb_s: float = field(metadata=_ABOVE_0)
    min_gb_s: float = field(metadata=_ABOVE_0)
    max_gb_s: float = field(metadata=_ABOVE_0)
    spread: float = field(metadata=about("(max - min) / mean"))
    avg_seconds: float = field(metadata=_ABOVE_0)
    p50_seconds: float = field(metadata=_ABOVE_0)
    p99_seconds: float = field(metadata=_ABOVE_0)
    limit_gb_s: Optional[float] = field(metadata=about("What ports and PCIe links can carry, the least of its runs."))
    fraction: Optional[float] = field(
        metadata=about("The lowest avg_gb_s / limit_gb_s of the runs, null if no run has a limit.")
    )
    ratio: Optional[float] = field(
        default=None, metadata=about("To the mean of the group's unaligned template, in the same memory.")
    )
    latency_change: Optional[float] = field(
        default=None, metadata=about("Of avg_seconds against it; -0.3 is 30 % less.")
    )
    verdict: str = field(
        default="impossible",
        metadata=about("impossible: there is nothing to judge, and the text says why.", enum=VERDICTS),
    )
    text: str = ""
    request: str = field(default="", metadata=_REQUEST)


@dataclass
class KvTime(_OfRequest):
    """Estimated time of a KV cache over a template."""

    group: str
    template: str
    seconds: float = field(metadata=about("At mean_gb_s of the largest WRITE.", **_ABOVE_0))
    request: str = field(default="", metadata=_REQUEST)


@dataclass
class KvLine:
    """A model's KV cache for a prompt."""

    model: str
    tokens: int = field(metadata=about(minimum=1))
    bytes: int = field(metadata=about("2 * layers * tokens * kv_heads * head_dim * bytes of a number", minimum=1))
    times: List[KvTime] = field(default_factory=list)


@dataclass
class PublishedFigure:
    """What one template reached on others' hardware."""

    gb_s: float = field(metadata=_ABOVE_0)
    seconds: float = field(metadata=_ABOVE_0)


@dataclass
class Published:
    """What others published of their hardware; nothing is compared with it."""

    source: str
    hardware: str
    operation: str = field(metadata=_OPERATION)
    bytes: int = field(metadata=about(minimum=1))
    aligned: PublishedFigure
    unaligned: PublishedFigure


@dataclass
class BenchmarkDocument:
    """What one run of benchmark.yml measured.

    Sizes are in bytes, times in seconds, gb_s in 10^9 bytes per second. The version grows whenever a reader of the
    older one would fail.
    """

    created: Optional[str] = field(metadata=about("ISO 8601 time."))
    collection: str = field(metadata=about("Version of the collection."))
    parameters: Dict[str, Any] = field(metadata=about("What was asked for."))
    skipped: List[str] = field(metadata=about("What was not measured, and why."))
    errors: List[BenchmarkFault]
    runs: List[BenchmarkRun]
    summary: List[BenchmarkLine]
    kv: List[KvLine]
    published: List[Published]


_LEAST_GB_S = 1e-15


class BenchmarkDocumentError(ValueError):
    """The data is not a document of this version."""


def plain(whole: BenchmarkDocument) -> Dict[str, Any]:
    """The document as the dictionary that is written as JSON."""
    return {"version": VERSION, **asdict(whole)}


def read(value: Any) -> BenchmarkDocument:
    """The document from its dictionary. Raises BenchmarkDocumentError."""
    try:
        state_version.known(value.get("version") if isinstance(value, Mapping) else None, VERSION)
        found = facts_read.typed(BenchmarkDocument, value)
    except (state_version.VersionError, state_version.NewerVersionError, facts_read.FactsError) as error:
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
