# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The nouns of the prove room: what was checked, what was measured, and the document that holds both.

``plain`` makes the dictionaries that go through Ansible and into the JSON file, ``document`` reads them back.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Type, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark as benchmarks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BenchmarkDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.remedies import WAYS, worded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.schema import about
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version

VERSION = 1
RINGS = ("host", "cluster", "pod")
# From best to worst. "impossible": it could not be tried here, and the text says why.
VERDICTS = ("pass", "impossible", "warn", "fail")
UNITS = ("Gb/s", "us")
_VERDICT = about("impossible: it could not be tried here, and the text says why.", enum=VERDICTS)

# "from" is no name that Python allows.
# The names of fields in the dictionary, where they differ.
NAMES = {"source": "from", "target": "to"}

_T = TypeVar("_T")


class DocumentError(ValueError):
    """The data is not a document of this version."""


class WordError(DocumentError):
    """A check has a value that checks do not have."""


@dataclass
class Check:
    """One thing that was looked at."""

    ring: str = field(metadata=about("Kind of check, and the tag that runs it.", enum=RINGS))
    id: str = field(
        metadata=about(
            "Stable name of the check; its first part is the kind of check (`ring`).",
            pattern=rf"^({'|'.join(RINGS)})(\.[a-z0-9_]+)+$",
        )
    )
    host: Optional[str]
    group: Optional[str]
    subject: str = field(metadata=about("Port (mlx5_0/1), pod or template; empty for the host or cluster as a whole."))
    verdict: str = field(metadata=_VERDICT)
    text: str = field(metadata=about("One sentence of what was found.", minLength=1))
    evidence: Dict[str, Any] = field(default_factory=dict, metadata=about("Plain values that the verdict rests on."))
    remedy: str = field(default="", metadata=about("One sentence of what to do; empty where nothing is to be done."))
    mend: str = field(
        default="", metadata=about("Which run of site mends it; empty where none does.", enum=("", *WAYS))
    )

    def __post_init__(self) -> None:
        """Raises WordError. A check that no report can show is found where it is made."""
        for name, choices in (("ring", RINGS), ("verdict", VERDICTS), ("mend", ("", *WAYS))):
            if getattr(self, name) not in choices:
                raise WordError(f"{name} is {getattr(self, name)!r}, it must be one of {', '.join(choices)}")
        for name in ("id", "subject", "text", "remedy"):
            if not isinstance(getattr(self, name), str):
                raise WordError(f"{name} is {getattr(self, name)!r}, it must be a string")


def guarded(made: Callable[[], Iterable[_T]], blamed: Callable[[str], _T]) -> List[_T]:
    """What is made of one host, or else what ``blamed`` makes of the reason why nothing can be."""
    try:
        return list(made())
    # Whatever one host has sent, the others have their report.
    except Exception as error:
        return [blamed(f"{type(error).__name__}: {error}")]


@dataclass
class End:
    """One end of a measurement; of a loopback both ends are the same."""

    host: str
    hca: str
    port: int = field(metadata=about(minimum=1))


@dataclass
class Measurement:
    """One value that was measured between two ports."""

    group: str
    test: str = field(
        metadata=about("perftest's name without ib_ (write_bw, read_lat), with ' in pods' where pods measured.")
    )
    source: End
    target: End = field(metadata=about("Equal to from where the port measured itself."))
    value: float
    unit: str = field(metadata=about("Of Gb/s more is better, of us (microseconds) less.", enum=UNITS))
    expected: Optional[float] = field(
        metadata=about("What the slower of port and PCIe link can carry; null where nothing is known.")
    )
    threshold: Optional[float] = field(metadata=about("What was demanded."))
    verdict: str = field(metadata=_VERDICT)
    text: str


@dataclass
class RingResult:
    """What one kind of checks has found."""

    checks: List[Check] = field(default_factory=list)
    bandwidth: List[Measurement] = field(default_factory=list)

    def as_dict(self) -> Dict[str, List[Dict[str, Any]]]:
        """As in the document."""
        return {
            "checks": [asdict(check) for check in self.checks],
            "bandwidth": [plain_measurement(measured) for measured in self.bandwidth],
        }


@dataclass
class DocumentHost:
    """A host of the document."""

    group: str = field(metadata=about("Inventory group that the host is planned in."))
    facts: Dict[str, Any] = field(
        default_factory=dict,
        metadata=about("ansible_facts.rdma as the module rdma_facts returns it; empty for a host that gave none."),
    )
    rails: Dict[str, int] = field(
        default_factory=dict,
        metadata=about(
            "Rail of each port (mlx5_0/1) that has one; empty where nothing was measured.", entries={"minimum": 0}
        ),
    )

    @cached_property
    def known(self) -> Facts:
        """The facts in their types, empty ones where there are none. Raises FactsError."""
        return read.facts(self.facts) if self.facts else Facts()


@dataclass
class VerifyRun:
    """How Ansible was called."""

    inventory: List[str] = field(default_factory=list, metadata=about("Its sources, as -i."))
    limit: Optional[str] = field(default=None, metadata=about("--limit, null without one."))
    hosts: Optional[str] = field(default=None, metadata=about("rdma_hosts, null for all hosts."))
    tags: List[str] = field(default_factory=list, metadata=about("--tags, empty for everything."))
    groups: List[str] = field(
        default_factory=list, metadata=about("Inventory groups all of whose hosts are in the document.")
    )
    extra: List[str] = field(
        default_factory=list,
        metadata=about(
            "Arguments of -e, except rdma_hosts. If one has a template, values of a Helm chart or variables of others"
            " than this collection, only the names."
        ),
    )


