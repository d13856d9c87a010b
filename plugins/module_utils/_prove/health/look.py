# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One look at all hosts: the verdicts of the host ring, and what they add to what is remembered."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import health_policy, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import figures, memory, nics, taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import Figures
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import (
    UNSEEN,
    WELL,
    HostMemory,
    Memory,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.taints import NicState, NodeState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import judge as host_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

# Error counters of two readings that are farther apart say less than those since boot do.
_LONGEST = 86400.0
_BRING_BACK = "Read what the kernel log says of it, and reload the driver or power-cycle the node."


@dataclass
class FleetLook:
    """What one look found. ``notes`` tell of exemptions that have ended."""

    checks: List[Check] = field(default_factory=list)
    memory: Memory = field(default_factory=dict)
    nodes: Dict[str, NodeState] = field(default_factory=dict)
    nics: List[NicState] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)

    def excused(self, check: Check) -> bool:
        """Whether a check has failed for a NIC that the inventory says to leave alone."""
        return check.id in nics.IDS and (check.host, check.subject.partition("/")[0]) in self._exempt

    @cached_property
    def _exempt(self) -> Set[Tuple[Optional[str], str]]:
        return {(nic.host, name) for nic in self.nics if nic.exempt for name in (nic.name, nic.key)}


def _grown(node: HostEvidence, before: HostMemory, now: int) -> List[Check]:
    seconds = float(now - before.looked)
    if node.facts is None or not before.looked or not 0 < seconds <= _LONGEST:
        return []
    earlier, later = figures.downs(before.counters, counters.readings(node.facts))
    made = counters.judged(node, earlier, later, seconds, "since the last look")
    return node.guarded("its error counters", lambda: made)


def _lost(node: HostEvidence, before: HostMemory) -> Iterator[Check]:
    """NICs that were fit for pods and have no RDMA device any more, though their driver still has the PCI function.

    In the netns mode ``exclusive``, the device may be in a pod; without the driver's RDMA module, site is to load it.
    """
    if node.facts is None or node.facts.system.netns_mode != "shared":
        return
    for warning in node.facts.warnings:
        is_loaded = node.facts.system.modules.get(str(warning.fields.get("module"))) in ("loaded", "builtin")
        known = before.nics.get(warning.subject)
        if warning.code == codes.NO_RDMA_DEVICE and known and is_loaded:
            text = f"{known.name} ({warning.subject}) has lost its RDMA device"
            yield node.check("device_lost", "fail", warning.subject, text, _BRING_BACK)


def _remembered(
    node: HostEvidence, before: HostMemory, checks: Sequence[Check], judged: Sequence[str], now: int
) -> HostMemory:
    if node.facts is None:
        return replace(before, group=node.group)
    looks = nics.of_host(node, checks, judged)
    wanted = health_policy.hysteresis(node.values)
    return memory.looked(before, node.group, looks, counters.readings(node.facts), now, wanted)


def _states(node: HostEvidence, known: HostMemory, now: int, today: datetime.date) -> Iterator[Tuple[str, NicState]]:
    """The key and state of each NIC of a host."""
    wanted, exempt = health_policy.hysteresis(node.values), health_policy.exemptions(node.values)
    for key, nic in sorted(known.nics.items()):
        state = nic.state(now, wanted)
        if state != WELL and nic.seen != now:
            state = UNSEEN
        found = health_policy.of_nic(exempt, nic.name, key, today)
        check = nic.findings[0].check if nic.is_sick and nic.findings else ""
        reason = found.text if found else ""
        yield key, NicState(node.host, key, nic.name, tuple(nic.functions), state, nic.bad, check, reason)


def _node(node: HostEvidence, known: HostMemory, well: Set[str]) -> NodeState:
    strategy = registry.of_host(node.values)
    driver = strategy.driver if strategy else ""
    functions = {key: tuple(nic.functions) for key, nic in known.nics.items()}
    policy = health_policy.policy(node.values)
    return NodeState(node.group, len(known.nics), policy, driver, frozenset(well), functions)


