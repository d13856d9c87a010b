# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Addresses from a host's variables: by example, and what holds for every fleet (hypothesis)."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.addresses import AddressIntent
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems

PROFILE = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def planned(host: str, **wanted: Any) -> dict[int, str]:
    return {rail: str(address) for rail, address in addresses.addresses(host, AddressIntent(**wanted)).items()}


@pytest.mark.parametrize(
    ("host", "wanted", "expected"),
    [
        ("h100-07", {"subnet": "10.0.0.0/16"}, {0: "10.0.0.7/16"}),
        # Three rails are spread as four would be: a fourth one moves nobody.
        ("n7", {"subnet": "10.0.0.0/16", "rails": 3}, {0: "10.0.0.7/16", 1: "10.0.64.7/16", 2: "10.0.128.7/16"}),
        ("n300", {"subnet": "10.0.0.0/16", "rails": 2}, {0: "10.0.1.44/16", 1: "10.0.129.44/16"}),
        ("n7", {"rail_subnets": ["10.1.0.0/24", "fd00:2::/64"]}, {0: "10.1.0.7/24", 1: "fd00:2::7/64"}),
        ("n7", {"subnet": "fd00::/62", "rails": 2}, {0: "fd00::7/62", 1: "fd00:0:0:2::7/62"}),
        # IPv6 has no broadcast address.
        ("n3", {"subnet": "fd00::/126"}, {0: "fd00::3/126"}),
        ("n2", {"subnet": "10.0.0.0/30"}, {0: "10.0.0.2/30"}),
        ("rack2-n07.example.com", {"subnet": "10.0.0.0/24"}, {0: "10.0.0.7/24"}),
        ("n7", {"subnet": "10.0.0.0/24", "host_number": 9}, {0: "10.0.0.9/24"}),
        (
            "gpu",
            {"addresses": {0: "10.0.0.9/24", "2": "10.2.0.9/24"}, "rails": 3},
            {0: "10.0.0.9/24", 2: "10.2.0.9/24"},
        ),
        (
            "n7",
            {"subnet": "10.0.0.0/24", "rails": 2, "addresses": {1: "10.0.0.200/24"}},
            {0: "10.0.0.7/24", 1: "10.0.0.200/24"},
        ),
        ("n7", {"subnet": "10.0.0.0/24", "expected": 2}, {0: "10.0.0.7/24", 1: "10.0.0.135/24"}),
        # Both addresses of a point-to-point link are hosts' (RFC 3021, RFC 6164), and so is the only one of a /32.
        ("n7", {"addresses": {0: "10.0.0.6/31", 1: "10.0.0.9/31"}, "rails": 2}, {0: "10.0.0.6/31", 1: "10.0.0.9/31"}),
        ("n7", {"addresses": {0: "fd00::/127", 1: "fd00::3/127"}, "rails": 2}, {0: "fd00::/127", 1: "fd00::3/127"}),
        ("n7", {"addresses": {0: "10.0.0.6/32", 1: "fd00::6/128"}, "rails": 2}, {0: "10.0.0.6/32", 1: "fd00::6/128"}),
        ("n7", {}, {}),
    ],
)
def test_plan(host: str, wanted: dict[str, Any], expected: dict[int, str]) -> None:
    assert planned(host, **wanted) == expected


