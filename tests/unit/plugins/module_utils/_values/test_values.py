# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The rules for values: what they read, and what they refuse. On nodes as on the controller."""

from __future__ import annotations

import ipaddress
from typing import Any, Callable, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import (
    address,
    duration,
    kernel_module,
    mac,
    memlock,
    mtu,
    names,
    pci,
    pkey,
    quantity,
    vlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", 30 * 10**9),
        ("1m30s", 90 * 10**9),
        ("1.5h", 5400 * 10**9),
        ("200ms", 200 * 10**6),
        (".5s", 5 * 10**8),
        ("1.s", 10**9),
        ("7\u00b5s", 7000),
        ("7\u03bcs", 7000),
        ("0", 0),
        ("0.1ns", 0),
        # Not a float's rounding.
        ("9007199254740993ns", 9007199254740993),
        ("9223372036854775807ns", (1 << 63) - 1),
        ("9223372036854775808ns", None),
        ("2562048h", None),
        ("30", None),
        ("", None),
        ("s", None),
        (".s", None),
        ("-1s", None),
        ("1 s", None),
        ("30s\n", None),
        ("\u0663s", None),
        (30, None),
    ],
)
def test_duration(text: Any, expected: Optional[int]) -> None:
    assert duration.nanoseconds(text) == expected


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (pci.address, "1A:00.0", "0000:1a:00.0"),
        (pci.address, "10000:01:1f.7", "10000:01:1f.7"),
        (pkey.full, "0x1", 0x8001),
        (pkey.full, "0X8001", 0x8001),
        (pkey.any_full, "0x7fff", 0xFFFF),
        (lambda text: str(address.interface(text)), "FD00:0::1/64", "fd00::1/64"),
        (lambda text: str(address.interface(text)), "10.0.0.1/31", "10.0.0.1/31"),
        (lambda text: str(address.interface(text)), "10.0.0.0/31", "10.0.0.0/31"),
        (lambda text: str(address.network(text)), "10.0.0.0/8", "10.0.0.0/8"),
        (memlock.limit, "unlimited", 2**64 - 1),
        (memlock.limit, "65536", 65536),
        (lambda text: memlock.limit(text, 1024), "64", 65536),
        (duration.of_nri, "1h", 3600 * 10**9),
        (duration.rollback_seconds, 10, 10),
        (duration.rollback_seconds, 600, 600),
        (vlan.check, 4094, 4094),
        (lambda value: mtu.check(value, "InfiniBand"), 4092, None),
        (lambda value: mtu.check(value, "infiniband", "connected"), 65520, None),
        (lambda value: mtu.check(value, "Ethernet"), 9216, None),
        (lambda value: mtu.check(value, None), 65520, None),
        (names.interface, "rdma-rail0.4094a", RefusedError),
        (names.interface, "rdma-rail0.4094", None),
        (names.interface, "..", RefusedError),
    ],
)
def test_what_a_rule_reads(rule: Callable[[Any], Any], value: Any, expected: Any) -> None:
    if expected is RefusedError:
        with pytest.raises(RefusedError):
            rule(value)
    else:
        assert rule(value) == expected


