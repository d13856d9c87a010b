# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""ARP in pods with several NICs in one subnet.

By default Linux answers for all of its addresses on every NIC. What ``rdma_links`` sets against it on the host is reset
when a NIC is moved into a pod, so it has to be in the claim.
"""

from __future__ import annotations

import contextlib
import ipaddress
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses, ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links as plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import network
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import Claim, Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError

# As rdma_links sets them on the host.
SETTINGS = {"arpIgnore": 1, "arpAnnounce": 2}


def share_subnet(host: str, values: Mapping[str, Any], facts: Optional[Facts]) -> bool:
    """Whether two rails of a host have the same network: the planned one, else that of their addresses."""
    planned: Dict[int, Interface] = {}
    # The role rdma_links reports their problems.
    with contextlib.suppress(PlanError):
        planned = plan.addresses(host, values)
    if not planned and facts is not None:
        current: List[Interface] = [
            ipaddress.ip_interface(text) for port in ports.ports(facts) for text in port.networks[:1]
        ]
        planned = dict(enumerate(address for address in current if not address.is_link_local))
    return bool(addresses.shared(planned))


def same_subnet(texts: Sequence[str]) -> bool:
    """Whether two of these addresses, each with its prefix length, have the same network."""
    return bool(addresses.shared({place: ipaddress.ip_interface(text) for place, text in enumerate(texts)}))


def _with_settings(parameters: Mapping[str, Any]) -> Dict[str, Any]:
    """DRANET's parameters with those of ARP; what is there already stays."""
    interface = {name: value for name, value in (parameters.get("interface") or {}).items() if value is not None}
    return {**parameters, "interface": {**SETTINGS, **interface}}


def apart(
    names: str,
    claim: Union[Template, Claim],
    dranet: versions.Numbers,
    sharing: Sequence[str],
    nics: Sequence[Tuple[ClaimNode, Sequence[SliceDevice]]],
) -> Tuple[Dict[str, Any], List[str]]:
    """DRANET's parameters for pods that keep apart NICs of one subnet, or a warning where it has none for that.

    ``names`` are those of the claims for the warning, ``dranet`` is DRANET's version. ``nics`` are those that a pod may
    get, ``sharing`` the hosts on which some of them have the same network.
    """
    if not sharing:
        return claim.parameters, []
    if not versions.arp_in_claims(dranet):
        what = f"DRANET {versions.text(dranet)} cannot set arp_ignore and arp_announce in a pod"
        ways = "give each rail a subnet of its own (rdma_links_rail_subnets), or let pods set these sysctls"
        return claim.parameters, [f"{names}: rails of {fold(sharing)} share a subnet, and {what}: {ways}"]
    asked = {"interface": SETTINGS}
    bare = any(list(network.of_nics(claim.at, asked, node, devices)) for node, devices in nics)
    return (claim.parameters if bare else _with_settings(claim.parameters)), []
