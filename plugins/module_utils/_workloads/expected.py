# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a pod can expect of its NICs, for the check at its start: the MTU of their netdevs.

Their number is that of the request (:class:`pod.GroupAsk`). Without an expectation, something is not checked.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses, reachability
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest

UNKNOWN = 0
# What rdma-env.sh is told of rails: all reach each other, a port only those in its own subnet, or some do.
ALL_RAILS, ONE_SUBNET, SOME_RAILS = "all", "subnet", "some"


def mtu_of_claim(spec: Mapping[str, Any]) -> int:
    """The MTU in bytes that a ``ResourceClaimSpec`` of the plan sets for its NICs; 0 where it leaves it to the node."""
    found = []
    for entry in spec["devices"].get("config", ()):
        interface = entry.get("opaque", {}).get("parameters", {}).get("interface") or {}
        found.append(interface.get("mtu") or UNKNOWN)
    return min(found, default=UNKNOWN)


def _mtus(hcas: Any, facts: Facts) -> Iterator[int]:
    """Those of the RoCE ports that a pod may get on a node."""
    usable = {(port.hca, port.port) for port in facts.usable}
    for hca in facts.hcas:
        for port in hca.ports:
            wanted = (hca.name, port.number) in usable and (not hcas or hca.name in hcas)
            if wanted and port.link_layer == "Ethernet" and port.netdev and port.netdev.present:
                yield port.netdev.mtu or UNKNOWN


def mtu_of_nodes(request: PodRequest, facts: Mapping[str, Facts]) -> int:
    """The least MTU in bytes that a NIC of this request has on a node; 0 where that is not known of every node.

    ``facts`` are by host. Pods have these MTUs only where the netdevs are in their network namespace.
    """
    if not (request.moves or request.host_network) or any(host not in facts for host in request.hosts):
        return UNKNOWN
    return min((mtu for host, hcas in request.hosts.items() for mtu in _mtus(hcas, facts[host])), default=UNKNOWN)


def rails_of(values: Mapping[str, Any]) -> str:
    """Which rails of a host reach each other by its converted variables, empty if they do not say. Raises PlanError."""
    wanted = reachability.intent(values)
    if wanted is None:
        return ""
    rails = addresses.number_of_rails(addresses.intent(values))
    # By default there is one rail, of which this is always so.
    if wanted.sets is None or (rails > 1 and wanted.all_of(range(rails))):
        return ALL_RAILS
    # With one network for all rails, or routed ones, the subnet does not tell rails apart.
    return SOME_RAILS if wanted.sets or not values.get(addresses.RAIL_SUBNETS) else ONE_SUBNET
