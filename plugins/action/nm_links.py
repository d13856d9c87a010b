# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``nm_links`` that only the controller can do: come back over a new connection to confirm a change.

In the same task, since a later one would begin only when all other hosts of the batch have ended this one, and by then
NetworkManager may have rolled back.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node

_MODULE = "zerocopy.rdma.nm_links"


class ActionModule(_node.NodeAction):
    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        comes_back = arguments.get("confirm") == "auto"
        if comes_back:
            del arguments["confirm"]
        result.update(self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars))
        if comes_back and result.get("checkpoint") and not result.get("failed"):
            result.update(self._confirmed(result.pop("checkpoint"), result.pop("rollback_seconds"), task_vars))
        return result

    def _confirmed(self, checkpoint: str, seconds: int, task_vars: Optional[Dict[str, Any]]) -> Dict[str, Any]:
        """What of the result is different for it. Raises AnsibleConnectionFailure."""
        # The old connection might survive what no new one does.
        if type(self._connection).reset is not ConnectionBase.reset:
            self._connection.reset()
        try:
            answer = self._execute_module(_MODULE, module_args={"confirm": checkpoint}, task_vars=task_vars)
        except AnsibleConnectionFailure as error:
            text = f"the node cannot be reached since its links were changed; it rolls them back within {seconds} s"
            raise AnsibleConnectionFailure(f"{text}: {error}") from error
        return {"failed": True, "msg": answer["msg"]} if answer.get("failed") else {}
