# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Nodes that move from one strategy to another: how far each one is, and what is left to do.

Nothing is remembered but what the cluster shows (labels, cordon and annotation of a Node), so a run that was killed
goes on from there. The objects of both strategies are in the cluster meanwhile; the labels of a node decide whose
DaemonSets run on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Collection, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import ForeignPlugin
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import NodeUse, User
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ObjectSet,
    PodRequest,
    Strategy,
    StrategyPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import no_node
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# How far a node is: nothing was done; it is cordoned, and pods use the old way, or none do; the old way has left; the
# new one has come; all is as it should be.
TODO, CORDONED, DRAINED, LEFT, SWITCHED, DONE = "todo", "cordoned", "drained", "left", "switched", "done"
# Pods that come back at once, or that no API request ends.
_STAYING = ("DaemonSet", "Node")


@dataclass(frozen=True)
class MoveOptions:
    """``evict``: ``managed`` pods only, ``all``, or ``none``, which awaits their end. ``off`` are the labels of nodes
    (``None`` to be removed) that keep away a plugin that is not ours, ``ramp`` the sizes of the waves, ``limits`` how
    many nodes of a group may be in one.
    """

    evict: str = "managed"
    off: Mapping[str, Optional[str]] = field(default_factory=dict)
    ramp: Sequence[plan_waves.Size] = plan_waves.RAMP
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeMove:
    """What is left to do on a node; ``away`` and ``to`` are strategies, ``users`` pods that have to end.

    ``off`` are the labels that go, or that keep a plugin of somebody else away. ``was`` is the strategy of ours that
    the node had when its move began, empty for none. ``daemons`` says whether either has a daemon on its nodes.
    """

    name: str
    state: str
    away: str
    to: str
    off: Mapping[str, Optional[str]] = field(default_factory=dict)
    users: Sequence[User] = ()
    was: str = ""
    daemons: bool = False

    @property
    def steps(self) -> List[str]:
        """What a run does, in this order."""
        if self.state == DONE:
            return []
        found = ["cordon"] if self.state == TODO else []
        if self.state in (TODO, CORDONED, DRAINED):
            found += [f"end pod {user}" for user in self.users]
            found.append(f"remove {self.away}" if self.away else "look for leftovers of a device plugin")
        if self.state != SWITCHED:
            found += ["prepare the node", f"set up {self.to}"]
        return [*found, "verify", "uncordon, unless an admin cordoned it"]


@dataclass
class MovePlan:
    """``waves`` are the nodes with something to do; ``rest`` are nodes that would still have to move after this.

    ``refused`` is by name of a node that is to move what is wrong with its annotations, so that it is left alone.
    ``broken`` says the same of nodes that are not to move, and of which it is not known whether they have to.
    """

    nodes: List[NodeMove] = field(default_factory=list)
    waves: List[List[str]] = field(default_factory=list)
    rest: List[str] = field(default_factory=list)
    refused: Dict[str, List[str]] = field(default_factory=dict)
    broken: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)

    @property
    def last(self) -> bool:
        """Whether no node needs the objects of its old strategy afterwards."""
        return not (self.rest or self.refused or self.broken)


def others(to: Strategy) -> List[str]:
    """The labels by which the DaemonSets of all other strategies find their nodes."""
    return [other.label for other in registry.STRATEGIES.values() if other.label and other is not to]


def state(node: NodeUse, to: Strategy) -> str:
    """How far a node is on its way."""
    old = any(node.labels.get(label) for label in others(to)) or bool(node.plugins)
    new = bool(node.labels.get(to.label)) if to.label else not old
    if node.mark is None:
        return DONE if new and not old else TODO
    if old:
        return TODO if not node.unschedulable else CORDONED if node.users else DRAINED
    return SWITCHED if new else LEFT


def _away(node: NodeUse, to: Strategy) -> str:
    """What is to leave a node."""
    ours = [
        other.name
        for other in registry.STRATEGIES.values()
        if other is not to and other.label and node.labels.get(other.label)
    ]
    return " and ".join([*ours, *node.plugins])


