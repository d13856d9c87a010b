# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What only netlink and ethtool know of netdevs: exact addresses, maximum MTU, the rate a port supports.

Everything here needs pyroute2 and the running kernel; without them sysfs and procfs have to do (``netdev``). The link
message is declared here with the two attributes that are needed, since pyroute2's own loads every kind of link.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink, pyroute2_parts

_NETLINK_ROUTE = 0
_RTM_GETLINK = 18
_RTM_GETADDR = 22


class LinkMessage(pyroute2_parts.nlmsg):  # type: ignore[misc]  # pyroute2 is optional and has no types
    """``struct ifinfomsg`` and attributes of include/uapi/linux/if_link.h."""

    prefix = "IFLA_"
    fields = (("family", "B"), ("pad", "B"), ("type", "H"), ("index", "i"), ("flags", "I"), ("change", "I"))
    nla_map = ((3, "IFLA_IFNAME", "asciiz"), (51, "IFLA_MAX_MTU", "uint32"))


class AddressMessage(pyroute2_parts.nlmsg):  # type: ignore[misc]  # pyroute2 is optional and has no types
    """``struct ifaddrmsg`` and attributes of include/uapi/linux/if_addr.h."""

    prefix = "IFA_"
    fields = (("family", "B"), ("prefixlen", "B"), ("flags", "B"), ("scope", "B"), ("index", "I"))
    nla_map = ((1, "IFA_ADDRESS", "ipaddr"), (2, "IFA_LOCAL", "ipaddr"))


@dataclass
class Links:
    """Addresses with prefix length and maximum MTU in bytes, by netdev name."""

    addresses: Dict[str, List[str]] = field(default_factory=dict)
    max_mtu: Dict[str, int] = field(default_factory=dict)


def interpret(links: List[bytes], addresses: List[bytes]) -> Links:
    """A reading from the answers to RTM_GETLINK and RTM_GETADDR dumps."""
    result = Links()
    names: Dict[int, str] = {}
    for raw in links:
        link = netlink.decode(LinkMessage, raw)
        names[link["index"]] = link["IFLA_IFNAME"]
        # Zero is how the kernel spells "the driver sets no limit".
        if link.get("IFLA_MAX_MTU"):
            result.max_mtu[link["IFLA_IFNAME"]] = link["IFLA_MAX_MTU"]
    for raw in addresses:
        address = netlink.decode(AddressMessage, raw)
        # On a point-to-point link IFA_ADDRESS is the peer's.
        value = address.get("IFA_LOCAL") or address.get("IFA_ADDRESS")
        if value and address["index"] in names:
            text = f"{value}/{address['prefixlen']}"
            result.addresses.setdefault(names[address["index"]], []).append(text)
    return result


def read() -> Optional[Links]:
    """One reading of all netdevs; ``None`` when pyroute2 is missing or rtnetlink cannot be used."""
    if not pyroute2_parts.HAS_PYROUTE2:
        return None
    try:
        with netlink.open_socket(_NETLINK_ROUTE) as sock:
            link_body, address_body = struct.pack("=BxHiII", 0, 0, 0, 0, 0), struct.pack("=BBBBI", 0, 0, 0, 0, 0)
            links = netlink.ask(sock, netlink.request(_RTM_GETLINK, netlink.NLM_F_DUMP, link_body))
            addresses = netlink.ask(sock, netlink.request(_RTM_GETADDR, netlink.NLM_F_DUMP, address_body))
            return interpret(links, addresses)
    except (OSError, KeyError):
        return None


def max_rates(netdevs: Iterable[str]) -> Dict[str, float]:
    """Highest rate in Gb/s that each netdev's driver lists as supported (``ETHTOOL_GLINKSETTINGS``).

    A netdev whose driver lists no link mode (virtual devices, IPoIB) is left out.
    """
    found: Dict[str, float] = {}
    if not pyroute2_parts.HAS_PYROUTE2:
        return found
    library = pyroute2_parts.ethtool()
    for name in netdevs:
        try:
            device = library.IoctlEthtool(name)
            supported = device.get_link_mode_masks(device.get_link_settings())[0]
        except (library.EthtoolError, OSError):
            continue
        bits = list(device.get_link_mode_bits(supported))
        if len(bits) < sum(bin(word).count("1") for word in supported):
            # The kernel knows faster modes than this pyroute2's table; guessing from the others would be wrong.
            continue
        rates = [int(digits) for digits in (_leading_digits(bit.name) for bit in bits) if digits]
        if rates:
            found[name] = max(rates) / 1000.0
    return found


def _leading_digits(mode: str) -> str:
    return mode[: next((i for i, char in enumerate(mode) if not char.isdigit()), len(mode))]
