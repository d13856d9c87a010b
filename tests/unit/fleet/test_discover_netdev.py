# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Netdevs, routes and addresses from hand-written procfs and sysfs, and from messages of rtnetlink."""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import (
    ethtool,
    gather,
    interfaces,
    netdev,
    netlink,
    routes,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.routes import DefaultHop
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    Hca,
    Netdev,
    NetdevRoute,
    NetdevRule,
    Port,
)

HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
ZEROS = "0" * 32


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def route4(name: str, to: str, flags: str, mask: str) -> str:
    return f"{name} {to} 00000000 {flags} 0 0 0 {mask} 0 0 0\n"


def route6(name: str, prefix: str = "00", flags: str = "00000003", to: str = ZEROS) -> str:
    return f"{to} {prefix} {ZEROS} 00 {ZEROS} 00000400 00000001 00000000 {flags} {name}\n"


@pytest.mark.parametrize(
    ("table4", "table6", "needed"),
    [
        (route4("eth0", "00000000", "0003", "00000000"), "", {"eth0": "eth0"}),
        # One that is not up, one to a network, one to a host.
        (route4("eth0", "00000000", "0002", "00000000"), "", {}),
        (route4("eth0", "0000000A", "0001", "000000FF"), "", {}),
        (route4("eth0", "0100000A", "0005", "FFFFFFFF"), "", {}),
        # A network whose address is zero.
        (route4("eth0", "00000000", "0001", "000000FF"), "", {}),
        ("", route6("eth0"), {"eth0": "eth0"}),
        ("", route6("eth0", prefix="40"), {}),
        ("", route6("eth0", to="fd" + ZEROS[2:]), {}),
        # Those that refuse ("unreachable default"), and the kernel's own.
        (route4("*", "00000000", "0201", "00000000"), "", {}),
        ("", route6("lo"), {}),
        ("", route6("eth0", flags="00000200"), {}),
    ],
)
def test_default_routes(tmp_path: Path, table4: str, table6: str, needed: Dict[str, str]) -> None:
    put(tmp_path, "proc/net/route", HEAD + table4)
    put(tmp_path, "proc/net/ipv6_route", table6)
    put(tmp_path, "proc/net/if_inet6", "")
    put(tmp_path, "sys/class/net/eth0/mtu", "1500")
    found = netdev.default_routes(Tree(str(tmp_path)))
    assert (found.needed, found.complete) == (needed, True)


@pytest.mark.parametrize(
    ("hop", "needed", "gateways"),
    [
        (DefaultHop("eth0", "10.0.0.1", 254), {"eth0": "eth0"}, ["10.0.0.1"]),
        (DefaultHop("eth0", None, 253), {"eth0": "eth0"}, []),
        # A rail's own, which only what the rail's address sends takes.
        (DefaultHop("eth0", "fd00::1", 100), {}, []),
        # A VRF's, of which the netdev is a part.
        (DefaultHop("eth1", "fd00::1", 100), {"eth1": "eth1"}, ["fd00::1"]),
    ],
)
def test_default_routes_by_their_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hop: DefaultHop, needed: Dict[str, str], gateways: List[str]
) -> None:
    put(tmp_path, "sys/class/net/eth0/mtu", "1500")
    put(tmp_path, "sys/class/net/eth1/master/mtu", "1500")
    monkeypatch.setattr(routes, "defaults", lambda _tree: ([hop], True))
    found = netdev.default_routes(Tree(str(tmp_path)))
    assert (found.needed, found.gateways, found.complete) == (needed, gateways, True)


def test_what_a_default_route_stands_on(tmp_path: Path) -> None:
    put(tmp_path, "proc/net/route", HEAD + route4("bond0.7", "00000000", "0003", "00000000"))
    for name in ("bond0.7/lower_bond0", "bond0/lower_eno1", "bond0/lower_eno2", "eno1/mtu"):
        put(tmp_path, f"sys/class/net/{name}", "")
    found = netdev.default_routes(Tree(str(tmp_path)))
    assert found.needed == dict.fromkeys(["bond0.7", "bond0", "eno1", "eno2"], "bond0.7")
    # eno2 is not in sysfs, so what is below it is not known.
    assert found.complete is False


