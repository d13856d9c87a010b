# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``node`` that only the controller can do: see ``_node_parts``."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.concerns import SPEC
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node_parts


class ActionModule(_node_parts.NodeParts):
    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(SPEC)
        known, state = task_vars or {}, options["state"]
        wanted = self.wanted(options, known)
        if options["compare"]:
            return {**result, **self.compared(wanted, state, known)}
        if len(wanted) > 1:
            names = ", ".join(wanted)
            return {**result, "failed": True, "msg": f"parts: only one can be changed in one task, not {names}"}
        for concern, of_concern in wanted.items():
            return {**result, **self.changed(concern, of_concern, state, known)}
        return {**result, "changed": False, "skipped": True, "skip_reason": "The node has no such part"}
