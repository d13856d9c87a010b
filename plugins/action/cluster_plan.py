# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""All of ``cluster_plan`` except the look at the cluster, which a module takes."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import cluster_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_plan

_LOOK = "zerocopy.rdma.cluster_info"
_OPTIONS = ("state", "strategies", "wait", "unready", "published")


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        own = {name: arguments.pop(name) for name in _OPTIONS if name in arguments}
        try:
            fleet = _cluster_plan.fleet(_cluster_plan.PlayContext(task_vars or {}, self._templar.template))
            return {**result, **self._planned(fleet, own, arguments, task_vars)}
        except ValueError as error:
            return {**result, "failed": True, "msg": str(error)}

    def _planned(
        self,
        fleet: _cluster_plan.Fleet,
        own: Dict[str, Any],
        access: Dict[str, Any],
        task_vars: Optional[Dict[str, Any]],
    ) -> Dict[str, Any]:
        wanted, wait = str(own.get("state", "present")), bool(own.get("wait")) and not fleet.check
        answer: Dict[str, Any] = {}
        if fleet.with_cluster:
            question = _cluster_plan.question(fleet, wanted == "present", wait, list(own.get("unready") or []))
            answer = self._execute_module(_LOOK, module_args={**access, **question}, task_vars=task_vars)
            if answer.get("failed") or "kubernetes" not in answer:
                why = str(answer.get("msg") or "The API server gave no answer").rstrip(".")
                msg = f"Nothing was changed. {why}. With rdma_cluster=none, manifests are written instead."
                return {"failed": True, "msg": msg}
        late = bool(answer) and not wait and not fleet.check and _cluster_plan.late(fleet, answer)
        # Outside check mode, the driver of a chart and its classes will exist when claims are applied.
        classes = not (registry.charts(fleet.values) and (fleet.check or late))
        state = _cluster_plan.state(fleet, answer, classes) if answer else ClusterState()
        if wanted == "preflight":
            return self._preflight(fleet, state, answer)
        only = list(own.get("strategies") or [])
        if wanted == "absent":
            plan = cluster_plan.removal(fleet.hosts, state, fleet.known, only)
        else:
            if not answer:
                state = _cluster_plan.state_of_manifests(fleet)
            restarted = _cluster_plan.restarted(fleet.context["hostvars"], fleet.hosts) if not wait else []
            plan = cluster_plan.cluster_plan(fleet.hosts, state, fleet.known, only, restarted)
            if answer:
                plan.problems = [*_cluster_plan.obstacles(fleet, state, answer["networks"]), *plan.problems]
        document = _cluster_plan.document(fleet, plan, answer, late)
        published = answer.get("published") or {}
        return {
            "changed": False,
            "problems": plan.problems,
            "warnings_shown": plan.warnings,
            "unprepared": [] if fleet.check else plan.unprepared,
            "text": "" if late else plan.text,
            "differences": [] if late else list(published.get("differences") or []),
            "unmet": plan.unmet,
            "late": late,
            "cluster": fleet.with_cluster,
            "checks": _cluster_plan.node_checks(fleet) if wanted == "present" else {},
            "images": _cluster_plan.with_images(fleet) if wanted == "present" else [],
            "charts": registry.charts(fleet.values) if fleet.with_cluster else [],
            "path": "" if plan.problems else _cluster_plan.write(document),
            **({"published": published} if own.get("published") and published else {}),
        }

    def _preflight(self, fleet: _cluster_plan.Fleet, state: ClusterState, answer: Dict[str, Any]) -> Dict[str, Any]:
        problems = _cluster_plan.obstacles(fleet, state, answer["networks"]) if answer else []
        return {"changed": False, "problems": problems, "leaving": _cluster_plan.leaving(fleet, state)}
