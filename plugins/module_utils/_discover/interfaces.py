# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Network interfaces of the running kernel, exact and cheap: two rtnetlink dumps, or sysfs of a recorded node.

Sources: include/uapi/linux/if_link.h, if_addr.h, rtnetlink.h.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, replace
from typing import Dict, Iterable, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree

_CLASS = "sys/class/net"
_NETLINK_ROUTE = 0
_LINK, _ADDRESS = struct.Struct("=16xxxHiI4x"), struct.Struct("=16xBBBxI")
_RTM_GETLINK, _RTM_GETADDR = 18, 22
IFF_UP = 0x1
# RTEXT_FILTER_SKIP_STATS: without the statistics an answer is a third as long.
_SKIP_STATS = struct.pack("=HHI", 8, 29, 8)
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_CARRIER = 1, 3, 4, 33
_IFLA_LINKINFO, _IFLA_INFO_KIND = 18, 1
_IFLA_MAX_MTU, _IFLA_PERM_ADDRESS = 51, 54
_IFA_ADDRESS, _IFA_LOCAL, _IFA_FLAGS = 1, 2, 8
# Flags of an IPv6 address that is not usable: duplicate detection failed (IFA_F_DADFAILED) or still runs (_TENTATIVE).
UNUSABLE = 0x08 | 0x40
_TYPES = {1: "ethernet", 32: "infiniband"}


@dataclass(frozen=True)
class Interface:
    """A netdev of the host's network namespace; MTUs in bytes.

    ``mac`` is the permanent address where the driver has one, ``hardware`` the current one. ``carrier`` is ``None``
    while the netdev is down. ``addresses`` have their prefix length. ``virtual`` is the kind of a netdev that
    is not hardware: ``bond``, ``vrf``, ``openvswitch``, ...
    """

    name: str
    index: int = 0
    kind: Optional[str] = None
    mac: Optional[str] = None
    hardware: Optional[str] = None
    mtu: Optional[int] = None
    max_mtu: Optional[int] = None
    carrier: Optional[bool] = None
    addresses: Tuple[str, ...] = ()
    virtual: Optional[str] = None


def _octets(raw: Optional[bytes]) -> Optional[str]:
    return ":".join(f"{octet:02x}" for octet in raw) if raw and any(raw) else None


def interpret_link(raw: bytes) -> Interface:
    """One answer to RTM_GETLINK, with its netlink header."""
    kind, index, flags = _LINK.unpack_from(raw)
    found = netlink.attributes(raw, 16)
    hardware = _octets(found.get(_IFLA_ADDRESS))
    made = netlink.attributes_at(found.get(_IFLA_LINKINFO, b""), 0).get(_IFLA_INFO_KIND)
    # Zero is how the kernel spells "the driver sets no limit".
    return Interface(
        name=netlink.text(found.get(_IFLA_IFNAME)),
        index=index,
        kind=_TYPES.get(kind),
        mac=_octets(found.get(_IFLA_PERM_ADDRESS)) or hardware,
        hardware=hardware,
        mtu=netlink.number(found.get(_IFLA_MTU)),
        max_mtu=netlink.number(found.get(_IFLA_MAX_MTU)) or None,
        carrier=bool(found.get(_IFLA_CARRIER, b"\1")[0]) if flags & IFF_UP else None,
        virtual=netlink.text(made) or None,
    )


def interpret_address(raw: bytes) -> Optional[Tuple[int, str]]:
    """Interface index and usable address of one answer to RTM_GETADDR."""
    family, prefix, flags, index = _ADDRESS.unpack_from(raw)
    if family not in (socket.AF_INET, socket.AF_INET6):
        return None
    found = netlink.attributes(raw, 8)
    flags = netlink.number(found.get(_IFA_FLAGS)) or flags
    # On a point-to-point link IFA_ADDRESS is the peer's.
    value = found.get(_IFA_LOCAL) or found.get(_IFA_ADDRESS)
    if value is None or flags & UNUSABLE:
        return None
    return index, f"{socket.inet_ntop(family, value)}/{prefix}"


def interpret(links: Iterable[bytes], addresses: Iterable[bytes]) -> Dict[str, Interface]:
    """All netdevs by name, from the answers to RTM_GETLINK and RTM_GETADDR dumps."""
    by_index = {link.index: link for link in map(interpret_link, links)}
    for raw in addresses:
        told = interpret_address(raw)
        if told and told[0] in by_index:
            index, text = told
            by_index[index] = replace(by_index[index], addresses=(*by_index[index].addresses, text))
    return {link.name: link for link in by_index.values()}


def _live() -> Dict[str, Interface]:
    with netlink.open_socket(_NETLINK_ROUTE) as sock:
        links = netlink.request(_RTM_GETLINK, netlink.NLM_F_DUMP, bytes(16) + _SKIP_STATS)
        addresses = netlink.request(_RTM_GETADDR, netlink.NLM_F_DUMP, bytes(8))
        return interpret(netlink.ask(sock, links), netlink.ask(sock, addresses))


def _recorded(tree: Tree) -> Dict[str, Interface]:
    found = {}
    for name in tree.names(_CLASS):
        directory = f"{_CLASS}/{name}"
        hardware = tree.text(directory + "/address")
        found[name] = Interface(
            name=name,
            index=tree.number(directory + "/ifindex") or 0,
            kind=_TYPES.get(tree.number(directory + "/type") or 0),
            mac=hardware,
            hardware=hardware,
            mtu=tree.number(directory + "/mtu"),
        )
    return found


def read(tree: Tree) -> Dict[str, Interface]:
    """All netdevs by name.

    :raises OSError: the running kernel does not answer.
    """
    return _live() if tree.live else _recorded(tree)
