# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The cluster's part of the plan: the steps in which it gets what all strategies of a fleet need, or loses it.

What the cluster answered decides which steps there are. Strategies that no group has are among them only where the
cluster still has something of theirs: a set of objects, labels of nodes, extended resources.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, List, Mapping, NamedTuple, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    CLAIMS,
    DRIVER,
    CountersStep,
    FieldsStep,
    HeldCheck,
    LabelsStep,
    LeftoversStep,
    ObjectsStep,
    RestartStep,
    Step,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import in_use, registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import in_use as served
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClaimsStage,
    ClusterState,
    NodeStatus,
    ObjectSet,
    PodRequest,
    PolicyFields,
    Strategy,
    StrategyPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

_POLICY = "NicClusterPolicy.mellanox.com"
_NO_PRUNING = (
    "Do not use this file with a\n# tool that prunes: it would delete the node of a host that leaves the inventory."
)
LABELS_COMMENT = (
    f"# Labels of nodes that are already in the cluster, for `kubectl apply --server-side`. {_NO_PRUNING}\n"
)


class Manifest(NamedTuple):
    """A file of manifests, which is removed where it has no ``objects``; ``comment`` stands above them."""

    name: str
    objects: Sequence[Mapping[str, Any]]
    comment: str = ""


@dataclass
class ClusterPlan:
    """What is done in the cluster, and what is wrong.

    ``text`` says what pods can claim. ``unmet`` is by host why what its drivers publish does not meet claims that its
    facts allow. ``unprepared`` is by host why its driver would not work on the node as it is now. ``sets`` are all sets
    of objects, ``requests`` by group how its pods can ask for RDMA, ``status`` by node what it shows when all works,
    and ``unknown`` hosts that may need further objects. ``leaving`` are by node the devices that it would lose.
    Where there are problems, nothing is to be done.
    """

    steps: List[Step] = field(default_factory=list)
    manifests: List[Manifest] = field(default_factory=list)
    text: str = ""
    unmet: Dict[str, List[str]] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    unprepared: Dict[str, str] = field(default_factory=dict)
    sets: List[ObjectSet] = field(default_factory=list)
    requests: Dict[str, List[PodRequest]] = field(default_factory=dict)
    status: Dict[str, NodeStatus] = field(default_factory=dict)
    unknown: List[str] = field(default_factory=list)
    leaving: Dict[str, List[str]] = field(default_factory=dict)


def obstacles(hosts: Sequence[InventoryHost], cluster: ClusterState, known: plan_variables.Options) -> List[str]:
    """Why the cluster cannot get what the inventory wants: operators that it lacks, other strategies that still serve
    nodes, drivers that would leave nodes while pods hold their devices.
    """
    use = use_of(cluster)
    return [
        *registry.lacking(hosts, cluster, known),
        *served.still_served(hosts, cluster.labels),
        *in_use.losing(hosts, use, known),
    ]


def use_of(cluster: ClusterState) -> in_use.ClusterUse:
    selectors = [item["spec"]["template"]["spec"].get("nodeSelector") or {} for item in cluster.daemon_sets]
    return in_use.ClusterUse(cluster.labels, cluster.held, selectors)


