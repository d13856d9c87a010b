# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Fleets of all strategies for tests of the cluster's part of the plan, and what a cluster has of them afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.cluster_plan import ClusterPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    CountersStep,
    LabelsStep,
    ObjectsStep,
    Step,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState

Facts = Callable[..., dict[str, Any]]

# What a strategy cannot do without.
NEEDED: dict[str, dict[str, Any]] = {
    "dra": {"rdma_claims_templates": [{"name": "one", "nics": 1}]},
    "shared_device": {},
    "host_device": {"rdma_host_device_networks": ["10.90.0.0/24"]},
    "inject": {},
}
# A cluster that has nothing of ours, and says so.
EMPTY = ClusterState(kubernetes=(1, 36), kinds=(), parents=(), extended_resources={}, counted=())


def host(
    facts_of: Facts, name: str, strategy: str, group: str = "", node: str = "v100-01", **own: Any
) -> InventoryHost:
    """A host with the facts of a recorded node; each strategy has a group."""
    group = group or strategy.replace("_", "-")
    variables = {"rdma_strategy": strategy, **NEEDED.get(strategy, {}), **own}
    return InventoryHost(name, group, variables, read.facts(facts_of(node)))


def fleet(facts_of: Facts) -> list[InventoryHost]:
    """A host of each strategy."""
    return [host(facts_of, f"node-{number}", strategy) for number, strategy in enumerate(NEEDED)]


def provisioned(plan: ClusterPlan, state: ClusterState = EMPTY) -> ClusterState:
    """What a cluster says after this plan."""
    assert plan.problems == []
    labels = {node: dict(own) for node, own in state.labels.items()}
    daemon_sets, parents, counted = list(state.daemon_sets), set(state.parents or ()), set(state.counted or ())
    for step in plan.steps:
        if isinstance(step, LabelsStep):
            for node, own in step.nodes.items():
                known = {**labels.get(node, {}), **own}
                labels[node] = {label: value for label, value in known.items() if value is not None}
        elif isinstance(step, ObjectsStep) and step.objects and not step.first:
            parents.add((step.namespace, step.name))
            daemon_sets += [item for item in step.objects if item["kind"] == "DaemonSet"]
        elif isinstance(step, CountersStep):
            counted |= {node for node, resources in step.nodes.items() if resources}
    return replace(state, labels=labels, daemon_sets=daemon_sets, parents=sorted(parents), counted=sorted(counted))


def shape(steps: Sequence[Step]) -> list[str]:
    """The kind of each step and the strategy that its title names."""
    found = []
    for step in steps:
        strategy = re.search(r"\((\w+)\)$", step.title)
        first = " first" if getattr(step, "first", False) else ""
        found.append(f"{step.kind}{first} {strategy[1] if strategy else ''}".strip())
    return found