@pytest.mark.parametrize(
    ("rule", "value", "why"),
    [
        (pci.address, "1a:00", "a PCI address like"),
        (pci.address, "0000:1a:20.0", "a PCI address like"),
        (pci.address, "0000:1a:00.8", "a PCI address like"),
        (pkey.full, "0x8000", "is not a partition"),
        (pkey.full, "0xffff", "the default partition"),
        (pkey.any_full, "0x0", "is not a partition"),
        (pkey.full, "8001", "like '0x1f41' or '0x8001'"),
        (pkey.full, "0x18001", "in hexadecimal"),
        (address.network, "10.0.0.0/024", "in CIDR notation"),
        (address.network, "10.0.0.0/255.0.0.0", "in CIDR notation"),
        (address.network, "10.0.0.1/24", "host bits must be zero"),
        (address.network, "::ffff:10.0.0.0/120", "an IPv4-mapped network"),
        (address.network, "224.0.0.0/8", "a multicast network"),
        (address.interface, "fe80::1%eth0/64", "with prefix length"),
        (address.interface, "10.0.0.1", "with prefix length"),
        (address.interface, "10.0.0.0/24", "which is the network"),
        (address.interface, "10.0.0.255/24", "the broadcast address"),
        (address.interface, "::ffff:10.0.0.7/120", "an IPv4-mapped address"),
        (memlock.limit, "65535", "number of bytes from 65536"),
        (memlock.limit, str(2**64 - 1), "number of bytes"),
        (lambda text: memlock.limit(text, 1024), "63", "number of KiB from 64"),
        (memlock.limit, "\u0666\u0665\u0665\u0663\u0667", "number of bytes"),
        (duration.of_nri, "999ms", "with its unit, .* from 1s to 1h"),
        (duration.of_nri, "2h", "with its unit, .* from 1s to 1h"),
        (duration.of_nri, "soon", "with its unit"),
        (duration.rollback_seconds, 9, "10 to 600 seconds"),
        (duration.rollback_seconds, 601, "10 to 600 seconds"),
        (vlan.check, 0, "1 to 4094"),
        (lambda value: mtu.check(value, "InfiniBand"), 9000, "1280 to 4092 .* 65520 needs connected mode"),
        (lambda value: mtu.check(value, "Ethernet"), 9217, "1280 to 9216 on Ethernet"),
        (lambda value: mtu.check(value, None), 1279, "1280 to 9216 on Ethernet, to 4092 on InfiniBand"),
    ],
)
def test_what_a_rule_refuses(rule: Callable[[Any], Any], value: Any, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        rule(value)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (names.is_label, "a-1"),
        (names.is_subdomain, "gpu.nvidia.com"),
        (names.is_extended_resource, "nvidia.com/hostdev"),
        (kernel_module.is_name, "ib_core"),
        (kernel_module.is_parameter, "netns_mode"),
        (kernel_module.is_parameter_value, "1,2"),
        (names.is_rdma_device, "mlx5_0"),
        (names.is_file, "rail0.conf"),
        (pci.is_address, "0000:1a:00.0"),
        (address.prefix, "10.0.0.1/24"),
        (address.address, "10.0.0.1"),
        (mac.octets, "02:00:00:00:00:01"),
        (quantity.quantity, "80Gi"),
    ],
)
def test_a_line_break_at_the_end_is_never_part_of_a_value(rule: Callable[[str], Any], text: str) -> None:
    assert rule(text)
    assert not rule(text + "\n")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (pci.address, "0000:1a:00.0"),
        (pkey.full, "0x8001"),
        (address.network, "10.0.0.0/31"),
        (address.interface, "10.0.0.0/31"),
        (memlock.limit, "65536"),
    ],
)
def test_nor_of_a_value_that_is_read(rule: Callable[[str], Any], text: str) -> None:
    assert rule(text) is not None
    with pytest.raises(RefusedError):
        rule(text + "\n")


def test_pci_addresses_are_ordered_as_hexadecimal_numbers() -> None:
    found = ["0001:00:00.0", "0000:9f:00.0", "10000:01:00.0", "0000:3f:00.0", "0000:50:00.0"]
    assert sorted(found, key=pci.order) == [found[3], found[4], found[1], found[0], found[2]]


def test_mac_addresses_of_all_lengths() -> None:
    assert mac.octets("02-00-00-00-00-0A") == b"\x02\0\0\0\0\x0a"
    assert mac.written(b"\x02\0\0\0\0\x0a") == "02:00:00:00:00:0a"
    assert mac.octets(":".join(["00"] * 20)) == bytes(20)
    assert mac.octets(":".join(["00"] * 8), (mac.ETHERNET, mac.IPOIB)) is None
    assert mac.octets("02:00-00:00:00:01") is None
    assert mac.octets("020000000001") is None


def test_an_address_is_the_same_however_it_is_written() -> None:
    mapped = ipaddress.ip_interface("::ffff:10.0.0.7/120")
    assert address.plain(mapped) == address.plain(ipaddress.ip_interface("10.0.0.7/24"))
    assert address.plain(ipaddress.ip_address("fd00::1")) == ipaddress.ip_address("fd00::1")
