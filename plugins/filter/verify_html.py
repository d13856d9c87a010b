# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_html
short_description: Write what verify found as an HTML report
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the document of the role P(zerocopy.rdma.rdma_verify#role) into one HTML file that needs nothing else. It
    has the findings with what to do, bandwidth of all pairs, the fleet, and the PCIe topology of its nodes.
options:
  _input:
    description: The document, as C(docs/verify-report.schema.json) describes it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write the report again from what an earlier run found
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'verify.json') | from_json | zerocopy.rdma.verify_html }}"
    dest: verify.html
    mode: "0644"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
_value:
  description: The file.
  type: str
"""

from typing import Any, Callable, Dict

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import DocumentError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read


def verify_html(document: Dict[str, Any]) -> str:
    try:
        return html(read(document))
    except DocumentError as error:
        raise AnsibleFilterError(f"verify_html: {error}") from error


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_html": verify_html}