def _completed(node: HostEvidence, told: Optional[Figures]) -> Tuple[HostEvidence, List[str]]:
    if node.facts is None:
        return node, []
    facts, judged = figures.complete(node.facts, told)
    return replace(node, facts=facts), judged


def look(
    evidence: Sequence[HostEvidence],
    before: Mapping[str, HostMemory],
    now: int,
    told: Optional[Mapping[str, Optional[Figures]]] = None,
) -> FleetLook:
    """Judge these hosts, whose ``values`` have all variables of health; ``now`` is in seconds since the epoch.

    ``told`` are by host the figures of its exporter.
    """
    completed = [_completed(node, (told or {}).get(node.host)) for node in evidence]
    nodes = [node for node, _judged in completed]
    judged = {node.host: hcas for node, hcas in completed}
    today = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).date()
    found = FleetLook(checks=host_judge.of_looks(nodes))
    for node in nodes:
        earlier = before.get(node.host, HostMemory())
        found.checks += [*_grown(node, earlier, now), *_lost(node, earlier)]
    of_host: Dict[str, List[Check]] = {}
    for check in found.checks:
        of_host.setdefault(str(check.host), []).append(check)
    for node in nodes:
        known = before.get(node.host, HostMemory())
        own = _remembered(node, known, of_host.get(node.host, []), judged[node.host], now)
        found.memory[node.host] = own
        states = dict(_states(node, own, now, today))
        found.nics += [state for state in states.values() if state.state != WELL]
        found.nodes[node.host] = _node(node, own, {key for key, state in states.items() if state.state == WELL})
        found.notes += _ended(node, today)
    return found


def _ended(node: HostEvidence, today: datetime.date) -> Iterator[str]:
    for entry in health_policy.exemptions(node.values):
        if not entry.holds(today):
            yield f"{node.host}: {entry.nic} is no longer exempt, which ended with {entry.until} ({entry.reason})"


def unenforced(nodes: Sequence[HostEvidence], run: str) -> List[str]:
    """Groups whose sick NICs are to be kept from new pods and cannot be; ``run`` is why this run keeps none from them.

    A cluster without device taints says so itself.
    """
    found: Dict[Tuple[str, str, str], List[str]] = {}
    for node in nodes:
        effect, strategy = health_policy.policy(node.values).effect, registry.of_host(node.values)
        own = "" if strategy and strategy.driver else f"rdma_strategy is {variables.strategy_of(node.values)}"
        if health_policy.bars(effect) and (run or own):
            why = run or f"{own}, and only dra has device taints"
            found.setdefault((node.group, effect, why), []).append(node.host)
    return [
        f"{group} ({fold(hosts)}): rdma_health_effect is {effect}, but this run keeps no NIC from new pods: {why}"
        for (group, effect, why), hosts in found.items()
    ]


def plain(found: FleetLook) -> Dict[str, Any]:
    """What a look found as options of the module ``device_taints``: ``nodes`` and ``nics``."""
    nodes = {host: {**asdict(node), "well": sorted(node.well)} for host, node in found.nodes.items()}
    return {"nodes": nodes, "nics": [asdict(nic) for nic in found.nics]}


def kept(found: FleetLook) -> Dict[str, Any]:
    """All of it as JSON can have it."""
    checks = [asdict(check) for check in found.checks]
    return {**plain(found), "checks": checks, "memory": memory.text(found.memory), "notes": found.notes}


def read(value: Mapping[str, Any]) -> FleetLook:
    """What :func:`kept` made, in its types."""
    return FleetLook(
        [verify.check(check) for check in value["checks"]],
        memory.read(value["memory"]),
        {host: taints.node_state(own) for host, own in value["nodes"].items()},
        [taints.nic_state(own) for own in value["nics"]],
        list(value["notes"]),
    )
