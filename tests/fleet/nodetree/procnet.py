# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""proc/net: routes and addresses as the kernel prints them."""

from __future__ import annotations

import ipaddress
import struct

from .spec import Description
from .stack import SELF_PID, Netdev
from .tree import Tree

HEADER = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
RTF_UP, RTF_GATEWAY, RTF_LOCAL, RTF_NONEXTHOP, RTF_REJECT = 0x1, 0x2, 0x80000000, 0x00200000, 0x200
GLOBAL, LINK, HOST = 0x00, 0x20, 0x10


def write_proc_net(node: Description, devices: dict[str, Netdev], tree: Tree) -> None:
    # proc/net is a link since Linux 2.6.25: every process sees its own network namespace.
    tree.raw_link("proc/self", str(SELF_PID))
    tree.raw_link("proc/net", "self/net")
    here = f"proc/{SELF_PID}/net"
    present = [device for device in devices.values() if not device.spec.in_pod and device.spec.state == "up"]
    tree.file(f"{here}/route", _route(node, present))
    tree.file(f"{here}/fib_trie", _fib_trie(node, present))
    tree.file(f"{here}/if_inet6", _if_inet6(present))
    tree.file(f"{here}/ipv6_route", _ipv6_route(node, devices, present))


def _v4(devices: list[Netdev]) -> list[tuple[Netdev, ipaddress.IPv4Interface]]:
    return [(d, i) for d in devices for i in d.interfaces() if isinstance(i, ipaddress.IPv4Interface)]


def _v6(device: Netdev) -> list[tuple[ipaddress.IPv6Address, int, int]]:
    found = [(i.ip, i.network.prefixlen, GLOBAL) for i in device.interfaces() if isinstance(i, ipaddress.IPv6Interface)]
    local = device.link_local()
    return [*found, *([(local, 64, LINK)] if local else [])]


def _little(address: ipaddress.IPv4Address) -> str:
    return f"{struct.unpack('<I', address.packed)[0]:08X}"


def _route(node: Description, devices: list[Netdev]) -> bytes:
    lines = [HEADER]
    names = {device.name for device in devices}
    zero = "00000000"
    for route in node.default_routes:
        via = ipaddress.ip_address(route.via)
        if isinstance(via, ipaddress.IPv4Address) and route.dev in names:
            flags = f"{RTF_UP | RTF_GATEWAY:04X}"
            lines.append(f"{route.dev}\t{zero}\t{_little(via)}\t{flags}\t0\t0\t{route.metric}\t{zero}\t0\t0\t0")
    for device, interface in _v4(devices):
        net = interface.network
        lines.append(
            f"{device.name}\t{_little(net.network_address)}\t{zero}\t{RTF_UP:04X}\t0\t0\t0\t{_little(net.netmask)}\t0\t0\t0"
        )
    return "".join(f"{line:<127}\n" for line in lines).encode()


def _fib_trie(node: Description, devices: list[Netdev]) -> bytes:
    networks: dict[ipaddress.IPv4Network, list[ipaddress.IPv4Address]] = {}
    for _device, interface in _v4(devices):
        networks.setdefault(interface.network, []).append(interface.ip)
    default = any(":" not in route.via and route.dev in {d.name for d in devices} for route in node.default_routes)
    body = ["  +-- 0.0.0.0/0 3 0 5"]
    if default:
        body += ["     |-- 0.0.0.0", "        /0 universe UNICAST"]
    body += [
        "     +-- 127.0.0.0/8 2 0 2",
        "        +-- 127.0.0.0/31 1 0 0",
        "           |-- 127.0.0.0",
        "              /8 host LOCAL",
        "           |-- 127.0.0.1",
        "              /32 host LOCAL",
        "        |-- 127.255.255.255",
        "           /32 link BROADCAST",
    ]
    for network in sorted(networks):
        body.append(f"     +-- {network} 2 0 2")
        leaves = {network.network_address: [f"/{network.prefixlen} link UNICAST"]}
        for address in networks[network]:
            leaves.setdefault(address, []).append("/32 host LOCAL")
        if network.prefixlen < 31:
            leaves.setdefault(network.broadcast_address, []).append("/32 link BROADCAST")
        for address in sorted(leaves):
            body.append(f"        |-- {address}")
            body += [f"           {entry}" for entry in leaves[address]]
    # Without policy rules the kernel keeps both tables in one trie and prints it twice.
    return "".join(f"{line}\n" for line in ["Main:", *body, "Local:", *body]).encode()


def _if_inet6(devices: list[Netdev]) -> bytes:
    rows = [(ipaddress.IPv6Address("::1"), 1, 128, HOST, 0x80, "lo")]
    rows += [(a, d.ifindex, plen, scope, 0x80, d.name) for d in devices for a, plen, scope in _v6(d)]
    return "".join(f"{a.packed.hex()} {i:02x} {p:02x} {s:02x} {f:02x} {n:>8}\n" for a, i, p, s, f, n in rows).encode()


def _ipv6_route(node: Description, devices: dict[str, Netdev], present: list[Netdev]) -> bytes:
    lines: list[str] = []

    def add(network: str, via: ipaddress.IPv6Address | None, metric: int, flags: int, dev: str) -> None:
        parsed = ipaddress.IPv6Network(network)
        hop = via.packed.hex() if via else "0" * 32
        lines.append(
            f"{parsed.network_address.packed.hex()} {parsed.prefixlen:02x} {'0' * 32} 00 {hop} "
            f"{metric:08x} {1:08x} {0:08x} {flags:08x} {dev:>8}\n"
        )

    for device in present:
        for address, plen, _scope in _v6(device):
            add(str(ipaddress.IPv6Network((address, plen), strict=False)), None, 0x100, RTF_UP, device.name)
    for route in node.default_routes:
        via = ipaddress.ip_address(route.via)
        if isinstance(via, ipaddress.IPv6Address) and devices[route.dev] in present:
            add("::/0", via, route.metric, RTF_UP | RTF_GATEWAY, route.dev)
    add("::1/128", None, 0, RTF_LOCAL | RTF_NONEXTHOP | RTF_UP, "lo")
    for device in present:
        for address, _plen, _scope in _v6(device):
            add(f"{address}/128", None, 0, RTF_LOCAL | RTF_NONEXTHOP | RTF_UP, device.name)
        if _v6(device):
            add("ff00::/8", None, 0x100, RTF_UP, device.name)
    # The unreachable route that every kernel keeps at the end; it is no default route.
    add("::/0", None, 0xFFFFFFFF, RTF_NONEXTHOP | RTF_REJECT, "lo")
    return "".join(lines).encode()
