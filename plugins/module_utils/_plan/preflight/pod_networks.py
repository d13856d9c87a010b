# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether the networks that strategies give pods addresses from are free in the whole fleet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import address as values_address
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

_OWN = "pods need a network of their own"
Found = Iterator[Tuple[str, Problem]]


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
