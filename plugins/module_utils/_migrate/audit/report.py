# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""An audit for a terminal: what there is most of first, equal workloads once."""

from __future__ import annotations

import textwrap
from typing import Dict, Iterable, List, NamedTuple, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.evaluate import Audit, Workload
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import (
    CHANGE,
    LEVELS,
    LOOK,
    STOPS,
    Finding,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# More than these are counted and not shown: the JSON file has them all.
_BLOCKS = 20
_LINES = 12
# Characters of a line, and of the names of workloads in one.
_WIDTH, _NAMES = 110, 70
OUTCOMES = {
    STOPS: "must change first: otherwise their pods would not start, or not be found",
    CHANGE: "need another manifest",
    LOOK: "should be reviewed",
}


def as_text(audit: Audit) -> str:
    """For a terminal, readable with five workloads and with five hundred."""
    parts = [_heading(audit), _counts(audit), _blocks(audit), _cluster(audit), _rest(audit)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def cluster_line(audit: Audit) -> str:
    """The API server in a few words."""
    dra = f"DRA {audit.resource_api}" if audit.resource_api else "without DRA"
    gates = ", ".join(f"{name} {'on' if on else 'off'}" for name, on in audit.gates.items())
    return f"Kubernetes {catalogue.printable(audit.kubernetes)}, {dra}{f', {gates}' if gates else ''}"


def headline(audit: Audit) -> str:
    """The audit in one sentence."""
    if not audit.workloads:
        seen = " that could be examined" if audit.unseen else ""
        return f"For a migration to DRA, no workload{seen} would have to change"
    return f"For a migration to DRA, {counted(len(audit.workloads), 'workload')} would have to change"


def levels(audit: Audit) -> Dict[str, int]:
    """How many workloads there are with each level as their worst."""
    found = [catalogue.worst(workload.findings) for workload in audit.workloads]
    return {level: found.count(level) for level in LEVELS if level in found}


def counts(audit: Audit) -> Dict[str, int]:
    """The number of workloads with each code, the worst code first."""
    found: Dict[str, int] = {}
    for workload in audit.workloads:
        for code in {finding.code for finding in workload.findings}:
            found[code] = found.get(code, 0) + 1
    return {code: found[code] for code in sorted(found, key=catalogue.ORDER.__getitem__)}


def _heading(audit: Audit) -> List[str]:
    if not audit.workloads:
        return [cluster_line(audit), f"{headline(audit)}."]
    lines = [cluster_line(audit), f"{headline(audit)}:"]
    return [*lines, *(f"  {number:>4}  {level:<6}  {OUTCOMES[level]}" for level, number in levels(audit).items())]


def _counts(audit: Audit) -> List[str]:
    found = counts(audit)
    lines = ["Findings, the worst first, with the number of workloads:"] if found else []
    for code, number in found.items():
        said = catalogue.TEXTS[code]
        lines += [f"  {number:>4}  {said.level:<6}  {said.title}", *_wrapped(said.advice, " " * 16)]
    return lines


def _wrapped(text: str, margin: str) -> List[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=margin, subsequent_indent=margin)


def _where(finding: Finding, every: Set[str]) -> str:
    number = "" if len(finding.containers) == 1 else "s"
    containers = f"container{number} {catalogue.several(finding.containers)}" if finding.containers else ""
    places = catalogue.several(finding.places, 2) if set(finding.places) != every else ""
    return " in ".join(part for part in (containers, places) if part)


class Line(NamedTuple):
    """A finding of a workload in words; ``where`` are containers and pod templates, empty where it goes for all."""

    level: str
    text: str
    where: str


class Block(NamedTuple):
    """Workloads of one kind and namespace with the same owners and findings."""

    kind: str
    namespace: str
    owners: str
    lines: Tuple[Line, ...]
    workloads: List[Workload]

    @property
    def title(self) -> str:
        names = catalogue.printable(fold(workload.ref.name for workload in self.workloads), _NAMES)
        return f"{catalogue.printable(self.kind)} {catalogue.printable(self.namespace)}/{names}"

    @property
    def number(self) -> str:
        """How many they are, or how many pods the only one has that the audit cannot read itself."""
        if len(self.workloads) > 1:
            return f"{len(self.workloads)} alike"
        return counted(self.workloads[0].pods, "pod") if self.workloads[0].pods else ""


def _lines(workload: Workload) -> Tuple[Line, ...]:
    every = {place for finding in workload.findings for place in finding.places}
    return tuple(
        Line(catalogue.level(finding), catalogue.text(finding), _where(finding, every)) for finding in workload.findings
    )


def blocks(audit: Audit) -> List[Block]:
    """All workloads, the worst first, those that are alike together."""
    alike: Dict[Tuple[str, str, str, Tuple[Line, ...]], List[Workload]] = {}
    for workload in audit.workloads:
        owners = "; ".join(catalogue.owner_text(owner) for owner in workload.owners)
        key = (workload.ref.kind.kind, workload.ref.namespace, owners, _lines(workload))
        alike.setdefault(key, []).append(workload)
    return [Block(*key, workloads) for key, workloads in alike.items()]


def _block(block: Block) -> List[str]:
    number = f" ({block.number})" if block.number else ""
    owners = [f"    change it in: {block.owners}"] if block.owners else []
    return [
        f"  {block.title}{number}",
        *owners,
        *(f"    {line.level:<6}  {line.text}{f' ({line.where})' if line.where else ''}" for line in block.lines),
    ]


def _blocks(audit: Audit) -> List[str]:
    found = blocks(audit)
    lines = ["Workloads, the worst first:"] if found else []
    for block in found[:_BLOCKS]:
        lines += _block(block)
    hidden = sum(len(block.workloads) for block in found[_BLOCKS:])
    where = "which the page and the JSON file have (rdma_audit_html, rdma_audit_json)"
    return [*lines, f"  ... and {counted(hidden, 'more workload')}, {where}"] if hidden else lines


def by_code(findings: Iterable[Finding]) -> Dict[str, List[Finding]]:
    """Findings of the cluster by their code, in their order."""
    found: Dict[str, List[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.code, []).append(finding)
    return found


def _cluster(audit: Audit) -> List[str]:
    lines: List[str] = ["The cluster, the worst first:"] if audit.cluster else []
    for code, findings in by_code(audit.cluster).items():
        said = catalogue.TEXTS[code]
        lines += [f"  {said.level:<6}  {said.title}", *_wrapped(said.advice, " " * 10)]
        lines += _cut([f"          - {catalogue.text(finding)}" for finding in findings], "          ")
    return lines


def _cut(lines: Sequence[str], margin: str) -> List[str]:
    hidden = len(lines) - _LINES
    return [*lines[:_LINES], f"{margin}... and {hidden} more"] if hidden > 0 else list(lines)


def _rest(audit: Audit) -> List[str]:
    lines = []
    if audit.others:
        named = catalogue.several((str(ref) for ref in audit.others), 5)
        number = counted(len(audit.others), "other workload")
        lines += _wrapped(f"hostNetwork without a sign of RDMA, in {number}: {named}", "")
    if audit.unseen:
        lines.append("Not looked at:")
        told = [f"  {catalogue.printable(unseen.what)}: {catalogue.printable(unseen.why)}" for unseen in audit.unseen]
        lines += _cut(told, "  ")
    return lines
