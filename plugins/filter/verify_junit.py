# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_junit
short_description: Write what verify found as JUnit XML
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the document of the role P(zerocopy.rdma.rdma_verify#role) into a file that CI systems read. Each check is a
    test case, what was not possible is skipped, and a warning passes with its text in C(system-out).
options:
  _input:
    description: The document, as C(docs/verify-report.schema.json) describes it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Keep the result for CI
  ansible.builtin.copy:
    content: "{{ rdma_verify_document | zerocopy.rdma.verify_junit }}"
    dest: verify.xml
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
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.junit import junit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read


def verify_junit(document: Dict[str, Any]) -> str:
    try:
        return junit(read(document))
    except DocumentError as error:
        raise AnsibleFilterError(f"verify_junit: {error}") from error


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_junit": verify_junit}
