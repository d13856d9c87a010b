# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole of ``plan``, since it runs on the controller only."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import RunPlan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node_plan, _plan_files
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import RunVariables

# Each adds its part to the plan.
PARTS: Dict[str, Callable[[RunVariables, RunPlan, str], RunPlan]] = {"node": _node_plan.of_run}
SPEC: Dict[str, Any] = {
    "parts": {"type": "list", "elements": "str", "choices": list(PARTS), "default": list(PARTS)},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(SPEC)
        variables, plan = RunVariables(task_vars or {}, self._loader), RunPlan()
        for part in options["parts"]:
            plan = PARTS[part](variables, plan, options["state"])
        for host in plan.hosts.values():
            for warning in host.warnings:
                self._display.warning(f"{host.host}: {warning}")
        problems = {name: host.problem for name, host in plan.hosts.items() if host.problem}
        images = [name for name, host in plan.hosts.items() if host.node.images]
        return {**result, "directory": _plan_files.write(plan), "problems": problems, "images": images}