def _was(node: NodeUse) -> str:
    labels = node.mark.labels if node.mark else node.labels
    return next(
        (strategy.name for strategy in registry.STRATEGIES.values() if strategy.label and labels.get(strategy.label)),
        "",
    )


def _against(host: InventoryHost, node: NodeUse, away: str, options: MoveOptions) -> Iterator[str]:
    """What stops a move before it begins."""
    for user in node.users:
        if user.owner_kind in _STAYING:
            yield f"{host.name}: pod {user}: pods of this kind come back at once, so keep them off this node first"
        elif not user.owner and options.evict == "managed":
            right = "delete it, or set rdma_migrate_evict to all, or to none to wait until it ends"
            yield f"{host.name}: pod {user}: no controller would recreate it elsewhere: {right}"
    if node.plugins and not options.off:
        single = len(node.plugins) == 1
        what = f"{'DaemonSet' if single else 'DaemonSets'} {', '.join(node.plugins)}, which somebody else has deployed,"
        right = f"set rdma_migrate_old_labels to the node labels that keep {'it' if single else 'them'} away"
        verb = "hands out NICs here: remove it" if single else "hand out NICs here: remove them"
        yield f"{host.name}: {what} {verb} first, or {right}"
    elif node.offered and not away and not options.off:
        # What offers them would still be there after the pods have been evicted.
        right = "remove whatever advertises it, or set rdma_migrate_old_labels to the node labels that keep it away"
        yield f"{host.name}: the node advertises {', '.join(node.offered)}, but runs no known device plugin: {right}"


def plan(
    hosts: Sequence[InventoryHost], uses: Mapping[str, NodeUse], moving: Collection[str], options: MoveOptions
) -> MovePlan:
    """What is left to do on the hosts in ``moving``; ``uses`` are the nodes of the cluster."""
    found = MovePlan()
    members: List[plan_waves.WaveMember] = []
    begun: List[plan_waves.WaveMember] = []
    for host in hosts:
        to, node = registry.of_host(host.variables), uses.get(host.name)
        if to is None or (node is None and host.name not in moving):
            continue
        if node is None:
            found.problems.append(no_node(host.name))
            continue
        if node.broken:
            if host.name in moving:
                found.refused[host.name] = list(node.broken)
            else:
                found.broken.extend(node.broken)
            continue
        at = state(node, to)
        if host.name not in moving:
            if at != DONE and not (at == TODO and not _away(node, to)):
                found.rest.append(host.name)
            continue
        users, away = node.users if at in (TODO, CORDONED) else (), _away(node, to)
        off = {**dict.fromkeys(others(to)), **options.off}
        was, name = _was(node), strategy_of(host.variables)
        daemons = registry.with_daemon(was) or registry.with_daemon(name)
        found.nodes.append(NodeMove(host.name, at, away, name, off, users, was, daemons))
        if users or node.plugins or at == TODO:
            found.problems += _against(host, node, away, options)
        member = plan_waves.WaveMember(host.name, host.group, options.limits.get(host.group, 0))
        if at != DONE:
            (begun if node.mark else members).append(member)
    # Interrupted moves come first: no other node is cordoned while one of these is.
    found.waves = plan_waves.waves([*begun, *members], options.ramp)
    return found


def plannable(
    hosts: Sequence[InventoryHost], uses: Mapping[str, NodeUse], now: Collection[str] = ()
) -> List[InventoryHost]:
    """The hosts whose facts say what a plan needs; those ``now`` have left their old strategy.

    As long as pods have the NICs of a host, its facts cannot tell a device plugin about them.
    """
    found = []
    for host in hosts:
        to, node = registry.of_host(host.variables), uses.get(host.name)
        away = bool(host.facts and host.facts.in_pod)
        old = to is not None and node is not None and state(node, to) in (TODO, CORDONED, DRAINED)
        if not (away and old and to is not None and not to.driver and host.name not in now):
            found.append(host)
    return found


