# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The findings, each once for all hosts to which it applies, and the overall verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Container, Dict, Iterable, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.remedies import WAYS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    RINGS,
    VERDICTS,
    Check,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import bandwidth, earlier
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.causes import BAD, Causes, FindingKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

BANDWIDTH = "bandwidth"
# The rings and, in a row of its own, what was measured.
ROWS = (*RINGS, BANDWIDTH)


@dataclass
class Variant:
    """One sentence with all hosts and subjects it was found on; ``evidence`` is that of the first of them.

    ``new`` of them were not found by the earlier run.
    """

    text: str
    remedy: str
    mend: str = ""
    hosts: List[str] = field(default_factory=list)
    subjects: List[str] = field(default_factory=list)
    evidence: Dict[str, Any] = field(default_factory=dict)
    times: int = 0
    new: int = 0


@dataclass
class ReportFinding:
    """All variants of one check with one verdict, the most frequent first. Of a cluster there may be no hosts.

    ``consequences`` are findings that are probably there only because of this one. ``anchor`` names it in the page.
    """

    ring: str
    id: str
    verdict: str
    variants: List[Variant]
    hosts: List[str]
    groups: List[str]
    times: int
    consequences: List[ReportFinding] = field(default_factory=list)
    anchor: str = ""

    @property
    def new(self) -> int:
        return sum(variant.new for variant in self.variants)

    @property
    def remedies(self) -> List[Tuple[str, str]]:
        """Every remedy once, with the code of what mends it."""
        return list(dict.fromkeys((each.remedy, each.mend) for each in self.variants if each.remedy))


@dataclass
class Picture:
    """``counts`` are those of verdicts per row of ROWS, ``hosts`` the verdict on each host.

    ``findings`` are in the order in which to mend them, consequences below their causes; ``every`` has all of them.
    """

    verdict: str
    headline: str
    counts: Dict[str, Dict[str, int]]
    findings: List[ReportFinding]
    every: List[ReportFinding]
    hosts: Dict[str, str]

    def with_verdict(self, *verdicts: str) -> List[ReportFinding]:
        return [finding for finding in self.findings if finding.verdict in verdicts]


def overall(verdicts: Iterable[str]) -> str:
    """The worst verdict. What could not be tried says nothing where something else could."""
    found = set(verdicts)
    return max(found - {"impossible"} or {"impossible"}, key=VERDICTS.index)


def _folded(checks: Iterable[Check], new: Container[earlier.Key]) -> List[ReportFinding]:
    found: Dict[Tuple[str, str, str], Dict[Tuple[str, str, str], List[Check]]] = {}
    for check in checks:
        variants = found.setdefault((check.ring, check.id, check.verdict), {})
        variants.setdefault((check.text, check.remedy, check.mend), []).append(check)
    return [_finding(*key, list(variants.values()), new) for key, variants in found.items()]


def _finding(
    ring: str, name: str, verdict: str, variants: List[List[Check]], new: Container[earlier.Key]
) -> ReportFinding:
    every = [check for variant in variants for check in variant]
    return ReportFinding(
        ring=ring,
        id=name,
        verdict=verdict,
        variants=[_variant(cases, new) for cases in sorted(variants, key=lambda cases: (-len(cases), cases[0].text))],
        hosts=_unique(check.host for check in every),
        groups=_unique(check.group for check in every),
        times=len(every),
    )


def _variant(checks: List[Check], new: Container[earlier.Key]) -> Variant:
    return Variant(
        text=checks[0].text,
        remedy=checks[0].remedy,
        mend=checks[0].mend,
        hosts=_unique(check.host for check in checks),
        subjects=_unique(check.subject for check in checks),
        evidence=checks[0].evidence,
        times=len(checks),
        new=sum(earlier.key(check) in new for check in checks),
    )


def _unique(values: Iterable[Any]) -> List[str]:
    return sorted({value for value in values if value}, key=natural_key)


def _measured(document: VerifyDocument) -> List[ReportFinding]:
    """Measurements as findings: one for each test and verdict, with a variant for each group and rail."""
    found: Dict[Tuple[str, str], List[Variant]] = {}
    groups: Dict[Tuple[str, str], List[str]] = {}
    for series in bandwidth.series(document):
        for verdict in dict.fromkeys(measured.verdict for measured in series.measurements):
            story = bandwidth.story(series, verdict)
            variant = Variant(story.text, story.remedy, hosts=story.hosts, times=story.times)
            found.setdefault((series.test, verdict), []).append(variant)
            groups.setdefault((series.test, verdict), []).append(series.group)
    return [
        ReportFinding(
            ring=BANDWIDTH,
            id=f"{BANDWIDTH}.{test}",
            verdict=verdict,
            variants=variants,
            hosts=_unique(host for variant in variants for host in variant.hosts),
            groups=_unique(groups[test, verdict]),
            times=sum(variant.times for variant in variants),
        )
        for (test, verdict), variants in found.items()
    ]


