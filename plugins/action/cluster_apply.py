# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``cluster_apply`` that only the controller can do: read the plan; write manifests without a cluster."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_plan

_MODULE = "zerocopy.rdma.cluster_apply"


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if "plan" not in arguments:
            result.update(self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars))
            return result
        plan = _cluster_plan.read(str(arguments.pop("plan")))
        parts = list(arguments.pop("parts", None) or ["driver", "claims"])
        if not plan["cluster"]:
            return {**result, **self._written(plan)}
        steps = [step for step in plan["steps"] if step["part"] in parts]
        arguments["steps"] = steps
        found = self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars)
        result.update(found)
        if not found.get("failed"):
            result["late"] = bool(found["late"] or plan["late"])
            result["unserved"] = _cluster_plan.unserved(plan["hosts"], plan, result)
        return result

    def _written(self, plan: Mapping[str, Any]) -> Dict[str, Any]:
        directory = os.path.realpath(os.path.expanduser(str(plan["directory"])))
        check = bool(self._task.check_mode)
        changes = [_change(directory, **each) for each in plan["manifests"]]
        changes = [change for change in changes if change["before"] != change["after"]]
        for change in [] if check else changes:
            _write(change["path"], change["after"])
        diffs: List[Dict[str, str]] = [
            {
                "before_header": each["path"],
                "after_header": each["path"],
                "before": each["before"],
                "after": each["after"],
            }
            for each in changes
        ]
        paths = [each["path"] for each in changes]
        return {"changed": bool(changes), "manifests": paths, "late": False, "unserved": {}, "steps": [], "diff": diffs}


def _change(directory: str, name: str, content: str) -> Dict[str, str]:
    path = os.path.join(directory, name)
    before = ""
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            before = file.read()
    return {"path": path, "before": before, "after": content}


def _write(path: str, content: str) -> None:
    """Write a file as a whole, or remove one without content."""
    if not content:
        os.unlink(path)
        return
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o755, exist_ok=True)
    handle, new = tempfile.mkstemp(prefix=".", dir=directory)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(content)
    os.replace(new, path)
