# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The cluster's part of the plan, as an action makes it: from the inventory, facts and one look at the cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import changes, cluster_plan, questions, steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.cluster_plan import ClusterPlan, Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import networks as prepare_networks
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.unserved import Provisioned, reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import shown
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import requests
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _cluster_look,
    _fleet,
    _leaf_labels,
    _manifest_files,
    _plan_files,
)
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._cluster_look import Ask
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._fleet import Fleet

ALL, PUBLISHED, NOTHING = "all", "published", "nothing"
# What is right where the cluster has sets of another rdma_hosts: to apply those of this one, and to remove them.
_ONE_VALUE = ". Runs against a cluster need one value: use the value of these sets, or run teardown with it first"
_NONE_OF_THIS = " and none from runs with this value. Run teardown with the value of these sets"


class Planned(NamedTuple):
    """``document`` is written for the steps that follow, ``result`` is what a task gets."""

    result: Dict[str, Any]
    document: Dict[str, Any]


def of_run(run_of: Fleet, options: Mapping[str, Any], ask: Ask) -> Planned:
    """The plan of the whole fleet. Raises ValueError where the cluster gives no answer."""
    if options["ask"] != ALL:
        return _without_steps(run_of, options, ask)
    present, wait = options["state"] == "present", options["wait"] and not run_of.check
    unready = [*options["unready"], *run_of.failed]
    question = _cluster_look.question(run_of, run_of.resource_api, run_of.resource_api and present, wait, unready)
    # With a plan of before, nodes may have been changed since, and drivers before claims are planned again.
    kept = _cluster_look.NOTHING_MORE if options["plan"] else _cluster_look.NOTHING_CHANGED
    chosen: Sequence[str] = options["strategies"]
    answer: Dict[str, Any] = {}
    if run_of.with_cluster:
        answer = looked(run_of, question, chosen, ask, kept, options["rights"], present)
    # Who only compares the cluster wants to know of all.
    compared = options["published"]
    is_late = bool(answer) and not (wait or run_of.check or compared) and _cluster_look.late(run_of, answer)
    # The driver of a chart and its classes will exist when claims are applied. Nothing tells whether they do
    # already where nobody waits for it.
    unwaited = not (wait or compared) and not any(each["wait"] for each in run_of.expected.values())
    classes = not (registry.charts(run_of.values) and (run_of.check or is_late or unwaited))
    state = _cluster_look.state(answer, classes) if answer else _cluster_look.state_of_manifests(run_of)
    if present:
        restarted = _fleet.restarted(run_of.context["hostvars"], run_of.hosts) if not wait else []
        # Together with the nodes' part, it is made before they are prepared.
        prepared = not run_of.check and "node" not in options["parts"]
        failed = [] if compared else run_of.failed
        plan = cluster_plan.cluster_plan(
            run_of.hosts, state, run_of.known, chosen, restarted, prepared=prepared, failed=failed
        )
        if answer:
            other = _other_fleet(run_of, answer["others"], _ONE_VALUE)
            plan.problems = [*other, *obstacles(run_of, state, answer["networks"]), *plan.problems]
    else:
        state = state if answer else ClusterState()
        plan = cluster_plan.removal(run_of.hosts, state, run_of.known, chosen)
        # Where there are sets of this value as well, either can go first.
        if answer and not answer["parents"]:
            plan.problems = [*_other_fleet(run_of, answer["others"], _NONE_OF_THIS), *plan.problems]
    if not chosen:
        _leaf_labels.add(run_of, plan, state, present)
    written = steps.written(plan.steps)
    wanted = [step for step in written if step["part"] in options["rights"]]
    # An administrator has all rights.
    if answer and wanted and not plan.problems and not answer["administrator"]:
        told = plan.warnings if run_of.check else plan.problems
        # Claims are planned again when the drivers have published.
        again = {"published": {"wait": True}} if "published" in answer and steps.CLAIMS in options["rights"] else {}
        told += _cluster_look.denied(wanted, ask, again, kept)
    published = answer.get("published") or {}
    result = {
        **_result(run_of, plan, present),
        "text": "" if is_late else plan.text,
        "differences": [] if is_late else list(published.get("differences") or []),
        "late": is_late,
        "leaving": plan.leaving,
        "device_plugin_gpus": _device_plugin_gpus(run_of, answer) if answer else {},
        # Also on nodes that have left the inventory.
        "ofed": sorted(node for node, own in state.labels.items() if ofed.has(own, registry.of_ofed().label)),
    }
    document = {
        **_document(run_of, plan, result),
        "asked": ALL,
        "steps": [step for step in written if not (is_late and step["part"] == steps.CLAIMS)],
        "manifests": [{"name": each.name, "content": content(each)} for each in plan.manifests],
        "nodes": published.get("nodes") or {},
    }
    return Planned({**result, **_details(run_of, options, published)}, document)


