# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_report
short_description: Write what verify found as a report
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the document of the role P(zerocopy.rdma.rdma_verify#role) into text for people or for CI.
options:
  _input:
    description: The document, as C(docs/verify-report.schema.json) describes it.
    type: dict
    required: true
  format:
    description:
      - V(html) is one HTML file that needs nothing else, with the findings and what to do, bandwidth of all pairs, the
        fleet, and the PCIe topology of its nodes.
      - V(junit) is JUnit XML, which CI systems read. Each check is a test case. What was not possible is skipped, and a
        warning passes with its text in C(system-out).
      - V(summary) is one page for a terminal, at most about 40 lines, the worst first, each finding once for all hosts
        that it is true for.
    type: str
    choices: [html, junit, summary]
    required: true
"""

EXAMPLES = r"""
- name: Write the report again from what an earlier run found
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'verify.json') | from_json | zerocopy.rdma.verify_report('html') }}"
    dest: verify.html
    mode: "0644"
  delegate_to: localhost
  run_once: true

- name: Show what was found
  ansible.builtin.debug:
    msg: "{{ (rdma_verify_document | zerocopy.rdma.verify_report('summary')).splitlines() }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The report.
  type: str
"""

from typing import Any, Callable, Dict

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import DocumentError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.junit import junit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.summary import summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read

_FORMATS = {"html": html, "junit": junit, "summary": summary}


def verify_report(document: Dict[str, Any], format: str) -> str:  # noqa: A002  (the name users write)
    write = _FORMATS.get(format)
    if write is None:
        raise AnsibleFilterError(f"verify_report: format is {format!r}, it must be one of {', '.join(_FORMATS)}")
    try:
        return write(read(document))
    except DocumentError as error:
        raise AnsibleFilterError(f"verify_report: {error}") from error


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_report": verify_report}
