# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Network devices as the host's network namespace shows them: relations, default routes, addresses.

Sources: Documentation/ABI/testing/sysfs-class-net, net/ipv4/fib_trie.c (``/proc/net/route``, ``/proc/net/fib_trie``),
net/ipv6/route.c (``/proc/net/ipv6_route``), net/ipv6/addrconf.c (``/proc/net/if_inet6``).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import routes as kernel_routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import IFF_UP, UNUSABLE
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.routes import DefaultHop
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Netdev

CLASS = "sys/class/net"

_RTF_UP = 0x1
_RTF_GATEWAY = 0x2
_RTF_REJECT = 0x200
# RT_TABLE_DEFAULT, RT_TABLE_MAIN (include/uapi/linux/rtnetlink.h).
_DEFAULT, _MAIN = 253, 254


def lower_netdevs(tree: Tree, name: str) -> List[str]:
    """Netdevs directly below a VLAN, bond, bridge or macvlan."""
    return _beside(tree, name, "lower_")


def below(tree: Tree, name: str) -> List[str]:
    """The same, and the port of an IPoIB partition (drivers/infiniband/ulp/ipoib/ipoib_vlan.c)."""
    parent = tree.text(f"{CLASS}/{name}/parent")
    return [*lower_netdevs(tree, name), *([parent] if parent else [])]


def upper_netdevs(tree: Tree, name: str) -> List[str]:
    """Netdevs directly on a port, as far as they are in its network namespace."""
    return _beside(tree, name, "upper_")


def _beside(tree: Tree, name: str, prefix: str) -> List[str]:
    return [entry[len(prefix) :] for entry in tree.names(CLASS + "/" + name) if entry.startswith(prefix)]


@dataclass
class DefaultRoutes:
    """Netdevs that a default route needs, mapped to the netdev that holds the route, and the routes' gateways.

    ``complete`` is false when a routing table, or a netdev on the way down from a holder, could not be read.
    """

    needed: Dict[str, str] = field(default_factory=dict)
    complete: bool = True
    gateways: List[str] = field(default_factory=list)


def _ipv4_default(fields: List[str]) -> Optional[DefaultHop]:
    destination, flags, mask = int(fields[1], 16), int(fields[3], 16), int(fields[7], 16)
    if destination or mask or not flags & _RTF_UP or flags & _RTF_REJECT:
        return None
    gateway = int.from_bytes(bytes.fromhex(fields[2]), "little")
    return DefaultHop(fields[0], str(ipaddress.IPv4Address(gateway)) if gateway else None, _MAIN)


def _ipv6_default(fields: List[str]) -> Optional[DefaultHop]:
    destination, prefix, flags, netdev = int(fields[0], 16), int(fields[1], 16), int(fields[8], 16), fields[9]
    if destination or prefix or netdev == "lo" or flags & _RTF_REJECT:
        return None
    gateway = int(fields[4], 16)
    return DefaultHop(netdev, str(ipaddress.IPv6Address(gateway)) if gateway else None, _MAIN)


def _rows(lines: Sequence[str], parse: Callable[[List[str]], Optional[DefaultHop]]) -> Tuple[List[DefaultHop], bool]:
    hops, complete = [], True
    for line in lines:
        try:
            hop = parse(line.split())
        except (IndexError, ValueError):
            complete = False
            continue
        if hop:
            hops.append(hop)
    return hops, complete


def _recorded(tree: Tree) -> Tuple[List[DefaultHop], bool]:
    """The default routes in procfs, which has only the first next hop of an IPv4 route and no tables of IPv6 routes."""
    # The IPv4 table has a heading even when it is empty; the IPv6 one is missing only where IPv6 is switched off.
    table4, table6 = tree.text("proc/net/route"), tree.text("proc/net/ipv6_route")
    hops4, complete4 = _rows((table4 or "").splitlines()[1:], _ipv4_default)
    hops6, complete6 = _rows((table6 or "").splitlines(), _ipv6_default)
    readable = table4 is not None and (table6 is not None or tree.data("proc/net/if_inet6") in (None, b""))
    return hops4 + hops6, readable and complete4 and complete6


def _is_of_host(tree: Tree, hop: DefaultHop) -> bool:
    """Whether the host's own traffic may take a route. Tables of policy routing are for rails, except those of VRFs."""
    return hop.table in (_MAIN, _DEFAULT) or tree.exists(f"{CLASS}/{hop.netdev}/master")


def default_routes(tree: Tree) -> DefaultRoutes:
    """Every netdev a default route (v4 or v6) needs: one on ``bond0.100`` needs ``bond0`` and both its slaves."""
    every, complete = kernel_routes.defaults(tree) or _recorded(tree)
    hops = [hop for hop in every if _is_of_host(tree, hop)]
    gateways = dict.fromkeys(hop.gateway for hop in hops if hop.gateway)
    result = DefaultRoutes(complete=complete, gateways=list(gateways))
    pending = [(name, name) for name in sorted({hop.netdev for hop in hops})]
    while pending:
        name, holder = pending.pop(0)
        if name in result.needed:
            continue
        result.needed[name] = holder
        result.complete = result.complete and bool(tree.names(CLASS + "/" + name))
        pending.extend((lower, holder) for lower in lower_netdevs(tree, name))
    return result


