# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The move of nodes from one strategy to another, from the inventory and what the cluster has answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import ForeignPlugin
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import moves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_look, _fleet, _strategy_inventory, _waves
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._cluster_look import Ask
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._cluster_plan import Planned
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._fleet import Fleet

Map = Mapping[str, Any]

_EVICT, _OFF, _AUDITED = "rdma_migrate_evict", "rdma_migrate_old_labels", "rdma_audit_resources"


def _look(run_of: Fleet, names: Map, ask: Ask) -> Dict[str, Any]:
    """What the plan takes of the cluster. What is left to do is read from it alone, so a stopped run can go on."""
    question = {
        "kinds": registry.kinds(),
        "objects": registry.cluster_queries(run_of.hosts),
        "sets": registry.driver_sets(run_of.hosts, run_of.known),
    }
    uses = _cluster_look.answer(_cluster_look.USES, names, ask)
    cluster = _cluster_look.answer(_cluster_look.CLUSTER, question, ask)
    published = _cluster_look.published(run_of, ask)
    return {
        "nodes": uses["nodes"],
        "plugins": uses["plugins"],
        "kinds": cluster["kinds"],
        "daemon_sets": cluster["daemon_sets"],
        "objects": cluster["objects"],
        "slices": published.get("slices") or [],
        "kubernetes": published.get("kubernetes"),
        # Classes that a chart brings need not be there yet.
        "device_classes": None if registry.charts(run_of.values) else published.get("device_classes"),
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


def plan(run_of: Fleet, moving: Sequence[str], ramp: Any, ask: Ask) -> Planned:
    """What is left to do, and in which waves; waves are planned of the document. Raises ValueError."""
    own = _fleet.of_task(run_of, _EVICT, _OFF, _AUDITED)
    names = _fleet.names(run_of, own[_AUDITED])
    cluster = _look(run_of, names, ask)
    uses, state = _read(cluster)
    chosen = moves.MoveOptions(own[_EVICT], own[_OFF], _waves.sizes(ramp), run_of.limits)
    found = moves.plan(run_of.hosts, uses, moving, chosen)
    modes = {host.name: registry.netns_mode(host.variables) or "" for host in run_of.hosts}
    whole = registry.plan(moves.plannable(run_of.hosts, uses), state, run_of.known)
    result = {
        **names,
        "nodes": {
            node.name: {
                **asdict(node),
                "netns_mode": modes[node.name],
                "mark": cluster["nodes"][node.name]["mark"],
            }
            for node in found.nodes
        },
        "waves": found.waves,
        "refused": found.refused,
        "finish": found.last,
        "text": moves.text(found, [ForeignPlugin(**plugin) for plugin in cluster["plugins"]]),
        "problems": found.problems + whole.problems + moves.unmovable(whole),
    }
    return Planned(result, cluster)


def objects(run_of: Fleet, now: Sequence[str], first: Map) -> moves.MoveObjects:
    """What the hosts ``now`` get, which have left their old strategy; ``first`` is the document of the move.

    Raises ValueError if they cannot be planned.
    """
    uses, state = _read(first)
    found = moves.objects(run_of.hosts, uses, now, state, run_of.known)
    if found.problems:
        raise ValueError("\n".join(found.problems))
    return found
