# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_summary
short_description: Show what verify found on one page of a terminal
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the document of the role P(zerocopy.rdma.rdma_verify#role) into some 40 lines at most, the worst first,
    each finding once for all hosts it is true for.
options:
  _input:
    description: The document, as C(docs/verify-report.schema.json) describes it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what was found
  ansible.builtin.debug:
    msg: "{{ (rdma_verify_document | zerocopy.rdma.verify_summary).splitlines() }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The page.
  type: str
"""

from typing import Any, Callable, Dict

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import DocumentError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.summary import summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read


def verify_summary(document: Dict[str, Any]) -> str:
    try:
        return summary(read(document))
    except DocumentError as error:
        raise AnsibleFilterError(f"verify_summary: {error}") from error


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_summary": verify_summary}
