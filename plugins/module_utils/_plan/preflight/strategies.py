# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Problems with the choice of strategies that do not depend on the cluster."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.value_rules import NETNS_MODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import Strategy
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import groups as groups_of_plugins
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.registry import of_host, words
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

Found = Iterator[Tuple[str, Problem]]


def problems(hosts: Sequence[Tuple[str, str, Mapping[str, Any]]]) -> Found:
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
        if strategy.roles and not strategy.claims_set:
            yield from ((host, problem) for problem in groups_of_plugins.without_claims(values))
        mode = values.get(NETNS_MODE)
        if mode and strategy.netns_modes and mode not in strategy.netns_modes:
            right = f"but {STRATEGY} is {name}, which works in mode {' or '.join(strategy.netns_modes)}: leave it out"
            yield host, wrong(NETNS_MODE, mode, right)
    for group, names in groups.items():
        if len(names) > 1:
            text = "; ".join(f"{name} on {fold(several)}" for name, several in names.items())
            for host in (host for several in names.values() for host in several):
                yield host, Problem(STRATEGY, f"is {text}: it must be the same on all hosts of group {group}")
    yield from _same_resources([InventoryHost(host, group, values) for host, group, values in hosts])


def _same_resources(hosts: Sequence[InventoryHost]) -> Found:
    """Resources that two groups share: a pod that requests one could run on nodes of either group."""
    known = variables.options_of()
    groups: Dict[str, List[InventoryHost]] = {}
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