def unmovable(whole: StrategyPlan) -> List[str]:
    """What stops every move to the strategies of this plan."""
    if not whole.everywhere:
        return []
    return [
        "provider network_operator: a NicClusterPolicy runs its plugin on all nodes at once, so nodes cannot move one"
        " by one. They can with NicNodePolicies (Network Operator 26.4 or newer) or with provider plugin"
    ]


@dataclass
class MoveObjects:
    """What nodes get that have left their old strategy: ``sets``, ``labels``, ``counters``, and what they then show.

    ``requests`` are by group the ways in which a pod can ask on one of them.
    """

    sets: List[ObjectSet] = field(default_factory=list)
    labels: Dict[str, Dict[str, str]] = field(default_factory=dict)
    counters: Dict[str, Dict[str, int]] = field(default_factory=dict)
    requests: Dict[str, List[PodRequest]] = field(default_factory=dict)
    status: Dict[str, Dict[str, object]] = field(default_factory=dict)
    problems: List[str] = field(default_factory=list)


def objects(
    hosts: Sequence[InventoryHost],
    uses: Mapping[str, NodeUse],
    now: Collection[str],
    cluster: ClusterState,
    known: plan_variables.Options,
) -> MoveObjects:
    """The objects of the strategies to which the hosts ``now`` move, and the labels of these hosts."""
    result = MoveObjects()
    every = plannable(hosts, uses, now)
    for strategy in registry.used([host for host in hosts if host.name in now]):
        planned = registry.plan_of(strategy.name, every, cluster, known)
        result.problems += planned.problems
        result.sets += [planned_set for planned_set in planned.sets if planned_set.objects]
        for group, requests in planned.requests.items():
            there = [
                replace(ask, hosts={name: ask.hosts[name] for name in ask.hosts if name in now}) for ask in requests
            ]
            result.requests.setdefault(group, []).extend(ask for ask in there if ask.hosts)
        for host in strategy.own(every):
            if host.name not in now:
                continue
            mine = planned.labels.get(host.name) or {}
            result.labels[host.name] = {label: value for label, value in mine.items() if value}
            shown = planned.status.get(host.name)
            if shown is not None:
                drivers = [driver for driver in shown.drivers if driver == strategy.driver]
                resources = dict(shown.resources)
                result.status[host.name] = {"pods": strategy.pods, "drivers": drivers, "resources": resources}
            result.counters[host.name] = planned.counters.get(host.name, {})
    return result


def text(found: MovePlan, foreign: Sequence[ForeignPlugin] = ()) -> str:
    """The plan by node and pod; ``foreign`` are device plugins of others, which a move never removes."""
    lines: List[str] = []
    for number, wave in enumerate(found.waves, 1):
        lines.append(f"Wave {number}:")
        for move in (node for name in wave for node in found.nodes if node.name == name):
            begun = "" if move.state == TODO else f" (begun: {move.state})"
            lines.append(f"  {move.name}: {move.away or 'none'} to {move.to}{begun}")
            lines += [f"    {step}" for step in move.steps]
    done = [node.name for node in found.nodes if node.state == DONE]
    if done:
        lines.append(f"Nothing to do: {', '.join(done)}")
    if found.rest:
        lines.append(f"Not moved by this run, though {STRATEGY} has changed: {', '.join(found.rest)}")
        lines.append("The objects of the old strategy stay until these nodes have moved.")
    broken = [*(line for told in found.refused.values() for line in told), *found.broken]
    if broken:
        lines.append("The progress of these nodes cannot be determined, so the objects of the old strategy stay:")
        lines += [f"  {line}" for line in broken]
    if found.waves and found.last:
        lines.append("At the end: remove the objects that no node needs any more (provision).")
    if foreign and found.nodes:
        lines.append(
            "Device plugins that others have deployed are never removed. Remove them when no node needs them any more:"
        )
    for plugin in foreign if found.nodes else ():
        lines.append(
            f"  DaemonSet {plugin.daemon_set} ({plugin.program}, on {counted(plugin.nodes, 'node')}): {plugin.remove}"
        )
    return "\n".join(lines)
