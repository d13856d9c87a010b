# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is measured between hosts, in which order, and the verdicts on it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _verify_run
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts, changed, node, worst
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part


def two(facts_of: Facts, **values: Any) -> list[HostEvidence]:
    return [node(facts_of(name), name, **values) for name in ("lab-01", "lab-02")]


def test_two_hosts_meet_once_and_measure_themselves(facts_of: Facts) -> None:
    first, second = host_plan.plan(two(facts_of)).values()
    (server,), (client,) = first.rounds, second.rounds
    assert (server.role, server.peer, client.role, client.peer) == ("server", "lab-02", "client", "lab-01")
    assert [run["test"] for run in client.runs] == ["write_bw", "read_lat"]
    assert len({run["tcp_port"] for run in client.runs}) == 2
    for mine, theirs in zip(server.runs, client.runs):
        assert "address" not in mine
        assert theirs["address"] == "10.0.0.1"
        assert [mine.get(key) for key in ("tcp_port", "iterations", "size")] == [
            theirs.get(key) for key in ("tcp_port", "iterations", "size")
        ]
    assert client.expected == [25.0, 25.0]
    assert server.seconds > client.seconds * len(client.runs)
    assert first.probes == [{"name": "mlx5_0/1 lab-02", "source": "10.0.0.1", "target": "10.0.0.2", "mtu": 9000}]
    assert first.addresses == [{"netdev": "ens1np0", "address": "10.0.0.1"}]
    assert [run["test"] for run in first.loopback.runs] == ["write_bw"]


def test_rails_meet_rails_and_a_rail_without_address_goes_by_the_host(facts_of: Facts) -> None:
    nodes = [node(facts_of(name), name, "h100") for name in ("h100-01", "h100-02")]
    client = host_plan.plan(nodes)["h100-02"].rounds[0]
    assert [run["hca"] for run in client.runs if run["test"] == "write_bw"] == [f"mlx5_{number}" for number in range(8)]
    assert {run["address"] for run in client.runs} == {"h100-01"}
    assert all("gid_index" not in run for run in client.runs)
    assert len({run["tcp_port"] for run in client.runs}) == 16


def test_a_storage_network_is_not_measured(facts_of: Facts) -> None:
    nodes = [node(facts_of("case-b200"), name, rdma_discover_expect_link_layer="InfiniBand") for name in ("n1", "n2")]
    client = host_plan.plan(nodes)["n2"].rounds[0]
    of_gpus = [4, 7, 8, 9, 10, 13, 14, 15]
    assert [run["hca"] for run in client.runs if run["test"] == "write_bw"] == [f"mlx5_{number}" for number in of_gpus]


def test_addresses_in_one_network_are_taken_first(facts_of: Facts) -> None:
    many = changed(facts_of("lab-02"), netdev_addresses=["172.16.0.2/24", "fd00::2/64", "10.0.0.2/24"])
    client = host_plan.plan([node(facts_of("lab-01")), node(many, "lab-02")])["lab-02"]
    assert (client.probes[0]["source"], client.probes[0]["target"]) == ("10.0.0.2", "10.0.0.1")
    only_ipv6 = changed(facts_of("lab-02"), netdev_addresses=["fd00::2/64"])
    client = host_plan.plan([node(facts_of("lab-01")), node(only_ipv6, "lab-02")])["lab-02"]
    assert client.probes == []
    assert client.rounds[0].runs[0]["address"] == "lab-01"


def test_the_addresses_of_the_gids_in_use_are_tried(facts_of: Facts) -> None:
    def both(host: str, number: int) -> Any:
        gids = [
            {"index": 3, "gid": f"::ffff:10.0.0.{number}", "type": "RoCE v2", "netdev": "ens1np0"},
            {"index": 5, "gid": f"::ffff:172.16.0.{number}", "type": "RoCE v2", "netdev": "ens1np0"},
        ]
        addresses = [f"10.0.0.{number}/24", f"172.16.0.{number}/24"]
        return node(
            changed(facts_of(host), netdev_addresses=addresses, gids=gids, roce_v2_gid_index=5),
            host,
            rdma_verify_pairs="none",
        )

    (probe,) = host_plan.plan([both("lab-01", 1), both("lab-02", 2)])["lab-01"].probes
    assert (probe["source"], probe["target"]) == ("172.16.0.1", "172.16.0.2")


