# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Rails that reach each other: what is tried, on synthesised nodes, and the verdicts on simulated answers."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import asdict
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.rails import matrix_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import crossing, judge, rails
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import HostTests
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts, node

RAILS = 8
Tests = dict[str, HostTests]
Reaches = Callable[[str, int, str, int], bool]
ISLANDS = [[0, 1, 2, 3], [4, 5, 6, 7]]


def fleet(facts_of: Facts, number: int = 2, lacking: Any = (), **values: Any) -> list[HostEvidence]:
    """Equal nodes, each rail with a network of its own. ``lacking`` are hosts and rails whose port is down."""
    nodes = []
    for host in range(1, number + 1):
        facts = copy.deepcopy(facts_of("case-h100-roce"))
        for rail in range(RAILS):
            port = facts["hcas"][rail]["ports"][0]
            port["netdev"]["addresses"] = [f"10.3.{rail}.{host}/24"]
            index = port["roce_v2_gid_index"]
            port["gids"] = [{"index": index, "gid": f"::ffff:10.3.{rail}.{host}", "type": "RoCE v2", "netdev": "x"}]
        names = [facts["hcas"][rail]["name"] for rail in range(RAILS)]
        down = [names[rail] for name, rail in lacking if name == f"n{host}"]
        facts["usable"] = [entry for entry in facts["usable"] if entry["hca"] in names and entry["hca"] not in down]
        subnets = [f"10.3.{rail}.0/24" for rail in range(RAILS)]
        own = {"rdma_links_rail_subnets": subnets, "rdma_links_host_number": host, **values}
        nodes.append(node(facts, f"n{host}", "g", **own))
    return nodes


def planned(nodes: list[HostEvidence], forks: int = 50) -> Tests:
    return crossing.with_rails(nodes, host_plan.plan(nodes, forks), forks)


def across(tests: Tests) -> list[tuple[str, dict[str, Any], dict[str, str]]]:
    """Host, probe and ends of each ping to another rail."""
    return [
        (host, probe, own.ends[probe["name"]])
        for host, own in tests.items()
        for probe in own.probes
        if "peer_port" in own.ends[probe["name"]]
    ]


def rail_of(name: str) -> int:
    """The rail of mlx5_N/1 on these nodes."""
    return int(name.partition("/")[0][len("mlx5_") :])


def pinged(tests: Tests) -> list[tuple[int, int]]:
    return [(rail_of(ends["port"]), rail_of(ends["peer_port"])) for _host, _probe, ends in across(tests)]


def connected(tests: Tests) -> list[list[tuple[str, str, int, int]]]:
    """Server, client, and their rails, of each round that is between rails."""
    found = []
    for number in range(len(next(iter(tests.values())).rounds)):
        meetings = []
        for host, own in tests.items():
            meeting = own.rounds[number]
            if meeting.crosses and meeting.role == "server":
                asked = tests[meeting.peer].rounds[number]
                assert (asked.role, asked.peer, asked.crosses) == ("client", host, True)
                for run, other in zip(meeting.runs, asked.runs):
                    assert {key: run[key] for key in ("test", "tcp_port", "size", "iterations")} == {
                        key: other[key] for key in ("test", "tcp_port", "size", "iterations")
                    }
                    meetings.append((host, meeting.peer, rail_of(run["hca"]), rail_of(other["hca"])))
        found += [meetings] if meetings else []
    return found


def answered(nodes: list[HostEvidence], tests: Tests, reaches: Reaches) -> None:
    """Each host has what its tests would give where ``reaches`` tells which port reaches which."""
    for one in nodes:
        own = tests[one.host]
        pings = []
        for probe in own.probes:
            ends = own.ends[probe["name"]]
            rail = rail_of(ends["port"])
            there = reaches(one.host, rail, ends["peer"], rail_of(ends.get("peer_port", ends["port"])))
            said = {"usable": True, "reached": there, "whole": there, "lost": 0, "mtu_named": None, "complaint": ""}
            pings.append({"name": probe["name"], **said})
        one.reached = {"pings": pings, "addresses": []}
        one.rounds = []
        for number, meeting in enumerate(own.rounds):
            results = []
            others = tests[meeting.peer].rounds[number].runs if meeting.peer else []
            for run, other in zip(meeting.runs, others):
                ways = (one.host, rail_of(run["hca"]), meeting.peer, rail_of(other["hca"]))
                there = meeting.role == "server" or (reaches(*ways) and reaches(*ways[2:], *ways[:2]))
                error = "" if there else "ib_write_bw failed: Failed status 12"
                results.append({"name": run["name"], "ok": there, "code": "", "error": error, "value": 100.0})
            one.rounds.append({"round": number, "results": results})


