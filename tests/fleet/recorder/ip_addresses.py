# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Replacements for IP addresses: the same address always has the same one, and networks stay networks.

IPv4 networks go to 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 (RFC 5737) and, where these are too small, to
240.0.0.0/4 (RFC 1112, section 4: reserved, in no network). Prefix lengths and the host part stay. Of IPv6 addresses,
the first 48 bits go to 2001:db8::/32 (RFC 3849), the number of the subnet stays; ``conceal`` replaces the lower half.
"""

from __future__ import annotations

import ipaddress
from typing import Dict, Iterable, List, Tuple

_DOCUMENTATION = [ipaddress.IPv4Network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
_RESERVED = [ipaddress.IPv4Network("240.0.0.0/4")]
_SITE = 0x20010DB8


class TooManyAddressesError(Exception):
    """More or larger networks than the ranges for replacements have room for."""


def is_kept(address: ipaddress.IPv4Address) -> bool:
    """Whether an address is the same on every machine: none, loopback, multicast, broadcast, or a network mask."""
    inverted = ~int(address) & 0xFFFFFFFF
    mask = int(address) >> 31 and not inverted & (inverted + 1)
    return bool(int(address) >> 24 == 0 or address.is_loopback or address.is_multicast or mask)


class Ipv4:
    """``networks`` are all that an address may be in; one in none of them has a network of its own."""

    def __init__(self, networks: Iterable[ipaddress.IPv4Network] = ()) -> None:
        self.found: Dict[ipaddress.IPv4Address, ipaddress.IPv4Address] = {}
        self._moved: List[Tuple[ipaddress.IPv4Network, ipaddress.IPv4Network]] = []
        self._next: Dict[Tuple[ipaddress.IPv4Network, int], int] = {}
        # The largest first: each is aligned to its own size then, and what it contains goes with it.
        for network in sorted(set(networks), key=lambda net: (net.prefixlen, net.network_address)):
            if network.prefixlen >= 4 and not is_kept(network.network_address):
                self._move(network)

    def _move(self, network: ipaddress.IPv4Network) -> ipaddress.IPv4Network:
        for old, new in self._moved:
            if network.subnet_of(old):
                return ipaddress.IPv4Network((int(new[0]) + int(network[0]) - int(old[0]), network.prefixlen))
        for space in (*_DOCUMENTATION, *_RESERVED) if network.prefixlen >= 24 else _RESERVED:
            size = network.num_addresses
            # Nothing is ever given back, so what is before the last place of this size is taken.
            first = self._next.get((space, size), int(space[0]))
            for start in range(first, int(space[-1]) + 1, size):
                place = ipaddress.IPv4Network((start, network.prefixlen))
                self._next[space, size] = start + size
                if not any(place.overlaps(new) for _old, new in self._moved):
                    self._moved.append((network, place))
                    return place
        raise TooManyAddressesError(f"no room for a replacement of a network with {network.num_addresses} addresses")

    def replace(self, address: ipaddress.IPv4Address) -> ipaddress.IPv4Address:
        if is_kept(address):
            return address
        if address not in self.found:
            self.found[address] = self._move(ipaddress.IPv4Network(address))[0]
        return self.found[address]


class Ipv6Sites:
    """The first 64 bits of IPv6 addresses and GIDs."""

    def __init__(self) -> None:
        self.found: Dict[int, int] = {}
        self._sites: Dict[int, int] = {}

    @staticmethod
    def is_kept(upper: int) -> bool:
        """Link-local, site-local (an InfiniBand subnet's usual prefix), multicast and empty ones."""
        return upper >> 32 == 0 or upper >> 56 == 0xFF or upper in (0xFE80 << 48, 0xFEC0 << 48)

    def replace(self, upper: int) -> int:
        if self.is_kept(upper):
            return upper
        site = self._sites.setdefault(upper >> 16, len(self._sites) + 1)
        if site > 0xFFFF:
            raise TooManyAddressesError("no room for replacements of more than 65535 IPv6 sites")
        self.found[upper] = _SITE << 32 | site << 16 | upper & 0xFFFF
        return self.found[upper]
