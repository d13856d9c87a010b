# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The parts of the plan of a run, as the action ``plan`` makes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.waves import RAMP
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import HostPlan, RunPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.node_options import NodeOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import CLAIMS, DRIVER
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _cluster_access,
    _cluster_look,
    _cluster_plan,
    _fleet,
    _moves,
    _node_plan,
    _ofed,
    _plan_files,
    _preflight,
    _supported,
    _tags,
    _vars_files,
    _waves,
)
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._cluster_look import Ask
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import RunVariables

_PRESENT, _ABSENT = "present", "absent"
# Parts that later calls carry on.
_POLICIES, _MOVE = "policies", "move"
_TEXTS: Dict[str, Any] = {"type": "list", "elements": "str", "default": []}


@dataclass
class Making:
    """A plan that is being made: what there is to make it of, and what there is of it."""

    run: RunVariables
    options: Mapping[str, Any]
    ask: Ask
    plan: RunPlan = field(default_factory=RunPlan)
    directory: str = ""
    problems: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    result: Dict[str, Any] = field(default_factory=dict)

    @property
    def hosts(self) -> List[str]:
        """All hosts of the play, failed ones included."""
        return [str(name) for name in self.run.task["ansible_play_hosts_all"]]

    @property
    def inventory(self) -> Tuple[Mapping[str, Any], Sequence[str], Any, Sequence[str]]:
        """What preflight looks at."""
        task = self.run.task
        return task, self.hosts, task["hostvars"], task["groups"]["all"] if "groups" in task else ()

    def add(self, part: Mapping[str, Any]) -> None:
        """The result of a part, whose ``problems`` are among those of all parts."""
        self.problems += part["problems"]
        self.result.update((name, value) for name, value in part.items() if name != "problems")


def _variables(making: Making) -> None:
    role = making.options["role"]
    making.problems += _supported.problems()
    making.warnings += [*_supported.warnings(), *_vars_files.warnings(making.run.task)]
    found = _preflight.problems(*making.inventory)
    own = _preflight.problems(*making.inventory, prefix=f"{role}_") if role else found
    making.problems += own
    making.result["postponed"] = [problem for problem in found if problem not in own]


def _tags_of(making: Making) -> None:
    making.problems += _tags.problems(making.run.task)


def _access(making: Making) -> None:
    making.problems += _cluster_access.problems(making.hosts, making.run.task["hostvars"])


def _strategies(making: Making) -> None:
    making.result["strategies"] = _fleet.strategies(_fleet.fleet(making.run.task))


def _waves_of(making: Making) -> None:
    task = making.run.task
    making.result["waves"] = _waves.of_hosts(making.run.hosts, task["hostvars"], making.options["ramp"])


def _api(making: Making) -> None:
    _cluster_look.reach(_fleet.fleet(making.run.task), making.ask)


def _refused(host: HostPlan, lines: Sequence[str]) -> HostPlan:
    """A host of which nothing is changed, whatever part of it could be."""
    return replace(host, node=NodeOptions(), problem="\n".join(lines))


def _compared(host: HostPlan) -> HostPlan:
    """A host that is only looked at, as far as it can be planned."""
    if not host.problem or host.node == NodeOptions():
        return host
    return replace(host, problem="", warnings=[*host.warnings, host.problem.removeprefix(f"{host.host}: ")])


def _node(making: Making) -> None:
    own: Dict[str, List[str]] = {}
    if making.options["state"] == _PRESENT and not making.options["tolerant"]:
        shared, own = _preflight.refusals(*making.inventory)
        making.problems += shared
    planned = _node_plan.of_run(making.run, making.options["state"])
    if making.options["tolerant"]:
        planned = [_compared(host) for host in planned]
    hosts = {host.host: _refused(host, own[host.host]) if host.host in own else host for host in planned}
    making.plan.hosts = hosts
    making.result["unplanned"] = {name: host.problem for name, host in hosts.items() if host.problem}