@pytest.mark.parametrize(
    ("lost", "if_inet6", "complete"),
    [
        ("", "", True),
        ("proc/net/route", "", False),
        # IPv6 is switched off where there is no address either.
        ("proc/net/ipv6_route", "", True),
        ("proc/net/ipv6_route", f"{ZEROS[:-1]}1 01 80 10 80 lo\n", False),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, lost: str, if_inet6: str, complete: bool) -> None:
    put(tmp_path, "proc/net/route", HEAD)
    # An empty file reads as none, as a table without a route.
    put(tmp_path, "proc/net/ipv6_route", route6("lo"))
    put(tmp_path, "proc/net/if_inet6", if_inet6)
    if lost:
        (tmp_path / lost).unlink()
    assert netdev.default_routes(Tree(str(tmp_path))).complete is complete


TRIE = """Main:
  +-- 10.0.0.0/8 2 0 2
     |-- 10.0.0.0
        /24 link UNICAST
     |-- {}
        /32 host LOCAL
     |-- 10.0.0.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
Local:
     |-- {}
        /32 host LOCAL
"""


@pytest.mark.parametrize(
    ("routes", "hints", "expected"),
    [
        (["eth0 0000000A 0001 00FFFFFF"], {}, {"eth0": ["10.0.0.7/24"]}),
        # The narrower of two networks, whichever comes first.
        (["eth0 0000000A 0001 0000FFFF", "eth1 0000000A 0001 00FFFFFF"], {}, {"eth1": ["10.0.0.7/24"]}),
        # A gateway's network is no connected one.
        (["eth0 0000000A 0003 00FFFFFF", "eth1 0000000A 0001 0000FFFF"], {}, {"eth1": ["10.0.0.7/16"]}),
        # Two netdevs in one network: a GID decides, or nobody.
        (["eth0 0000000A 0001 00FFFFFF", "eth1 0000000A 0001 00FFFFFF"], {}, {}),
        (
            ["eth0 0000000A 0001 00FFFFFF", "eth1 0000000A 0001 00FFFFFF"],
            {"10.0.0.7": "eth1"},
            {"eth1": ["10.0.0.7/24"]},
        ),
        (["eth0 0000000A 0001 00FFFFFF", "eth0 0000000A 0001 00FFFFFF"], {}, {"eth0": ["10.0.0.7/24"]}),
        (["eth0 short", "eth0 0000000B 0001 00FFFFFF"], {}, {}),
    ],
)
def test_addresses_without_netlink(
    tmp_path: Path, routes: List[str], hints: Dict[str, str], expected: Dict[str, List[str]]
) -> None:
    put(tmp_path, "proc/net/fib_trie", TRIE.format("10.0.0.7", "10.0.0.7"))
    rows = [words.split() for words in routes]
    table = [route4(*row) if len(row) == 4 else " ".join(row) + "\n" for row in rows]
    put(tmp_path, "proc/net/route", HEAD + "".join(table))
    assert netdev.addresses(Tree(str(tmp_path)), hints) == expected


def test_what_sysfs_says_of_a_netdev(tmp_path: Path) -> None:
    base = "sys/class/net/rail0"
    for name, text in {"operstate": "up", "carrier": "1", "address": "02:00:00:00:00:01", "mtu": "9000"}.items():
        put(tmp_path, f"{base}/{name}", text + "\n")
    (tmp_path / base / "master").symlink_to("../bond0")
    addresses = {"rail0": ["fe80::1/64", "fd00::1/64", "10.0.0.2/24"]}
    found = netdev.describe(Tree(str(tmp_path)), "rail0", "gid", addresses)
    ordered = ["10.0.0.2/24", "fd00::1/64", "fe80::1/64"]
    assert found == Netdev(
        "rail0", "gid", True, "up", True, "02:00:00:00:00:01", 9000, master="bond0", addresses=ordered
    )
    put(tmp_path, f"{base}/carrier", "0\n")
    assert netdev.describe(Tree(str(tmp_path)), "rail0", "gid", {}).carrier is False
    # Without a cable it is as down as one that nobody has brought up; of that, carrier cannot be read.
    put(tmp_path, f"{base}/operstate", "down\n")
    for flags, carrier in {"0x1003": False, "0x1002": None}.items():
        put(tmp_path, f"{base}/flags", f"{flags}\n")
        assert netdev.describe(Tree(str(tmp_path)), "rail0", "gid", {}).carrier is carrier
    assert netdev.describe(Tree(str(tmp_path)), "rail1", "gid", {}) == Netdev("rail1", "gid", present=False)


@pytest.mark.parametrize(
    ("files", "own"),
    [
        ({}, True),
        ({"phys_port_name": "p0"}, True),
        ({"phys_port_name": "pf0vf3"}, False),
        ({"phys_port_name": "c1pf0sf88"}, False),
        ({"parent": "ib0"}, False),
    ],
)
def test_netdevs_of_a_function_itself(tmp_path: Path, files: Dict[str, str], own: bool) -> None:
    put(tmp_path, "sys/bus/pci/devices/0000:1a:00.0/net/ib0/mtu", "2044")
    for name, text in files.items():
        put(tmp_path, f"sys/class/net/ib0/{name}", text)
    found = netdev.pci_netdevs(Tree(str(tmp_path)), "sys/bus/pci/devices/0000:1a:00.0")
    assert found == (["ib0"] if own else [])


@pytest.mark.parametrize(
    ("files", "index"),
    [({"dev_port": "1", "dev_id": "0x0"}, 1), ({"dev_port": "0"}, 0), ({"dev_id": "0x1"}, 1), ({}, None)],
)
def test_port_of_a_netdev(tmp_path: Path, files: Dict[str, str], index: Optional[int]) -> None:
    for name, text in files.items():
        put(tmp_path, f"sys/class/net/ib0/{name}", text)
    assert netdev.port_index(Tree(str(tmp_path)), "ib0") == index


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value.ljust((len(value) + 3) & ~3, b"\0")


def linked(kind: int, flags: int, *attributes: bytes) -> bytes:
    body = struct.pack("=BxHiII", 0, kind, 5, flags, 0) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), 16, 0, 1, 0) + body