def cluster_plan(
    hosts: Sequence[InventoryHost],
    cluster: ClusterState,
    known: plan_variables.Options,
    only: Collection[str] = (),
    restarted: Sequence[str] = (),
    tolerant: bool = True,
    prepared: bool = False,
    failed: Sequence[str] = (),
) -> ClusterPlan:
    """The plan for a fleet, of ``only`` these strategies, or of all.

    Claims that facts allow but not what is published are ``unmet``, or without ``tolerant`` problems. Nodes
    that have ``failed`` in this run stay as they are, and with ``prepared``, where no later step prepares nodes, so do
    those that are not prepared.

    ``restarted`` are nodes whose drivers have to start anew, because their kernel was changed in this run. Raises
    ValueError for a slice that is none.
    """
    result = ClusterPlan()
    values = _values(hosts, known)
    wanted = [strategy for name, strategy in registry.STRATEGIES.items() if not only or name in only]
    left: Dict[str, None] = {}
    for strategy in wanted:
        found = registry.deployment_of(strategy.name, hosts, cluster, known)
        own = [*failed, *(found.unprepared if prepared else ())]
        found.unknown += _staying(own, found, cluster)
        found = found.without(own)
        left.update(dict.fromkeys(own))
        result.problems += found.problems
        result.warnings += found.warnings
        result.unprepared.update(found.unprepared)
        result.sets += found.sets
        result.requests.update(found.requests)
        result.status.update(found.status)
        result.unknown += found.unknown
        result.steps += _deployment(strategy, found, cluster, values, restarted)
        result.manifests += _manifests(strategy, found)
    if left:
        result.warnings.append(f"{fold(left)}: left as it is in the cluster (failed in this run, or not prepared)")
    losing = in_use.leaving(hosts, use_of(cluster), known)
    result.leaving = {node: names for node, names in losing.items() if node not in left}
    if result.leaving:
        title = "Check that no pod holds devices that its node would lose"
        result.steps.insert(0, HeldCheck(title, DRIVER, result.leaving))
    for strategy in wanted:
        stage = strategy.claims(hosts, cluster, known, tolerant)
        if stage is not None:
            _add_claims(result, strategy, stage, cluster)
    result.steps += _earlier_labels(wanted, cluster, [host.name for host in hosts if host.name not in left])
    if result.problems:
        result.steps, result.manifests, result.sets, result.requests = [], [], [], {}
    return result


def _staying(left: Sequence[str], found: StrategyPlan, cluster: ClusterState) -> List[str]:
    """Those of the hosts that would lose a label of this strategy, or its value, and still need its objects with it."""

    def needs(host: str) -> bool:
        now = cluster.labels.get(host, {})
        return any(name in now and now[name] != to for name, to in found.labels.get(host, {}).items())

    return [host for host in left if needs(host)]


def _values(hosts: Sequence[InventoryHost], known: plan_variables.Options) -> Dict[str, Any]:
    """Variables that have one value for the whole fleet, in their types."""
    return {**plan_variables.defaults(known), **plan_variables.converted(_variables(hosts), known)[0]}


def _variables(hosts: Sequence[InventoryHost]) -> Mapping[str, Any]:
    return hosts[0].variables if hosts else {}


def _there(objects: ObjectSet, cluster: ClusterState) -> bool:
    """Whether a set has anything to apply, or may have something to remove."""
    key = (objects.namespace, objects.name)
    return bool(objects.objects) or cluster.parents is None or key in cluster.parents


def _title(strategy: Strategy, what: str) -> str:
    return f"{what} ({strategy.name})"