def test_both_ends_know_of_an_ipv6_address(facts_of: Facts) -> None:
    nodes = [
        node(changed(facts_of(f"lab-0{number}"), netdev_addresses=[f"fd00::{number}/64"]), f"lab-0{number}")
        for number in (1, 2)
    ]
    server, client = (own.rounds[0].runs[0] for own in host_plan.plan(nodes).values())
    assert (client["address"], client["ipv6"], server["ipv6"]) == ("fd00::1", True, True)


def test_a_server_waits_for_all_clients_that_come_before_its_own(facts_of: Facts) -> None:
    nodes = [node(facts_of("lab-01"), f"n{number}", rdma_verify_pairs="ring") for number in range(40)]
    quick, slow = (host_plan.plan(nodes, forks)["n0"].rounds[0].seconds for forks in (40, 2))
    assert slow == quick * 10


def test_pairs_are_a_matter_of_the_group(facts_of: Facts) -> None:
    nodes = [node(facts_of("lab-01"), f"a{number}", "a", rdma_verify_pairs="none") for number in range(3)]
    nodes += [node(facts_of("lab-01"), f"b{number}", "b") for number in range(3)]
    nodes.append(node(None, "b9", "b"))
    plan = host_plan.plan(nodes)
    assert {meeting.role for meeting in plan["a0"].rounds} == {"idle"}
    # They are not measured, and reach each other all the same.
    assert [probe["name"] for probe in plan["a0"].probes] == ["mlx5_0/1 a1", "mlx5_0/1 a2"]
    assert sorted(meeting.peer for meeting in plan["b1"].rounds) == ["", "b0", "b2"]
    assert {meeting.role for meeting in plan["b9"].rounds} == {"idle"}


def test_what_cannot_be_measured_is_not_planned(facts_of: Facts) -> None:
    without_gid = changed(facts_of("lab-02"), roce_v2_gid_index=None)
    plan = host_plan.plan([node(facts_of("lab-01")), node(without_gid, "lab-02", rdma_verify_loopback=False)])
    assert plan["lab-01"].rounds[0].role == "idle"
    assert plan["lab-02"].loopback.role == "idle"
    in_pod = host_plan.plan([node(facts_of("case-in-pod")), node(facts_of("lab-02"), "lab-02")])
    assert in_pod["lab-02"].rounds[0].role == "idle"


def ping(whole: bool, reached: bool = True, usable: bool = True, lost: int = 0) -> dict[str, Any]:
    return {"whole": whole, "reached": reached, "usable": usable, "lost": lost, "mtu_named": None, "complaint": "said"}


def tried(
    facts_of: Facts, pings: dict[str, Any] | None = None, **results: dict[str, Any]
) -> tuple[list[Check], list[Measurement]]:
    """Verdicts on two hosts whose client and server gave these results by test; loopback was not tried."""
    nodes = two(facts_of, rdma_verify_loopback=False)
    plan = host_plan.plan(nodes)
    for one in nodes:
        answers = [{**(pings or ping(True)), "name": probe["name"]} for probe in plan[one.host].probes]
        own = [{**claim, "other": None, "skipped": ""} for claim in plan[one.host].addresses]
        one.reached = {"pings": answers, "addresses": own}
    for one, role in zip(nodes, ("server", "client")):
        found = [{"name": f"{test} mlx5_0/1", **result} for test, result in results.get(role, {}).items()]
        one.rounds = [{"round": 0, "results": found}]
    return live.of_fleet(nodes, plan)


GOOD = {
    "write_bw": {"ok": True, "code": "", "error": "", "value": 23.2},
    "read_lat": {"ok": True, "code": "", "error": "", "value": 1.94},
}
SERVED = {test: {"ok": True, "code": "", "error": ""} for test in GOOD}


def test_what_was_measured_is_held_against_the_port(facts_of: Facts) -> None:
    checks, (bandwidth, latency) = tried(facts_of, client=GOOD, server=SERVED)
    assert worst(checks) == {}
    assert (bandwidth.source.host, bandwidth.target.host, bandwidth.value) == ("lab-02", "lab-01", 23.2)
    assert (bandwidth.expected, bandwidth.threshold, bandwidth.verdict) == (25.0, 22.5, "pass")
    assert (latency.unit, latency.threshold, latency.verdict) == ("us", 10.0, "pass")
    slow = {**GOOD, "write_bw": {"ok": True, "code": "", "error": "", "value": 9.4}}
    assert [one.verdict for one in tried(facts_of, client=slow, server=SERVED)[1]] == ["fail", "pass"]


