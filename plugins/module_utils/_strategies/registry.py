# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategies that there are, and what is asked of all of them together."""

from __future__ import annotations

from typing import Any, Callable, Collection, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.value_rules import NETNS_MODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import NodeKnown
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ObjectSet,
    Strategy,
    StrategyPlan,
    of_fleet,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.strategy import Dra
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.strategy import HostDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.strategy import Inject
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.none import NoStrategy
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device.strategy import SharedDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import messages

# Objects are applied in this order, and what pods claim after all drivers. The default is that of `rdma_strategy` in
# _inventory/variables.py.
STRATEGIES: Dict[str, Strategy] = {
    strategy.name: strategy for strategy in (Dra(), SharedDevice(), HostDevice(), Inject(), NoStrategy())
}


def kinds() -> List[str]:
    """The operators' kinds that any strategy has a use for."""
    return list(dict.fromkeys(kind for strategy in STRATEGIES.values() for kind in strategy.kinds))


def cluster_queries(hosts: Sequence[InventoryHost]) -> List[Dict[str, str]]:
    """Kind and name of the operators' objects that any strategy of these hosts looks at."""
    every = dict.fromkeys(entry for strategy in STRATEGIES.values() for entry in strategy.cluster_queries(hosts))
    return [{"kind": kind, "name": name} for kind, name in every]


