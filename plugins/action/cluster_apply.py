# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``cluster_apply`` that only the controller can do: reads the plan; writes manifests without a cluster."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _cluster_plan,
    _for_people,
    _manifest_files,
    _object_diffs,
    _plan_files,
)

_MODULE = "zerocopy.rdma.cluster_apply"


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if "plan" not in arguments:
            result.update(self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars))
            return _for_people.cleaned(result)
        plan = _plan_files.cluster_plan(str(arguments.pop("plan")))
        check = bool(self._task.check_mode)
        parts = list(arguments.pop("parts", None) or ["driver", "claims"])
        if not plan["cluster"]:
            found = _manifest_files.written(plan, check)
            found["unserved"] = _cluster_plan.unserved(plan["hosts"], plan, found)
            found["diff"] = _object_diffs.shown(found["diff"], Display().verbosity, check, manifests=True)
            return {**result, **_for_people.cleaned(found)}
        steps = [step for step in plan["steps"] if step["part"] in parts]
        arguments["steps"] = steps
        found = self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars)
        result.update(found)
        if "diff" in found:
            result["diff"] = _object_diffs.shown(found["diff"], Display().verbosity, check)
        if not found.get("failed"):
            result["late"] = bool(found["late"] or plan["late"])
            result["unserved"] = _cluster_plan.unserved(plan["hosts"], plan, result)
        return _for_people.cleaned(result)
