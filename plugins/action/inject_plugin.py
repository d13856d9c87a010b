# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``inject_plugin`` that only the controller can do: make the program out of the collection's files."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node, _program

_MODULE = "zerocopy.rdma.inject_plugin"


class ActionModule(_node.NodeAction):
    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        add = _program.with_digest if self._task.check_mode else _program.with_program
        result.update(self._execute_module(_MODULE, module_args=add(self._task.args), task_vars=task_vars))
        # To people it is only a long text.
        (result.get("invocation") or {}).get("module_args", {}).pop("program", None)
        return result