@pytest.mark.parametrize(
    ("host", "wanted", "message"),
    [
        ("n3", {"subnet": "10.0.0.0/30"}, "room for host numbers 1 to 2 in it, not for 3: a /29 is large enough"),
        ("n4", {"subnet": "fd00::/126"}, "room for host numbers 1 to 3 in it, not for 4: a /125 is large enough"),
        (
            "n31",
            {"subnet": "10.0.0.0/24", "rails": 5},
            "1 to 30 in each of 8 equal blocks .5 rails., not for 31",
        ),
        ("n1", {"subnet": "10.0.0.0/30", "rails": 4}, "there is no room for hosts in each of 4 equal blocks"),
        ("n1", {"subnet": "10.0.0.0/31", "rails": 8}, "there is no room for hosts in each of 8 equal blocks"),
        (
            "n7",
            {"rail_subnets": ["10.0.0.0/24", "10.0.1.0/29"]},
            r"subnets\[1\] is '10.0.1.0/29': .* 1 to 6 in it",
        ),
        ("n99999999999999999", {"subnet": "10.0.0.0/8"}, "no network is large enough"),
        (
            "gpu",
            {"subnet": "10.0.0.0/8"},
            "rdma_links_host_number is not set, and this host name does not end in a number",
        ),
        ("n0", {"subnet": "10.0.0.0/8"}, "the number in this name is 0"),
        ("192.0.2.7", {"subnet": "10.0.0.0/8"}, "this host is named by its address, which is not its number"),
        ("fd00::17", {"subnet": "10.0.0.0/8"}, "this host is named by its address, which is not its number"),
        ("n7", {"subnet": "fe80::%eth0/64"}, "must be a network in CIDR notation"),
        ("n7", {"subnet": "10.0.0.0/255.0.0.0"}, "must be a network in CIDR notation"),
        ("n7", {"subnet": "0.0.0.0/0"}, "must be a unicast one"),
        ("n7", {"subnet": "128.0.0.0/1"}, "must be a unicast one"),
        ("n7", {"subnet": "127.0.0.0/8"}, "a loopback network"),
        (
            "n7",
            {"subnet": "10.0.0.0/24", "rails": 2, "addresses": {1: "10.0.0.7/24"}},
            r"rdma_links_addresses\[1\] is '10.0.0.7/24', which rail 0 gets as well",
        ),
        ("n7", {"addresses": {0: "10.0.0.7/24", 1: "10.0.0.7/24"}, "rails": 2}, r"addresses\[1\] .* same as rail 0's"),
        ("n7", {"addresses": {0: "10.0.0.4/30"}}, "which is the network 10.0.0.4/30 itself"),
        ("n7", {"addresses": {0: "10.0.0.7/30"}}, "which is the broadcast address of 10.0.0.4/30"),
        ("n7", {"addresses": {0: "fd00::4/126"}}, "which is the network fd00::4/126 itself"),
        ("n7", {"expected": -1}, "rdma_discover_expect_hcas is -1, it must be 0 to 1024"),
        ("n7", {"expected": -1, "rails": 2}, "rdma_discover_expect_hcas is -1, it must be 0 to 1024"),
    ],
)
def test_refusal(host: str, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        planned(host, **wanted)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[AddressIntent, list[int]]:
    """A subnet or rail subnets with room for the numbers of some hosts."""
    rails = draw(st.integers(1, 16))
    version = draw(st.sampled_from([4, 6]))
    bits, width = draw(st.integers(2, 12)), {4: 32, 6: 128}[version]
    numbers = draw(st.lists(st.integers(1, (1 << bits) - 2), min_size=1, max_size=12, unique=True))
    if draw(st.booleans()):
        prefix = width - bits - (rails - 1).bit_length()
        base = draw(st.integers(0x0A000000 >> (width - prefix), 0x0AFFFFFF >> (width - prefix))) if version == 4 else 5
        return AddressIntent(subnet=_text(version, base, prefix), rails=rails), numbers
    first = (0x0A000000 >> bits) if version == 4 else 0xFD << (120 - bits)
    return AddressIntent(rail_subnets=[_text(version, first + rail, width - bits) for rail in range(rails)]), numbers


def _text(version: int, position: int, prefix: int) -> str:
    if version == 4:
        return str(ipaddress.IPv4Network((position << (32 - prefix), prefix)))
    return str(ipaddress.IPv6Network(((position << (128 - prefix)) | (0xFD << 120 if position == 5 else 0), prefix)))


@PROFILE
@given(fleet=fleets())
def test_addresses_are_unique_usable_and_in_their_subnet(fleet: tuple[AddressIntent, list[int]]) -> None:
    wanted, numbers = fleet
    seen: dict[Any, tuple[int, int]] = {}
    for number in numbers:
        found = addresses.addresses(f"n{number}", wanted)
        assert list(found) == list(range(addresses.number_of_rails(wanted)))
        for rail, address in found.items():
            whole = ipaddress.ip_network(wanted.subnet or wanted.rail_subnets[rail])
            assert address.network == whole
            assert address.ip != whole.network_address
            assert address.version == 6 or address.ip != whole.broadcast_address
            assert address.ip not in seen, f"{seen.get(address.ip)} and {(number, rail)}"
            seen[address.ip] = (number, rail)


@PROFILE
@given(fleet=fleets(), data=st.data())
def test_rails_up_to_a_power_of_two_move_no_address(
    fleet: tuple[AddressIntent, list[int]], data: st.DataObject
) -> None:
    wanted, numbers = fleet
    assume(wanted.subnet is not None)
    rails = addresses.number_of_rails(wanted)
    more = data.draw(st.integers(rails, 1 << (rails - 1).bit_length()))
    before = addresses.addresses(f"n{numbers[0]}", wanted)
    after = addresses.addresses(f"n{numbers[0]}", AddressIntent(subnet=wanted.subnet, rails=more))
    assert {rail: after[rail] for rail in before} == before


@PROFILE
@given(
    subnet=st.builds("10.{}.0.0/{}".format, st.integers(0, 255), st.integers(16, 32)),
    rails=st.integers(1, 64),
    number=st.integers(1, 70000),
)
def test_a_number_without_room_is_told_a_network_that_has_it(subnet: str, rails: int, number: int) -> None:
    wanted = AddressIntent(subnet=subnet, rails=rails, host_number=number)
    try:
        addresses.addresses("n", wanted)
    except PlanError as error:
        prefix = int(str(error).split("a /")[1].split(" ")[0])
        assume(prefix >= 8)
        planned("n", subnet=f"10.0.0.0/{prefix}", rails=rails, host_number=number)
        with pytest.raises(PlanError, match="not for"):
            planned("n", subnet=f"10.0.0.0/{prefix + 1}", rails=rails, host_number=number)


def test_interface_identifiers_of_nics() -> None:
    # The example of RFC 2464, section 4, and an IPoIB address, which ends in the port's GUID (RFC 4391).
    assert addresses.interface_id(bytes.fromhex("3456789abcde")) == 0x365678FFFE9ABCDE
    assert addresses.interface_id(bytes.fromhex("80000a49fe80000000000000b8599f03003b2b88")) == 0xB8599F03003B2B88
    assert addresses.interface_id(bytes.fromhex("b8599f03003b2b88")) == 0xB8599F03003B2B88


def test_without_netaddr_there_is_one_message_for_all_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "netaddr", None)
    hostvars: dict[str, dict[str, Any]] = {f"n{number}": {"rdma_links_subnet": "10.213.0.0/16"} for number in (1, 2)}
    (problem,) = prepare_problems({}, list(hostvars), hostvars)
    assert problem == (
        "n[1-2]: netaddr cannot be imported: Python packages are missing where Ansible runs: netaddr."
        f" Run {sys.executable} -m pip install netaddr"
    )
    assert prepare_problems({}, ["n1"], {"n1": {}}) == []
