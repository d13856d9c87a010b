# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which NICs get a device taint: one pure function of what is known, and of what the cluster has.

A rule is never made stronger than the policy of the group says. It informs first (effect ``None``), and bars new pods
after so many bad looks as the policy wants, unless the NIC was well for long enough between them. Where new bars would
exceed the budget, none of them is made.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import (
    EFFECTS,
    INFORMS,
    Policy,
    allowed,
    bars,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import SETTLING, SICK, UNSEEN
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

KEY = "zerocopy.rdma/unhealthy"
# Annotations of a rule: the NIC that it is about.
HOST, NIC = "zerocopy.rdma/host", "zerocopy.rdma/nic"
_LONGEST_NAME = 253

# What became of a NIC: it has a rule; why it has none, or one that only informs.
TAINTED, INFORMED, EXEMPT, HELD, OVER, NO_DEVICE, NO_TAINTS, LEFT = (
    "tainted",
    "informed",
    "exempt",
    "held",
    "budget",
    "no_device",
    "no_taints",
    "left",
)


@dataclass(frozen=True)
class NicState:
    """A NIC that is not known to be well: its state (``memory.STATES``), and the bad looks since it was well.

    ``check`` is the first finding, the value of the taint. ``exempt`` is why it is left alone, empty if it is not.
    """

    host: str
    key: str
    name: str
    functions: Tuple[str, ...]
    state: str
    bad: int = 0
    check: str = ""
    exempt: str = ""


@dataclass(frozen=True)
class NodeState:
    """A host of the fleet: its group, how many NICs it has, and what its group allows.

    ``driver`` is the DRA driver of its strategy, empty where the strategy has none. ``well`` are the keys of the NICs
    that have been well for long enough, ``functions`` the PCI addresses of all NICs by their keys.
    """

    group: str
    nics: int
    policy: Policy
    driver: str
    well: FrozenSet[str] = frozenset()
    functions: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)


def node_state(value: Mapping[str, Any]) -> NodeState:
    """A host from its dictionary. Raises TypeError, ValueError."""
    functions = {key: tuple(addresses) for key, addresses in dict(value["functions"]).items()}
    policy, well = Policy(**value["policy"]), frozenset(value["well"])
    return NodeState(**{**value, "policy": policy, "well": well, "functions": functions})


def nic_state(value: Mapping[str, Any]) -> NicState:
    """A NIC from its dictionary. Raises TypeError, ValueError."""
    return NicState(**{**value, "functions": tuple(value["functions"])})


@dataclass(frozen=True)
class Device:
    """A device that a driver publishes. ``barred`` says that others keep new pods from it already."""

    driver: str
    pool: str
    name: str
    node: str
    pci: Optional[str]
    barred: bool = False
    held: bool = False


@dataclass(frozen=True)
class Rule:
    """A DeviceTaintRule of ours, for one device of a NIC."""

    host: str
    nic: str
    driver: str
    pool: str
    device: str
    effect: str
    value: str

    @property
    def at(self) -> Tuple[str, str, str]:
        """The device."""
        return (self.driver, self.pool, self.device)


@dataclass
class TaintPlan:
    """The rules that there shall be, what became of each NIC (by host and key), and what stopped the run.

    ``notes`` say what was done otherwise than one may expect, and are no failure.
    """

    rules: List[Rule] = field(default_factory=list)
    outcomes: Dict[Tuple[str, str], str] = field(default_factory=dict)
    problems: List[str] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Wish:
    """What a NIC should have: for these devices this effect, where nothing forbids it."""

    nic: NicState
    current: Optional[str]
    effect: str
    devices: Tuple[Device, ...]

    @property
    def at(self) -> Tuple[str, str]:
        return (self.nic.host, self.nic.key)

    @property
    def is_new_bar(self) -> bool:
        """Whether it takes something from new pods that they can still get."""
        return bars(self.effect) and not bars(self.current) and not all(device.barred for device in self.devices)


def _rank(effect: Optional[str]) -> int:
    return -1 if effect is None else EFFECTS.index(effect)


def _strongest(effects: Iterable[str]) -> Optional[str]:
    return max(effects, key=_rank, default=None)


