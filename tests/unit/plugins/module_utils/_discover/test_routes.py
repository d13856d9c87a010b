# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Routes and rules from answers of rtnetlink, recorded by tests/lab/record_routes.py (Linux 6.18, veth)."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink, routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.routes import DefaultHop
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import NetdevRoute, NetdevRule

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "rtnetlink"
_DONE = 3
RAIL0, RAIL1 = 100, 102


def recorded(name: str) -> List[bytes]:
    return [raw for kind, raw in netlink.split((FIXTURES / (name + ".bin")).read_bytes()) if kind != _DONE]


def test_routes_without_a_gateway_by_netdev_and_rules_by_source() -> None:
    found = routes.interpret(recorded("routes"), recorded("rules"))
    own, rules = routes.of_netdev(found, RAIL0, ["10.4.0.1/16", "fd00:4::1/64", "fe80::1/64"])
    assert own == [
        NetdevRoute("10.4.0.0/16", 100, "10.4.0.1"),
        NetdevRoute("10.4.0.0/16", 254, "10.4.0.1"),
        NetdevRoute("fd00:4::/64", 254),
        NetdevRoute("fe80::/64", 254),
    ]
    assert rules == [NetdevRule("10.4.0.1/32", 100)]
    # A table above 255 is in an attribute only.
    own, rules = routes.of_netdev(found, RAIL1, ["10.4.128.1/16"])
    assert own[-1] == NetdevRoute("10.4.0.0/16", 1001, "10.4.128.1")
    assert rules == [NetdevRule("10.4.128.1/32", 1001)]


def test_a_netdev_without_addresses_has_no_rules() -> None:
    found = routes.interpret(recorded("routes"), recorded("rules"))
    assert routes.of_netdev(found, 7, []) == ([], [])


def test_facts_have_a_bounded_number() -> None:
    many = [NetdevRoute(f"10.0.{number}.0/24", 254) for number in range(200)]
    own, _rules = routes.of_netdev(routes.Routing({1: many}), 1, [])
    assert len(own) == 64


def test_every_way_of_every_default_route() -> None:
    names = {RAIL0: "rail0", RAIL1: "rail1"}
    found = [routes.interpret_default(raw, names) for raw in recorded("defaults")]
    assert [hops for hops in found if hops is not None] == [
        [DefaultHop("rail0", "10.4.0.253", 100)],
        [DefaultHop("rail1", None, 253)],
        # The kernel's table of routes in procfs has the first of two ways only.
        [DefaultHop("rail0", "10.4.0.254", 254), DefaultHop("rail1", "fd00:5::254", 254)],
        [DefaultHop("rail1", "fd00:5::253", 1001)],
        [DefaultHop("rail0", "fd00:4::254", 254), DefaultHop("rail1", "fd00:5::254", 254)],
    ]


def test_a_default_route_by_way_of_a_netdev_that_is_not_known() -> None:
    every = recorded("defaults")
    with pytest.raises(LookupError):
        [routes.interpret_default(raw, {RAIL1: "rail1"}) for raw in every]


def test_a_default_route_by_nexthop_objects_alone() -> None:
    # As with nexthop_compat_mode 0: the object's number (RTA_NH_ID, 30), no netdev.
    raw = (
        bytes(16) + struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 0, 0, 1, 0) + struct.pack("=HHI", 8, 30, 1)
    )
    with pytest.raises(LookupError):
        routes.interpret_default(raw, {1: "lo"})


def test_a_recorded_node_is_not_this_machine(tmp_path: Path) -> None:
    assert routes.read(Tree(str(tmp_path))) is None
    assert routes.defaults(Tree(str(tmp_path))) is None


def test_the_running_kernel_is_asked() -> None:
    found = routes.read(Tree("/"))
    assert found is None or all(isinstance(index, int) for index in found.routes)
