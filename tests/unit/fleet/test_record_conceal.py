# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Replacements for identifiers (``tests/fleet/recorder``): consistent, and structured as the originals are."""

from __future__ import annotations

import ipaddress
import random

import pytest
import record
from nodetree.tree import Tree
from recorder import audit, binary
from recorder.conceal import Conceal
from recorder.ip_addresses import Ipv4, TooManyAddressesError

assert record
Network = ipaddress.IPv4Network


@pytest.fixture(name="conceal")
def make_conceal() -> Conceal:
    return Conceal([Network("10.4.0.0/16"), Network("10.9.1.0/24")])


def test_networks_stay_networks_of_the_same_size() -> None:
    chance = random.Random(36)
    networks = {Network(((10 << 24 | chance.getrandbits(24)) >> 8 << 8, 24)) for _each in range(40)}
    networks |= {
        Network("172.16.0.0/12"),
        Network("172.20.0.0/16"),
        Network("192.168.4.0/30"),
        Network("192.168.4.4/31"),
    }
    ipv4 = Ipv4(networks)
    moved = {}
    for network in networks:
        first, last = ipv4.replace(network[0]), ipv4.replace(network[-1])
        moved[network] = Network((int(first), network.prefixlen))
        assert last == moved[network][-1]
    for one in networks:
        for other in networks:
            assert one.overlaps(other) == moved[one].overlaps(moved[other])
    ranges = [Network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4")]
    assert all(any(new.subnet_of(space) for space in ranges) for new in moved.values())


def test_addresses_that_all_machines_have_stay() -> None:
    for text in ("0.0.0.0", "127.0.0.1", "255.255.252.0", "255.255.255.255", "224.0.0.251"):
        assert str(Ipv4().replace(ipaddress.IPv4Address(text))) == text
    assert Ipv4().replace(ipaddress.IPv4Address("10.1.2.3")) == ipaddress.IPv4Address("192.0.2.0")


def test_more_addresses_than_there_is_room_for() -> None:
    with pytest.raises(TooManyAddressesError, match="no room for a replacement of a network with 33554432 addresses"):
        Ipv4([Network((number << 25, 7)) for number in range(1, 12)])


@pytest.mark.parametrize(
    ("spelling", "other"),
    [
        ("b8:59:9f:4a:5b:6c", "b8:59:9f:00:00:1c"),
        ("B8-59-9F-4A-5B-6C", "b8-59-9f-00-00-1c"),
        ("ba59:9fff:fe4a:5b6c", "ba59:9fff:fe00:001c"),
        ("b859:9f03:004a:5b6c", "b859:9f03:0000:001c"),
        ("b8-59-9f-ff-ff-4a-5b-6c", "b8-59-9f-ff-ff-00-00-1c"),
        ("0xb8599f03004a5b6c", "0xb8599f030000001c"),
        ("fe80::ba59:9fff:fe4a:5b6c/64", "fe80::ba59:9fff:fe00:1c/64"),
        ("fe80:0000:0000:0000:b859:9f03:004a:5b6c", "fe80:0000:0000:0000:b859:9f03:0000:001c"),
        ("enxb8599f4a5b6c", "enxb8599f00001c"),
        (
            "80:00:00:28:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:4a:5b:6c",
            "80:00:00:28:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:00:00:1c",
        ),
    ],
)
def test_what_is_made_of_one_mac_address_is_made_of_its_replacement(
    conceal: Conceal, spelling: str, other: str
) -> None:
    conceal.know_macs([bytes.fromhex("b8599f4a5b6c")])
    assert conceal.text(f"a {spelling} b") == f"a {other} b"
    # A port's neighbour stays its neighbour, another card's is another one.
    assert conceal.text("b8:59:9f:4a:5b:6d") == "b8:59:9f:00:00:1d"
    assert conceal.text("b8:59:9f:4a:5b:7c") == "b8:59:9f:00:00:2c"


@pytest.mark.parametrize(
    "text",
    [
        "00:00:00:00:00:00",
        "ff:ff:ff:ff:ff:ff",
        "01:00:5e:00:00:01",
        "0000:c1:00.0",
        "pci0000:c1",
        "16.35.2000",
        "231.2.63.0",
        "fe80:0000:0000:0000",
        "::1/128",
        "ff02::1",
        "MT_0000000223",
        "0-47,96-143",
        "00000000-0000-0000-0000-000000000000",
        "0000:0000:0000:0000:0000:0000:0000:0000",
    ],
)
def test_what_is_no_identifier_stays(conceal: Conceal, text: str) -> None:
    assert conceal.text(text) == text


def test_addresses_in_every_form_agree(conceal: Conceal) -> None:
    new = conceal.text("10.4.3.17/16", every_quad=True)
    assert new == "240.0.3.17/16"
    assert conceal.text("0000:0000:0000:0000:0000:ffff:0a04:0311") == "0000:0000:0000:0000:0000:ffff:f000:0311"
    # It is known from now on, and four numbers with dots that are not known may be a version.
    assert conceal.text("10.4.3.17 and 10.4.3.18.") == "240.0.3.17 and 10.4.3.18."
    assert conceal.text("2a01:4f8:1:2::7 fd00:1:2:3:4:5:6:7") == "2001:db8:1:2::7 2001:db8:2:3:0:1:0:17"
    assert conceal.text("2a01:4f8:1:9::7") == "2001:db8:1:9::7"


def test_software_devices_have_no_vendor_to_keep(conceal: Conceal) -> None:
    # Docker's addresses have an IPv4 address in them.
    assert conceal.text("02:42:ac:11:00:02") == "02:00:00:00:00:12"
    assert conceal.text("GPU-6b1d5c2e-1f0a-4b8e-9c3d-2a1b0c9d8e7f") == "GPU-00000000-0000-4000-8000-000000000001"


def test_names_of_hosts(conceal: Conceal) -> None:
    conceal.know({"node1": "n", "node1.corp.test": "n", "corp.test": "example.net", "kumquat-17": "k"})
    assert conceal.text("node1 node1.corp.test node10 my-node1 node1: Node1") == "n n node10 my-node1 n: n"
    assert conceal.text("xkumquat-17y") == "xky"
    assert conceal.path("sys/devices/system/node/node1/cpulist") == "sys/devices/system/node/node1/cpulist"
    assert conceal.path("sys/class/net/kumquat-17") == "sys/class/net/k"


def test_vital_product_data_keeps_what_all_cards_of_a_model_have() -> None:
    fields = [(b"PN", b"MCX75310"), (b"SN", b"MT2233T01234"), (b"V3", b"f00dbabe00112233")]
    fields += [(b"VA", b"MLX:MN=MLNX:UUID=V3:PCI=V0:MODL=MCX7:SMDL=SW_MNG")]
    body = b"".join(name + bytes([len(value)]) + value for name, value in fields) + b"RV\x03"
    head = b"\x82\x04\x00Card" + b"\x90" + (len(body) + 3).to_bytes(2, "little")
    whole = head + body + bytes([-sum(head + body) & 0xFF]) + b"\0\0"
    data, serials = binary.vital_product_data(whole + b"\x78" + b"secret") or (b"", [])
    assert serials == ["MT2233T01234"]
    assert len(data) == len(whole) + 1
    for kept in (b"Card", b"PN\x08MCX75310", b"SMDL=SW_MNG", b"MODL=MCX7", b"SN\x0cXXXXXXXXXXXX", b"V3\x10XXXX"):
        assert kept in data
    assert sum(data[: len(head + body) + 1]) & 0xFF == 0
    assert binary.vital_product_data(b"\xff" * 64) is None
    assert binary.vital_product_data(whole[:40]) is None


def test_configuration_space_keeps_known_registers_only(conceal: Conceal) -> None:
    space = bytearray(4096)
    space[0:4], space[0x34] = b"\xb3\x15\x21\x10", 0x40
    # A vendor's own capability, then PCI Express.
    space[0x40:0x48], space[0x60:0x64] = b"\x09\x60\x08SECRT", b"\x10\x00\x42\x00"
    space[0x100:0x10C] = (0x0003 | 1 << 16 | 0x140 << 20).to_bytes(4, "little") + 0xB8599FFFFF4A5B6C.to_bytes(
        8, "little"
    )
    space[0x140:0x148] = (0x000D | 1 << 16).to_bytes(4, "little") + b"\x1f\x00\x1d\x00"
    space[0x200:0x206] = b"SECRET"
    new = binary.config_space(bytes(space), conceal)
    assert (len(new), b"SEC" in new) == (4096, False)
    assert new[0:0x40] == space[0:0x40]
    assert (new[0x40:0x42], new[0x60:0x64]) == (b"\x09\x60", b"\x10\x00\x42\x00")
    assert int.from_bytes(new[0x104:0x10C], "little") == 0xB8599FFFFF00001C
    assert new[0x140:0x148] == space[0x140:0x148]
    # In circles, and cut.
    space[0x102:0x104] = (0x100 << 4 | 1).to_bytes(2, "little")
    assert len(binary.config_space(bytes(space), conceal)) == 4096
    assert binary.config_space(bytes(space[:64]), conceal) == bytes(space[:64])


@pytest.mark.parametrize("place", ["content", "name", "target", "directory"])
@pytest.mark.parametrize(
    "secret", ["b8599f4a5b6c", "10.4.3.17", "kumquat-17", "b859:9f03:004a:5b6c", "2a01:04f8:0001:0002"]
)
def test_the_audit_looks_everywhere(conceal: Conceal, secret: str, place: str) -> None:
    conceal.know({"kumquat-17": "k"})
    conceal.text("b8:59:9f:4a:5b:6c 0xb8599f03004a5b6c 10.4.3.17 2a01:4f8:1:2::7", every_quad=True)
    out = Tree()
    out.file("sys/clean", "10.4.3.1 b8:59:9f:4a:5b:60")
    assert audit.found(out, conceal) == []
    if place == "content":
        out.file("sys/file", f"x {secret.upper()}")
    elif place == "name":
        out.file(f"sys/{secret}", "")
    elif place == "target":
        out.raw_link("sys/link", f"../{secret}")
    else:
        out.directory(f"sys/{secret}")
    assert len(audit.found(out, conceal)) == 1