def looked(
    run_of: Fleet,
    question: Mapping[str, Any],
    strategies: Sequence[str],
    ask: Ask,
    kept: str = _cluster_look.NOTHING_CHANGED,
    rights: Sequence[str] = (),
    present: bool = True,
) -> Dict[str, Any]:
    """All that steps depend on. Raises ValueError.

    Who may not even read it is told all that the plan of these ``strategies`` takes, made as for a cluster that has
    nothing. To remove, each set may be there.
    """
    try:
        return _cluster_look.everything(question, ask, kept)
    except _cluster_look.ForbiddenError as error:
        forbidden = error
    there = () if present else None
    nothing = ClusterState(parents=there, extended_resources={}, counted=(), leaf_labelled=there)
    make = cluster_plan.cluster_plan if present else cluster_plan.removal
    plan = make(run_of.hosts, nothing, run_of.known, strategies)
    if not strategies:
        _leaf_labels.add(run_of, plan, nothing, present)
    wanted = [step for step in plan.steps if step.part in rights]
    lacking = _cluster_look.denied(steps.written(wanted), ask, question, kept)
    raise ValueError("\n".join([f"{kept} Fix this first:", *lacking]) if lacking else str(forbidden)) from forbidden


def _details(run_of: Fleet, options: Mapping[str, Any], published: Mapping[str, Any]) -> Dict[str, Any]:
    """What is returned only to who asks for it, because of its size."""
    if not options["published"]:
        return {}
    return {"expected": run_of.expected, **({"published": published} if published else {})}


def _device_plugin_gpus(run_of: Fleet, answer: Mapping[str, Any]) -> Dict[str, List[str]]:
    """By node the GPUs of device plugins where the chart of a DRA driver would offer them as well."""
    nics = [name for names in registry.resources(run_of.hosts, run_of.known).values() for name in names]
    more = Names(
        [*nics, *(run_of.context.get("rdma_audit_resources") or [])], run_of.context.get("rdma_gpu_resources") or []
    )
    hosts = [host.name for host in run_of.hosts]
    return registry.device_plugin_gpus(answer["allocatable"], answer["nodes"], hosts, run_of.values, more)


def _without_steps(run_of: Fleet, options: Mapping[str, Any], ask: Ask) -> Planned:
    """What is wrong, and what pods can request, as far as this is known without all that steps depend on."""
    answer = _cluster_look.published(run_of, ask) if options["ask"] == PUBLISHED else {}
    state = _cluster_look.state_of_published(answer, not registry.charts(run_of.values))
    plan = cluster_plan.cluster_plan(run_of.hosts, state, run_of.known, options["strategies"], tolerant=False)
    result = {**_result(run_of, plan, True), "text": plan.text, "differences": [], "late": False, "leaving": {}}
    document = {**_document(run_of, plan, result), "asked": options["ask"]}
    return Planned({**result, **_details(run_of, options, answer)}, document)


def _result(run_of: Fleet, plan: ClusterPlan, present: bool) -> Dict[str, Any]:
    return {
        "problems": plan.problems,
        "warnings_shown": plan.warnings,
        "unprepared": {} if run_of.check else plan.unprepared,
        "left_out": run_of.failed,
        "unmet": plan.unmet,
        "cluster": run_of.with_cluster,
        "checks": _fleet.node_checks(run_of) if present else {},
        "images": _fleet.with_images(run_of) if present else [],
        "charts": registry.charts(run_of.values) if run_of.with_cluster else [],
        "strategies": _fleet.strategies(run_of),
        "answers": questions.lines(run_of.hosts) if present else [],
        "requests": plain(
            {group: requests.named(_objects(plan), each, run_of.hosts) for group, each in plan.requests.items()}
        ),
    }


def _objects(plan: ClusterPlan) -> List[Dict[str, Any]]:
    return [item for each in plan.sets for item in each.objects]


def _document(run_of: Fleet, plan: ClusterPlan, result: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "result": dict(result),
        "cluster": run_of.with_cluster,
        "hosts": [host.name for host in run_of.hosts],
        "late": result["late"],
        "directory": _manifest_files.directory(run_of.context),
        "unmet": plan.unmet,
        "sets": [asdict(each) for each in plan.sets],
        "requests": {group: [asdict(request) for request in each] for group, each in plan.requests.items()},
        "status": {host: asdict(each) for host, each in plan.status.items()},
    }