def _cluster(making: Making) -> None:
    fleet, first = _fleet.fleet(making.run.task), making.options["plan"]
    if first and not making.options["wait"]:
        earlier = _cluster_plan.still_right(fleet, first)
        if earlier is not None:
            making.directory = first
            making.add({**earlier, "changes": []})
            return
    found = _cluster_plan.of_run(fleet, making.options, making.ask)
    making.add({**found.result, "changes": _cluster_plan.changes_since(first, found.document)})
    making.plan.cluster = found.document


def _begun(making: Making, name: str, found: _cluster_plan.Planned) -> None:
    """What later calls carry on, who find it by this name."""
    making.add(found.result)
    making.plan.others[name] = found.document


def _first(making: Making, name: str) -> Dict[str, Any]:
    return _plan_files.part(making.options["plan"], name)


def _ofed_of(making: Making) -> None:
    fleet = _fleet.fleet(making.run.task)
    _begun(making, _POLICIES, _ofed.rollout(fleet, making.options["ramp"], making.ask))


def _policies(making: Making) -> None:
    first, planned = _first(making, _POLICIES), making.options["planned"]
    making.add(_ofed.policies(making.run.task, first, planned, making.ask))


def _move(making: Making) -> None:
    fleet = _fleet.fleet(making.run.task)
    _begun(making, _MOVE, _moves.plan(fleet, making.options["hosts"], making.options["ramp"], making.ask))


def _moved(making: Making) -> None:
    found = asdict(_moves.objects(_fleet.fleet(making.run.task), making.run.hosts, _first(making, _MOVE)))
    making.plan.cluster = {name: found[name] for name in ("sets", "requests")}
    making.result.update({name: found[name] for name in ("sets", "labels", "counters", "status")})


# Each adds its part.
PARTS: Dict[str, Callable[[Making], None]] = {
    "tags": _tags_of,
    "variables": _variables,
    "access": _access,
    "strategies": _strategies,
    "api": _api,
    "node": _node,
    "waves": _waves_of,
    "cluster": _cluster,
    "ofed": _ofed_of,
    "policies": _policies,
    "move": _move,
    "moved": _moved,
}

SPEC: Dict[str, Any] = {
    "parts": {"type": "list", "elements": "str", "choices": list(PARTS), "required": True},
    "state": {"type": "str", "choices": [_PRESENT, _ABSENT], "default": _PRESENT},
    "tolerant": {"type": "bool", "default": False},
    "role": {"type": "str", "default": ""},
    "ask": {
        "type": "str",
        "choices": [_cluster_plan.ALL, _cluster_plan.PUBLISHED, _cluster_plan.NOTHING],
        "default": _cluster_plan.ALL,
    },
    "plan": {"type": "str", "default": ""},
    "strategies": _TEXTS,
    "wait": {"type": "bool", "default": False},
    "unready": _TEXTS,
    "published": {"type": "bool", "default": False},
    "rights": {"type": "list", "elements": "str", "choices": [DRIVER, CLAIMS], "default": []},
    "hosts": _TEXTS,
    "planned": {"type": "bool", "default": False},
    "ramp": {"type": "raw", "default": list(RAMP)},
}


def options(given: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a task in their types. Raises ValueError."""
    validated = ArgumentSpecValidator(SPEC).validate(dict(given))
    if validated.error_messages:
        raise ValueError("; ".join(validated.error_messages))
    found: Dict[str, Any] = validated.validated_parameters
    return found


def made(run: RunVariables, given: Mapping[str, Any], ask: Ask) -> Making:
    """The plan of a run, written where later tasks read it. Raises ValueError, or AnsibleError for what is no value."""
    making = Making(run, options(given), ask)
    for part in making.options["parts"]:
        PARTS[part](making)
    making.result["problems"] = list(dict.fromkeys(making.problems))
    if making.problems:
        # What facts do not allow is no reason not to compare a node, but nothing is to be done in the cluster.
        making.plan.cluster = None
    making.result["directory"] = making.directory or _plan_files.write(making.plan)
    return making
