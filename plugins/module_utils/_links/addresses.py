# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Addresses of a host's RDMA links, from that host's variables alone.

So an address does not depend on which other hosts exist or are reached at the moment, and a node can work out its own.
Under ``ansible-pull`` every node is its own controller, and needs netaddr for it.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import address as values_address
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import integer, packages
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import mac as values_mac
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface, Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import (
    PlanError,
    Problem,
    checked,
    wrong,
)

# Not where it is used: there, each of Ansible's workers would load it again.
try:
    import netaddr
except ImportError:
    netaddr = None


def _netaddr() -> Any:
    if netaddr is None:
        raise PlanError(Problem("netaddr", f"cannot be imported: Python packages are {packages.missing('netaddr')}"))
    return netaddr


@lru_cache(maxsize=1024)
def _block(whole: Network, bits: int, block: int) -> Any:
    first = _netaddr().IPNetwork(f"{whole.network_address}/{whole.prefixlen + bits}")
    return first.next(block)


def in_block(whole: Network, bits: int, block: int, number: int) -> Interface:
    """Address ``number`` of one of the equal blocks of a network, of which there are 2 to the ``bits``.

    It has the network's prefix length.
    """
    address = int(_block(whole, bits, block)[number])
    if whole.version == 4:
        return ipaddress.IPv4Interface((address, whole.prefixlen))
    return ipaddress.IPv6Interface((address, whole.prefixlen))


def interface_id(mac: bytes) -> int:
    """The last 64 bits of the GIDs that go with a MAC address: its modified EUI-64, or IPoIB's port GUID."""
    if len(mac) == values_mac.ETHERNET:
        found = _netaddr().EUI(int.from_bytes(mac, "big"), version=48).modified_eui64()
    else:
        found = _netaddr().EUI(int.from_bytes(mac[-8:], "big"), version=64)
    return int(found)


SUBNET, RAIL_SUBNETS, ADDRESSES = "rdma_links_subnet", "rdma_links_rail_subnets", "rdma_links_addresses"
RAILS, HOST_NUMBER, RESERVED = "rdma_links_rails", "rdma_links_host_number", "rdma_links_reserved_networks"

# Beyond this a rail is not a NIC but a typing error.
MOST_RAILS = 64
EXPECTED, _MOST_HCAS = "rdma_discover_expect_hcas", 1024

_TRAILING = re.compile("(?:.*[^0-9])?([0-9]{1,18})")


@dataclass
class AddressIntent:
    """What a host's variables say about addresses, each value of its right type."""

    subnet: Optional[str] = None
    rail_subnets: List[str] = field(default_factory=list)
    rails: Optional[int] = None
    expected: Optional[int] = None
    host_number: Optional[int] = None
    addresses: Mapping[Any, Any] = field(default_factory=dict)


def intent(values: Mapping[str, Any]) -> AddressIntent:
    """The part of a host's converted variables that addresses depend on."""
    return AddressIntent(
        subnet=values.get(SUBNET),
        rail_subnets=values.get(RAIL_SUBNETS) or [],
        rails=values.get(RAILS),
        expected=values.get(EXPECTED),
        host_number=values.get(HOST_NUMBER),
        addresses=values.get(ADDRESSES) or {},
    )


def network(variable: str, value: Any) -> Network:
    """A network in CIDR notation with all host bits zero. Raises PlanError."""
    return checked(variable, str(value), values_address.network)


def interface(variable: str, value: Any) -> Interface:
    """A host's address with its prefix length. Raises PlanError."""
    return checked(variable, str(value), values_address.interface)


def number_of_rails(wanted: AddressIntent) -> int:
    """How many NICs of the host get a link, at least 1. Raises PlanError where the variables contradict each other."""
    if wanted.expected is not None:
        checked(EXPECTED, wanted.expected, integer.between(0, _MOST_HCAS))
    if wanted.rails is not None:
        checked(RAILS, wanted.rails, integer.between(1, MOST_RAILS))
        if wanted.rail_subnets and len(wanted.rail_subnets) != wanted.rails:
            right = f"but {RAIL_SUBNETS} has {len(wanted.rail_subnets)}: one subnet per rail is needed"
            raise PlanError(wrong(RAILS, wanted.rails, right))
        return wanted.rails
    if wanted.rail_subnets:
        return len(wanted.rail_subnets)
    return min(wanted.expected or 1, MOST_RAILS)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def host_number(host: str, wanted: AddressIntent) -> int:
    """The number that tells a host's addresses from its neighbours'. Raises PlanError."""
    if wanted.host_number is not None:
        if wanted.host_number < 1:
            right = "it must be at least 1: 0 is the network's own address"
            raise PlanError(wrong(HOST_NUMBER, wanted.host_number, right))
        return wanted.host_number
    if _is_address(host):
        text = f"is not set, and this host is named by its address, which is not its number: set it, or {ADDRESSES}"
        raise PlanError(Problem(HOST_NUMBER, text))
    match = _TRAILING.fullmatch(host.split(".")[0])
    if match is None:
        text = f"is not set, and this host name does not end in a number: set it, or {ADDRESSES}"
        raise PlanError(Problem(HOST_NUMBER, text))
    if int(match.group(1)) < 1:
        text = f"is not set, and the number in this name is 0, the network's own address: set it, or {ADDRESSES}"
        raise PlanError(Problem(HOST_NUMBER, text))
    return int(match.group(1))


