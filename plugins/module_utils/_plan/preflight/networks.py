# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Networks and addresses of RDMA links and pods that are not free: taken by other hosts, the cluster or Ansible.

All in time linear in the number of hosts (times the logarithm for what has to be sorted).
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, DefaultDict, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import CheckedHost, PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import address as values_address
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, messages, wrong

_OWN = "pods need a network of their own"


@dataclass
class AddressedHost:
    """A host with its variables in their types; ``at`` is where Ansible reaches it.

    ``links`` are the networks of its RDMA links. ``chosen`` hosts are those of this run.
    """

    name: str
    group: str
    values: Mapping[str, Any]
    at: str
    chosen: bool = True
    links: Sequence[Network] = ()


@dataclass
class _PodNetwork:
    variable: str
    network: Network
    group: str
    hosts: List[AddressedHost] = field(default_factory=list)

    def refused(self, right: str) -> Found:
        for host in self.hosts:
            if host.chosen:
                yield host.name, wrong(self.variable, str(self.network), right)


def _against_links(own: _PodNetwork, users: Mapping[Network, Sequence[str]]) -> Found:
    for network, names in users.items():
        if own.network.overlaps(network):
            yield from own.refused(f"which overlaps the {network} of the RDMA links of {fold(names)}: {_OWN}")
            return


def _against_groups(own: _PodNetwork, every: Sequence[_PodNetwork]) -> Found:
    # Of two groups, only the later one is reported.
    for other in every:
        if other is own:
            return
        if other.group != own.group and own.network.overlaps(other.network):
            yield from own.refused(f"which overlaps the {other.network} of the pods of group {other.group}: {_OWN}")
            return


def _against_management(own: _PodNetwork, every: Sequence[AddressedHost]) -> Found:
    reached = []
    for host in every:
        at = values_address.address(host.at)
        if at is not None and at in own.network:
            reached.append(host.name)
    if reached:
        yield from own.refused(f"but Ansible connects to {fold(reached)} in it (ansible_host): {_OWN}")


def problems(hosts: Sequence[AddressedHost]) -> Found:
    """What is wrong with the networks of pods of the chosen hosts, and what overlaps them."""
    pods: Dict[Tuple[str, str, Network], _PodNetwork] = {}
    links: Dict[Network, List[str]] = {}
    for host in hosts:
        for network in host.links:
            links.setdefault(network, []).append(host.name)
        try:
            of_host = registry.networks(host.values)
        except PlanError as error:
            if host.chosen:
                yield host.name, error.problem
            continue
        for variable, network in of_host:
            own = pods.setdefault((host.group, variable, network), _PodNetwork(variable, network, host.group))
            own.hosts.append(host)
    every = list(pods.values())
    for own in every:
        yield from _against_links(own, links)
        yield from _against_groups(own, every)
        yield from _against_management(own, hosts)


Found = Iterator[Tuple[str, Problem]]


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
        if own.overlaps(taken):
            yield wrong(name, str(own), f"which overlaps {whose} {taken}: RDMA links need a network of their own")
    # Problems with these variables alone are reported elsewhere.
    with contextlib.suppress(PlanError):
        for name, own in registry.networks(values):
            if own.overlaps(taken):
                yield wrong(name, str(own), f"which overlaps {whose} {taken}: pods need a network of their own")


def reserved(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Networks of a host that the inventory says are not free."""
    for position, text in enumerate(values.get(addresses.RESERVED) or []):
        at = f"{addresses.RESERVED}[{position}]"
        try:
            yield from _overlapping(values, addresses.network(at, text), at)
        except PlanError as error:
            yield error.problem


def _taken(values: Mapping[str, Any], networks: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    for kind, texts in networks.items():
        for text in texts:
            yield from _overlapping(values, ipaddress.ip_network(text), f"the cluster's network for {kind}")


def _name_of(checked: CheckedHost, rail: int) -> str:
    values = checked.values
    if str(rail) in map(str, values.get(addresses.ADDRESSES) or {}):
        return f"{addresses.ADDRESSES}[{rail}]"
    return addresses.SUBNET if values.get(addresses.SUBNET) else f"{addresses.RAIL_SUBNETS}[{rail}]"


def duplicates(every: Sequence[CheckedHost]) -> Found:
    """Addresses that several hosts would get; for planned ones one problem per network, however many there are."""
    owners: DefaultDict[Tuple[Network, int], List[Tuple[CheckedHost, int]]] = defaultdict(list)
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
            text = f"is not unique, {fold(names)} would all get {address} from {variable}: each needs its own number"
            problem = told.setdefault(network, Problem(addresses.HOST_NUMBER, text))
        for name in names:
            yield name, problem


def overlaps(every: Sequence[CheckedHost]) -> Found:
    """Networks that overlap without being the same: then hosts disagree on who is a neighbour."""
    users: DefaultDict[Network, List[Tuple[CheckedHost, int]]] = defaultdict(list)
    for checked in every:
        for rail, address in checked.planned.items():
            users[address.network].append((checked, rail))
    around: List[Network] = []
    folded: Dict[Network, str] = {}
    ordered = sorted(users, key=lambda network: (network.version, int(network.network_address), network.prefixlen))
    for inner in ordered:
        # Networks are nested or apart, so those around this one are what is left of the stack.
        while around and not around[-1].overlaps(inner):
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


def management(every: Sequence[CheckedHost]) -> Found:
    """Networks of RDMA links in which Ansible reaches hosts."""
    users: DefaultDict[Network, Dict[str, Tuple[CheckedHost, int]]] = defaultdict(dict)
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


def pods(every: Sequence[CheckedHost]) -> Found:
    """Networks of pods that are wrong, or not free in the fleet."""
    return problems(
        [
            AddressedHost(
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


# Each looks at all hosts at once.
CHECKS = (duplicates, overlaps, management, pods)


def of_cluster(
    hosts: Sequence[PrepareHost], networks: Mapping[str, Sequence[str]], known: plan_variables.Options
) -> List[str]:
    """One line for each network of RDMA links or pods that overlaps one of the cluster.

    ``networks`` are those of the cluster, by what they are for (``pods``, ``services``). What is wrong with the hosts'
    variables by themselves is for :mod:`preflight`.
    """
    values = ((host.name, plan_variables.converted(host.variables, known)[0]) for host in hosts)
    return messages([(name, problem) for name, own in values for problem in _taken(own, networks)])
