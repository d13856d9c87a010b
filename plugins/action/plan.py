# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""All of ``plan`` except the look at the cluster, which modules take."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people, _run_plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import RunVariables


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        # What is not for the plan itself says how to reach the cluster.
        own = {name: value for name, value in self._task.args.items() if name in _run_plan.SPEC}
        access = {name: value for name, value in self._task.args.items() if name not in own}

        def ask(module: str, options: Mapping[str, Any]) -> Dict[str, Any]:
            answer: Dict[str, Any] = self._execute_module(module, {**access, **options}, task_vars=task_vars)
            return answer

        try:
            made = _run_plan.made(RunVariables(task_vars or {}, self._loader), own, ask)
        except ValueError as error:
            return {**result, **_for_people.cleaned({"failed": True, "msg": str(error)})}
        for warning in made.warnings:
            _for_people.warn(warning)
        for host in made.plan.hosts.values():
            for warning in host.warnings:
                _for_people.warn(f"{host.host}: {warning}")
        return {**result, "changed": False, **_for_people.cleaned(made.result)}
