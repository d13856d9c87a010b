# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Conflicts of a claim's network configuration with its NICs, with the host's own addresses, and in ARP."""

from __future__ import annotations

import contextlib
import ipaddress
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses, host_links, ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import Claim, Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import (
    ClaimNode,
    NicPort,
    ports_of,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import (
    parameters as dranet_parameters,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import mtu as values_mtu
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface, plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import (
    PlanError,
    Problem,
    RefusedError,
    shown,
    wrong,
)


def of_nics(at: str, parameters: Mapping[str, Any], node: ClaimNode, nics: Sequence[SliceDevice]) -> Iterator[Problem]:
    """The parts of the configuration that these NICs of one node do not support."""
    mtu = (parameters.get("interface") or {}).get("mtu")
    for nic in nics:
        ports = ports_of(node, nic)
        bare = model.IF_NAME not in nic.attributes and not any(port.in_pod for port in ports)
        if bare and dranet_parameters.needs_netdev(parameters):
            why = f"{nic.pci or nic.name} has no network device, so DRANET would reject it: leave it out"
            yield Problem(at, f"configures the network ({shown(dict(parameters))}), but {why}")
            return
        limits = [port.max_mtu for port in ports if port.max_mtu is not None]
        if mtu is not None and limits and mtu > max(limits):
            yield Problem(at, f"sets an MTU of {mtu}, but {nic.pci or nic.name} takes at most {max(limits)}")
            return
        if mtu is not None:
            refused = [_refused_mtu(mtu, port, node.transport_mode) for port in ports]
            if all(refused):
                yield Problem(at, f"sets an MTU of {mtu}, but {refused[0]}")
                return


def _refused_mtu(mtu: int, port: NicPort, transport_mode: Optional[str]) -> Optional[str]:
    mode = "connected" if port.connected else transport_mode
    try:
        values_mtu.check(mtu, port.link_layer, mode, smallest=dranet_parameters.SMALLEST_MTU)
    except RefusedError as error:
        return str(error)
    return None


def _ips(texts: Sequence[str]) -> Set[str]:
    return {str(plain(ipaddress.ip_interface(text))) for text in texts}


def of_host(
    claim: Claim, current: Sequence[str], planned: Optional[Interface], dranet: versions.Numbers
) -> Iterator[Problem]:
    """What does not go with the addresses of the host on this NIC.

    ``current`` are those it has, ``planned`` is the one that the role ``rdma_links`` gives it.
    """
    at = claim.address_at
    own = [str(planned)] if planned is not None else list(current)
    interface = claim.parameters.get("interface") or {}
    for text in claim.addresses:
        address = ipaddress.ip_interface(text)
        if planned is not None and address.version == planned.version and address.network != planned.network:
            yield wrong(at, text, f"which is not in {planned.network}, the network of this NIC: take an address in it")
            return
    if not claim.addresses and not interface.get("dhcp"):
        return
    # Routes of IPv6 that the kernel made are not copied.
    kept = [text for text in own if ipaddress.ip_interface(text).version == 4]
    if not versions.can(dranet, versions.ROUTE_SOURCES) and not _ips(kept) <= _ips(claim.addresses):
        has = ", ".join(kept)
        why = f"but the host has {has} on this NIC, and DRANET {versions.text(dranet)} copies the host's routes,"
        ways = f"leave it out (the pod gets the host's), take {has}, or give the host no address on this NIC"
        value = claim.addresses[0] if claim.addresses else "dhcp"
        yield wrong(at, value, f"{why} which the kernel then rejects: {ways}")


def _rail(host: str, rail: int) -> str:
    return f"host {host}, rail {rail}"


def taken(
    claims: Sequence[Tuple[Claim, str, int]], planned: Mapping[str, Mapping[int, Interface]]
) -> List[Tuple[str, Problem]]:
    """Addresses of claims, each with its host and rail, that another claim or a host has.

    ``planned`` are the addresses that the role ``rdma_links`` gives all hosts, by rail.
    """
    found = []
    known = {str(address.ip): _rail(host, rail) for host, rails in planned.items() for rail, address in rails.items()}
    seen: Dict[str, Claim] = {}
    for claim, host, rail in claims:
        for text in claim.addresses:
            ip = str(plain(ipaddress.ip_interface(text)))
            who = f"claim {seen[ip].name}" if ip in seen else known.get(ip, "")
            if who and who != _rail(host, rail):
                right = f"which {who} also has: addresses must differ"
                found.append((host, wrong(claim.address_at, text, right)))
            seen.setdefault(ip, claim)
    return found


# As rdma_links sets them on the host.
SETTINGS = {"arpIgnore": 1, "arpAnnounce": 2}


def share_subnet(host: str, values: Mapping[str, Any], facts: Optional[Facts]) -> bool:
    """Whether two rails of a host have the same network: the planned one, else that of their addresses."""
    planned: Dict[int, Interface] = {}
    # The role rdma_links reports their problems.
    with contextlib.suppress(PlanError):
        planned = host_links.addresses(host, values)
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
    if not versions.can(dranet, versions.ARP):
        what = f"DRANET {versions.text(dranet)} cannot set arp_ignore and arp_announce in a pod"
        ways = "give each rail a subnet of its own (rdma_links_rail_subnets), or let pods set these sysctls"
        return claim.parameters, [f"{names}: rails of {fold(sharing)} share a subnet, and {what}: {ways}"]
    asked = {"interface": SETTINGS}
    bare = any(list(of_nics(claim.at, asked, node, devices)) for node, devices in nics)
    return (claim.parameters if bare else _with_settings(claim.parameters)), []
