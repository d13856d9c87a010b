# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategies that there are, and what is asked of all of them together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.claims.hosts import ClaimHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.prepare_values import NETNS_MODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.dra import Dra
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.host_device import HostDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.inject import Inject
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.none import NoStrategy
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.shared_device import SharedDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.strategy import (
    ClusterState,
    Strategy,
    StrategyPlan,
    of_fleet,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.joined import joined
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages, wrong

# The first is the default. Objects are applied in this order, and what pods claim after all drivers.
STRATEGIES: Dict[str, Strategy] = {
    strategy.name: strategy for strategy in (Dra(), SharedDevice(), HostDevice(), Inject(), NoStrategy())
}

_PROVISION = "zerocopy.rdma.provision"

Found = Iterator[Tuple[str, Problem]]
NodeLabels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ClusterUse:
    """What is in a cluster at the moment: labels of its nodes, and pods (namespace/name) by DRA driver and node.

    ``selectors`` are those by which the DaemonSets of the drivers' sets find their nodes.
    """

    labels: NodeLabels = field(default_factory=dict)
    held: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    selectors: Sequence[Mapping[str, str]] = ()


def kinds() -> List[str]:
    """The operators' kinds that any strategy has a use for."""
    return list(dict.fromkeys(kind for strategy in STRATEGIES.values() for kind in strategy.kinds))


def looks(hosts: Sequence[ClaimHost]) -> List[Dict[str, str]]:
    """Kind and name of the operators' objects that any strategy of these hosts looks at."""
    every = [entry for strategy in STRATEGIES.values() for entry in strategy.looks(hosts)]
    return [{"kind": kind, "name": name} for kind, name in every]


def lacking(hosts: Sequence[ClaimHost], cluster: ClusterState, known: plan_variables.Options) -> List[str]:
    """What hosts need of operators that the cluster lacks, and what is in the way there."""
    every = STRATEGIES.values()
    return messages([entry for strategy in every for entry in strategy.lacking(hosts, cluster, known)])


def driver_roles() -> List[str]:
    """Every role that applies a strategy, also one that no group has: it then removes what is left of it."""
    return [role for strategy in STRATEGIES.values() for role in strategy.roles]


def claim_roles() -> List[str]:
    """Every role that applies what pods claim of a strategy."""
    return [role for strategy in STRATEGIES.values() for role in strategy.claim_roles]


def roles() -> List[str]:
    """Both, in the order in which they are applied."""
    return [*driver_roles(), *claim_roles()]


def set_roles() -> List[str]:
    """Those of them that have a set of objects."""
    return [role for role in roles() if f"{role}_set" in plan_variables.options_of()]


def one_value(hosts: Sequence[Mapping[str, Any]]) -> List[str]:
    """Variables of all strategies with one value for the whole fleet, where hosts have these."""
    return [name for strategy in STRATEGIES.values() for name in strategy.one_value(hosts)]


def words() -> List[str]:
    """What ``rdma_strategy`` may be."""
    return [word for strategy in STRATEGIES.values() for word in strategy.names]


def of_host(values: Mapping[str, Any]) -> Optional[Strategy]:
    """The strategy of a host with these variables, ``None`` where there is no such strategy."""
    word = strategy_of(values)
    return next((strategy for strategy in STRATEGIES.values() if word in strategy.names), None)


def used(hosts: Sequence[ClaimHost]) -> List[Strategy]:
    """The strategies of these hosts."""
    return [strategy for strategy in STRATEGIES.values() if strategy.own(hosts)]


def netns_mode(values: Mapping[str, Any]) -> Optional[str]:
    """The RDMA netns mode of a host: what its variables say, or else the only one in which its strategy works."""
    strategy = of_host(values)
    only = strategy.netns_modes[0] if strategy and len(strategy.netns_modes) == 1 else None
    return values.get(NETNS_MODE) or only


def networks(values: Mapping[str, Any]) -> List[Tuple[str, Network]]:
    """Networks of pods on a host with these variables, each with the variable it is from. Raises PlanError."""
    strategy = of_host(values)
    return strategy.networks(values) if strategy else []


def of_values(hosts: Sequence[Tuple[str, str, Mapping[str, Any]]]) -> Found:
    """What is wrong with the choice of a strategy; hosts have a name, a group and variables in their types."""
    groups: Dict[str, Dict[str, List[str]]] = {}
    for host, group, values in hosts:
        # An empty one is no choice, and no default either.
        name = values[STRATEGY] if values.get(STRATEGY) == "" else strategy_of(values)
        strategy = of_host({STRATEGY: name}) if name else None
        if strategy is None:
            yield host, wrong(STRATEGY, name, f"it must be {' or '.join(words())}")
            continue
        groups.setdefault(group, {}).setdefault(name, []).append(host)
        if values.get(ofed.DEPLOY) and not strategy.with_ofed(values):
            right = "but only groups whose shared device plugin the Network Operator runs can have the OFED driver"
            needed = f"({STRATEGY} shared_device, rdma_shared_device_provider network_operator)"
            yield host, wrong(ofed.DEPLOY, True, f"{right} {needed}")
        mode = values.get(NETNS_MODE)
        if mode and strategy.netns_modes and mode not in strategy.netns_modes:
            right = f"but {STRATEGY} is {name}, which works in mode {' or '.join(strategy.netns_modes)}: leave it out"
            yield host, wrong(NETNS_MODE, mode, right)
    for group, names in groups.items():
        if len(names) > 1:
            text = "; ".join(f"{name} on {fold(several)}" for name, several in names.items())
            for host in (host for several in names.values() for host in several):
                yield host, Problem(STRATEGY, f"is {text}: it must be the same on all hosts of group {group}")
    yield from _same_resources([ClaimHost(host, group, values) for host, group, values in hosts])


def _same_resources(hosts: Sequence[ClaimHost]) -> Found:
    """Resources that two groups would have: a pod that requests one could come to a node of either."""
    known = plan_variables.options_of()
    groups: Dict[str, List[ClaimHost]] = {}
    for host in hosts:
        groups.setdefault(host.group, []).append(host)
    owners: Dict[str, Tuple[str, Strategy]] = {}
    for group, members in groups.items():
        name, strategy = strategy_of(members[0].variables), of_host(members[0].variables)
        if strategy is None:
            continue
        for resource in strategy.resources(members, known):
            other, same = owners.setdefault(resource, (group, strategy))
            if other != group and not (same is strategy and strategy.counts_only):
                why = "a pod that requests it could get a node of either, so the names must differ"
                text = f"is {name} with the resource {resource}, which group {other} has as well: {why}"
                for host in members:
                    yield host.name, Problem(STRATEGY, text)


def changes(hosts: Sequence[ClaimHost], labels: NodeLabels) -> List[str]:
    """Hosts that another strategy still serves. ``labels`` are those of the cluster's nodes."""
    found: List[Tuple[str, Problem]] = []
    for host in hosts:
        word, wanted = strategy_of(host.variables), of_host(host.variables)
        if wanted is None or not wanted.label:
            continue
        for strategy in STRATEGIES.values():
            value = labels.get(host.name, {}).get(strategy.label) if strategy.label else None
            other = wanted.served_otherwise(host.variables, value) if strategy is wanted and value else None
            if other:
                provider, serves = other
                way = f"run {_PROVISION} with {STRATEGY} none, which removes its objects, and then with {word} again"
                right = f"but {serves} still serves this node (label {strategy.label}={value}): {way}"
                found.append((host.name, wrong(provider, host.variables.get(provider) or "plugin", right)))
            if strategy is not wanted and value:
                way = f"run {_PROVISION} with {STRATEGY} none, which removes its objects, and then with {word}"
                way = f"move it with zerocopy.rdma.migrate (rdma_migrate_move={host.group}), or {way}"
                served = f"{' or '.join(strategy.names)} still serves this node (label {strategy.label}={value})"
                found.append((host.name, wrong(STRATEGY, word, f"but {served}: {way}")))
    return messages(found)


def plan_of(
    name: str, hosts: Sequence[ClaimHost], cluster: ClusterState, known: plan_variables.Options
) -> StrategyPlan:
    """The answers of one strategy, by its first name, for a fleet, with what nodes must not have of its resources."""
    strategy = STRATEGIES[name]
    found = strategy.plan(hosts, cluster, known)
    if found.problems:
        return found
    every = strategy.resources(hosts, known)
    # A plugin that runs on all nodes says of each of its resources how many there are, also that there is none.
    offered = {name for one in found.shows.values() for name in one.resources} if found.everywhere else set()
    every = [name for name in every if name not in offered]
    for host in hosts:
        shown = found.shows.get(host.name)
        # Nothing is known of it, and it may have what it had.
        if strategy_of(host.variables) in strategy.names and shown is None and host.facts is None:
            continue
        leaves = [resource for resource in every if shown is None or resource not in shown.resources]
        if leaves:
            found.leaves[host.name] = leaves
    return found


def _cause(strategy: Strategy, values: Mapping[str, Any], known: plan_variables.Options) -> str:
    """The variable by which a host does not have a strategy, empty where it has it."""
    if strategy_of(values) not in strategy.names:
        return STRATEGY
    own = {name: value for name, value in values.items() if name == strategy.switch}
    return strategy.switch if plan_variables.converted(own, known)[0].get(strategy.switch) is False else ""


def driver_sets(hosts: Sequence[ClaimHost], known: plan_variables.Options) -> List[Dict[str, str]]:
    """Name and namespace of each set of objects that has a DRA driver."""
    values = of_fleet(hosts, known)
    sets = [strategy.driver_set for strategy in STRATEGIES.values() if strategy.driver]
    return [{"name": str(values[name]), "namespace": str(values[namespace])} for name, namespace in sets]


def driver_pods(hosts: Sequence[ClaimHost], known: plan_variables.Options) -> List[Dict[str, str]]:
    """Namespace of the pods of each DRA driver, and a selector of their labels."""
    values = of_fleet(hosts, known)
    pods = [strategy.driver_pods for strategy in STRATEGIES.values() if strategy.driver]
    return [{"namespace": str(values[namespace]), "selector": selector} for namespace, selector in pods]


def driven(hosts: Sequence[ClaimHost], known: plan_variables.Options) -> Dict[str, str]:
    """The DRA driver of each host that shall have one."""
    drivers = [strategy for strategy in STRATEGIES.values() if strategy.driver]
    return {host: strategy.driver for strategy in drivers for host in strategy.driven(hosts, known)}


def losing(hosts: Sequence[ClaimHost], cluster: ClusterUse, known: plan_variables.Options) -> List[str]:
    """Nodes that would lose a DRA driver while pods hold devices of it: it has to be there when these pods end."""
    found: List[Tuple[str, Problem]] = []
    for strategy in STRATEGIES.values():
        held = cluster.held.get(strategy.driver, {}) if strategy.driver else {}
        found += _losing(strategy, hosts, cluster.labels, held, known)
        left = {node: pods for node, pods in held.items() if node not in {host.name for host in hosts}}
        found += _left_behind(strategy, hosts, cluster, left, known)
    return messages(found)


def _losing(
    strategy: Strategy,
    hosts: Sequence[ClaimHost],
    labels: NodeLabels,
    held: Mapping[str, Sequence[str]],
    known: plan_variables.Options,
) -> Found:
    """Hosts that leave a strategy."""
    for host in hosts:
        cause = _cause(strategy, host.variables, known)
        if held.get(host.name) and cause and labels.get(host.name, {}).get(strategy.label):
            right = f"but {_holding(strategy, held[host.name])}: delete these pods first"
            yield host.name, wrong(cause, host.variables.get(cause), right)


def _left_behind(
    strategy: Strategy,
    hosts: Sequence[ClaimHost],
    cluster: ClusterUse,
    held: Mapping[str, Sequence[str]],
    known: plan_variables.Options,
) -> Found:
    """Nodes that are no hosts any more, whose group has none left; in a group with hosts they keep their driver."""
    there = {selector[strategy.label] for selector in cluster.selectors if strategy.label in selector}
    going = there - set(strategy.driven(hosts, known).values()) if held and there else set()
    for node, pods in held.items():
        value = cluster.labels.get(node, {}).get(strategy.label)
        if pods and value in going:
            why = f"but no host of the run has the driver of this group any more, and {_holding(strategy, pods)}"
            right = "delete these pods first, or add the node to the inventory"
            yield node, wrong(strategy.label, value, f"{why}: {right}")


def _holding(strategy: Strategy, pods: Sequence[str]) -> str:
    return f"pods hold devices of {strategy.driver} on this node ({joined(pods)})"


def plan(hosts: Sequence[ClaimHost], cluster: ClusterState, known: plan_variables.Options) -> StrategyPlan:
    """The answers of all strategies for a fleet in one."""
    whole = StrategyPlan()
    for name in STRATEGIES:
        found = plan_of(name, hosts, cluster, known)
        whole.sets += found.sets
        whole.warnings += found.warnings
        whole.problems += found.problems
        whole.everywhere |= found.everywhere
        whole.unknown += found.unknown
        whole.asks.update(found.asks)
        whole.shows.update(found.shows)
        whole.counters.update(found.counters)
        for host, leaves in found.leaves.items():
            whole.leaves.setdefault(host, []).extend(leaves)
        for host, labels in found.labels.items():
            whole.labels.setdefault(host, {}).update(labels)
    return whole