OCTETS = bytes([2, 0, 0, 0, 0, 1])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            # IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_CARRIER, IFLA_MAX_MTU, IFLA_PERM_ADDRESS; IFF_UP
            linked(
                1,
                1,
                attribute(1, OCTETS),
                attribute(3, b"rail0\0"),
                attribute(4, struct.pack("=I", 9000)),
                attribute(33, b"\1"),
                attribute(51, struct.pack("=I", 9978)),
                attribute(54, OCTETS[:-1] + b"\2"),
            ),
            interfaces.Interface(
                "rail0", 5, "ethernet", "02:00:00:00:00:02", "02:00:00:00:00:01", 9000, 9978, carrier=True
            ),
        ),
        (
            # Without a permanent address, and with a limit of zero, which is none.
            linked(32, 1, attribute(1, OCTETS), attribute(33, b"\0"), attribute(51, bytes(4))),
            interfaces.Interface("", 5, "infiniband", "02:00:00:00:00:01", "02:00:00:00:00:01", carrier=False),
        ),
        # IFLA_LINKINFO with IFLA_INFO_KIND.
        (
            linked(1, 0, attribute(3, b"mgmt\0"), attribute(0x8000 | 18, attribute(1, b"vrf\0"))),
            interfaces.Interface("mgmt", 5, "ethernet", virtual="vrf"),
        ),
        # Down: nobody knows of a carrier. An address of zeros is none.
        (linked(772, 0, attribute(1, bytes(6)), attribute(33, b"\1")), interfaces.Interface("", 5)),
    ],
)
def test_an_answer_about_a_link(raw: bytes, expected: interfaces.Interface) -> None:
    assert interfaces.interpret_link(raw) == expected


