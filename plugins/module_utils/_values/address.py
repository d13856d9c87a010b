# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""IP addresses and networks as people write them for NICs."""

from __future__ import annotations

import ipaddress
import re
from typing import Optional, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
Interface = Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]

# Neither a scope (%eth0), nor a netmask, nor a prefix length such as 024, which Go refuses.
_CIDR = re.compile(r"[0-9A-Fa-f.:]+/(?:0|[1-9][0-9]{0,2})")


def prefix(text: str) -> Optional[Interface]:
    """An address with prefix length, of whatever kind; ``None`` for anything else."""
    try:
        return ipaddress.ip_interface(text) if _CIDR.fullmatch(text) else None
    except ValueError:
        return None


def address(text: str) -> Optional[Address]:
    """An address without prefix length and without scope; ``None`` for anything else."""
    try:
        return ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def is_link_local(text: str) -> bool:
    """Of an address with prefix length, as a netdev has it: whether the kernel may have given it by itself."""
    return ipaddress.ip_interface(text).is_link_local


def plain(address: Union[Address, Interface]) -> Address:
    """The address itself: without prefix length, and an IPv4-mapped IPv6 address as the IPv4 address that it means."""
    found = address.ip if isinstance(address, (ipaddress.IPv4Interface, ipaddress.IPv6Interface)) else address
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _unfit(network_: Network) -> Optional[str]:
    for end in (network_.network_address, network_.broadcast_address):
        for kind, is_so in (
            ("IPv4-mapped", isinstance(end, ipaddress.IPv6Address) and end.ipv4_mapped is not None),
            ("multicast", end.is_multicast),
            ("loopback", end.is_loopback),
            ("link-local", end.is_link_local),
            ("reserved", end.version == 4 and (end.is_reserved or int(end) < 1 << 24)),
            ("unspecified", end.is_unspecified),
        ):
            if is_so:
                return kind
    return None


def network(text: str) -> Network:
    """A unicast network with all host bits zero. Raises RefusedError."""
    loose = prefix(text)
    if loose is None:
        raise RefusedError("it must be a network in CIDR notation like 10.10.0.0/16")
    found: Network = loose.network
    if loose.ip != found.network_address:
        raise RefusedError(f"which is an address in the network {found}: host bits must be zero")
    kind = _unfit(found)
    if kind:
        raise RefusedError(f"which is {_a(kind)} network: it must be a unicast one")
    return found


def interface(text: str) -> Interface:
    """An address with prefix length that a NIC can have. Raises RefusedError."""
    found = prefix(text)
    if found is None:
        raise RefusedError("it must be an address with prefix length like 10.10.0.7/16")
    kind = _unfit(found.network)
    if kind:
        raise RefusedError(f"which is {_a(kind)} address: it must be a unicast one")
    if found.network.num_addresses > 2:
        if found.ip == found.network.network_address:
            raise RefusedError(f"which is the network {found.network} itself, not an address in it")
        if found.version == 4 and found.ip == found.network.broadcast_address:
            raise RefusedError(f"which is the broadcast address of {found.network}")
    return found


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "Iu" else f"a {kind}"
