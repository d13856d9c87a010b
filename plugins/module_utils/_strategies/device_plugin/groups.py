# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The groups of nodes that a device plugin serves, and what plans of such plugins have in common."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.read import GATHER_FIRST
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import host as inventory_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.exclusions import EXCLUDE
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PolicyFields
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.network_operator import (
    policy_fields,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

# Claims that only another strategy serves: pods would wait for them forever.
_OF_CLAIMS = ("rdma_claims_templates", "rdma_claims_claims", "rdma_claims_extended_resources")

Found = List[Tuple[str, Problem]]

_OF_SHAPE = re.compile("(.+)-[0-9a-f]{8}")


@dataclass
class PluginGroup:
    """An inventory group; ``label`` is its name as a DNS label, ``values`` its variables with defaults."""

    name: str
    label: str
    values: Mapping[str, Any]
    hosts: List[InventoryHost] = field(default_factory=list)

    @property
    def silent(self) -> List[str]:
        """The hosts without facts."""
        return [host.name for host in self.hosts if host.facts is None]

    @property
    def known(self) -> bool:
        """Whether there are facts of any host."""
        return len(self.silent) < len(self.hosts)

    def left_alone(self) -> List[str]:
        """A warning of hosts where nothing is changed; where there are no facts at all, that is a problem instead."""
        if not self.silent or not self.known:
            return []
        return [f"{fold(self.silent)}: no facts, so the plugin is left unchanged there"]

    def taken(self, devices: Sequence[str]) -> Problem:
        """What is wrong with a host some of whose devices another driver has moved into pods."""
        names = list(dict.fromkeys(devices))
        place, end = ("a pod", "that pod") if len(names) == 1 else ("pods", "those pods")
        text = f"but another driver has moved {', '.join(names)} into {place}: delete {end}, and remove that driver"
        return Problem(STRATEGY, f"is {strategy_of(self.values)}, {text}")

    def all(self, problem: Problem) -> Found:
        """A problem of the group as one of each of its hosts."""
        return [(host.name, problem) for host in self.hosts]

    def without(self, right: str) -> Problem:
        """What is wrong where no node has anything for pods; ``right`` is what one would have."""
        missing = right if self.known else f"has facts: {GATHER_FIRST}"
        facts = [host.facts for host in self.hosts if host.facts is not None]
        bonds = dict.fromkeys(
            hca
            for own in facts
            for (hca, _port), found in own.reasons.items()
            if {reason.code for reason in found} == {reasons.BOND}
        )
        if bonds:
            missing += (
                f"; {', '.join(bonds)} (RoCE LAG over bonds) would be used only if all other NICs, up or down, were"
                " known to be ports of the LAN"
            )
        return Problem(STRATEGY, f"is {strategy_of(self.values)}, but no node of the group {missing}")


@dataclass
class PluginPlan:
    """``labels`` are those of nodes, ``None`` to be removed; ``found`` are problems by host.

    ``policy`` are fields of the NicClusterPolicy of a Network Operator that the site runs.
    ``everywhere`` says that a plugin runs on all nodes. ``kept`` are nodes of which nothing is known, whose
    configuration stays in the cluster and is not among the objects.
    """

    namespace: str = ""
    objects: List[Dict[str, Any]] = field(default_factory=list)
    labels: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    wait: bool = False
    found: Found = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    policy: PolicyFields = field(default_factory=policy_fields)
    everywhere: bool = False
    kept: List[str] = field(default_factory=list)


def without_claims(values: Mapping[str, Any]) -> List[Problem]:
    """What is wrong with claims of a host whose strategy serves none; ``values`` has them in their types."""
    found = []
    for name in _OF_CLAIMS:
        if values.get(name):
            right = f"but {STRATEGY} is {strategy_of(values)}, whose pods do not use claims: leave it out"
            if any((entry.get("nic") or {}).get("vf") for entry in values[name]):
                right += f", or set {STRATEGY} to dra, whose pods can claim VFs"
            found.append(Problem(name, f"is set, {right}"))
    return found


def _typed(
    host: InventoryHost, wanted: Sequence[str], known: plan_variables.Options
) -> Tuple[Dict[str, Any], List[Problem]]:
    given = {name: value for name, value in host.variables.items() if name in wanted}
    typed, problems = plan_variables.converted(given, known)
    problems += [problem for problem in host.broken if problem.variable in wanted]
    return typed, [*problems, *without_claims({**host.variables, **typed})]


def groups(
    hosts: Sequence[InventoryHost],
    prefix: Union[str, Tuple[str, ...]],
    known: plan_variables.Options,
    found: Found,
    others: Sequence[str] = (),
    apart: Sequence[str] = (),
) -> List[PluginGroup]:
    """The groups whose variables are right; what is wrong is added to ``found``.

    The variables are those of the role, or roles, with this ``prefix`` and those of all roles, which must be the same
    on all hosts of a group except those in ``apart``, and ``others``. What the whole fleet has in common is for
    preflight, so it is ``apart``.
    """
    prefixes = (prefix,) if isinstance(prefix, str) else prefix
    mine = plan_variables.with_prefix((*prefixes, *plan_variables.OF_ROLES), known)
    wanted = (*mine, EXCLUDE, *_OF_CLAIMS, *others)
    defaults = plan_variables.defaults(known)
    by_label: Dict[str, PluginGroup] = {}
    for host in sorted(hosts, key=lambda host: natural_key(host.name)):
        typed, problems = _typed(host, wanted, known)
        found += [(host.name, problem) for problem in problems]
        if problems:
            continue
        values = {**defaults, **typed, STRATEGY: strategy_of(host.variables)}
        try:
            label = inventory_groups.label_of_group(host.group)
        except PlanError as error:
            found.append((host.name, error.problem))
            continue
        group = by_label.setdefault(label, PluginGroup(host.group, label, values))
        if group.name != host.group:
            found.append((host.name, inventory_groups.same_label(host.group, group.name)))
        for name in sorted(set(mine).difference(apart, [plan_variables.PARENT_NAMESPACE])):
            if values[name] != group.values[name]:
                first = group.hosts[0].name
                right = f"but {group.values[name]!r} on {first}: it must be the same on all hosts of a group"
                found.append((host.name, wrong(name, values[name], right)))
        group.hosts.append(replace(host, variables=values))
    return list(by_label.values())


def value_of_shape(value: str, content: Mapping[str, Any]) -> str:
    """The label's value of one of several configurations of a group, by what only this one has."""
    return f"{value}-{hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()[:8]}"


def groups_of_value(value: str) -> List[str]:
    """The groups, as DNS labels, to which this label value of a node may belong: with the suffix of a shape, two."""
    label = value.partition(".")[0]
    shape = _OF_SHAPE.fullmatch(label)
    return [label, shape.group(1)] if shape else [label]


def labels(groups: Sequence[PluginGroup], label: str, values: Mapping[str, str]) -> Dict[str, Dict[str, Any]]:
    """The label of each host by these ``values``; hosts without facts keep theirs."""
    every = [host for group in groups for host in group.hosts if host.facts is not None]
    return {host.name: {label: values.get(host.name)} for host in every}