def _local_ipv4(tree: Tree) -> List[ipaddress.IPv4Address]:
    found, last = [], ""
    for line in (tree.text("proc/net/fib_trie") or "").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in ("|--", "+--"):
            last = words[1]
        elif words[:3] == ["/32", "host", "LOCAL"]:
            try:
                address = ipaddress.IPv4Address(last)
            except ValueError:
                continue
            if address not in found and not address.is_loopback:
                found.append(address)
    return found


def _connected_ipv4(tree: Tree) -> List[Tuple[str, ipaddress.IPv4Network]]:
    routes = []
    for line in (tree.text("proc/net/route") or "").splitlines()[1:]:
        fields = line.split()
        try:
            if int(fields[3], 16) & _RTF_GATEWAY or fields[7] == "00000000":
                continue
            # Both columns are a big-endian u32 printed as the host's integer, so byte-swapped on little endian.
            network = int.from_bytes(bytes.fromhex(fields[1]), "little")
            mask = int.from_bytes(bytes.fromhex(fields[7]), "little")
            routes.append((fields[0], ipaddress.IPv4Network((network, bin(mask).count("1")))))
        except (IndexError, ValueError):
            continue
    return routes


def addresses(tree: Tree, hints: Mapping[str, str]) -> Dict[str, List[str]]:
    """Addresses with prefix length by netdev, read from procfs alone.

    ``/proc/net`` does not say which netdev holds a local IPv4 address, only which netdevs are connected to its subnet.
    ``hints`` (address -> netdev, from RoCE GIDs) decides when several are; an address that stays ambiguous is left out.
    """
    found: Dict[str, List[str]] = {}
    connected = _connected_ipv4(tree)
    for address in _local_ipv4(tree):
        matches = [(name, network) for name, network in connected if address in network]
        longest = max((network.prefixlen for _name, network in matches), default=0)
        matches = [match for match in matches if match[1].prefixlen == longest]
        if len({name for name, _network in matches}) > 1:
            matches = [match for match in matches if match[0] == hints.get(str(address))]
        if matches:
            found.setdefault(matches[0][0], []).append(f"{address}/{longest}")
    for line in (tree.text("proc/net/if_inet6") or "").splitlines():
        fields = line.split()
        try:
            address6 = ipaddress.IPv6Address(bytes.fromhex(fields[0]))
            if not int(fields[4], 16) & UNUSABLE:
                found.setdefault(fields[5], []).append(f"{address6}/{int(fields[2], 16)}")
        except (IndexError, ValueError):
            continue
    return found


def _address_order(address: str) -> Tuple[bool, bool, str]:
    """IPv4, then IPv6, link-local last; netlink and procfs each have an order of their own."""
    return ":" in address, address.startswith("fe80:"), address


def carrier(tree: Tree, name: str) -> Optional[bool]:
    """Whether a netdev has a link, ``None`` where nobody has brought it up."""
    directory = CLASS + "/" + name
    flags = tree.number(directory + "/flags", 0)
    # Reading carrier of such a netdev is EINVAL by design, not a fault. Its operstate is down, but so is that of one
    # without a cable (Documentation/networking/operstates.rst).
    enabled = tree.text(directory + "/operstate") != "down" if flags is None else flags & IFF_UP
    found = tree.number(directory + "/carrier") if enabled else None
    return None if found is None else found == 1


def describe(tree: Tree, name: str, source: str, addrs: Mapping[str, Sequence[str]]) -> Netdev:
    """The netdev ``name`` as sysfs shows it; ``present`` is false when this namespace has none of that name."""
    directory = CLASS + "/" + name
    if not tree.exists(directory):
        return Netdev(name=name, source=source, present=False)
    state = tree.text(directory + "/operstate")
    return Netdev(
        name=name,
        source=source,
        state=state,
        carrier=carrier(tree, name),
        mac=tree.text(directory + "/address"),
        mtu=tree.number(directory + "/mtu"),
        master=tree.target_name(directory + "/master"),
        bond=is_bond(tree, name),
        addresses=sorted(addrs.get(name, []), key=_address_order),
    )


def is_bond(tree: Tree, name: str) -> bool:
    return tree.exists(CLASS + "/" + name + "/bonding")


def is_bridge(tree: Tree, name: str) -> bool:
    return tree.exists(CLASS + "/" + name + "/bridge")


def pci_netdevs(tree: Tree, directory: str) -> List[str]:
    """Names of a PCI function's own netdevs: no VF or SF representors, no IPoIB P_Key children."""
    return [name for name in tree.names(directory + "/net") if not _is_representor(tree, name)]


def _is_representor(tree: Tree, name: str) -> bool:
    directory = CLASS + "/" + name
    port_name = tree.text(directory + "/phys_port_name") or ""
    # "pf0vf3", "c1pf0sf88": a representor; "p0": the uplink. IPoIB children alone have a "parent" attribute.
    return "vf" in port_name or "sf" in port_name or tree.exists(directory + "/parent")


def port_index(tree: Tree, name: str) -> Optional[int]:
    """Zero-based port of the PCI function a netdev belongs to (``dev_port``; ``dev_id`` before Linux 3.15)."""
    value = tree.number(CLASS + "/" + name + "/dev_port")
    return value if value is not None else tree.number(CLASS + "/" + name + "/dev_id", 0)
