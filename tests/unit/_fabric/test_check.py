# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which cables are wrong, on synthesised fabrics: each kind by example, and what always holds (hypothesis)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check, expected, neighbours, report, units
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Site, rail_optimised

HOSTS = [f"h100-{number:03}" for number in range(1, 41)]


def faults(site: Site, wanted: expected.Expected | None = None) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(fault.kind, fault.host, fault.ports) for fault in site.check(wanted).faults]


def lines(site: Site) -> list[str]:
    return [fault.line for fault in site.check().faults]


def wanted(site: Site) -> expected.Expected:
    """The cabling of a site as its CSV file."""
    return expected.read(expected.written(site.views()), site.hosts, site.views(), "cabling.csv")


def test_a_right_fabric_has_no_fault_and_nothing_unknown() -> None:
    found = rail_optimised(4, 10).check()
    assert (found.faults, found.unclear) == ([], [])


def wrong() -> Site:
    """40 nodes and 12 wrong cables of six kinds."""
    site = rail_optimised(4, 10)
    site.move("h100-003", 2, "leaf-8")
    site.move("h100-033", 1, "leaf-3")
    site.swap("h100-014", 0, 1)
    site.swap("h100-027", 2, 3)
    site.move("h100-008", 1, "leaf-1")
    site.move("h100-040", 3, "leaf-15")
    site.move("h100-021", 4, "leaf-9")
    site.move("h100-012", 4, "leaf-5")
    site.unplug("h100-030", 3)
    site.unplug("h100-005", 0)
    for index in (5, 22):
        site.uplinks[index] = (*site.uplinks[index][:2], 1)
    return site


ALL_OF_WRONG = [
    "h100-003 mlx5_2: leaf-8/11, rail 2 of the other 9 nodes is on leaf-3",
    "h100-005 mlx5_0: no link, rail 0 of the other 9 nodes is on leaf-1",
    "h100-008 mlx5_1: leaf-1/11, like mlx5_0, rail 1 of the other 9 nodes is on leaf-2",
    "h100-012 mlx5_4: leaf-5/11, a leaf of compute rails; mlx5_4 of the other 9 nodes is on stor-2",
    "h100-014 mlx5_0, mlx5_1: swapped: mlx5_0 is on leaf-6/4, mlx5_1 on leaf-5/4",
    "h100-021 mlx5_4: leaf-9/11, a leaf of compute rails; mlx5_4 of the other 9 nodes is on stor-3",
    "h100-027 mlx5_2, mlx5_3: swapped: mlx5_2 is on leaf-12/7, mlx5_3 on leaf-11/7",
    "h100-030 mlx5_3: no link, rail 3 of the other 9 nodes is on leaf-12",
    "h100-033 mlx5_1: leaf-3/3, rail 1 of the other 9 nodes is on leaf-14",
    "h100-040 mlx5_3: leaf-15/11, like mlx5_2, rail 3 of the other 9 nodes is on leaf-16",
    "leaf-3/61 to spine-2/3: 10 Gb/s (1X), most links between switches there have 40",
    "leaf-12/60 to spine-1/12: 10 Gb/s (1X), most links between switches there have 40",
]


def test_twelve_wrong_cables_of_six_kinds_are_named_and_nothing_else() -> None:
    assert lines(wrong()) == ALL_OF_WRONG


def test_the_expected_cabling_also_finds_the_wrong_port_of_the_right_leaf() -> None:
    right, site = wanted(rail_optimised(4, 10)), wrong()
    site.swap("h100-001", 3, 3, "h100-002")
    without, found = faults(site), faults(site, right)
    more = Counter(found) - Counter(without)
    assert more == Counter([(check.WRONG_PORT, host, ("mlx5_3",)) for host in ("h100-001", "h100-002")])
    assert Counter(without) <= Counter(found)


def test_a_majority_that_is_wrong_is_found_by_the_expected_cabling_only() -> None:
    site = rail_optimised(1, 4)
    right = wanted(site)
    for host in site.hosts[1:]:
        site.swap(host, 0, 1)
    assert faults(site) == [(check.SWAPPED, "h100-001", ("mlx5_0", "mlx5_1"))]
    assert [host for _kind, host, _ports in faults(site, right)] == site.hosts[1:]


