# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The networks of pods, one for all NICs of a group or one for each rail, and the resources that NICs are."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses, host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.resource import ResourceVariables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import PodNetwork
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.programs import PREFIX
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

NETWORKS = PREFIX + "networks"
# The value of rdma_strategy with which pods get VFs, and not whole NICs.
SRIOV = "sriov"
# With room for the number of a rail.
RESOURCE = ResourceVariables(PREFIX + "prefix", PREFIX + "resource", "hostdev_", 55)
_OF_VFS = replace(RESOURCE, start="sriov_")


def resource(values: Mapping[str, Any]) -> ResourceVariables:
    """How the resource of a group with these variables is named."""
    return _OF_VFS if strategy_of(values) == SRIOV else RESOURCE


def networks(values: Mapping[str, Any]) -> List[Tuple[str, Network]]:
    """The networks with the variable that each is from. Raises PlanError."""
    texts = values.get(NETWORKS) or []
    if not texts:
        text = "is not set: pods get their addresses from it, so it must be one network, or one for each rail"
        raise PlanError(Problem(NETWORKS, text))
    found: List[Tuple[str, Network]] = []
    for position, text in enumerate(texts):
        at = f"{NETWORKS}[{position}]"
        own = addresses.network(at, text)
        if room(own) < 2:
            raise PlanError(wrong(at, text, "it must have addresses for at least two pods"))
        for other_at, other in found:
            if own.overlaps(other):
                right = f"which overlaps {other_at} {other}: take one network for all NICs, or one for each rail"
                raise PlanError(wrong(at, text, right))
        found.append((at, own))
    if len(found) > addresses.MOST_RAILS:
        raise PlanError(Problem(NETWORKS, f"has {len(found)} networks, it must have at most {addresses.MOST_RAILS}"))
    if len(found) > 1 and host_links.asked(values):
        rails = addresses.number_of_rails(addresses.intent(values))
        if rails != len(found):
            have = counted(rails, "rail")
            text = f"has {len(found)} networks, but the node's links have {have}: set one for each, or only one"
            raise PlanError(Problem(NETWORKS, text))
    return found


def room(network: Network) -> int:
    """How many pods can have an address: whereabouts hands out neither the first nor the last of a network."""
    return max(network.num_addresses - 2, 0)


def _nics(facts: Facts) -> int:
    return min(sum(hca.sriov.role != "vf" for hca in facts.hcas), addresses.MOST_RAILS)


def resources(hosts: Sequence[InventoryHost], known: plan_variables.Options) -> List[str]:
    """The full names that the groups of these hosts have by their variables; what is wrong is left out.

    They include those of rails that a group may have had with other networks before: up to one per NIC of a node.
    """
    found: Dict[str, None] = {}
    nics = max((_nics(host.facts) for host in hosts if host.facts is not None), default=0)
    others = (NETWORKS, addresses.RAILS, addresses.RAIL_SUBNETS, addresses.EXPECTED)
    # Both, because what pods got before has another name.
    for name, values in [*RESOURCE.of_hosts(hosts, known, others), *_OF_VFS.of_hosts(hosts, known, others)]:
        with contextlib.suppress(PlanError):
            # Also where the networks have gone with the strategy.
            rails = max(len(values[NETWORKS]), addresses.number_of_rails(addresses.intent(values)), nics)
            every = [f"{name}_rail{rail}" for rail in range(rails)] if rails > 1 else []
            found.update(dict.fromkeys([name, *every]))
    return list(found)


def pod_networks(group: str, label: str, values: Mapping[str, Any]) -> List[PodNetwork]:
    """The networks of a group's pods, by rail; ``label`` is its name as a DNS label. Raises PlanError.

    Those of VFs have other names: a group does not go from NICs to VFs, or back, while pods still ask for the others.
    """
    found, full = networks(values), resource(values).full(group, values)
    name = f"{'sriov' if strategy_of(values) == SRIOV else 'rdma'}-{label}"
    if len(found) == 1:
        return [PodNetwork(name, full, found[0][1])]
    return [
        PodNetwork(f"{name}-rail{rail}", f"{full}_rail{rail}", network) for rail, (_at, network) in enumerate(found)
    ]
