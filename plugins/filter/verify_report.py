# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_report
short_description: Convert the results of verify to a report
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Converts the document of the role P(zerocopy.rdma.rdma_verify#role) to a report for people or for CI.
options:
  _input:
    description: The document, as C(docs/verify-report.schema.json) describes it.
    type: dict
    required: true
  format:
    description:
      - V(html) is a single, self-contained HTML file with the findings and their remedies, the bandwidth of all pairs,
        the fleet, and the PCIe topology of its nodes.
      - V(junit) is JUnit XML for CI systems. Each check is a test case. A check that was not judged is skipped, and a
        warning passes with its text in C(system-out).
      - V(summary) is a page of about 40 lines at most for a terminal. The worst findings come first, and each finding
        is shown once for all of its hosts.
      - V(prometheus) is Prometheus' text format, for the textfile collector of node_exporter or for a Pushgateway.
        Checks are counted by host and verdict, and each failure and warning has a series of its own.
    type: str
    choices: [html, junit, summary, prometheus]
    required: true
"""

EXAMPLES = r"""
- name: Write the report again from the results of an earlier run
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'verify.json') | from_json | zerocopy.rdma.verify_report('html') }}"
    dest: verify.html
    mode: "0644"
  delegate_to: localhost
  run_once: true

- name: Show the results
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

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import DocumentError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.junit import junit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.prometheus import prometheus
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.summary import summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read

_FORMATS = {"html": html, "junit": junit, "summary": summary, "prometheus": prometheus}


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