def test_the_cause_is_the_servers_where_it_did_not_serve(facts_of: Facts) -> None:
    failed = {test: {"ok": False, "code": "failed", "error": "Couldn't connect to 10.0.0.1:18515"} for test in GOOD}
    served = {test: {"ok": False, "code": "failed", "error": "TCP port 18515 is in use on this node"} for test in GOOD}
    checks, measured = tried(facts_of, client=failed, server=served)
    assert measured == []
    assert worst(checks)["host.bandwidth"] == (
        "mlx5_0/1",
        "read_lat with lab-01 returned no result; error on lab-01: TCP port 18515 is in use on this node",
    )
    said = worst(tried(facts_of, client=failed, server=SERVED)[0])["host.bandwidth"][1]
    assert said.endswith("returned no result; error on lab-02: Couldn't connect to 10.0.0.1:18515")


def test_perftest_that_is_not_there_makes_it_impossible(facts_of: Facts) -> None:
    failed = {test: {"ok": False, "code": "not_installed", "error": "said"} for test in GOOD}
    checks, _measured = tried(facts_of, client=failed, server=failed)
    assert {check.verdict for check in checks if check.id == "host.bandwidth"} == {"impossible"}
    for where, results in (("lab-01", {"server": failed}), ("lab-02", {"client": failed, "server": SERVED})):
        found = [check for check in tried(facts_of, **results)[0] if check.id == "host.bandwidth"]
        assert {check.remedy for check in found} == {f"Install perftest on {where} (rdma_kernel_packages)."}


@pytest.mark.parametrize(
    ("answer", "id_", "verdict"),
    [
        (ping(False), "host.path_mtu", "fail"),
        (ping(False, reached=False), "host.reachable", "fail"),
        (ping(False, reached=False, usable=False), "host.path_mtu", "impossible"),
        (ping(True, lost=1), "host.reachable", "warn"),
    ],
)
def test_packets_that_do_not_arrive(facts_of: Facts, answer: dict[str, Any], id_: str, verdict: str) -> None:
    checks, _measured = tried(facts_of, answer, client=GOOD, server=SERVED)
    found = [check for check in checks if check.id == id_ and check.verdict != "pass"]
    assert {(check.verdict, check.subject) for check in found} == {(verdict, "mlx5_0/1")}
    assert "10.0.0.1 to 10.0.0.2 (lab-02)" in found[0].text or verdict == "impossible"


def test_an_address_that_another_station_has(facts_of: Facts) -> None:
    nodes = two(facts_of)
    plan = host_plan.plan(nodes)
    claim = {"netdev": "ens1np0", "address": "10.0.0.1", "other": "02:00:00:00:00:02", "skipped": ""}
    nodes[0].reached = {"pings": [], "addresses": [claim]}
    nodes[1].reached = {"failed": True, "msg": "it broke"}
    checks, _measured = live.of_fleet(nodes, plan)
    assert worst(checks)["host.duplicate_address"][1] == (
        "10.0.0.1 of ens1np0 is also claimed by the station 02:00:00:00:00:02"
    )
    assert [check.text for check in checks if check.host == "lab-02" and check.id == "host.path_mtu"] == [
        "it was not tested: it broke"
    ]


def hostvars(facts_of: Facts, **values: Any) -> dict[str, dict[str, Any]]:
    return {
        name: {"inventory_hostname": name, "group_names": ["lab"], "ansible_facts": {"rdma": facts_of(name)}, **values}
        for name in ("lab-01", "lab-02")
    }


def test_parts_of_a_run(facts_of: Facts) -> None:
    variables = hostvars(facts_of, ansible_host="192.0.2.1", rdma_verify_tests=["send_bw"], **LAB)
    run = part("begin", variables)["run"]
    part("plan", variables, {"ansible_forks": 50}, run=run)
    own = part("own", variables, {"inventory_hostname": "lab-02"}, run=run)
    assert [run["test"] for run in own["rounds"][0]["runs"]] == ["send_bw"]
    assert part("host", variables, run=run, untried="this is a dry run") == {}
    (kept,) = _verify_run.results(run, ["host", "cluster"])
    assert kept.bandwidth == []
    assert {check.text for check in kept.checks if check.id == "host.path_mtu"} == {
        "it was not tested: this is a dry run"
    }
    assert {check.group for check in kept.checks} == {"lab"}
    variables["lab-02"]["rdma_drift_result"] = {
        "concerns": {"kernel": {"changed": False, "changes": [], "error": None}}
    }
    again = part("host", variables)["checks"]
    assert [check["host"] for check in again if check["id"] == "host.kernel" and check["verdict"] == "pass"] == [
        "lab-02"
    ]
