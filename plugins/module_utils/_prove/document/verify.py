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
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark as benchmarks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BenchmarkDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.remedies import WAYS, worded

VERSION = 1
RINGS = ("host", "cluster", "pod")
# From best to worst. "impossible": it could not be tried here, and the text says why.
VERDICTS = ("pass", "impossible", "warn", "fail")
UNITS = ("Gb/s", "us")

# "from" is no name that Python allows.
_ENDS = {"source": "from", "target": "to"}

_T = TypeVar("_T")


class DocumentError(ValueError):
    """The data is not a document of this version."""


@dataclass
class Check:
    """One thing that was looked at.

    ``id`` is stable and dotted, its first part the ring (``host.mtu``). ``subject`` is what it is about: a port
    (``mlx5_0/1``), a pod, a template, or nothing for the host as a whole. ``text`` is one sentence of what was found,
    ``remedy`` one sentence of what to do, empty when nothing is; ``evidence`` holds plain values. ``mend`` is the code
    of the run of ``site`` that mends it (``mend.WAYS``), empty where none does.
    """

    ring: str
    id: str
    host: Optional[str]
    group: Optional[str]
    subject: str
    verdict: str
    text: str
    evidence: Dict[str, Any] = field(default_factory=dict)
    remedy: str = ""
    mend: str = ""


@dataclass
class End:
    """One end of a measurement; of a loopback both ends are the same."""

    host: str
    hca: str
    port: int


@dataclass
class Measurement:
    """One value that was measured between two ports.

    ``unit`` is ``Gb/s`` (more is better) or ``us`` (less is better). ``expected`` is what port and PCIe link can carry,
    ``threshold`` what was demanded; ``None`` where there is nothing to compare with.
    """

    group: str
    test: str
    source: End
    target: End
    value: float
    unit: str
    expected: Optional[float]
    threshold: Optional[float]
    verdict: str
    text: str


@dataclass
class DocumentHost:
    """A host of the document; ``facts`` are those of ``rdma_facts``, empty for a host that gave none that can be used.

    ``rails`` has the rail of each port that has one, by the port's name (``mlx5_0/1``); it is filled where something
    was measured.
    """

    group: str
    facts: Dict[str, Any] = field(default_factory=dict)
    rails: Dict[str, int] = field(default_factory=dict)

    @cached_property
    def known(self) -> Facts:
        """The facts in their types, empty ones where there are none. Raises FactsError."""
        return read.facts(self.facts) if self.facts else Facts()


@dataclass
class VerifyRun:
    """What was run: ``inventory`` has its sources, ``limit`` is that of the command line, ``hosts`` is ``rdma_hosts``.

    ``groups`` are the inventory groups all of whose hosts are in the document, as their hosts' group. ``extra`` are the
    arguments of ``-e`` that another run needs as well, without those for ``hosts``.
    """

    inventory: List[str] = field(default_factory=list)
    limit: Optional[str] = None
    hosts: Optional[str] = None
    tags: List[str] = field(default_factory=list)
    groups: List[str] = field(default_factory=list)
    extra: List[str] = field(default_factory=list)


@dataclass
class PastFinding:
    """A check that failed or warned in one of two runs."""

    id: str
    host: Optional[str]
    subject: str
    text: str


@dataclass
class EarlierRun:
    """What differs from an earlier run in what both have looked at; ``created`` is when that was."""

    created: Optional[str]
    new: List[PastFinding]
    gone: List[PastFinding]
    unchanged: int


@dataclass
class VerifyDocument:
    """Everything one run of verify found. ``created`` is an ISO 8601 time, ``collection`` the collection's version.

    ``benchmark`` is a run of the benchmark that is to be shown with it.
    """

    created: Optional[str]
    collection: str
    hosts: Dict[str, DocumentHost] = field(default_factory=dict)
    checks: List[Check] = field(default_factory=list)
    bandwidth: List[Measurement] = field(default_factory=list)
    run: VerifyRun = field(default_factory=VerifyRun)
    earlier: Optional[EarlierRun] = None
    benchmark: Optional[BenchmarkDocument] = None


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


def _known(at: str, value: Any, choices: Any) -> None:
    if value not in choices:
        raise DocumentError(f"{at} is {value!r}, it must be one of {', '.join(choices)}")


def plain_measurement(measured: Measurement) -> Dict[str, Any]:
    """The measurement as a dictionary; its ends are called ``from`` and ``to`` there."""
    return {_ENDS.get(key, key): value for key, value in asdict(measured).items()}


def measurement(value: Any, at: str = "measurement") -> Measurement:
    """A measurement from its dictionary. Raises DocumentError."""
    found = _read(Measurement, at, value, _ENDS)
    _known(f"{at}.verdict", found.verdict, VERDICTS)
    _known(f"{at}.unit", found.unit, UNITS)
    found.source = _read(End, f"{at}.from", found.source)
    found.target = _read(End, f"{at}.to", found.target)
    return found


def check(value: Any, at: str = "check") -> Check:
    """A check from its dictionary. Raises DocumentError."""
    found = _read(Check, at, value)
    _known(f"{at}.ring", found.ring, RINGS)
    _known(f"{at}.verdict", found.verdict, VERDICTS)
    _known(f"{at}.mend", found.mend, ("", *WAYS))
    return found


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
    if value.get("version") != VERSION:
        raise DocumentError(f"version is {value.get('version')!r}, it must be {VERSION}")
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
