# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""An audit for a terminal and as JSON: what there is most of first, equal workloads once."""

from __future__ import annotations

import textwrap
from typing import Any, Dict, Iterable, List, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import (
    CHANGE,
    LEVELS,
    LOOK,
    STOPS,
    Audit,
    Finding,
    ObjectRef,
    Workload,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

# More than these are counted and not shown: the JSON file has them all.
_BLOCKS = 20
_LINES = 12
# Characters of a line, and of the names of workloads in one.
_WIDTH, _NAMES = 110, 70
_OUTCOMES = {
    STOPS: "must change first: otherwise their pods would not start, or not be found",
    CHANGE: "need another manifest",
    LOOK: "should be reviewed",
}


def _level(findings: Iterable[Finding]) -> str:
    return min((texts.level(finding) for finding in findings), key=LEVELS.index)


def as_json(audit: Audit) -> Dict[str, Any]:
    """All of it, with codes, fields and texts."""
    return {
        "kubernetes": {"version": audit.kubernetes, "dra": audit.dra, "gates": audit.gates},
        "workloads": [_workload(workload) for workload in audit.workloads],
        "cluster": [_finding(finding) for finding in audit.cluster],
        "others": [_ref(ref) for ref in audit.others],
        "unseen": [{"what": unseen.what, "why": unseen.why} for unseen in audit.unseen],
        "advice": {code: texts.SAID[code].advice for code in sorted(_codes(audit))},
    }


def _codes(audit: Audit) -> List[str]:
    every = [*(finding for workload in audit.workloads for finding in workload.findings), *audit.cluster]
    return list({finding.code for finding in every})


def _ref(ref: ObjectRef) -> Dict[str, str]:
    return {"group": ref.kind.group, "kind": ref.kind.kind, "namespace": ref.namespace, "name": ref.name}


def _finding(finding: Finding) -> Dict[str, Any]:
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in finding.fields.items()}
    return {
        "code": finding.code,
        "level": texts.level(finding),
        "text": texts.text(finding),
        "fields": fields,
        "places": list(finding.places),
        "containers": list(finding.containers),
    }


def _workload(workload: Workload) -> Dict[str, Any]:
    return {
        **_ref(workload.ref),
        "level": _level(workload.findings),
        "pods": workload.pods,
        "owners": [
            {"tool": owner.tool, "name": owner.name, "manager": owner.manager, "text": texts.owner_text(owner)}
            for owner in workload.owners
        ],
        "findings": [_finding(finding) for finding in workload.findings],
    }


def as_text(audit: Audit) -> str:
    """For a terminal, readable with five workloads and with five hundred."""
    parts = [_heading(audit), _counts(audit), _blocks(audit), _cluster(audit), _rest(audit)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _heading(audit: Audit) -> List[str]:
    dra = f"DRA {audit.dra}" if audit.dra else "without DRA"
    gates = ", ".join(f"{name} {'on' if on else 'off'}" for name, on in audit.gates.items())
    lines = [f"Kubernetes {texts.shown(audit.kubernetes)}, {dra}{f', {gates}' if gates else ''}"]
    if not audit.workloads:
        return [*lines, "No workload has anything that a migration to DRA would have to change."]
    lines.append(f"For a migration to DRA, {texts.counted(len(audit.workloads), 'workload')} would have to change:")
    for level in LEVELS:
        number = sum(_level(workload.findings) == level for workload in audit.workloads)
        if number:
            lines.append(f"  {number:>4}  {level:<6}  {_OUTCOMES[level]}")
    return lines


def _counts(audit: Audit) -> List[str]:
    counts: Dict[str, int] = {}
    for workload in audit.workloads:
        for code in {finding.code for finding in workload.findings}:
            counts[code] = counts.get(code, 0) + 1
    lines = ["What was found, the worst first, with the number of workloads:"] if counts else []
    for code in sorted(counts, key=texts.ORDER.__getitem__):
        said = texts.SAID[code]
        lines += [f"  {counts[code]:>4}  {said.level:<6}  {said.title}", *_wrapped(said.advice, " " * 16)]
    return lines


def _wrapped(text: str, margin: str) -> List[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=margin, subsequent_indent=margin)


def _where(finding: Finding, every: Set[str]) -> str:
    """Containers and pod templates, these only where others of the workload are without."""
    number = "" if len(finding.containers) == 1 else "s"
    containers = f"container{number} {texts.several(finding.containers)}" if finding.containers else ""
    places = texts.several(finding.places, 2) if set(finding.places) != every else ""
    inside = " in ".join(part for part in (containers, places) if part)
    return f" ({inside})" if inside else ""


def _lines(workload: Workload) -> Tuple[str, ...]:
    """What is said of a workload, the same for equal ones."""
    every = {place for finding in workload.findings for place in finding.places}
    owners = "; ".join(texts.owner_text(owner) for owner in workload.owners)
    lines = [f"    change it in: {owners}"] if owners else []
    return (
        *lines,
        *(
            f"    {texts.level(finding):<6}  {texts.text(finding)}{_where(finding, every)}"
            for finding in workload.findings
        ),
    )


def _blocks(audit: Audit) -> List[str]:
    alike: Dict[Tuple[str, str, Tuple[str, ...]], List[Workload]] = {}
    for workload in audit.workloads:
        key = (workload.ref.kind.kind, workload.ref.namespace, _lines(workload))
        alike.setdefault(key, []).append(workload)
    lines = ["Workloads, the worst first:"] if alike else []
    for (kind, namespace, said), workloads in list(alike.items())[:_BLOCKS]:
        names = texts.shown(fold(workload.ref.name for workload in workloads), _NAMES)
        number = f" ({len(workloads)} alike)" if len(workloads) > 1 else ""
        pods = f" ({texts.counted(workloads[0].pods, 'pod')})" if workloads[0].pods else ""
        lines += [f"  {texts.shown(kind)} {texts.shown(namespace)}/{names}{number}{pods}", *said]
    hidden = sum(len(workloads) for workloads in list(alike.values())[_BLOCKS:])
    return (
        [*lines, f"  ... and {hidden} more workloads, which the JSON file has (rdma_audit_json)"] if hidden else lines
    )


def _cluster(audit: Audit) -> List[str]:
    lines: List[str] = ["The cluster, the worst first:"] if audit.cluster else []
    by_code: Dict[str, List[Finding]] = {}
    for finding in audit.cluster:
        by_code.setdefault(finding.code, []).append(finding)
    for code, findings in by_code.items():
        said = texts.SAID[code]
        lines += [f"  {said.level:<6}  {said.title}", *_wrapped(said.advice, " " * 10)]
        lines += _cut([f"          - {texts.text(finding)}" for finding in findings], "          ")
    return lines


def _cut(lines: Sequence[str], margin: str) -> List[str]:
    hidden = len(lines) - _LINES
    return [*lines[:_LINES], f"{margin}... and {hidden} more"] if hidden > 0 else list(lines)


def _rest(audit: Audit) -> List[str]:
    lines = []
    if audit.others:
        named = texts.several((str(ref) for ref in audit.others), 5)
        number = texts.counted(len(audit.others), "other workload")
        lines += _wrapped(f"hostNetwork without a sign of RDMA, in {number}: {named}", "")
    if audit.unseen:
        lines.append("Not looked at:")
        lines += _cut([f"  {texts.shown(unseen.what)}: {texts.shown(unseen.why)}" for unseen in audit.unseen], "  ")
    return lines