@dataclass
class PastFinding:
    """A check that failed or warned in one of the two runs."""

    id: str
    host: Optional[str]
    subject: str
    text: str


@dataclass
class EarlierRun:
    """What differs from an earlier run in what both have looked at."""

    created: Optional[str] = field(metadata=about("When the earlier run was."))
    new: List[PastFinding]
    gone: List[PastFinding]
    unchanged: int = field(metadata=about("How many findings both have.", minimum=0))


@dataclass
class VerifyDocument:
    """What one run of verify.yml found. The version grows whenever a reader of the older one would fail."""

    created: Optional[str] = field(
        metadata=about("ISO 8601 time, null where the time was left out so that equal runs give equal files.")
    )
    collection: str = field(metadata=about("Version of the collection."))
    hosts: Dict[str, DocumentHost] = field(default_factory=dict, metadata=about("All hosts of the run by name."))
    checks: List[Check] = field(default_factory=list)
    bandwidth: List[Measurement] = field(default_factory=list)
    run: VerifyRun = field(default_factory=VerifyRun)
    earlier: Optional[EarlierRun] = field(
        default=None,
        metadata=about(
            "What differs from the document that was at the same path, in what both runs have looked at; null without"
            " one."
        ),
    )
    benchmark: Optional[BenchmarkDocument] = field(
        default=None,
        metadata=about(
            "A run of benchmark.yml that is shown with this one, as benchmark.schema.json describes it; null without"
            " one.",
            type=["object", "null"],
        ),
    )


def _read(kind: Type[_T], at: str, value: Any, names: Optional[Mapping[str, str]] = None) -> _T:
    if not isinstance(value, Mapping):
        raise DocumentError(f"{at} is {value!r}, it must be a map")
    known = {(names or {}).get(item.name, item.name): item.name for item in fields(kind)}  # type: ignore[arg-type]  # always a dataclass
    strange = sorted(set(map(str, value)) - set(known))
    if strange:
        raise DocumentError(f"{at} has the key {strange[0]!r}, it must have {', '.join(known)}")
    try:
        return kind(**{known[key]: item for key, item in value.items()})
    except TypeError:
        missing = [name for name in known if name not in value]
        raise DocumentError(f"{at} lacks {', '.join(missing)}") from None


def _known(at: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise DocumentError(f"{at} is {value!r}, it must be one of {', '.join(choices)}")


def plain_measurement(measured: Measurement) -> Dict[str, Any]:
    """The measurement as a dictionary; its ends are called ``from`` and ``to`` there."""
    return {NAMES.get(key, key): value for key, value in asdict(measured).items()}


def measurement(value: Any, at: str = "measurement") -> Measurement:
    """A measurement from its dictionary. Raises DocumentError."""
    found = _read(Measurement, at, value, NAMES)
    _known(f"{at}.verdict", found.verdict, VERDICTS)
    _known(f"{at}.unit", found.unit, UNITS)
    found.source = _read(End, f"{at}.from", found.source)
    found.target = _read(End, f"{at}.to", found.target)
    return found


def check(value: Any, at: str = "check") -> Check:
    """A check from its dictionary. Raises DocumentError."""
    try:
        return _read(Check, at, value)
    except WordError as error:
        raise DocumentError(f"{at}.{error}") from None


def _host(at: str, value: Any) -> DocumentHost:
    found = _read(DocumentHost, at, value)
    try:
        _facts = found.known
    except read.FactsError as error:
        raise DocumentError(f"{at}.facts cannot be used: {error}") from None
    return found


def plain(whole: VerifyDocument) -> Dict[str, Any]:
    """The document as the dictionary that is written as JSON."""
    return {
        "version": VERSION,
        "created": whole.created,
        "collection": whole.collection,
        "hosts": {name: asdict(host) for name, host in whole.hosts.items()},
        "checks": [{**asdict(entry), "remedy": worded(entry.mend, entry.remedy)} for entry in whole.checks],
        "bandwidth": [plain_measurement(measured) for measured in whole.bandwidth],
        "run": asdict(whole.run),
        "earlier": asdict(whole.earlier) if whole.earlier else None,
        "benchmark": benchmarks.plain(whole.benchmark) if whole.benchmark else None,
    }


def document(value: Mapping[str, Any]) -> VerifyDocument:
    """The document from its dictionary. Raises DocumentError."""
    try:
        state_version.known(value.get("version"), VERSION)
    except ValueError as error:
        raise DocumentError(str(error)) from None
    found = _read(VerifyDocument, "document", {key: item for key, item in value.items() if key != "version"})
    found.run = _read(VerifyRun, "run", value.get("run") or {})
    if found.earlier is not None:
        found.earlier = _read(EarlierRun, "earlier", found.earlier)
        for name in ("new", "gone"):
            past = [_read(PastFinding, f"earlier.{name}", each) for each in getattr(found.earlier, name)]
            setattr(found.earlier, name, past)
    found.hosts = {str(name): _host(f"hosts.{name}", host) for name, host in found.hosts.items()}
    found.checks = [check(entry, f"checks[{index}]") for index, entry in enumerate(found.checks)]
    found.bandwidth = [measurement(entry, f"bandwidth[{index}]") for index, entry in enumerate(found.bandwidth)]
    found.benchmark = benchmark(value.get("benchmark"))
    return found


def benchmark(value: Any) -> Optional[BenchmarkDocument]:
    """A run of the benchmark from its dictionary, if there is one. Raises DocumentError."""
    try:
        return benchmarks.read(value) if value else None
    except benchmarks.BenchmarkDocumentError as error:
        raise DocumentError(f"benchmark: {error}") from None