def _deployment(
    strategy: Strategy,
    found: StrategyPlan,
    cluster: ClusterState,
    values: Mapping[str, Any],
    restarted: Sequence[str],
) -> Iterator[Step]:
    """The steps of the driver or device plugin of a strategy.

    A pod of a device plugin starts as soon as its node has the label, with the configuration that the cluster has at
    that time. On a node that joins others, the old configuration may offer devices that this node needs itself, so it
    is applied before. It does not fit the nodes that leave, so that they lose their label even earlier.
    """
    sets = [each for each in found.sets if _there(each, cluster)]
    pods = strategy.driver_pods
    if strategy.driver and sets:
        title = _title(strategy, "Restart pods of the driver")
        yield RestartStep(title, DRIVER, str(values[pods[0]]), pods[1], restarted, found.wait)
    if found.joining:
        yield LabelsStep(_title(strategy, "Remove the labels of nodes that leave"), DRIVER, found.leaving, first=True)
        for each in sets:
            title = _title(strategy, "Update the objects before nodes join")
            yield ObjectsStep(
                title,
                DRIVER,
                each.name,
                each.namespace,
                each.objects,
                False,
                first=True,
                rejectable=strategy.rejectable,
            )
    yield from _counters(strategy, found, cluster)
    if _labels_needed(strategy, found, cluster):
        yield LabelsStep(_title(strategy, "Label the nodes"), DRIVER, found.labels, after_counters=strategy.counts_only)
    if not found.problems:
        yield from _policy(strategy, found.policy, cluster, values)
    for each in sets:
        yield ObjectsStep(
            _title(strategy, "Apply the objects"),
            DRIVER,
            each.name,
            each.namespace,
            each.objects,
            prune=not found.unknown,
            wait=found.wait,
            rejectable=strategy.rejectable,
            kept=strategy.kept,
            pools=strategy.address_pools(values, removal=False),
        )
    leftovers = _left_behind(found.leftovers, cluster)
    if leftovers:
        title = _title(strategy, "Remove resources that were left behind")
        # What others advertise under these names is reported by verify.
        served = [node for node in leftovers if strategy.label in cluster.labels.get(node, {})]
        yield LeftoversStep(title, DRIVER, leftovers, strategy.label, keep_used=True, served=served)


def _counters(strategy: Strategy, found: StrategyPlan, cluster: ClusterState, keep_used: bool = True) -> Iterator[Step]:
    """Before the labels, so that nothing changes on a node whose annotation cannot be read.

    With ``keep_used``, the resource stays on nodes that leave the strategy as long as pods have it.
    """
    nodes = {
        node: numbers
        for node, numbers in found.counters.items()
        if numbers or cluster.counted is None or node in cluster.counted
    }
    if nodes:
        yield CountersStep(_title(strategy, "Keep the resource that counts pods"), DRIVER, nodes, keep_used)


def _labels_needed(strategy: Strategy, found: StrategyPlan, cluster: ClusterState) -> bool:
    """Not where no node shall have the label, and none has it."""
    if any(value is not None for labels in found.labels.values() for value in labels.values()):
        return True
    return any(strategy.label in cluster.labels.get(node, {}) for node in found.labels)


def _policy(
    strategy: Strategy, fields: PolicyFields, cluster: ClusterState, values: Mapping[str, Any]
) -> Iterator[Step]:
    """An operator's policy has fields of others as well."""
    if _POLICY not in strategy.kinds or _POLICY not in (cluster.kinds or ()):
        return
    (own,) = strategy.sets(DRIVER, values)
    title = _title(strategy, "Apply the fields of the policy of the Network Operator")
    manager = f"zerocopy.rdma/{own.namespace}/{own.name}"
    yield FieldsStep(title, DRIVER, dict(fields.object), manager, fields.without)


def _left_behind(leftovers: Mapping[str, Sequence[str]], cluster: ClusterState) -> Dict[str, Sequence[str]]:
    """What of these extended resources is in the status of nodes."""
    there = dict(leftovers)
    if cluster.extended_resources is not None:
        known = {node: set(cluster.extended_resources.get(node, ())) for node in leftovers}
        there = {node: [name for name in names if name in known[node]] for node, names in leftovers.items()}
    return {node: names for node, names in there.items() if names}


def _manifests(strategy: Strategy, found: StrategyPlan) -> Iterator[Manifest]:
    objects = [item for each in found.sets for item in each.objects]
    if "spec" in found.policy.object:
        objects.append(dict(found.policy.object))
    if strategy.manifests.labels:
        nodes = found.nodes if objects or not strategy.manifests.objects else []
        yield Manifest(strategy.manifests.labels, nodes, LABELS_COMMENT)
    if strategy.manifests.objects:
        yield Manifest(strategy.manifests.objects, objects)


