# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document on one page of a terminal."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Measurement, VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import bandwidth, commands, rails
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import (
    Picture,
    ReportFinding,
    picture,
    whose,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import WORDS, clean, names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import aligned, counted

UP_TO = 40
_BANDWIDTH_UP_TO = 12
_RAILS_UP_TO = 1
_NOT_JUDGED_UP_TO = 6
_NAMES_UP_TO = 48
_COMMAND_UP_TO = 240
_COLUMNS = ("fail", "warn", "impossible", "pass")


def _counts(shown: Picture) -> List[str]:
    rows = [["checks", *(WORDS[verdict] for verdict in _COLUMNS)]]
    for ring, counts in shown.counts.items():
        if any(counts.values()):
            rows.append([ring, *(str(counts[verdict] or "-") for verdict in _COLUMNS)])
    return aligned(rows, left=1) if len(rows) > 1 else []


def _bandwidth(document: VerifyDocument) -> List[str]:
    by_test: Dict[Tuple[str, str, str], List[Measurement]] = {}
    for measured in document.bandwidth:
        by_test.setdefault((measured.group, measured.test, measured.unit), []).append(measured)
    if not by_test:
        return []
    rows = [["group", "test", "unit", "pairs", "min", "median", "max", "threshold", "short"]]
    for (group, test, unit), many in sorted(by_test.items()):
        found = bandwidth.figures(many)
        values = [str(found[name]) for name in ("pairs", "least", "median", "greatest", "threshold", "short")]
        rows.append([group, test, unit, *values])
    shown = rows[: _BANDWIDTH_UP_TO + 1]
    left_out = len(rows) - len(shown)
    return aligned(shown, left=3) + ([f"and {left_out} more, in the report"] if left_out else [])


def _rails(document: VerifyDocument) -> List[str]:
    """The tables of groups that a sentence of a check does not describe."""
    shown = [table for table in rails.tables(document) if not table.uniform]
    lines = []
    for table in shown[:_RAILS_UP_TO]:
        rows = [[f"rails of {clean(table.group)}", *map(str, table.rails)]]
        rows += [[str(rail), *(cell.text for cell in row)] for rail, row in zip(table.rails, table.rows)]
        lines += aligned(rows, left=1)
    left_out = len(shown) - _RAILS_UP_TO
    lines += [f"and {counted(left_out, 'group')} more, in the report"] if left_out > 0 else []
    return [*lines, f"({rails.LEGEND})"] if lines else []


def _where(hosts: Sequence[str], groups: Sequence[str]) -> str:
    return names(hosts or groups or ["fleet"], _NAMES_UP_TO)


def _each(finding: ReportFinding) -> List[str]:
    lines = []
    for variant in finding.variants:
        where = _where(variant.hosts, finding.groups)
        if variant.subjects:
            where += f" {names(variant.subjects, _NAMES_UP_TO)}"
        advice = f" -> {variant.remedy}" if variant.remedy else ""
        lines.append(f"{finding.verdict.upper()}  {finding.id}  {where}: {variant.text}{advice}")
    below = [line for consequence in finding.consequences for line in _each(consequence)]
    return lines + [f"  probably caused by this: {line}" for line in below]


def _once(finding: ReportFinding) -> str:
    where = _where(finding.hosts, finding.groups)
    many = len(finding.variants)
    such = f"{counted(finding.times, 'time')}, such as: " if many > 1 else ""
    advice = f" -> {finding.remedies[0][0]}" if finding.remedies else ""
    below = ", ".join(dict.fromkeys(consequence.id for consequence in finding.consequences))
    follows = f" (probably caused by this: {below})" if below else ""
    return f"{finding.verdict.upper()}  {finding.id}  {where}: {such}{finding.variants[0].text}{advice}{follows}"


def _findings(findings: Sequence[ReportFinding], room: int) -> List[str]:
    """A line for each variant, or for each finding where that would be more lines than there is room for."""
    lines = [line for finding in findings for line in _each(finding)]
    if len(lines) > room:
        lines = [_once(finding) for finding in findings]
    if len(lines) > room:
        lines = [*lines[: room - 1], f"and {len(lines) - room + 1} more, in the report"]
    return lines


def _command(command: commands.MendCommand) -> str:
    if len(command.line) <= _COMMAND_UP_TO:
        return f"  {command.line}"
    return f"  {command.mend}, on {counted(len(command.hosts), 'host')}: the command is in the report"


def _not_judged(shown: Picture) -> List[str]:
    """What could not be judged, where and why; what is so for the same reason is told together."""
    found: Dict[Tuple[str, str], List[str]] = {}
    for finding in shown.with_verdict("impossible"):
        for variant in finding.variants:
            where = _where(variant.hosts, finding.groups)
            found.setdefault((where, variant.text), []).append(finding.id)
    lines = [f"  {', '.join(ids)}  {where}: {text}" for (where, text), ids in found.items()]
    if len(lines) > _NOT_JUDGED_UP_TO:
        left_out = len(lines) - _NOT_JUDGED_UP_TO + 1
        lines = [*lines[:-left_out], f"  and {left_out} more, in the report"]
    return ["Not judged:", *lines] if lines else []


def _since(document: VerifyDocument) -> List[str]:
    past = document.earlier
    if past is None:
        return []
    found = f"{len(past.new)} new, {len(past.gone)} gone, {past.unchanged} unchanged"
    return [f"Since the last run{f' ({past.created})' if past.created else ''}: {found}"]


def summary(document: VerifyDocument) -> str:
    """What matters, worst first, in about 40 lines at most, whatever the number of hosts."""
    shown = picture(document)
    made = f", {document.created}" if document.created else ""
    head = f"{shown.verdict.upper()}: {shown.headline} (collection {document.collection}{made})"
    parts = [[head, *_since(document)], _counts(shown), _bandwidth(document), _rails(document)]
    run = [_command(command) for command in commands.commands(document)]
    mending = ["Commands that fix findings, in this order:", *run] if run else []
    impossible = _not_judged(shown)
    room = UP_TO - sum(len(part) + 1 for part in [*parts, mending, impossible] if part)
    parts.append(_findings(shown.with_verdict("fail", "warn"), room))
    parts += [mending, impossible]
    return "\n\n".join("\n".join(clean(" ".join(line.split("\n"))) for line in part) for part in parts if part) + "\n"


def failure(document: VerifyDocument, directory: str) -> str:
    """Why verify fails, empty if it does not. ``directory`` has the reports, if they are written."""
    shown = picture(document)
    failed = shown.with_verdict("fail")
    if not failed:
        return ""
    counts = shown.counts.values()
    # The first of the report, too.
    first = failed[0].variants[0]
    where = _where(first.hosts, [whose(failed[0])])
    written = f" The report is {directory}/verify.html (with verify.json and verify.xml beside it)."
    return (
        f"{sum(row['fail'] for row in counts)} of {sum(sum(row.values()) for row in counts)} checks and measurements"
        f" failed. The first is {failed[0].id} of {where}: {first.text.rstrip('.')}."
        f"{written if directory else ''}"
    )
