# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The leaf group of each node, on synthesised fabrics: by example, and what always holds (hypothesis)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check, expected, neighbours, report
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.leaf_groups import LeafGroups, leaf_groups, value
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric, PortView
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Site, rail_optimised

VALUE = re.compile("[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def found(site: Site, wanted: expected.Expected | None = None) -> LeafGroups:
    return leaf_groups(site.check(wanted))


def renamed(site: Site, names: Mapping[str, str]) -> LeafGroups:
    """The groups where switches call themselves otherwise."""
    links = [
        dataclasses.replace(link, name=names.get(link.name, link.name), peer=names.get(link.peer, link.peer))
        for link in site.links()
    ]
    fabric = Fabric(links, {})
    return leaf_groups(check.check(site.views(None, fabric), fabric))


def changed(site: Site, host: str, reason: str, *ports: str) -> LeafGroups:
    """The groups where nothing is known of some ports of a host, for this reason."""

    def unknown(view: PortView) -> PortView:
        if view.host != host or view.name not in ports:
            return view
        return dataclasses.replace(view, state=neighbours.UNKNOWN, reason=reason, neighbour=None)

    fabric = Fabric(site.links(), {})
    return leaf_groups(check.check([unknown(view) for view in site.views(None, fabric)], fabric))


def test_nodes_on_the_same_leaves_have_the_name_of_the_first_leaf() -> None:
    groups = found(rail_optimised(4, 10))
    assert set(groups.values.values()) == {"leaf-1", "leaf-5", "leaf-9", "leaf-13"}
    assert [host for host, leaf in groups.values.items() if leaf == "leaf-9"] == [
        f"h100-{number:03}" for number in range(21, 31)
    ]
    assert (groups.without, groups.unseen) == ({}, {})


def test_a_single_leaf_for_all_rails_is_a_group_by_itself() -> None:
    site = rail_optimised(2, 4, rails=1)
    assert set(found(site).values.values()) == {"leaf-1", "leaf-2"}


def test_nodes_with_wrong_cables_of_rails_have_none_and_are_named() -> None:
    site = rail_optimised(4, 10)
    site.move("h100-003", 2, "leaf-8")
    site.swap("h100-014", 0, 1)
    site.unplug("h100-030", 3)
    site.move("h100-008", 1, "leaf-1")
    groups = found(site)
    assert groups.without == {
        "h100-003": "mlx5_2: leaf-8/11, rail 2 of the other 9 nodes is on leaf-3",
        "h100-008": "mlx5_1: leaf-1/11, like mlx5_0, rail 1 of the other 9 nodes is on leaf-2",
        "h100-014": "mlx5_0, mlx5_1: swapped: mlx5_0 is on leaf-6/4, mlx5_1 on leaf-5/4",
        "h100-030": "mlx5_3: no link, rail 3 of the other 9 nodes is on leaf-12",
    }
    assert len(groups.values) == 36


def test_storage_ports_never_count() -> None:
    """All are on one switch, which would make one group of all nodes; one is on a leaf of rails by mistake."""
    site = rail_optimised(2, 6)
    right = found(site).values
    for host in site.hosts:
        site.move(host, 4, "stor-1")
    site.move("h100-001", 4, "leaf-5")
    assert [fault.kind for fault in site.check().faults] == [check.STORAGE]
    assert found(site).values == right


def test_a_node_between_two_groups_has_none_and_takes_it_from_nobody() -> None:
    site = rail_optimised(2, 6, storage=False)
    for host in ("h100-001", "h100-002"):
        for rail in (2, 3):
            site.move(host, rail, f"leaf-{rail + 5}")
    groups = found(site)
    assert set(groups.without) == {"h100-001", "h100-002"}
    assert set(groups.values.values()) == {"leaf-1", "leaf-5"}


def test_where_two_kinds_of_nodes_share_a_leaf_those_that_are_more_have_it() -> None:
    """Half of the rails of all nodes are on one leaf, the others on two."""
    site = rail_optimised(1, 10, rails=2, storage=False)
    for number in range(7, 11):
        site.move(f"h100-{number:03}", 1, "leaf-9")
    rows = expected.read(expected.written(site.views()), site.hosts, site.views(), "cabling.csv")
    groups = found(site, rows)
    assert set(groups.values.values()) == {"leaf-1"}
    assert groups.without == {
        f"h100-{number:03}": "leaf-1: other nodes there have their other rails on other leaves"
        for number in range(7, 11)
    }
    site.move("h100-006", 1, "leaf-9")
    rows = expected.read(expected.written(site.views()), site.hosts, site.views(), "cabling.csv")
    assert found(site, rows).values == {}


def test_nodes_with_fewer_rails_are_in_the_group_of_the_leaves_that_they_are_on() -> None:
    site = rail_optimised(1, 6, storage=False)
    for host in site.hosts[:3]:
        del site.cables[host, 2], site.cables[host, 3]
    assert found(site).values == dict.fromkeys(site.hosts, "leaf-1")


def test_the_wrong_port_of_the_right_leaf_changes_nothing() -> None:
    site = rail_optimised(2, 4)
    rows = expected.read(expected.written(site.views()), site.hosts, site.views(), "cabling.csv")
    site.swap("h100-001", 3, 3, "h100-002")
    assert {fault.kind for fault in site.check(rows).faults} == {check.WRONG_PORT}
    assert found(site, rows).values == found(rail_optimised(2, 4)).values


def test_a_nic_in_a_pod_leaves_what_was_known() -> None:
    groups = changed(rail_optimised(2, 4), "h100-002", neighbours.IN_POD, "mlx5_0", "mlx5_1")
    assert groups.unseen == {"h100-002": "mlx5_0: the NIC is in a pod; mlx5_1: the NIC is in a pod"}
    assert "h100-002" not in {**groups.values, **groups.without}


def test_any_other_reason_why_a_rail_is_unknown_leaves_nothing() -> None:
    groups = changed(rail_optimised(2, 4), "h100-002", neighbours.LLDP_STOPPED, "mlx5_1")
    assert groups.without == {"h100-002": "mlx5_1: lldpd does not run"}
    assert found(rail_optimised(2, 1)).without["h100-001"].startswith("mlx5_0: no other node of the group is on")


def test_what_is_unknown_of_a_storage_port_does_not_matter() -> None:
    groups = changed(rail_optimised(2, 4), "h100-002", neighbours.LLDP_STOPPED, "mlx5_4")
    assert groups.values["h100-002"] == "leaf-1"


def test_a_host_without_facts_is_not_known_at_the_moment() -> None:
    site = rail_optimised(1, 4)
    fabric = Fabric(site.links(), {})
    groups = leaf_groups(check.check(site.views(None, fabric), fabric, silent=["h100-009"]))
    assert groups.unseen == {"h100-009": "the host has no facts"}


def test_hosts_that_are_cabled_to_each_other_have_no_leaf() -> None:
    site = rail_optimised(1, 4, rails=2, storage=False)
    guids = site.guids
    names = {guid: (host, f"mlx5_{port}") for (host, port), guid in guids.items()}
    links = [link for link in site.links() if link.guid not in (guids["h100-001", 1], guids["h100-002", 1])]
    pair = dataclasses.replace(site.links()[0], guid=guids["h100-001", 1], peer_guid=guids["h100-002", 1], peer_port=1)
    fabric = Fabric([*links, pair], names)
    groups = leaf_groups(check.check(site.views(None, fabric), fabric))
    assert set(groups.without) == {"h100-001", "h100-002"}


@pytest.mark.parametrize(
    ("name", "unique", "readable"),
    [
        ("leaf-4", True, "leaf-4"),
        ("Rack 12 / leaf#4", True, "Rack-12-leaf-4-"),
        ("leaf-4", False, "leaf-4-"),
        ("", True, "switch-"),
        ("\u30ea\u30fc\u30d5", True, "switch-"),
        ("x" * 64, True, "x" * 54 + "-"),
        ("-leaf", True, "leaf-"),
    ],
)
def test_names_that_are_no_values_stay_readable(name: str, unique: bool, readable: str) -> None:
    made = value(name, "0x1", unique)
    assert made.startswith(readable)
    assert VALUE.fullmatch(made)
    assert made == value(name, "0x1", unique)
    assert (made == name) == (readable == name) == (value(name, "0x2", unique) == made)


def test_switches_of_one_name_are_told_apart() -> None:
    """Unmanaged switches are all called by their model."""
    same = {f"leaf-{number}": "Quantum Mellanox Technologies" for number in range(1, 9)}
    values = renamed(rail_optimised(2, 4), same).values
    assert len(set(values.values())) == 2
    assert all(each.startswith("Quantum-Mellanox-Technologies-") for each in values.values())


@st.composite
def sites(draw: st.DrawFn) -> Site:
    site = rail_optimised(draw(st.integers(1, 3)), draw(st.integers(1, 6)), rails=draw(st.integers(1, 3)))
    hosts, switches = site.hosts, site.switches
    for host, port in draw(st.lists(st.tuples(st.sampled_from(hosts), st.integers(0, site.rails)), max_size=6)):
        if (host, port) in site.cables:
            if draw(st.booleans()):
                site.move(host, port, draw(st.sampled_from(switches)))
            else:
                site.unplug(host, port)
    return site


@settings(max_examples=200, deadline=None)
@given(sites(), st.randoms(use_true_random=False))
def test_what_always_holds(site: Site, random: object) -> None:
    groups = found(site)
    assert sorted([*groups.values, *groups.without, *groups.unseen]) == sorted(site.hosts)
    leaves = {
        host: {site.cables[host, rail][0] for rail in range(site.rails) if (host, rail) in site.cables}
        for host in site.hosts
    }
    for host, own in groups.values.items():
        assert VALUE.fullmatch(own)
        for other, its in groups.values.items():
            if own != its:
                # Nodes of two groups have no leaf in common.
                assert not leaves[host] & leaves[other]
    # Every node of a group is on leaves that one of them has all of.
    for name in set(groups.values.values()):
        of_group = [leaves[host] for host, own in groups.values.items() if own == name]
        assert set().union(*of_group) in of_group
    views = site.views()
    random.shuffle(views)  # type: ignore[attr-defined]
    again = leaf_groups(check.check(views, Fabric(site.links(), {})))
    assert (again.values, set(again.without)) == (groups.values, set(groups.without))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.text(max_size=20), st.booleans())
def test_a_value_is_always_one_of_a_label(name: str, identity: str, unique: bool) -> None:
    assert VALUE.fullmatch(value(name, identity, unique))


@pytest.mark.parametrize("code", [neighbours.LLDP_NOT_ASKED, neighbours.FABRIC_UNREAD])
def test_what_nobody_looked_at_leaves_what_was_known(code: str) -> None:
    groups = changed(rail_optimised(2, 4), "h100-002", code, *(f"mlx5_{rail}" for rail in range(5)))
    assert set(groups.unseen) == {"h100-002"}
    assert groups.without == {}


def test_a_run_with_a_part_of_the_fleet_says_nothing_of_groups() -> None:
    """A node alone shares no leaf with anybody, and names of switches look unique."""
    site = rail_optimised(2, 4)
    cabling = site.check(hosts=["h100-003"])
    plain = report.plain(cabling, whole=False)["leaf_groups"]
    assert plain == {"values": {}, "without": {}, "unseen": {"h100-003": "cabling ran with --limit"}}
    assert list(leaf_groups(cabling).without) == ["h100-003"]
