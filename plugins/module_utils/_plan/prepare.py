# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Everything that is wrong with the inventory of a fleet, before anything on any node is changed.

Computed once for all hosts, in time linear in their number (times the logarithm for what has to be sorted).
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, DefaultDict, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import (
    fleet_wide,
    operators,
    playbook_values,
    pod_networks,
    prepare_values,
    queries,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import addresses, plan, vf_guids
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import address as values_address
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface, Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, messages, wrong

Found = Iterator[Tuple[str, Problem]]

# Parts of the names of variables that others are compared with.
_SEEN = ("_links_", "_expect_", "_device_networks")


@dataclass
class PrepareHost:
    """One inventory host. ``variables`` are those whose names matter here, untyped as the inventory has them.

    ``chosen`` are the hosts of this run, of which all problems are told; of the others only what concerns a chosen one.
    ``broken`` are problems found while the variables were read.
    """

    name: str
    group: str = "ungrouped"
    variables: Mapping[str, Any] = field(default_factory=dict)
    facts: Optional[Facts] = None
    chosen: bool = True
    broken: List[Problem] = field(default_factory=list)


@dataclass
class _Checked:
    """A host with its variables in their types and, where they allow it (not ``blind``), its addresses by rail."""

    host: PrepareHost
    values: Dict[str, Any]
    problems: List[Problem]
    planned: Dict[int, Interface] = field(default_factory=dict)
    blind: bool = False


def _own_networks(values: Mapping[str, Any]) -> List[Tuple[str, Network]]:
    """The networks of a host's RDMA links, each with the variable it is from."""
    own: Dict[Network, str] = {}
    with contextlib.suppress(PlanError):
        for rail, found in enumerate(addresses.rail_networks(addresses.intent(values))):
            if found is not None:
                own.setdefault(found, addresses.SUBNET if values.get(addresses.SUBNET) else _of_rail(rail))
    return [(name, found) for found, name in own.items()]


def _of_rail(rail: int) -> str:
    return f"{addresses.RAIL_SUBNETS}[{rail}]"


def _overlapping(values: Mapping[str, Any], taken: Network, whose: str) -> Iterator[Problem]:
    for name, own in _own_networks(values):
        if own.version == taken.version and own.overlaps(taken):
            yield wrong(name, str(own), f"which overlaps {whose} {taken}: RDMA links need a network of their own")
    # What is wrong with them by themselves is told elsewhere.
    with contextlib.suppress(PlanError):
        for name, own in registry.networks(values):
            if own.version == taken.version and own.overlaps(taken):
                yield wrong(name, str(own), f"which overlaps {whose} {taken}: pods need a network of their own")


def _reserved(values: Mapping[str, Any]) -> Iterator[Problem]:
    for position, text in enumerate(values.get(addresses.RESERVED) or []):
        at = f"{addresses.RESERVED}[{position}]"
        try:
            yield from _overlapping(values, addresses.network(at, text), at)
        except PlanError as error:
            yield error.problem


def _of_cluster(values: Mapping[str, Any], networks: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    for kind, texts in networks.items():
        for text in texts:
            yield from _overlapping(values, ipaddress.ip_network(text), f"the cluster's network for {kind}")


def _check(host: PrepareHost, known: plan_variables.Options) -> _Checked:
    values, problems = plan_variables.converted(host.variables, known)
    problems = host.broken + problems + plan_variables.unknown(host.variables, known)
    # A value that is not there for the checks below would make them tell of a second mistake where there is one.
    blind = any(part in problem.variable for problem in problems for part in _SEEN)
    checked = _Checked(host, values, problems)
    if host.chosen:
        problems += playbook_values.of_playbooks(values)
        problems += prepare_values.of_kernel(values)
        problems += prepare_values.of_runtime(values)
        problems += queries.problems(values)
    if blind:
        checked.blind = True
        return checked
    if host.chosen:
        problems += _reserved(values)
        problems += plan.problems(host.name, values)
    # Told above for a chosen host; what another one has cannot be compared.
    with contextlib.suppress(PlanError):
        checked.planned = plan.addresses(host.name, values)
    return checked


def _name_of(checked: _Checked, rail: int) -> str:
    values = checked.values
    if str(rail) in map(str, values.get(addresses.ADDRESSES) or {}):
        return f"{addresses.ADDRESSES}[{rail}]"
    return addresses.SUBNET if values.get(addresses.SUBNET) else f"{addresses.RAIL_SUBNETS}[{rail}]"


def _duplicates(every: Sequence[_Checked]) -> Found:
    """Addresses that several hosts would get; for planned ones one problem per network, however many there are."""
    owners: DefaultDict[Tuple[Network, int], List[Tuple[_Checked, int]]] = defaultdict(list)
    for checked in every:
        for rail, address in checked.planned.items():
            owners[address.network, int(address.ip)].append((checked, rail))
    told: Dict[Network, Problem] = {}
    for (network, _number), several in owners.items():
        names = [checked.host.name for checked, _rail in several]
        if len(several) < 2 or not any(checked.host.chosen for checked, _rail in several):
            continue
        explicit = [place for place in several if _name_of(*place).startswith(addresses.ADDRESSES)]
        checked, rail = explicit[0] if explicit else several[0]
        variable, address = _name_of(checked, rail), checked.planned[rail]
        if explicit:
            problem = Problem(variable, f"is '{address}', but {fold(names)} would all have it: addresses must differ")
        else:
            text = f"is not unique, {fold(names)} would all get {address} from {variable}: set free numbers"
            problem = told.setdefault(network, Problem(addresses.HOST_NUMBER, text))
        for name in names:
            yield name, problem


def _overlaps(every: Sequence[_Checked]) -> Found:
    """Networks that overlap without being the same: then hosts disagree on who is a neighbour."""
    users: DefaultDict[Network, List[Tuple[_Checked, int]]] = defaultdict(list)
    for checked in every:
        for rail, address in checked.planned.items():
            users[address.network].append((checked, rail))
    around: List[Network] = []
    folded: Dict[Network, str] = {}
    ordered = sorted(users, key=lambda network: (network.version, int(network.network_address), network.prefixlen))
    for inner in ordered:
        # Networks are nested or apart, so those around this one are what is left of the stack.
        while around and not (around[-1].version == inner.version and around[-1].overlaps(inner)):
            around.pop()
        if around:
            outer = around[-1]
            inside, outside = users[inner], users[outer]
            if any(checked.host.chosen for checked, _rail in inside + outside):
                if outer not in folded:
                    folded[outer] = fold(checked.host.name for checked, _rail in outside)
                right = f"which overlaps the {outer} of {folded[outer]}: hosts in one network need the same prefix"
                for checked, rail in inside:
                    yield checked.host.name, wrong(_name_of(checked, rail), str(inner), right)
        around.append(inner)


def _management(every: Sequence[_Checked]) -> Found:
    """Networks of RDMA links in which Ansible reaches hosts."""
    users: DefaultDict[Network, Dict[str, Tuple[_Checked, int]]] = defaultdict(dict)
    for checked in every:
        for rail, address in checked.planned.items():
            users[address.network].setdefault(checked.host.name, (checked, rail))
    sizes = {(network.version, network.prefixlen) for network in users}
    reached: DefaultDict[Network, List[str]] = defaultdict(list)
    for checked in every:
        at = values_address.address(str(checked.host.variables.get("ansible_host") or checked.host.name))
        if at is None:
            continue
        around = (
            ipaddress.ip_interface(f"{at}/{prefix}").network for version, prefix in sizes if version == at.version
        )
        for inside in users.keys() & set(around):
            reached[inside].append(checked.host.name)
    for network, names in reached.items():
        right = f"but Ansible connects to {fold(names)} in it (ansible_host): RDMA links need a network of their own"
        for checked, rail in users[network].values():
            if checked.host.chosen:
                yield checked.host.name, wrong(_name_of(checked, rail), str(network), right)


def _netns_modes(every: Sequence[_Checked]) -> Found:
    """Nodes of a group that would differ in the RDMA netns mode, which no cluster works with."""
    variable = prepare_values.NETNS_MODE
    groups: DefaultDict[str, DefaultDict[str, List[_Checked]]] = defaultdict(lambda: defaultdict(list))
    for checked in every:
        mode = registry.netns_mode(checked.values)
        if mode is None and checked.host.facts is not None:
            mode = checked.host.facts.system.netns_mode
        if mode is not None:
            groups[checked.host.group][mode].append(checked)
    for group, modes in groups.items():
        users = [checked for several in modes.values() for checked in several]
        # Where nobody asks for a mode it is left alone, and discover shows how the nodes differ.
        if (
            len(modes) < 2
            or not any(entry.host.chosen for entry in users)
            or not any(variable in entry.values for entry in users)
        ):
            continue
        fewest = min(modes, key=lambda mode: (len(modes[mode]), mode))
        others = [f"{mode} on {fold(entry.host.name for entry in modes[mode])}" for mode in modes if mode != fewest]
        right = f"but {'; '.join(others)}: all nodes of group {group} need the same"
        for checked in modes[fewest]:
            if variable in checked.values:
                yield checked.host.name, wrong(variable, fewest, right)
            else:
                yield checked.host.name, Problem(variable, f"is not set and the node's mode is {fewest}, {right}")


def _pods(every: Sequence[_Checked]) -> Found:
    """Networks of pods that are wrong, or not free in the fleet."""
    return pod_networks.problems(
        [
            pod_networks.AddressedHost(
                name=checked.host.name,
                group=checked.host.group,
                values=checked.values,
                at=str(checked.host.variables.get("ansible_host") or checked.host.name),
                chosen=checked.host.chosen,
                links=list(dict.fromkeys(address.network for address in checked.planned.values())),
            )
            for checked in every
            if not checked.blind
        ]
    )


def problems_of_networks(
    hosts: Sequence[PrepareHost], networks: Mapping[str, Sequence[str]], known: Optional[plan_variables.Options] = None
) -> List[str]:
    """One line for each network of RDMA links or pods that overlaps one of the cluster.

    ``networks`` are those of the cluster, by what they are for (``pods``, ``services``). What is wrong with the hosts'
    variables by themselves is for ``problems``.
    """
    options = plan_variables.options_of() if known is None else known
    values = ((host.name, plan_variables.converted(host.variables, options)[0]) for host in hosts)
    return messages([(name, problem) for name, own in values for problem in _of_cluster(own, networks)])


def _sound(checked: _Checked) -> Dict[str, Any]:
    """The values of a host without those of which something is told already."""
    told = {problem.variable.partition("[")[0] for problem in checked.problems}
    return {name: value for name, value in checked.values.items() if name not in told}


def problems(hosts: Sequence[PrepareHost], known: Optional[plan_variables.Options] = None) -> List[str]:
    """One line for each thing that is wrong: the hosts, the variable, its value and what would be right."""
    options = plan_variables.options_of() if known is None else known
    every = [_check(host, options) for host in hosts]
    found = [(entry.host.name, problem) for entry in every if entry.host.chosen for problem in entry.problems]
    for check in (_duplicates, _overlaps, _management, _pods, _netns_modes):
        found += check(every)
    found += registry.of_values(
        [(entry.host.name, entry.host.group, entry.values) for entry in every if entry.host.chosen]
    )
    defaults = {name: option.get("default") for name, option in options.items()}
    chosen = [(entry.host.name, _sound(entry)) for entry in every if entry.host.chosen]
    one_value = registry.one_value([values for _host, values in chosen])
    found += [*fleet_wide.problems(chosen, defaults, one_value), *operators.problems(chosen, defaults)]
    # What the facts add is of use only once the variables are right by themselves.
    told = {name for name, _problem in found}
    sound = [entry for entry in every if entry.host.name not in told and not entry.blind]
    found += vf_guids.duplicates(
        plan.guid_host(entry.host.name, entry.values, entry.host.facts, entry.host.chosen) for entry in sound
    )
    for entry in every:
        host = entry.host
        if host.chosen and host.facts is not None and host.name not in told:
            found += [(host.name, problem) for problem in prepare_values.of_facts(entry.values, host.facts)]
            found += [(host.name, problem) for problem in plan.problems(host.name, entry.values, host.facts)]
    return messages(found)
