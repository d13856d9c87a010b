# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""All of ``move_plan`` except the look at the cluster, which modules take."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.modules import move_plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _moves
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documented = move_plan
    _requires_connection = True

    def access_of(self, others: Mapping[str, Any]) -> Dict[str, Any]:
        return dict(others)

    def answer(self, context: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        fleet = _moves.fleet(context, options)
        if options["now"]:
            return _moves.objects(fleet, options, options["cluster"])
        answers: Dict[str, Any] = {}
        for name, (module, asked) in _moves.questions(fleet).items():
            answers[name] = self._execute_module(
                f"zerocopy.rdma.{module}", module_args={**self.access, **asked}, task_vars=self.task_vars
            )
            if answers[name].get("failed"):
                return dict(answers[name])
        return _moves.plan(fleet, options, _moves.answer(fleet, answers))
