# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_report
short_description: Convert the result of an audit to a page for a browser
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Converts the result of M(zerocopy.rdma.workload_audit) to a single, self-contained HTML file with all workloads.
positional: created
options:
  _input:
    description: The result of the module, or the file that the role P(zerocopy.rdma.rdma_audit#role) wrote.
    type: dict
    required: true
  created:
    description: Time of the audit, as text to show on the page.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Write the page again from the results of an earlier run
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'audit.json') | from_json | zerocopy.rdma.audit_report }}"
    dest: audit.html
    mode: "0644"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
_value:
  description: The page.
  type: str
"""

from typing import Any, Callable, Dict

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.page import html


def audit_report(found: Dict[str, Any], created: str = "") -> str:
    try:
        return html(document.read(found), str(created))
    except document.SavedError as error:
        raise AnsibleFilterError(f"audit_report: {error}") from error


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"audit_report": audit_report}
