# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The move of nodes from one strategy to another, from the inventory and what the cluster has answered."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import ForeignPlugin
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import moves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory, _waves

Map = Mapping[str, Any]
# Module and options by what is asked.
Questions = Dict[str, Tuple[str, Dict[str, Any]]]


@dataclass(frozen=True)
class MovingFleet:
    """The hosts of the play; ``names`` are what tells their NICs, GPUs and DaemonSets in the cluster."""

    hosts: List[InventoryHost]
    known: plan_variables.Options
    limits: Mapping[str, int]
    names: Mapping[str, List[str]]


def fleet(context: Map, options: Map) -> MovingFleet:
    hostvars = context["hostvars"]
    found = _strategy_inventory.hosts(context, [str(name) for name in context["ansible_play_hosts_all"]], hostvars)
    known = _inventory.options(context)
    resources = [name for names in registry.resources(found, known).values() for name in names]
    strategies = registry.STRATEGIES.values()
    names = {
        "ours": [strategy.label for strategy in strategies if strategy.label],
        "drivers": [strategy.driver for strategy in strategies if strategy.driver],
        "resources": [*options["resources"], *resources],
        "gpu_resources": options["gpu_resources"],
    }
    limits = _waves.limits({host.name: host.group for host in found}, hostvars)
    return MovingFleet(found, known, limits, names)


def questions(fleet: MovingFleet) -> Questions:
    """What is asked of the cluster. What is left to do is read from it alone, so that a stopped run can go on."""
    found: Questions = {
        "uses": ("node_move_info", dict(fleet.names)),
        "cluster": (
            "cluster_info",
            {
                "kinds": registry.kinds(),
                "objects": registry.cluster_queries(fleet.hosts),
                "sets": registry.driver_sets(fleet.hosts, fleet.known),
            },
        ),
    }
    if any(strategy.slices for strategy in registry.used(fleet.hosts)):
        found["published"] = ("resource_slice_info", {"gather_subset": ["slices"]})
    return found


def answer(fleet: MovingFleet, answers: Mapping[str, Map]) -> Dict[str, Any]:
    """What the plan takes of the answers, as later calls get it back."""
    uses, cluster, published = answers["uses"], answers["cluster"], answers.get("published") or {}
    values = _strategy_inventory.of_fleet(fleet.hosts, fleet.known)
    return {
        "nodes": uses["nodes"],
        "plugins": uses["plugins"],
        "kinds": cluster["kinds"],
        "daemon_sets": cluster["daemon_sets"],
        "objects": cluster["objects"],
        "slices": published.get("slices") or [],
        "kubernetes": published.get("kubernetes"),
        # Classes that a chart brings need not be there yet.
        "device_classes": None if registry.charts(values) else published.get("device_classes"),
    }


def _read(cluster: Map) -> Tuple[Dict[str, node_use.NodeUse], ClusterState]:
    uses = {name: node_use.read(node) for name, node in cluster["nodes"].items()}
    state = _strategy_inventory.cluster(
        cluster["slices"],
        cluster["kubernetes"],
        cluster["device_classes"],
        cluster["kinds"],
        cluster["objects"],
        {name: use.labels for name, use in uses.items()},
        cluster["daemon_sets"],
    )
    return uses, state


def plan(fleet: MovingFleet, options: Map, cluster: Map) -> Dict[str, Any]:
    """What is left to do, and in which waves. Raises ValueError for a slice that is none."""
    uses, state = _read(cluster)
    chosen = moves.MoveOptions(options["evict"], options["old_labels"], _waves.sizes(options["ramp"]), fleet.limits)
    found = moves.plan(fleet.hosts, uses, options["moving"], chosen)
    modes = {host.name: registry.netns_mode(host.variables) or "" for host in fleet.hosts}
    whole = registry.plan(moves.plannable(fleet.hosts, uses), state, fleet.known)
    return {
        **fleet.names,
        "nodes": {node.name: {**asdict(node), "netns_mode": modes[node.name]} for node in found.nodes},
        "waves": found.waves,
        "rest": found.rest,
        "refused": found.refused,
        "broken": found.broken,
        "finish": found.last,
        "text": moves.text(found, [ForeignPlugin(**plugin) for plugin in cluster["plugins"]]),
        "problems": found.problems + whole.problems + moves.unmovable(whole),
        "cluster": cluster,
    }


def objects(fleet: MovingFleet, options: Map, cluster: Map) -> Dict[str, Any]:
    """What the hosts that have left their old strategy get. Raises ValueError for a slice that is none."""
    uses, state = _read(cluster)
    found = moves.objects(fleet.hosts, uses, options["now"], state, fleet.known)
    if found.problems:
        return {"failed": True, "msg": "\n".join(found.problems)}
    return {"objects": asdict(found)}
