# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document as JUnit XML, in the form that Jenkins and GitLab read.

A suite for each ring and one for what was measured; a case for each check, whose class name is the ring and the host.
JUnit knows no warnings: they pass, and their text is in ``system-out``.
"""

from __future__ import annotations

from typing import Dict, List, Optional
from xml.etree import ElementTree

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    RINGS,
    Measurement,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import commands
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.bandwidth import port
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import BANDWIDTH
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import clean, evidence, figure

_NAME = "zerocopy.rdma.verify"


class _Suite:
    def __init__(self, name: str, created: Optional[str]) -> None:
        self.cases: List[ElementTree.Element] = []
        self.counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        self.attributes = {"name": f"{_NAME}.{name}"}
        if created:
            self.attributes["timestamp"] = clean(created)

    def case(self, where: str, name: str, verdict: str, text: str, detail: str) -> None:
        """Class names are split at dots by Jenkins, so the host's are kept out of the way."""
        class_name = f"{self.attributes['name']}.{clean(where).replace('.', '_')}"
        case = ElementTree.Element("testcase", classname=class_name, name=clean(name))
        self.counts["tests"] += 1
        if verdict == "fail":
            self.counts["failures"] += 1
            ElementTree.SubElement(case, "failure", message=clean(text), type="fail").text = clean(detail)
        elif verdict == "impossible":
            self.counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", message=clean(text))
        elif verdict == "warn":
            ElementTree.SubElement(case, "system-out").text = clean(f"warning: {detail}")
        self.cases.append(case)

    def element(self) -> ElementTree.Element:
        counts = {name: str(number) for name, number in self.counts.items()}
        found = ElementTree.Element("testsuite", {**self.attributes, **counts})
        found.extend(self.cases)
        return found


def _detail(text: str, evidence_text: str, remedy: str, command: str = "") -> str:
    lines = [text]
    if evidence_text:
        lines.append(f"Evidence: {evidence_text}")
    if remedy:
        lines.append(f"What to do: {remedy}")
    if command:
        lines.append(command)
    return "\n".join(lines)


def _measured(measured: Measurement) -> str:
    def value(number: Optional[float]) -> str:
        return "none" if number is None else f"{figure(number)} {measured.unit}"

    return f"value={value(measured.value)}, threshold={value(measured.threshold)}, expected={value(measured.expected)}"


def junit(document: VerifyDocument) -> str:
    """The whole file."""
    suites: Dict[str, _Suite] = {ring: _Suite(ring, document.created) for ring in (*RINGS, BANDWIDTH)}
    for check in document.checks:
        name = f"{check.id} {check.subject}".strip()
        on = [check.host] if check.host else []
        command = commands.command(check.mend, on, document).line if check.mend else ""
        detail = _detail(check.text, evidence(check.evidence), check.remedy, command)
        where = check.host or check.group or "fleet"
        suites[check.ring].case(where, name, check.verdict, check.text, detail)
    for measured in document.bandwidth:
        name = f"{measured.test} {port(measured.source)} to {measured.target.host} {port(measured.target)}"
        detail = _detail(measured.text, _measured(measured), "")
        suites[BANDWIDTH].case(measured.source.host, name, measured.verdict, measured.text, detail)
    used = [suite for suite in suites.values() if suite.cases]
    totals = {
        name: str(sum(suite.counts[name] for suite in used)) for name in ("tests", "failures", "errors", "skipped")
    }
    root = ElementTree.Element("testsuites", {"name": _NAME, **totals})
    root.extend(suite.element() for suite in used)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