def _step(finding: ReportFinding) -> int:
    """When to mend it: first what takes hands, then what a run mends in the order of these, then the rings after."""
    mend = finding.variants[0].mend
    if mend:
        return 1 + list(WAYS).index(mend)
    return 0 if finding.ring == "host" else 1 + len(WAYS) + ROWS.index(finding.ring)


def _order(finding: ReportFinding) -> Tuple[int, int, int, int, str]:
    worst = -VERDICTS.index(finding.verdict)
    return (worst, _step(finding), -len(finding.hosts), ROWS.index(finding.ring), finding.id)


def _below_causes(
    document: VerifyDocument, measured: List[ReportFinding], new: Container[earlier.Key]
) -> List[ReportFinding]:
    """All findings in order, those that follow from others on the same hosts below them."""
    causes = Causes(document.checks)
    by_cause: Dict[Optional[FindingKey], List[Check]] = {}
    for check in document.checks:
        cause = causes.root(check.host, check.id, check.verdict, check.subject) if check.verdict in BAD else None
        by_cause.setdefault(cause, []).append(check)
    found = _folded(by_cause.pop(None, []), new)
    roots = {(finding.id, finding.verdict): finding for finding in found}
    for cause, checks in by_cause.items():
        if cause is not None:
            roots[cause].consequences += _folded(checks, new)
    for finding in measured:
        common = (
            {causes.root(host, BANDWIDTH, finding.verdict) for host in finding.hosts}
            if finding.verdict in BAD
            else {None}
        )
        cause = common.pop() if len(common) == 1 else None
        (roots[cause].consequences if cause else found).append(finding)
    for number, finding in enumerate(sorted(found, key=_order), start=1):
        finding.anchor = f"finding-{number}"
        finding.consequences.sort(key=_order)
        for below, consequence in enumerate(finding.consequences, start=1):
            consequence.anchor = f"finding-{number}-{below}"
    return sorted(found, key=_order)


def _counts(document: VerifyDocument) -> Dict[str, Dict[str, int]]:
    counts = {row: dict.fromkeys(VERDICTS, 0) for row in ROWS}
    for check in document.checks:
        counts[check.ring][check.verdict] += 1
    for measurement in document.bandwidth:
        counts[BANDWIDTH][measurement.verdict] += 1
    return counts


def whose(finding: ReportFinding) -> str:
    """What a finding without hosts is about."""
    return f"group {', '.join(finding.groups)}" if finding.ring == "host" and finding.groups else "the cluster"


def _headline(verdict: str, found: List[ReportFinding], hosts: Dict[str, str]) -> str:
    if not found:
        return "Nothing was checked"
    if verdict == "impossible":
        return "Nothing could be checked here"
    failed = sum(verdict == "fail" for verdict in hosts.values())
    # The worst come first.
    about = next((whose(finding) for finding in found if not finding.hosts), "")
    if verdict == "fail":
        return f"{failed} of {counted(len(hosts), 'host')} failed" if failed else f"A check of {about} failed"
    passed = "The host passed" if len(hosts) == 1 else f"All {len(hosts)} hosts passed"
    if verdict == "pass":
        return passed
    warned = sum(verdict == "warn" for verdict in hosts.values())
    return f"{passed}, {warned} with warnings" if warned else f"{passed}, {about} has warnings"


def picture(document: VerifyDocument) -> Picture:
    """The document's findings, worst first: by verdict, by the order in which to mend them, by the number of hosts."""
    past = document.earlier.new if document.earlier else []
    new = {(each.id, each.host, each.subject) for each in past}
    measured = _measured(document)
    found = sorted(_folded(document.checks, new) + measured, key=_order)
    verdicts: Dict[str, List[str]] = {host: [] for host in sorted(document.hosts, key=natural_key)}
    for finding in found:
        for host in finding.hosts:
            verdicts.setdefault(host, []).append(finding.verdict)
    hosts = {host: overall(own) for host, own in verdicts.items()}
    verdict = overall(finding.verdict for finding in found)
    findings = _below_causes(document, measured, new)
    return Picture(verdict, _headline(verdict, found, hosts), _counts(document), findings, found, hosts)