def still_right(run_of: Fleet, directory: str) -> Optional[Dict[str, Any]]:
    """The result of an earlier plan of this run, if that was of the same nodes as they are now, for one use."""
    if _fleet.has_changed(run_of):
        return None

    def usable(document: Mapping[str, Any]) -> bool:
        result = document["result"]
        return document["asked"] == ALL and not result["unprepared"] and result["left_out"] == run_of.failed

    found = _plan_files.taken(directory, usable)
    # Since then, nodes were compared.
    return None if found is None else {**found["result"], "images": _fleet.with_images(run_of)}


def changes_since(directory: str, document: Mapping[str, Any]) -> List[str]:
    """What a plan of this run wants otherwise than the earlier one in ``directory``, as far as that knew."""
    earlier = _plan_files.cluster_plan_if_any(directory)
    if earlier is None or earlier["asked"] != ALL:
        return []
    # Claims that are late are in no step.
    parts = [steps.DRIVER] if earlier["late"] or document["late"] else [steps.DRIVER, steps.CLAIMS]
    first, second = (
        steps.read([step for step in plain(each["steps"]) if step["part"] in parts]) for each in (earlier, document)
    )
    return changes.changes(first, second)


def _other_fleet(fleet: Fleet, others: Sequence[Mapping[str, str]], right: str) -> List[str]:
    """What is wrong if the cluster has sets of other hosts, and what is ``right``.

    Some objects have one name, whoever asks for them. Without its own sets, a removal would leave all objects, whose
    pods nobody has asked about, and revert the nodes under them.
    """
    own = str(fleet.known[plan_variables.SET]["default"])
    if not _of_pattern(own):
        return []
    ours = [*registry.sets(fleet.hosts, fleet.known), *_leaf_labels.look(fleet)["sets"]]
    ends = {each["name"][len(own) :] for each in ours}
    found = [each for each in others if _of_pattern(each["name"]) and each["name"].endswith(tuple(ends))]
    if not found:
        return []
    hosts = str(fleet.context.get("rdma_hosts") or "all")
    names = ", ".join(f"{each['namespace']}/{each['name']}" for each in found)
    text = f"but the cluster has sets of objects from runs with another value ({names}){right}"
    return [f"rdma_hosts is {shown(hosts)}, {text}"]


def _of_pattern(name: str) -> bool:
    """Whether a set has its name from ``rdma_hosts`` (``playbooks/vars/fleet.yml``), and not from the user."""
    prefix = str(plan_variables.results()[plan_variables.SET]["default"])
    return name == prefix or name.startswith(f"{prefix}-")


def network_problems(fleet: Fleet, networks: Mapping[str, Sequence[str]]) -> List[str]:
    """Links and pods that would get addresses of the cluster's networks."""
    planned = [PrepareHost(host.name, variables=host.variables) for host in fleet.hosts]
    return prepare_networks.of_cluster(planned, networks, fleet.known)


def obstacles(fleet: Fleet, found: ClusterState, networks: Mapping[str, Sequence[str]]) -> List[str]:
    """Why the cluster cannot get what the inventory wants, as far as this is known without facts."""
    return [*network_problems(fleet, networks), *cluster_plan.obstacles(fleet.hosts, found, fleet.known)]


def unserved(fleet_hosts: Sequence[str], plan: Mapping[str, Any], result: Mapping[str, Any]) -> Dict[str, List[str]]:
    """By host why its pods do not get RDMA, of those that are not served. ``result`` is that of the steps."""
    with_claims = not result.get("late")
    nodes = plan["nodes"] if with_claims else {}
    unready = {host: list(lines) for host, lines in (result.get("unready") or {}).items()}
    for host, why in plan["result"]["unprepared"].items():
        unready.setdefault(host, []).insert(0, why)
    for host, node in nodes.items():
        if node.get("without_gpus"):
            unready.setdefault(host, []).append(f"no pod can claim its GPUs: {node['without_gpus']}")
    left = Provisioned(
        missing=result.get("missing") or (),
        nodes=nodes,
        unready=unready,
        broken=result.get("broken") or {},
        unmet=plan["unmet"] if with_claims else {},
    )
    found = {host: reasons(host, [left]) for host in fleet_hosts}
    return {host: lines for host, lines in found.items() if lines}


def content(manifest: Manifest) -> str:
    """A file of manifests, empty without objects."""
    if not manifest.objects:
        return ""
    return manifest.comment + _manifest_files.content(manifest.objects)