@pytest.mark.parametrize("hosts", [2, 4])
def test_where_as_many_say_otherwise_nothing_is_decided(hosts: int) -> None:
    site = rail_optimised(1, hosts)
    for host in site.hosts[: hosts // 2]:
        site.swap(host, 0, 1)
    found = site.check()
    assert found.faults == []
    assert {(entry.code, entry.port) for entry in found.unclear} == {
        (check.NO_MAJORITY, "mlx5_0"),
        (check.NO_MAJORITY, "mlx5_1"),
    }
    assert "rail 0 of" in report.text(found, [])


def test_storage_ports_that_a_site_spreads_over_leaves_are_no_fault() -> None:
    site = rail_optimised(1, 10)
    for host in site.hosts[:4]:
        site.move(host, 4, "stor-9")
    found = site.check()
    assert (found.faults, len(found.unclear)) == ([], 10)


def test_a_node_on_leaves_of_its_own_is_unknown() -> None:
    site = rail_optimised(2, 4, storage=False)
    for rail in range(4):
        site.move("h100-003", rail, f"leaf-{20 + rail}")
    found = site.check()
    assert found.faults == []
    assert {(entry.host, entry.code) for entry in found.unclear} == {("h100-003", check.ALONE)}


def test_a_single_port_that_is_elsewhere_than_all_others() -> None:
    site = rail_optimised(1, 5, rails=1, storage=False)
    site.move("h100-002", 0, "leaf-7")
    assert lines(site) == ["h100-002 mlx5_0: leaf-7/1, rail 0 of the other 4 nodes is on leaf-1"]


def test_ports_that_no_node_has_connected_are_no_fault() -> None:
    site = rail_optimised(1, 4)
    for host in site.hosts:
        site.unplug(host, 3)
    assert faults(site) == []


def test_a_leaf_whose_uplinks_are_all_slow_is_as_built() -> None:
    site = rail_optimised(2, 4)
    site.uplinks = [(own, peer, 1 if own[0] == "leaf-2" else width) for own, peer, width in site.uplinks]
    assert faults(site) == []


def test_a_cable_from_node_to_node_is_no_leaf() -> None:
    site = rail_optimised(1, 4)
    views = site.views(fabric=Fabric(site.links(), {guid: end for end, guid in _owners(site).items()}))
    assert all(view.neighbour and view.neighbour.host is None for view in views)


def _owners(site: Site) -> dict[tuple[str, str], str]:
    return {(host, f"mlx5_{port}"): guid for (host, port), guid in site.guids.items()}


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_swapped_pair_is_always_named(data: st.DataObject) -> None:
    rails = data.draw(st.integers(2, 8))
    site = rail_optimised(
        data.draw(st.integers(1, 4)), data.draw(st.integers(3, 9)), rails, storage=data.draw(st.booleans())
    )
    host = data.draw(st.sampled_from(site.hosts))
    one, two = sorted(data.draw(st.lists(st.integers(0, rails - 1), min_size=2, max_size=2, unique=True)))
    site.swap(host, one, two)
    assert faults(site) == [(check.SWAPPED, host, (f"mlx5_{one}", f"mlx5_{two}"))]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_who_is_asked_first_changes_nothing(data: st.DataObject) -> None:
    """Nor do the names of hosts: what is found follows the cables."""
    site = rail_optimised(data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4)))
    ends = sorted(site.cables)
    for _move in range(data.draw(st.integers(0, 6))):
        site.move(*data.draw(st.sampled_from(ends)), data.draw(st.sampled_from(site.switches)))
    hosts = list(site.hosts)
    other = data.draw(st.permutations(hosts))
    renamed = dict(zip(hosts, other, strict=True))
    again = Site(site.rails, {(renamed[host], port): end for (host, port), end in site.cables.items()}, site.uplinks)
    shuffled = Site(site.rails, dict(data.draw(st.permutations(list(site.cables.items())))), site.uplinks)
    assert sorted(faults(shuffled)) == sorted(faults(site))
    assert sorted(faults(again)) == sorted((kind, renamed.get(host, ""), ports) for kind, host, ports in faults(site))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40))
def test_the_usual_leaf_is_that_of_more_than_half(leaves: list[str]) -> None:
    counts = Counter(leaves)
    found = units.usual(counts)
    if found:
        assert 2 * counts[found.leaf] > len(leaves) == found.known
        assert all(count == 1 or 4 * count <= len(leaves) for leaf, count in counts.items() if leaf != found.leaf)
    elif max(counts.values()) * 2 > len(leaves):
        assert any(count > 1 and 4 * count > len(leaves) for leaf, count in counts.items())


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 1 << 32), st.integers(1, 3))
def test_a_few_wrong_cables_are_the_only_faults(seed: int, number: int) -> None:
    site, chosen = rail_optimised(3, 8), random.Random(seed)
    hosts = chosen.sample(site.hosts, number)
    assume(max(Counter((int(host[-3:]) - 1) // 8 for host in hosts).values()) <= 2)
    for host in hosts:
        site.move(host, chosen.randrange(4), f"leaf-{chosen.choice([20, 21, 22])}")
    assert {host for _kind, host, _ports in faults(site)} == set(hosts)


def test_a_dead_leaf_is_told_for_each_node_of_its_unit() -> None:
    """Without power, no node of the unit has a link there that others could miss."""
    site = rail_optimised(4, 10)
    for host in site.hosts[:10]:
        site.unplug(host, 3)
        site.unplug(host, 4)
    found = site.check()
    text = "no link, rail 3 of 30 of the other 39 nodes is connected"
    assert [fault.line for fault in found.faults] == [f"{host} mlx5_3: {text}" for host in site.hosts[:10]]
    # Of a port that is no rail, most nodes of a unit may have none by intention.
    more = "mlx5_4: 0 connected, 10 without a link"
    assert [(entry.port, entry.code, entry.more) for entry in found.unclear] == [
        ("mlx5_4", check.NO_MAJORITY, more) for _host in site.hosts[:10]
    ]


def test_ports_that_the_facts_lack_are_unknown() -> None:
    """One NIC of a node, and all of another's: neither is silently left out."""
    site = rail_optimised(4, 10)
    right = wanted(site)
    views = [view for view in site.views() if (view.host, view.name) != ("h100-002", "mlx5_2")]
    views = [view for view in views if view.host != "h100-014"]
    hosts = dict.fromkeys(site.hosts, "h100")
    for rows in (None, right):
        found = check.check(views, Fabric(site.links(), {}), rows, (), hosts)
        assert [(entry.host, entry.port, entry.code) for entry in found.unclear] == [
            ("h100-002", "mlx5_2", neighbours.ABSENT),
            ("h100-014", "", neighbours.NO_HCA),
        ]
        assert found.faults == []


def test_hosts_of_a_group_without_hcas_lack_none() -> None:
    site = rail_optimised(1, 4)
    hosts = {**dict.fromkeys(site.hosts, "h100"), "cpu-001": "cpu"}
    assert check.check(site.views(), Fabric(site.links(), {}), None, (), hosts).unclear == []
