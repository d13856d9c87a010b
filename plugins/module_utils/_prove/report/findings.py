# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What was found, each thing once for all hosts it is true for, and how bad it is altogether."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import RINGS, VERDICTS, Check, Document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import bandwidth
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import count
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.natural import natural_key

BANDWIDTH = "bandwidth"
# The rings and, in a row of its own, what was measured.
ROWS = (*RINGS, BANDWIDTH)


@dataclass
class Variant:
    """One sentence with all hosts and subjects it was found on; ``evidence`` is that of the first of them."""

    text: str
    remedy: str
    hosts: List[str] = field(default_factory=list)
    subjects: List[str] = field(default_factory=list)
    evidence: Dict[str, Any] = field(default_factory=dict)
    times: int = 0


@dataclass
class Finding:
    """All variants of one check with one verdict, the most frequent first. Of a cluster there may be no hosts."""

    ring: str
    id: str
    verdict: str
    variants: List[Variant]
    hosts: List[str]
    groups: List[str]
    times: int

    @property
    def remedies(self) -> List[str]:
        """Every remedy once."""
        return list(dict.fromkeys(variant.remedy for variant in self.variants if variant.remedy))


@dataclass
class Picture:
    """``counts`` are those of verdicts per row of ROWS, ``hosts`` the verdict on each host."""

    verdict: str
    headline: str
    counts: Dict[str, Dict[str, int]]
    findings: List[Finding]
    hosts: Dict[str, str]

    def with_verdict(self, *verdicts: str) -> List[Finding]:
        return [finding for finding in self.findings if finding.verdict in verdicts]


def overall(verdicts: Iterable[str]) -> str:
    """The worst verdict. What could not be tried says nothing where something else could."""
    found = set(verdicts)
    return max(found - {"impossible"} or {"impossible"}, key=VERDICTS.index)


def _folded(checks: Iterable[Check]) -> List[Finding]:
    found: Dict[Tuple[str, str, str], Dict[Tuple[str, str], List[Check]]] = {}
    for check in checks:
        variants = found.setdefault((check.ring, check.id, check.verdict), {})
        variants.setdefault((check.text, check.remedy), []).append(check)
    return [_finding(*key, list(variants.values())) for key, variants in found.items()]


def _finding(ring: str, name: str, verdict: str, variants: List[List[Check]]) -> Finding:
    every = [check for variant in variants for check in variant]
    return Finding(
        ring=ring,
        id=name,
        verdict=verdict,
        variants=[_variant(one) for one in sorted(variants, key=lambda one: (-len(one), one[0].text))],
        hosts=_unique(check.host for check in every),
        groups=_unique(check.group for check in every),
        times=len(every),
    )


def _variant(checks: List[Check]) -> Variant:
    return Variant(
        text=checks[0].text,
        remedy=checks[0].remedy,
        hosts=_unique(check.host for check in checks),
        subjects=_unique(check.subject for check in checks),
        evidence=checks[0].evidence,
        times=len(checks),
    )


def _unique(values: Iterable[Any]) -> List[str]:
    return sorted({value for value in values if value}, key=natural_key)


def _measured(document: Document) -> List[Finding]:
    """Measurements as findings: one for each test and verdict, with a variant for each group and rail."""
    found: Dict[Tuple[str, str], List[Variant]] = {}
    groups: Dict[Tuple[str, str], List[str]] = {}
    for series in bandwidth.series(document):
        for verdict in dict.fromkeys(one.verdict for one in series.measurements):
            story = bandwidth.story(series, verdict)
            variant = Variant(story.text, story.remedy, story.hosts, times=story.times)
            found.setdefault((series.test, verdict), []).append(variant)
            groups.setdefault((series.test, verdict), []).append(series.group)
    return [
        Finding(
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


def _order(finding: Finding) -> Tuple[int, int, int, str]:
    return (-VERDICTS.index(finding.verdict), -len(finding.hosts), ROWS.index(finding.ring), finding.id)


def _counts(document: Document) -> Dict[str, Dict[str, int]]:
    counts = {row: dict.fromkeys(VERDICTS, 0) for row in ROWS}
    for check in document.checks:
        counts[check.ring][check.verdict] += 1
    for measurement in document.bandwidth:
        counts[BANDWIDTH][measurement.verdict] += 1
    return counts


def _headline(verdict: str, found: List[Finding], hosts: Dict[str, str]) -> str:
    if not found:
        return "Nothing was checked"
    if verdict == "impossible":
        return "Nothing could be checked here"
    failed = sum(one == "fail" for one in hosts.values())
    if verdict == "fail":
        return f"{failed} of {count(len(hosts), 'host')} failed" if failed else "A check of the cluster failed"
    passed = "The host passed" if len(hosts) == 1 else f"All {len(hosts)} hosts passed"
    if verdict == "pass":
        return passed
    warned = sum(one == "warn" for one in hosts.values())
    return f"{passed}, {warned} with warnings" if warned else f"{passed}, the cluster has warnings"


def picture(document: Document) -> Picture:
    """The document's findings, worst first: by verdict, then by the number of hosts."""
    found = sorted(_folded(document.checks) + _measured(document), key=_order)
    verdicts: Dict[str, List[str]] = {host: [] for host in sorted(document.hosts, key=natural_key)}
    for finding in found:
        for host in finding.hosts:
            verdicts.setdefault(host, []).append(finding.verdict)
    hosts = {host: overall(own) for host, own in verdicts.items()}
    verdict = overall(finding.verdict for finding in found)
    return Picture(verdict, _headline(verdict, found, hosts), _counts(document), found, hosts)