def everything(*_ends: Any) -> bool:
    return True


def its_rail(_host: str, rail: int, _peer: str, other: int) -> bool:
    return rail == other


def judged(facts_of: Facts, reaches: Reaches, number: int = 3, **values: Any) -> list[Check]:
    nodes = fleet(facts_of, number, **values)
    tests = planned(nodes)
    answered(nodes, tests, reaches)
    return rails.of_fleet(nodes, tests)


@pytest.mark.parametrize("number", [2, 3, 5, 12])
def test_each_two_rails_are_pinged_once_if_nobody_asks(facts_of: Facts, number: int) -> None:
    tests = planned(fleet(facts_of, number))
    assert sorted(pinged(tests)) == [*itertools.permutations(range(RAILS), 2)]
    assert connected(tests) == []


@pytest.mark.parametrize("number", [2, 3, 8, 12])
def test_each_host_pings_another_rail_from_each_of_its_own(facts_of: Facts, number: int) -> None:
    tests = planned(fleet(facts_of, number, rdma_links_rail_reachability="none"))
    assert {*pinged(tests)} == {*itertools.permutations(range(RAILS), 2)}
    per_host = {host: len([1 for other, *_rest in across(tests) if other == host]) for host in tests}
    assert sum(per_host.values()) == RAILS * max(number if number > 2 else 1, RAILS - 1)
    # Of two hosts, one asks for both.
    assert all(count >= RAILS for host, count in per_host.items() if number > 2 or host == "n1")


def test_a_ping_is_sent_from_the_port_of_its_rail(facts_of: Facts) -> None:
    ways = [(probe, ends) for host, probe, ends in across(planned(fleet(facts_of))) if host == "n1"]
    probe, _ends = next(way for way in ways if way[1]["port"] == "mlx5_2/1" and way[1]["peer_port"] == "mlx5_5/1")
    assert probe == {
        "name": "mlx5_2/1 n2 mlx5_5/1",
        "source": "10.3.2.1",
        "target": "10.3.5.2",
        "mtu": probe["mtu"],
        "netdev": "rail2",
    }


@pytest.mark.parametrize(("number", "at_most"), [(2, 7), (3, 14), (4, 7), (12, 2), (24, 2)])
def test_each_two_rails_are_connected_once(facts_of: Facts, number: int, at_most: int) -> None:
    found = connected(planned(fleet(facts_of, number, rdma_links_rail_reachability=ISLANDS)))
    assert len(found) <= at_most
    every = [tuple(sorted(rails_)) for meetings in found for _server, _client, *rails_ in meetings]
    assert sorted(every) == [*itertools.combinations(range(RAILS), 2)]
    for meetings in found:
        ports = [end for server, client, rail, other in meetings for end in ((server, rail), (client, other))]
        assert len({*ports}) == len(ports)


def test_perftest_talks_along_one_rail(facts_of: Facts) -> None:
    """Its TCP connection is not what is tested."""
    tests = planned(fleet(facts_of, rdma_links_rail_reachability="none"))
    for own in tests.values():
        for meeting in own.rounds:
            for run in meeting.runs if meeting.crosses and meeting.role == "client" else ():
                assert run["address"] == f"10.3.{rail_of(run['hca'])}.{meeting.peer[1:]}"
    ports = [run["tcp_port"] for meeting in tests["n1"].rounds for run in meeting.runs]
    assert len({*ports}) == len(ports)


def test_where_hosts_are_not_measured_they_only_ping(facts_of: Facts) -> None:
    tests = planned(fleet(facts_of, rdma_links_rail_reachability="all", rdma_verify_pairs="none"))
    assert connected(tests) == []
    assert {*pinged(tests)} == {*itertools.permutations(range(RAILS), 2)}


def test_rails_that_the_first_hosts_lack_are_tried_by_others(facts_of: Facts) -> None:
    lacking = [("n1", 0), ("n2", 0), ("n3", 7)]
    for values in ({}, {"rdma_links_rail_reachability": "none"}):
        tests = planned(fleet(facts_of, 4, lacking, **values))
        assert {*pinged(tests)} == {*itertools.permutations(range(RAILS), 2)}
    pairs = [{rail, other} for meetings in connected(tests) for _server, _client, rail, other in meetings]
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 28