def rule_name(prefix: str, rule: Rule) -> str:
    """The name of a rule's object: pools and devices are named so that both fit into it, or a digest tells them apart.

    Two pairs of pool and device never have one name.
    """
    digest = hashlib.sha256("\n".join((rule.driver, rule.pool, rule.device)).encode()).hexdigest()[:8]
    return f"{names.shortened(f'{prefix}-{rule.pool}-{rule.device}', _LONGEST_NAME - len(digest) - 1)}-{digest}"


class _Planning:
    def __init__(
        self, nodes: Mapping[str, NodeState], nics: Sequence[NicState], devices: Sequence[Device], rules: Sequence[Rule]
    ) -> None:
        self._nodes, self._nics = nodes, nics
        self._rules: Dict[Tuple[str, str], List[Rule]] = {}
        self._of_device: Dict[Tuple[str, str, str], Rule] = {}
        for rule in rules:
            self._rules.setdefault((rule.host, rule.nic), []).append(rule)
            self._of_device[rule.at] = rule
        self._devices: Dict[Tuple[str, str], List[Device]] = {}
        for device in devices:
            if device.node in nodes and device.driver == nodes[device.node].driver and device.pci:
                self._devices.setdefault((device.node, device.pci), []).append(device)
        self.done = TaintPlan()

    def _keep(self, nic: NicState) -> None:
        own = self._rules.get((nic.host, nic.key), [])
        if own:
            # A VF that was sick itself has a rule of its own, and is no better than its PF.
            devices = {(each.driver, each.pool, each.name) for each in self._devices_of(nic.host, nic.functions)}
            self.done.rules += [*own, *(rule for at, rule in self._of_device.items() if at in devices)]

    def _devices_of(self, host: str, functions: Iterable[str]) -> List[Device]:
        return [device for pci in functions for device in self._devices.get((host, pci), ())]

    def _wish(self, nic: NicState) -> Optional[_Wish]:
        """What a sick NIC should have; where that is not to be decided here, its outcome is noted."""
        at, node = (nic.host, nic.key), self._nodes[nic.host]
        current = _strongest(rule.effect for rule in self._rules.get(at, ()))
        if nic.exempt:
            self.done.outcomes[at] = EXEMPT
            return None
        if not node.driver:
            self.done.outcomes[at] = NO_TAINTS
            return None
        devices = self._devices_of(nic.host, nic.functions)
        if not devices:
            # The driver may be restarting: what there is stays.
            self._keep(nic)
            self.done.outcomes[at] = LEFT if current else NO_DEVICE
            return None
        confirmed = nic.bad >= node.policy.confirm or bars(current)
        effect = node.policy.effect if confirmed else INFORMS
        stronger = bars(effect) and _rank(effect) > _rank(current)
        if stronger and not node.policy.held and any(device.held for device in devices):
            self.done.outcomes[at] = HELD
            effect = current or INFORMS
        return _Wish(nic, current, effect, tuple(devices))

    def _barred(self) -> Counter[str]:
        """How many NICs of each host no new pod gets already, without the plan's new bars.

        A driver also publishes what is none of them, such as ports of the LAN: what others do with that is their own.
        """
        found = {(rule.host, rule.nic) for rule in self.done.rules if bars(rule.effect)}
        for host, node in self._nodes.items():
            for key, functions in node.functions.items():
                devices = self._devices_of(host, functions)
                if devices and all(device.barred for device in devices):
                    found.add((host, key))
        return Counter(host for host, _key in found)

    def _settle(self, wish: _Wish, effect: str) -> None:
        self.done.rules += [
            Rule(wish.nic.host, wish.nic.key, device.driver, device.pool, device.name, effect, wish.nic.check)
            for device in wish.devices
        ]
        self.done.outcomes.setdefault(wish.at, TAINTED if bars(effect) else INFORMED)

    def plan(self) -> TaintPlan:
        wishes: List[_Wish] = []
        listed: Set[Tuple[str, str]] = set()
        for nic in sorted(self._nics, key=lambda nic: (natural_key(nic.host), nic.key)):
            at = (nic.host, nic.key)
            listed.add(at)
            if nic.host not in self._nodes:
                continue
            if nic.state in (SETTLING, UNSEEN):
                if nic.exempt:
                    self.done.outcomes[at] = EXEMPT
                elif at in self._rules:
                    self._keep(nic)
                    self.done.outcomes[at] = LEFT
            elif nic.state == SICK:
                wish = self._wish(nic)
                wishes += [wish] if wish else []
        self._others(listed)
        new = [wish for wish in wishes if wish.is_new_bar]
        for wish in wishes:
            if not wish.is_new_bar:
                self._settle(wish, wish.effect)
        refused = self._over_budget(new)
        for wish in new:
            if wish.at in refused:
                self.done.outcomes[wish.at] = OVER
            self._settle(wish, (wish.current or INFORMS) if wish.at in refused else wish.effect)
        self.done.rules = self._one_for_each_device()
        return self.done

    def _one_for_each_device(self) -> List[Rule]:
        """The strongest rule for each device: a VF with a finding of its own is a NIC, and a function of its PF.

        Of equal ones, that of the VF itself, so that either of the two can become well before the other.
        """
        own = {
            (device.driver, device.pool, device.name): device.pci
            for devices in self._devices.values()
            for device in devices
        }
        found: Dict[Tuple[str, str, str], Rule] = {}
        for rule in sorted(self.done.rules, key=lambda rule: rule.nic != own.get(rule.at)):
            before = found.setdefault(rule.at, rule)
            if _rank(rule.effect) > _rank(before.effect):
                found[rule.at] = rule
        return list(found.values())

    def _others(self, listed: Set[Tuple[str, str]]) -> None:
        """Rules for NICs of which nothing is known stay; only those for NICs that are well, or of no host, go."""
        for host, key in self._rules:
            if (host, key) not in listed and host in self._nodes and key not in self._nodes[host].well:
                self.done.rules += self._rules[host, key]
        lost = sorted({host for host, _nic in self._rules if host not in self._nodes}, key=natural_key)
        if lost:
            self.done.notes.append(f"{fold(lost)}: no longer in the inventory, so the rules for their NICs are removed")

    def _over_budget(self, new: Sequence[_Wish]) -> Set[Tuple[str, str]]:
        """Those of the new bars that are not made, because of a node or of the whole group."""
        refused: Set[Tuple[str, str]] = set()
        taken = self._barred()
        for host in dict.fromkeys(wish.nic.host for wish in new):
            node, own = self._nodes[host], [wish for wish in new if wish.nic.host == host]
            if node.nics - taken[host] - len(own) < node.policy.keep:
                refused |= {wish.at for wish in own}
                many = joined([wish.nic.name for wish in own])
                self.done.problems.append(
                    f"{host}: {many} would be kept from new pods, but of its {counted(node.nics, 'NIC')}"
                    f" {taken[host]} {'is' if taken[host] == 1 else 'are'} already, and rdma_health_keep is"
                    f" {node.policy.keep}: nothing new is tainted on this node"
                )
        left = [wish for wish in new if wish.at not in refused]
        for group in dict.fromkeys(self._nodes[wish.nic.host].group for wish in left):
            members = {host: node for host, node in self._nodes.items() if node.group == group}
            own = [wish for wish in left if wish.nic.host in members]
            nics, already = sum(node.nics for node in members.values()), sum(taken[host] for host in members)
            limit, budget = min((allowed(node.policy.budget, nics), node.policy.budget) for node in members.values())
            if already + len(own) > limit:
                refused |= {wish.at for wish in own}
                where = fold(wish.nic.host for wish in own)
                self.done.problems.append(
                    f"{group}: {counted(len(own), 'NIC')} more would be kept from new pods ({where}), {already} of"
                    f" {nics} already {'is' if already == 1 else 'are'}, and rdma_health_budget is {budget}, which is"
                    f" {limit}: nothing new is tainted in this group"
                )
        return refused


def plan(
    nodes: Mapping[str, NodeState], nics: Sequence[NicState], devices: Sequence[Device], rules: Sequence[Rule]
) -> TaintPlan:
    """The rules that there shall be.

    ``nodes`` are all hosts of the inventory, ``nics`` all of their NICs that are sick, settling or were not looked at.
    ``rules`` are ours in the cluster.
    """
    return _Planning(nodes, nics, devices, rules).plan()