def lacking(hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> List[str]:
    """Parts of operators that hosts need but the cluster lacks, and objects that are in the way."""
    every = STRATEGIES.values()
    return messages([entry for strategy in every for entry in strategy.lacking(hosts, cluster, known)])


def roles() -> List[str]:
    """The roles that have variables of strategies."""
    return [role for strategy in STRATEGIES.values() for role in strategy.roles]


def one_value(hosts: Sequence[Mapping[str, Any]]) -> List[str]:
    """Variables of all strategies with one value for the whole fleet, where hosts have these."""
    return [name for strategy in STRATEGIES.values() for name in strategy.one_value(hosts)]


def resources(hosts: Sequence[InventoryHost], known: variables.Options) -> Dict[str, List[str]]:
    """By strategy, the extended resources that groups of these hosts have or had with it."""
    return {name: strategy.resources(hosts, known) for name, strategy in STRATEGIES.items()}


def words() -> List[str]:
    """What ``rdma_strategy`` may be."""
    return [word for strategy in STRATEGIES.values() for word in strategy.names]


def of_host(values: Mapping[str, Any]) -> Optional[Strategy]:
    """The strategy of a host with these variables, ``None`` where there is no such strategy."""
    word = strategy_of(values)
    return next((strategy for strategy in STRATEGIES.values() if word in strategy.names), None)


def asked(hosts: Sequence[InventoryHost]) -> Dict[str, str]:
    """By group whose pods can request RDMA, according to the variables alone, its value of ``rdma_strategy``."""
    found: Dict[str, str] = {}
    for host in hosts:
        strategy = of_host(host.variables)
        if strategy and strategy.asked(host.variables):
            found[host.group] = strategy_of(host.variables)
    return found


def used(hosts: Sequence[InventoryHost]) -> List[Strategy]:
    """The strategies of these hosts."""
    return [strategy for strategy in STRATEGIES.values() if strategy.own(hosts)]


def netns_mode(values: Mapping[str, Any]) -> Optional[str]:
    """The RDMA netns mode of a host: what its variables say, or else the only one in which its strategy works."""
    strategy = of_host(values)
    only = strategy.netns_modes[0] if strategy and len(strategy.netns_modes) == 1 else None
    return values.get(NETNS_MODE) or only


def daemons(
    values: Mapping[str, Any],
    wanted: bool,
    known: NodeKnown,
) -> Dict[str, Dict[str, Any]]:
    """By name the options of all daemons on a host with these variables.

    Those of other strategies go, and without ``wanted`` its own one as well.
    """
    own = of_host(values)
    found = {}
    for strategy in STRATEGIES.values():
        daemon = strategy.daemon
        if daemon:
            mine = wanted and strategy is own and daemon.wanted(values)
            found[daemon.name] = daemon.options(values, known) if mine else daemon.removal(values)
    return found


def by_leaf(values: Mapping[str, Any]) -> bool:
    """Whether a host with these variables has a daemon that needs to know its leaf group."""
    strategy = of_host(values)
    return bool(strategy and strategy.daemon and strategy.daemon.by_leaf and strategy.daemon.wanted(values))


def of_ofed() -> Strategy:
    """The one whose policies deploy the OFED driver of the Network Operator, by its label."""
    return next(strategy for strategy in STRATEGIES.values() if strategy.has_ofed)


def asked_by() -> Dict[str, str]:
    """By strategy the variable without which pods can request nothing of it."""
    return {name: strategy.asked_by for name, strategy in STRATEGIES.items() if strategy.asked_by}


def programs() -> Dict[str, Callable[[], bytes]]:
    """By the name of each daemon what makes its program."""
    return {strategy.daemon.name: strategy.daemon.program for strategy in STRATEGIES.values() if strategy.daemon}


def with_daemon(name: str) -> bool:
    """Whether a strategy, by any of its names, has a daemon; what is no strategy has none."""
    return any(strategy.daemon for strategy in STRATEGIES.values() if name in strategy.names)


def networks(values: Mapping[str, Any]) -> List[Tuple[str, Network]]:
    """Networks of pods on a host with these variables, each with the variable it is from. Raises PlanError."""
    strategy = of_host(values)
    return strategy.networks(values) if strategy else []


def expected(hosts: Sequence[InventoryHost]) -> Dict[str, Dict[str, Any]]:
    """By host what DRA drivers have to publish."""
    return {host: each for strategy in STRATEGIES.values() for host, each in strategy.expected(hosts).items()}


def publish_timeout(values: Mapping[str, Any]) -> int:
    """Seconds that drivers may take until they publish, the longest of all strategies; ``values`` are typed."""
    names = [strategy.publish_timeout for strategy in STRATEGIES.values() if strategy.publish_timeout]
    return max(int(values[name]) for name in names)


def charts(values: Mapping[str, Any]) -> List[str]:
    """The roles whose charts bring DRA drivers in this run; ``values`` are typed."""
    return [role for strategy in STRATEGIES.values() for role in strategy.charts(values)]


def device_plugin_gpus(
    allocatable: Mapping[str, Sequence[str]],
    labels: Mapping[str, Mapping[str, str]],
    hosts: Collection[str],
    values: Mapping[str, Any],
    more: Names,
) -> Dict[str, List[str]]:
    """By node the GPUs of device plugins that a chart of this run would offer as well."""
    every = (each.device_plugin_gpus(allocatable, labels, hosts, values, more) for each in STRATEGIES.values())
    return {node: names for found in every for node, names in found.items()}


def sets(hosts: Sequence[InventoryHost], known: variables.Options) -> List[Dict[str, str]]:
    """Name and namespace of each set of objects of all strategies."""
    values = of_fleet(hosts, known)
    parts = ("driver", "claims")
    return _named(each for strategy in STRATEGIES.values() for part in parts for each in strategy.sets(part, values))


def plan_of(name: str, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
    """The answers of one strategy, by its first name, for a fleet, with what nodes must not have of its resources."""
    strategy = STRATEGIES[name]
    return _with_leaves(strategy, strategy.plan(hosts, cluster, known), hosts, known)


def deployment_of(
    name: str, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
) -> StrategyPlan:
    """The same of its driver or device plugin alone."""
    strategy = STRATEGIES[name]
    return _with_leaves(strategy, strategy.driver_plan(hosts, cluster, known), hosts, known)


def _with_leaves(
    strategy: Strategy, found: StrategyPlan, hosts: Sequence[InventoryHost], known: variables.Options
) -> StrategyPlan:
    if found.problems:
        return found
    every = strategy.resources(hosts, known)
    # A plugin that runs on all nodes reports the number of each of its resources, even if it is 0.
    offered = {name for shown in found.status.values() for name in shown.resources} if found.everywhere else set()
    every = [name for name in every if name not in offered]
    for host in hosts:
        shown = found.status.get(host.name)
        # Nothing is known of it, and it may have what it had.
        if strategy_of(host.variables) in strategy.names and shown is None and host.facts is None:
            continue
        leftovers = [resource for resource in every if shown is None or resource not in shown.resources]
        if leftovers:
            found.leftovers[host.name] = leftovers
    return found


def driver_sets(hosts: Sequence[InventoryHost], known: variables.Options) -> List[Dict[str, str]]:
    """Name and namespace of each set of objects that has a DRA driver or a device plugin."""
    values = of_fleet(hosts, known)
    return _named(each for strategy in STRATEGIES.values() for each in strategy.sets("driver", values))


def _named(sets: Iterable[ObjectSet]) -> List[Dict[str, str]]:
    return [{"name": each.name, "namespace": each.namespace} for each in sets]


def driver_pods(hosts: Sequence[InventoryHost], known: variables.Options) -> List[Dict[str, str]]:
    """Namespace of the pods of each DRA driver, and a selector of their labels."""
    values = of_fleet(hosts, known)
    pods = [strategy.driver_pods for strategy in STRATEGIES.values() if strategy.driver]
    return [{"namespace": str(values[namespace]), "selector": selector} for namespace, selector in pods]


def driver_labels(hosts: Sequence[InventoryHost], known: variables.Options) -> Dict[str, str]:
    """The DRA driver of each host that shall have one."""
    drivers = [strategy for strategy in STRATEGIES.values() if strategy.driver]
    return {host: strategy.driver for strategy in drivers for host in strategy.driver_labels(hosts, known)}


def plan(hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
    """The answers of all strategies for a fleet in one."""
    whole = StrategyPlan()
    for name in STRATEGIES:
        found = plan_of(name, hosts, cluster, known)
        whole.sets += found.sets
        whole.warnings += found.warnings
        whole.problems += found.problems
        whole.everywhere |= found.everywhere
        whole.unknown += found.unknown
        whole.requests.update(found.requests)
        whole.status.update(found.status)
        whole.counters.update(found.counters)
        for host, leftovers in found.leftovers.items():
            whole.leftovers.setdefault(host, []).extend(leftovers)
        for host, labels in found.labels.items():
            whole.labels.setdefault(host, {}).update(labels)
    return whole