def _block_bits(rails: int) -> int:
    return (rails - 1).bit_length()


def _in_block(variable: str, whole: Network, rail: int, rails: int, number: int) -> Interface:
    """Address ``number`` of block ``rail``, with the prefix length of the ``whole`` network."""
    bits = whole.max_prefixlen - whole.prefixlen - _block_bits(rails)
    # The last address of an IPv4 network is its broadcast address. Leaving out the last one of every block keeps the
    # room for hosts the same on all rails.
    spare = 1 if whole.version == 4 else 0
    room = max((1 << max(bits, 0)) - 1 - spare, 0)
    if number > room:
        need = whole.max_prefixlen - _block_bits(rails) - (number + spare).bit_length()
        blocks = f"in each of {1 << _block_bits(rails)} equal blocks ({rails} rails)" if rails > 1 else "in it"
        larger = f"a /{need} is large enough" if need > 0 else "no network is large enough"
        has = f"there is room for host numbers 1 to {room} {blocks}" if room else f"there is no room for hosts {blocks}"
        text = f"is '{whole}': {has}, not for {number}: {larger}; or set {HOST_NUMBER} or {ADDRESSES}"
        raise PlanError(Problem(variable, text, same=f"too small {whole} {rails}", weight=number))
    return in_block(whole, _block_bits(rails), rail, number)


def rail_networks(wanted: AddressIntent) -> List[Optional[Network]]:
    """The network of each rail, ``None`` for all of them where only explicit addresses are given. Raises PlanError."""
    rails = number_of_rails(wanted)
    if wanted.subnet and wanted.rail_subnets:
        raise PlanError(wrong(SUBNET, wanted.subnet, f"but {RAIL_SUBNETS} is also set: only one of them can be used"))
    if wanted.subnet:
        return [network(SUBNET, wanted.subnet)] * rails
    if wanted.rail_subnets:
        found: List[Optional[Network]] = []
        for rail, text in enumerate(wanted.rail_subnets):
            subnet = network(f"{RAIL_SUBNETS}[{rail}]", text)
            for earlier, other in enumerate(found):
                if other is not None and subnet.overlaps(other):
                    right = f"which overlaps rail {earlier}'s {other}: take {SUBNET} for rails in one subnet"
                    raise PlanError(wrong(f"{RAIL_SUBNETS}[{rail}]", text, right))
            found.append(subnet)
        return found
    return [None] * rails


def rail_of(variable: str, key: Any, rails: int) -> int:
    """The rail that a key of a map means. Raises PlanError."""
    if not re.fullmatch("[0-9]{1,4}", str(key)) or int(key) >= rails:
        right = f"it must be a rail, 0 to {rails - 1}" if rails > 1 else f"it must be 0 unless {RAILS} is more than 1"
        raise PlanError(Problem(variable, f"has the key {key!r}, {right}"))
    return int(key)


def _explicit(wanted: AddressIntent, networks: Sequence[Optional[Network]]) -> Dict[int, Interface]:
    found: Dict[int, Interface] = {}
    for key, text in wanted.addresses.items():
        rail = rail_of(ADDRESSES, key, len(networks))
        variable = f"{ADDRESSES}[{rail}]"
        address, within = interface(variable, text), networks[rail]
        if within is not None and address.network != within:
            name = SUBNET if wanted.subnet else f"{RAIL_SUBNETS}[{rail}]"
            right = f"which is not in {name} {within}: take an address in it, with its prefix length"
            raise PlanError(wrong(variable, text, right))
        for other, known in found.items():
            if known.ip == address.ip:
                raise PlanError(wrong(variable, text, f"the same as rail {other}'s: every rail needs its own"))
        found[rail] = address
    return found


def addresses(host: str, wanted: AddressIntent) -> Dict[int, Interface]:
    """The address of each rail of one host; rails without one are left out.

    One ``subnet`` is cut into as many equal blocks as the next power of two holds all rails, and rail r gets the
    address with the host's number in block r; with ``rail_subnets`` it gets the one in subnet r. Explicit addresses
    win. Raises PlanError.
    """
    networks = rail_networks(wanted)
    found = _explicit(wanted, networks)
    for rail, whole in enumerate(networks):
        if whole is None or rail in found:
            continue
        if wanted.subnet:
            found[rail] = _in_block(SUBNET, whole, rail, len(networks), host_number(host, wanted))
        else:
            found[rail] = _in_block(f"{RAIL_SUBNETS}[{rail}]", whole, 0, 1, host_number(host, wanted))
    for rail, address in sorted(found.items()):
        for other in range(rail):
            if other in found and found[other].ip == address.ip:
                explicit = rail if str(rail) in map(str, wanted.addresses) else other
                text = f"is '{address}', which rail {rail + other - explicit} gets as well: every rail needs its own"
                raise PlanError(Problem(f"{ADDRESSES}[{explicit}]", text))
    return {rail: found[rail] for rail in sorted(found)}


def shared(found: Mapping[int, Interface]) -> List[int]:
    """Rails whose network is also another rail's, so that the kernel cannot choose the NIC by the destination."""
    return [
        rail
        for rail, address in found.items()
        if any(other != rail and address.network.overlaps(found[other].network) for other in found)
    ]
