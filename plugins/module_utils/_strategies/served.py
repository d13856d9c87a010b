# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Hosts that change their strategy without a move: what still serves them."""

from __future__ import annotations

from typing import List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.registry import STRATEGIES, of_host
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages, wrong

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