def test_servers_wait_for_the_clients_before_theirs(facts_of: Facts) -> None:
    nodes = fleet(facts_of, 12, rdma_links_rail_reachability="none")
    one, many = (next(each for each in planned(nodes, forks)["n1"].rounds if each.crosses) for forks in (50, 2))
    assert one.role == "server"
    # Six meetings, two at a time.
    assert many.seconds == one.seconds * 3


def test_the_plan_goes_through_json(facts_of: Facts) -> None:
    for own in planned(fleet(facts_of, rdma_links_rail_reachability="none")).values():
        assert host_plan.own(json.loads(json.dumps(asdict(own)))) == own


def test_groups_are_tried_at_the_same_time(facts_of: Facts) -> None:
    nodes = fleet(facts_of, 4, rdma_links_rail_reachability="none")
    for one in nodes[2:]:
        one.group = "h"
    tests = planned(nodes)
    assert len({len(own.rounds) for own in tests.values()}) == 1
    for meetings in connected(tests):
        assert {frozenset(meeting[:2]) for meeting in meetings} == {frozenset(["n1", "n2"]), frozenset(["n3", "n4"])}


def texts(found: list[Check]) -> list[tuple[str, str]]:
    return [(check.verdict, check.text) for check in found]


SHOWN = "56 pings); rdma_links_rail_reachability is not set, so this is not judged"
SAID = "rails reach each other as in rdma_links_rail_reachability: of 56 ways from a rail to another,"


@pytest.mark.parametrize(
    ("reaches", "said", "expected"),
    [
        (everything, None, ("pass", f"of 56 ways from a rail to another, 56 reached ({SHOWN}")),
        (its_rail, None, ("pass", f"of 56 ways from a rail to another, 56 not reached ({SHOWN}")),
        (everything, "all", ("pass", f"{SAID} 56 reached (56 pings and 28 RDMA connections)")),
        (its_rail, "none", ("pass", f"{SAID} 56 not reached (56 pings and 28 RDMA connections)")),
        (
            everything,
            "none",
            (
                "fail",
                "rails 0 and 1, 0 and 2, 0 and 3, 0 and 4, 0 and 5, 0 and 6, 0 and 7, 1 and 2 and 20 more reach each "
                "other, but must not (rdma_links_rail_reachability): 84 of 84 tests, such as ",
            ),
        ),
    ],
)
def test_what_was_found(facts_of: Facts, reaches: Reaches, said: Any, expected: tuple[str, str]) -> None:
    (found,) = judged(facts_of, reaches, rdma_links_rail_reachability=said)
    assert (found.verdict, found.text[: len(expected[1])]) == expected
    assert (found.id, found.host, found.group, found.subject) == ("host.rails", None, "g", "")


