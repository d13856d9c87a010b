# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Hosts and nodes that leave a strategy without a move: what still serves them, and what their pods would lose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.claims.hosts import ClaimHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.registry import STRATEGIES, of_host
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.strategy import Strategy
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.joined import joined
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages, wrong

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


def still_served(hosts: Sequence[ClaimHost], labels: NodeLabels) -> List[str]:
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


def losing(hosts: Sequence[ClaimHost], cluster: ClusterUse, known: plan_variables.Options) -> List[str]:
    """Nodes that would lose a DRA driver while pods hold devices of it: it has to be there when these pods end."""
    found: List[Tuple[str, Problem]] = []
    for strategy in STRATEGIES.values():
        held = cluster.held.get(strategy.driver, {}) if strategy.driver else {}
        found += _losing(strategy, hosts, cluster.labels, held, known)
        left = {node: pods for node, pods in held.items() if node not in {host.name for host in hosts}}
        found += _left_behind(strategy, hosts, cluster, left, known)
    return messages(found)


def _cause(strategy: Strategy, values: Mapping[str, Any], known: plan_variables.Options) -> str:
    """The variable by which a host does not have a strategy, empty where it has it."""
    if strategy_of(values) not in strategy.names:
        return STRATEGY
    own = {name: value for name, value in values.items() if name == strategy.switch}
    return strategy.switch if plan_variables.converted(own, known)[0].get(strategy.switch) is False else ""


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