def test_flags_of_an_attribute_are_not_its_number() -> None:
    # NLA_F_NESTED is 0x8000, NLA_F_NET_BYTEORDER 0x4000.
    raw = bytes(16) + attribute(0x8000 | 7, b"abcde") + attribute(0x4000 | 8, b"x") + attribute(9, b"")
    assert netlink.attributes(raw) == {7: b"abcde", 8: b"x", 9: b""}
    assert netlink.attributes(bytes(16) + struct.pack("=HH", 3, 7) + attribute(8, b"x")) == {}


def message(kind: int, body: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


@pytest.mark.parametrize(
    ("received", "answers"),
    [
        ([message(16, b"abcd") + message(16, b"efgh"), message(16, b"ijkl") + message(3)], 3),
        # An acknowledgement.
        ([message(16, b"abcd"), message(2, struct.pack("=i", 0))], 1),
    ],
)
def test_a_request_has_all_its_answers(received: List[bytes], answers: int) -> None:
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        ours.settimeout(10)
        for one in received:
            kernel.send(one)
        assert len(netlink.ask(ours, b"a request")) == answers
        assert kernel.recv(100) == b"a request"


def test_a_refused_request_has_the_error_of_the_kernel() -> None:
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        kernel.send(message(2, struct.pack("=i", -errno.EPERM)))
        with pytest.raises(OSError, match="refused") as caught:
            netlink.ask(ours, b"a request")
    assert caught.value.errno == errno.EPERM


def test_a_dump_that_fails_half_way_is_no_short_one() -> None:
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        kernel.send(message(16, b"abcd") + message(3, struct.pack("=i", -errno.EMSGSIZE)))
        with pytest.raises(OSError, match="refused") as caught:
            netlink.ask(ours, b"a request")
    assert caught.value.errno == errno.EMSGSIZE


INTERRUPTED = 0x10


@pytest.mark.parametrize(
    "first", [message(16, b"abcd", INTERRUPTED) + message(3), message(16, b"abcd") + message(3, flags=INTERRUPTED)]
)
def test_a_dump_that_changed_meanwhile_is_asked_for_again(first: bytes) -> None:
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        ours.settimeout(10)
        kernel.send(first)
        kernel.send(message(16, b"efgh") + message(16, b"ijkl") + message(3, struct.pack("=i", 0)))
        assert [raw[16:] for raw in netlink.ask(ours, b"a request")] == [b"efgh", b"ijkl"]
        assert [kernel.recv(100) for _time in range(2)] == [b"a request"] * 2


def test_a_dump_that_always_changes_is_an_error() -> None:
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        ours.settimeout(10)
        for _time in range(20):
            kernel.send(message(3, flags=INTERRUPTED))
        with pytest.raises(OSError, match="kept changing"):
            netlink.ask(ours, b"a request")


# Words of bits, and names of the bits that pyroute2 knows.
MODES: Dict[str, Any] = {
    "slow": ([0b11, 0], ["1000baseT/Full", "10000baseT/Full"]),
    "fast": ([0b1, 0b1], ["100000baseKR4/Full", "400000baseCR4/Full"]),
    "newer": ([0b111, 0], ["1000baseT/Full", "10000baseT/Full"]),
    "odd": ([0b1, 0], ["TP"]),
    "none": ([0, 0], []),
}


def routed(*attributes: bytes, family: int = socket.AF_INET, length: int = 24, kind: int = 1, flags: int = 0) -> bytes:
    """An answer to RTM_GETROUTE, of table 254."""
    body = struct.pack("=BBBBBBBBI", family, length, 0, 0, 254, 0, 0, kind, flags) + b"".join(attributes)
    return message(24, body)


# RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC, RTA_VIA
TO, OUT, GATEWAY = attribute(1, bytes([10, 0, 0, 0])), attribute(4, struct.pack("=I", 5)), attribute(5, bytes(4))
SOURCE, VIA = attribute(7, bytes([10, 0, 0, 7])), attribute(18, bytes(6))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (routed(TO, OUT, SOURCE), (5, NetdevRoute("10.0.0.0/24", 254, "10.0.0.7"))),
        # Without a destination it is for all.
        (routed(OUT, length=0), (5, NetdevRoute("0.0.0.0/0", 254))),
        (routed(OUT, length=0, family=socket.AF_INET6), (5, NetdevRoute("::/0", 254))),
        (routed(TO, OUT, GATEWAY), None),
        (routed(TO, OUT, VIA), None),
        (routed(TO), None),
        (routed(TO, OUT, kind=2), None),
        (routed(TO, OUT, flags=0x200), None),
        (routed(TO, OUT, family=28), None),
    ],
)
def test_an_answer_about_a_route(raw: bytes, expected: Any) -> None:
    assert routes.interpret_route(raw) == expected


