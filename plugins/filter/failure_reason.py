# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: failure_reason
short_description: Tell why a task has failed
version_added: 1.0.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns the message of a failed result. For a loop, returns the messages of its failed items, each once.
  - A task that has used up its retries has no message. ansible-core 2.19 and 2.20 report an unknown error for it, which
    this filter leaves out.
options:
  _input:
    description: The result of a task, such as C(ansible_failed_result) in C(rescue).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Report why a task of the block has failed
  ansible.builtin.debug:
    msg: "'{{ ansible_failed_task.name }}' failed: {{ ansible_failed_result | zerocopy.rdma.failure_reason }}"
"""

RETURN = r"""
_value:
  description: The reason, empty if the result has none.
  type: str
  sample: the API server does not answer
"""

from typing import Any, Callable, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible

_UNKNOWN = "Task failed: Action failed: Unknown error."


def failure_reason(result: Mapping[str, Any]) -> str:
    failed = [item for item in result.get("results", [result]) if item.get("failed")]
    said = dict.fromkeys(str(item.get("msg") or "") for item in failed)
    return visible(("; ".join(filter(None, said)) or str(result.get("msg") or "")).replace(_UNKNOWN, ""))


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"failure_reason": failure_reason}
