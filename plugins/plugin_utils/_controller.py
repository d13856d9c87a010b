# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What actions without a module of their own have in common: their options are those of their documentation."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Dict, Mapping, Optional

import yaml
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import RunVariables


class ControllerAction(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    """Runs on the controller only, where ``documented`` is the module that has the documentation."""

    documented: ModuleType
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        spec = yaml.safe_load(self.documented.DOCUMENTATION)["options"]
        others = {name: value for name, value in self._task.args.items() if name not in spec}
        checked = ArgumentSpecValidator(spec).validate(
            {name: value for name, value in self._task.args.items() if name in spec}
        )
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        if others:
            raise AnsibleActionFail(f"Unsupported parameters: {', '.join(sorted(others))}")
        self.task_vars = task_vars or {}
        context = RunVariables(self.task_vars, self._loader).task
        try:
            answer = self.answer(context, checked.validated_parameters)
        except ValueError as error:
            answer = {"failed": True, "msg": str(error)}
        return {**result, **_for_people.cleaned(answer)}

    def answer(self, context: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        """The result. Raises ValueError or AnsibleError."""
        raise NotImplementedError