def test_islands(facts_of: Facts) -> None:
    def of_island(_host: str, rail: int, _peer: str, other: int) -> bool:
        return rail // 4 == other // 4

    (found,) = judged(facts_of, of_island, rdma_links_rail_reachability=ISLANDS)
    assert texts([found]) == [
        ("pass", f"{SAID} 24 reached, 32 not reached (56 pings and 28 RDMA connections)"),
    ]
    matrix = matrix_of(found)
    assert matrix is not None
    assert matrix.rails == [*range(RAILS)]
    assert matrix.matrix == [["reached" if a // 4 == b // 4 else "not reached" for b in range(8)] for a in range(8)]
    assert matrix.wanted == [[a // 4 == b // 4 for b in range(8)] for a in range(8)]
    assert (matrix.tried["0 1"], matrix.contrary) == (2, [])
    # The rest of the document has it as JSON.
    assert json.loads(json.dumps(found.evidence)) == found.evidence

    lost, open_ = judged(facts_of, of_island, rdma_links_rail_reachability=[[0, 4], [1, 2, 3], [5, 6, 7]])
    text = "rails 0 and 4 do not reach each other, but must (rdma_links_rail_reachability): 3 of 3 tests, such as ping"
    assert (lost.verdict, lost.text[: len(text)]) == ("fail", text)
    assert lost.text.endswith(": no answer")
    text = "rails 0 and 1, 0 and 2, 0 and 3, 4 and 5, 4 and 6, 4 and 7 reach each other, but must not"
    assert (open_.verdict, open_.text[: len(text)]) == ("fail", text)
    assert lost.remedy.startswith("Route between these rails on the switches")
    assert open_.remedy.startswith("Separate these rails on the switches")


def test_one_host_that_does_not_reach_a_rail_is_named(facts_of: Facts) -> None:
    """Each host asks, if not for each rail."""

    def but_one(host: str, rail: int, _peer: str, other: int) -> bool:
        return rail == other or (host, rail) != ("n9", 5)

    (found,) = judged(facts_of, but_one, 12, rdma_links_rail_reachability="all")
    matrix = matrix_of(found)
    assert found.verdict == "fail"
    assert matrix is not None
    assert any(entry.startswith("ping from n9 mlx5_5/1 to n10 mlx5_") for entry in matrix.contrary)
    assert all("n9 mlx5_5/1" in entry for entry in matrix.contrary)


def changed(facts_of: Facts, change: Callable[[list[HostEvidence], Tests], None], wanted: Any) -> list[Check]:
    nodes = fleet(facts_of, rdma_links_rail_reachability=wanted)
    tests = planned(nodes)
    answered(nodes, tests, its_rail if wanted == "none" else everything)
    change(nodes, tests)
    return rails.of_fleet(nodes, tests)


def small(nodes: list[HostEvidence], _tests: Tests) -> None:
    """Only small packets arrive, from rail 0 to rail 1."""
    for one in nodes:
        for ping in (one.reached or {})["pings"]:
            if ping["name"] == "mlx5_0/1 n2 mlx5_1/1":
                ping.update(reached=True, whole=False)


def test_small_packets_are_too_small_and_yet_arrive(facts_of: Facts) -> None:
    (found,) = changed(facts_of, small, "all")
    mtu = fleet(facts_of)[0].known.hcas[0].ports[0].netdev
    assert mtu is not None
    text = (
        "rails 0 and 1 do not reach each other, but must (rdma_links_rail_reachability): 1 of 2 tests, such as ping "
        f"from n1 mlx5_0/1 to n2 mlx5_1/1: only small packets arrive, not those of {mtu.mtu} bytes"
    )
    assert texts([found]) == [("fail", text)]
    assert [check.verdict for check in changed(facts_of, small, "none")] == ["warn"]


def test_pings_over_another_rail_are_not_rdma(facts_of: Facts) -> None:
    """As without strict ARP, where a host answers for the address of any of its rails."""

    def answered_by_ping(nodes: list[HostEvidence], _tests: Tests) -> None:
        for ping in (nodes[0].reached or {})["pings"]:
            if ping["name"] == "mlx5_0/1 n2 mlx5_1/1":
                ping.update(reached=True, whole=True)

    (found,) = changed(facts_of, answered_by_ping, "none")
    text = (
        "rails 0 and 1 answer pings from each other, but no RDMA (rdma_links_rail_reachability): 1 of 2 tests, such as"
    )
    assert texts([found]) == [("warn", f"{text} ping from n1 mlx5_0/1 to n2 mlx5_1/1")]
    assert "arp_ignore" in found.remedy
    matrix = matrix_of(found)
    assert matrix is not None
    assert (matrix.matrix[0][1], matrix.matrix[1][0]) == ("partly", "not reached")


def test_what_could_not_be_tried_is_not_taken_for_an_answer(facts_of: Facts) -> None:
    def unanswered(nodes: list[HostEvidence], _tests: Tests) -> None:
        for one in nodes:
            for ping in (one.reached or {})["pings"]:
                ping.update(usable=False, reached=False, whole=False, complaint="ping is not installed")
            for round_ in one.rounds:
                for result in round_["results"]:
                    result.update(ok=False, code="not_installed", error="ib_write_bw is not installed")

    for wanted in ("none", "all"):
        (found,) = changed(facts_of, unanswered, wanted)
        assert found.verdict == "impossible"
        assert found.text.endswith("and 20 more reach each other: ping is not installed")


@pytest.mark.parametrize(
    ("where", "result"),
    [
        ("n2", {"ok": False, "code": "failed", "error": "ib_write_bw failed: Couldn't connect to 10.3.0.1:19515"}),
        ("n1", {"ok": False, "code": "failed", "error": "TCP port 19515 is in use on this node"}),
    ],
)
def test_a_connection_that_was_never_tried_says_nothing(facts_of: Facts, where: str, result: dict[str, Any]) -> None:
    def broken(nodes: list[HostEvidence], tests: Tests) -> None:
        for one in nodes:
            one.reached = {"pings": [], "addresses": []}
            for number, round_ in enumerate(one.rounds):
                if tests[one.host].rounds[number].crosses:
                    for entry in round_["results"]:
                        entry.update(result if one.host == where else {})

    (found,) = changed(facts_of, broken, "none")
    assert found.verdict == "impossible"
    assert found.text.endswith(result["error"])


def test_some_that_could_not_be_tried_are_counted(facts_of: Facts) -> None:
    def one_failed(nodes: list[HostEvidence], _tests: Tests) -> None:
        ping = next(each for each in (nodes[0].reached or {})["pings"] if each["name"] == "mlx5_0/1 n2 mlx5_1/1")
        ping.update(usable=False, complaint="no ping")

    (found,) = changed(facts_of, one_failed, "all")
    assert found.verdict == "pass"
    assert found.text.endswith(
        "(55 pings and 28 RDMA connections; 1 could not be tried, such as ping from n1 mlx5_0/1 to n2 mlx5_1/1: no "
        "ping)"
    )


def test_rails_that_no_two_hosts_have(facts_of: Facts) -> None:
    nodes = fleet(facts_of, 2, [("n1", 7), ("n2", 7)], rdma_links_rail_reachability="all")
    tests = planned(nodes)
    answered(nodes, tests, everything)
    unknown, right = rails.of_fleet(nodes, tests)
    assert unknown.verdict == "impossible"
    assert unknown.text.startswith("it is unknown whether rails 0 and 7, 1 and 7, 2 and 7")
    assert unknown.text.endswith("no two hosts have such ports that are up, with addresses or GIDs to try them by")
    assert right.text.startswith(f"{SAID} 42 reached, 14 unknown (42 pings and 21 RDMA connections)")


def test_a_host_alone(facts_of: Facts) -> None:
    for values, verdicts in (({}, []), ({"rdma_links_rail_reachability": "all"}, ["impossible"])):
        nodes = fleet(facts_of, 1, **values)
        tests = planned(nodes)
        answered(nodes, tests, everything)
        assert [check.verdict for check in rails.of_fleet(nodes, tests)] == verdicts


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, []),
        ("all", [("impossible", "it was not tested which rails reach each other: it is recorded")]),
    ],
)
def test_where_nothing_was_run(facts_of: Facts, said: Any, expected: list[tuple[str, str]]) -> None:
    nodes = fleet(facts_of, rdma_links_rail_reachability=said)
    assert texts(rails.of_fleet(nodes, planned(nodes), "it is recorded")) == expected


def test_one_rail_is_no_matrix(facts_of: Facts) -> None:
    nodes = [node(facts_of(name), name, rdma_links_rail_reachability="none") for name in ("lab-01", "lab-02")]
    tests = planned(nodes)
    assert across(tests) == []
    assert rails.of_fleet(nodes, tests) == []


def test_no_other_verdict_is_about_other_rails(facts_of: Facts) -> None:
    """Neither of pings nor of bandwidth."""
    nodes = fleet(facts_of, rdma_links_rail_reachability="none", rdma_verify_tests=[])
    tests = planned(nodes)
    answered(nodes, tests, its_rail)
    found = judge.judge(nodes, tests)
    assert found.bandwidth == []
    about = [check for check in found.checks if check.id in ("host.reachable", "host.path_mtu", "host.bandwidth")]
    assert {check.verdict for check in about if check.host == "n1"} == {"pass"}


def test_rubbish_of_one_group_leaves_the_others(facts_of: Facts) -> None:
    nodes = fleet(facts_of, 4, rdma_links_rail_reachability="all")
    for one in nodes[2:]:
        one.group = "h"
    tests = planned(nodes)
    answered(nodes, tests, everything)
    (nodes[0].reached or {})["pings"][0].pop("usable")
    bad, good = rails.of_fleet(nodes, tests)
    assert (bad.id, bad.group, bad.verdict) == ("host.answers", "g", "fail")
    assert (good.id, good.group, good.verdict) == ("host.rails", "h", "pass")