def ruled(*attributes: bytes, family: int = socket.AF_INET, length: int = 32, action: int = 1, flags: int = 0) -> bytes:
    """An answer to RTM_GETRULE, of table 100."""
    body = struct.pack("=BBBBBBBBI", family, 0, length, 0, 100, 0, 0, action, flags) + b"".join(attributes)
    return message(32, body)


# FRA_SRC
FROM = attribute(2, bytes([10, 0, 0, 7]))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (ruled(FROM), NetdevRule("10.0.0.7/32", 100)),
        # FRA_TABLE and FRA_DST
        (ruled(FROM, attribute(15, struct.pack("=I", 1001))), NetdevRule("10.0.0.7/32", 1001)),
        (ruled(FROM, attribute(1, bytes(4))), None),
        (ruled(length=0), None),
        (ruled(FROM, action=6), None),
        (ruled(FROM, flags=2), None),
        (ruled(FROM, family=28), None),
    ],
)
def test_an_answer_about_a_rule(raw: bytes, expected: Any) -> None:
    assert routes.interpret_rule(raw) == expected


class Driver:
    """What pyroute2 shows of ethtool."""

    def __init__(self, name: str) -> None:
        if name == "gone":
            raise OSError(errno.ENODEV, "no such device")
        self.own = MODES[name]

    def get_link_settings(self) -> str:
        return "settings"

    def get_link_mode_masks(self, settings: str) -> Any:
        assert settings == "settings"
        return self.own[0], [0], [0]

    def get_link_mode_bits(self, _masks: Any) -> Any:
        return iter([SimpleNamespace(name=name) for name in self.own[1]])


def test_the_highest_rate_of_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    library = SimpleNamespace(IoctlEthtool=Driver, EthtoolError=KeyError)
    monkeypatch.setattr(ethtool, "ethtool", lambda: library)
    # A driver with more modes than pyroute2 knows might have a faster one.
    names = ["gone", *MODES, "unknown"]
    assert ethtool.max_rates(names) == {"slow": 10.0, "fast": 400.0}
    ports = [Port(number, netdev=Netdev(name, "netlink")) for number, name in enumerate(("fast", "none"), 1)]
    ports += [Port(3), Port(4, netdev=Netdev("slow", "gid", present=False))]
    gather._add_max_rates([Hca("mlx5_0", ports=ports)])
    assert [port.max_rate_gbps for port in ports] == [400.0, None, None, None]
    monkeypatch.setattr(ethtool, "ethtool", lambda: None)
    assert ethtool.max_rates(names) == {}
