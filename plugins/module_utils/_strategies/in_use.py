# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What still serves hosts: drivers and plugins that have to stay, and strategies that were changed without a move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import Strategy
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.registry import STRATEGIES, of_host
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

Found = Iterator[Tuple[str, Problem]]
NodeLabels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ClusterUse:
    """What is in a cluster at the moment: labels of its nodes, and pods (namespace/name) by DRA driver and node.

    ``selectors`` are those by which the DaemonSets of drivers and device plugins find their nodes.
    """

    labels: NodeLabels = field(default_factory=dict)
    held: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    selectors: Sequence[Mapping[str, str]] = ()


def _cause(strategy: Strategy, values: Mapping[str, Any], known: variables.Options) -> str:
    """The variable by which a host does not have a strategy, empty where it has it."""
    if strategy_of(values) not in strategy.names:
        return STRATEGY
    own = {name: value for name, value in values.items() if name == strategy.switch}
    return strategy.switch if variables.converted(own, known)[0].get(strategy.switch) is False else ""


def leaving(hosts: Sequence[InventoryHost], cluster: ClusterUse, known: variables.Options) -> Dict[str, List[str]]:
    """By node the extended resources that its device plugin offers, but no longer shall. No pod may hold them."""
    found: Dict[str, List[str]] = {}
    for strategy in STRATEGIES.values():
        lost = strategy.lost(hosts, strategy.own(hosts), _served(strategy, hosts, cluster), known)
        for node, resources in lost.items():
            found.setdefault(node, []).extend(resources)
    return found


def offered(
    hosts: Sequence[InventoryHost], cluster: ClusterUse, known: variables.Options
) -> Dict[str, Dict[str, List[str]]]:
    """By strategy and node the extended resources that its device plugin offers. No pod may hold them when it goes."""
    return {
        strategy.name: strategy.lost(hosts, (), _served(strategy, hosts, cluster), known)
        for strategy in STRATEGIES.values()
    }


def _served(strategy: Strategy, hosts: Sequence[InventoryHost], cluster: ClusterUse) -> Dict[str, str]:
    """By node the value of its label: of hosts, and of other nodes that have its plugin.

    Those are selected by a DaemonSet of its set of objects, or their value ends with that of an operator, which runs
    the plugin there.
    """
    names, there = {host.name for host in hosts}, _selected(strategy, cluster)
    values = {node: labels.get(strategy.label, "") for node, labels in cluster.labels.items()}
    return {
        node: value for node, value in values.items() if value and (node in names or value in there or "." in value)
    }


def needed(hosts: Sequence[InventoryHost], cluster: ClusterUse, known: variables.Options) -> List[str]:
    """Nodes whose pods hold devices of a DRA driver that we run there: it has to be there when these pods end."""
    return messages([entry for strategy in STRATEGIES.values() for entry in _needed(strategy, hosts, cluster, known)])


def _needed(strategy: Strategy, hosts: Sequence[InventoryHost], cluster: ClusterUse, known: variables.Options) -> Found:
    there = _selected(strategy, cluster)
    for node, pods in cluster.held.get(strategy.driver, {}).items():
        value = cluster.labels.get(node, {}).get(strategy.label)
        if pods and value in there:
            yield node, wrong(strategy.label, value, f"and {_holding(strategy.driver, pods)}: delete these pods first")
    # The same on all hosts.
    values = hosts[0].variables if hosts else {}
    for variable, driver in strategy.beside.items():
        own = {name: value for name, value in values.items() if name == variable}
        if variables.converted(own, known)[0].get(variable):
            for node, pods in cluster.held.get(driver, {}).items():
                if pods:
                    yield node, wrong(variable, True, f"and {_holding(driver, pods)}: delete these pods first")


def losing(hosts: Sequence[InventoryHost], cluster: ClusterUse, known: variables.Options) -> List[str]:
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
    hosts: Sequence[InventoryHost],
    labels: NodeLabels,
    held: Mapping[str, Sequence[str]],
    known: variables.Options,
) -> Found:
    """Hosts that leave a strategy."""
    for host in hosts:
        cause = _cause(strategy, host.variables, known)
        if held.get(host.name) and cause and labels.get(host.name, {}).get(strategy.label):
            right = f"but {_holding(strategy.driver, held[host.name])}: delete these pods first"
            yield host.name, wrong(cause, host.variables.get(cause), right)


def _left_behind(
    strategy: Strategy,
    hosts: Sequence[InventoryHost],
    cluster: ClusterUse,
    held: Mapping[str, Sequence[str]],
    known: variables.Options,
) -> Found:
    """Nodes that are no hosts any more, whose group has none left; in a group with hosts they keep their driver."""
    there = _selected(strategy, cluster)
    going = there - set(strategy.driver_labels(hosts, known).values()) if held and there else set()
    for node, pods in held.items():
        value = cluster.labels.get(node, {}).get(strategy.label)
        if pods and value in going:
            why = f"but no host of the run has the driver of this group any more, and {_holding(strategy.driver, pods)}"
            right = "delete these pods first, or add the node to the inventory"
            yield node, wrong(strategy.label, value, f"{why}: {right}")


def _selected(strategy: Strategy, cluster: ClusterUse) -> Set[str]:
    """The values of its label by which the DaemonSets of its driver find their nodes."""
    return {selector[strategy.label] for selector in cluster.selectors if strategy.label in selector}


def _holding(driver: str, pods: Sequence[str]) -> str:
    return f"pods hold devices of {driver} on this node ({joined(pods)})"


_PROVISION = "zerocopy.rdma.provision"


def still_served(hosts: Sequence[InventoryHost], labels: Mapping[str, Mapping[str, str]]) -> List[str]:
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
