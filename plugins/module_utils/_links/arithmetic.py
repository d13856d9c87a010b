# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What netaddr works out: addresses in a block of a network, and interface identifiers of NICs."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import mac as values_mac
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface, Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem

# Not where it is used: there, each of Ansible's workers would load it again.
try:
    import netaddr
except ImportError:
    netaddr = None


def _netaddr() -> Any:
    if netaddr is None:
        text = "is a Python library that is missing where Ansible runs: pip install netaddr"
        raise PlanError(Problem("netaddr", text))
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
