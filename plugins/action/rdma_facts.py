# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``rdma_facts`` that only the controller can do: refuse facts that nothing could use.

What a node sends is input. A node with malformed facts fails here, and the run goes on without it.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node

_MODULE = "zerocopy.rdma.rdma_facts"


class ActionModule(_node.NodeAction):
    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        answer = self._execute_module(_MODULE, module_args=dict(self._task.args), task_vars=task_vars)
        if not answer.get("failed"):
            try:
                read.facts((answer.get("ansible_facts") or {}).get("rdma"))
            except read.FactsError as error:
                # Nothing of the answer is kept: it may be of any size.
                return {
                    **result,
                    "failed": True,
                    "msg": visible(f"The RDMA facts of this node cannot be used: {error}"),
                }
        return {**result, **answer}