def _add_claims(result: ClusterPlan, strategy: Strategy, stage: ClaimsStage, cluster: ClusterState) -> None:
    result.problems += stage.problems
    result.warnings += stage.warnings
    result.text = "\n".join(filter(None, [result.text, stage.text]))
    result.unmet.update(stage.unmet)
    result.requests.update(stage.requests)
    result.status.update(stage.status)
    result.sets.append(stage.objects)
    result.unknown += stage.unknown
    each = stage.objects
    if _there(each, cluster):
        title = _title(strategy, "Apply the claims")
        result.steps.append(ObjectsStep(title, CLAIMS, each.name, each.namespace, each.objects, not stage.unknown))
    if strategy.manifests.claims:
        result.manifests.append(Manifest(strategy.manifests.claims, each.objects))


def removal(
    hosts: Sequence[InventoryHost],
    cluster: ClusterState,
    known: plan_variables.Options,
    only: Collection[str] = (),
) -> ClusterPlan:
    """The steps that take everything away again, in the opposite order."""
    result = ClusterPlan()
    values = _values(hosts, known)
    use = use_of(cluster)
    offered = in_use.offered(hosts, use, known)
    result.problems += in_use.needed(hosts, use, known)
    wanted = [strategy for name, strategy in registry.STRATEGIES.items() if not only or name in only]
    held: Dict[str, List[str]] = {}
    for strategy in wanted:
        for node, names in offered[strategy.name].items():
            held.setdefault(node, []).extend(names)
    if held:
        result.steps.append(HeldCheck("Check that no pod holds devices", DRIVER, held))
    for part in (CLAIMS, DRIVER):
        for strategy in reversed(wanted):
            result.steps += _removal(strategy, part, hosts, cluster, known, values)
    result.steps += _earlier_labels(wanted, cluster, list(cluster.labels))
    return result


def _earlier_labels(strategies: Sequence[Strategy], cluster: ClusterState, nodes: Sequence[str]) -> Iterator[Step]:
    """Last, because until then objects of an earlier version may find their nodes by these labels."""
    names = [node_labels.before_1_0(strategy.label) for strategy in strategies if strategy.label]
    found = {node: dict.fromkeys(name for name in names if name in cluster.labels.get(node, {})) for node in nodes}
    found = {node: labels for node, labels in found.items() if labels}
    if found:
        yield LabelsStep("Remove the labels of earlier versions from nodes", DRIVER, found)


def _removal(
    strategy: Strategy,
    part: str,
    hosts: Sequence[InventoryHost],
    cluster: ClusterState,
    known: plan_variables.Options,
    values: Mapping[str, Any],
) -> Iterator[Step]:
    for each in strategy.sets(part, values):
        if _there(each, cluster):
            yield ObjectsStep(
                _title(strategy, "Remove the claims" if part == CLAIMS else "Remove the objects"),
                part,
                each.name,
                each.namespace,
                wait=True,
                kept=strategy.kept,
                pools=strategy.address_pools(values, removal=True) if part == DRIVER else "",
            )
    if part == CLAIMS:
        return
    yield from _policy(strategy, strategy.no_fields, cluster, values)
    # Hosts that have left the inventory, too: with its label, a node would get the driver again some day.
    labelled = [node for node, labels in cluster.labels.items() if strategy.label and strategy.label in labels]
    names = list(dict.fromkeys([*(host.name for host in hosts), *labelled]))
    if strategy.counts_only:
        yield from _counters(strategy, StrategyPlan(counters={name: {} for name in names}), cluster, False)
    else:
        leftovers = _left_behind(dict.fromkeys(names, strategy.resources(hosts, known)), cluster)
        if leftovers:
            title = _title(strategy, "Remove resources that were left behind")
            yield LeftoversStep(title, DRIVER, leftovers, strategy.label)
    # Last, because the next run finds the nodes by this label.
    gone = StrategyPlan(labels={name: {strategy.label: None} for name in names}) if strategy.label else StrategyPlan()
    if _labels_needed(strategy, gone, cluster):
        yield LabelsStep(_title(strategy, "Remove the labels"), DRIVER, gone.labels)
