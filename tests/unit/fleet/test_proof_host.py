# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Verdicts on recorded nodes: what is right passes, and each fault is found and named."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.host_verdicts import host_verdicts
from ansible_collections.zerocopy.rdma.plugins.filter.verify_part import verify_part
from ansible_collections.zerocopy.rdma.plugins.filter.verify_plan import verify_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning import _variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._proof import (
    _host_drift,
    _host_facts,
    _host_live,
    _host_plan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._proof._document import Check, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._proof._host_model import Node

Facts = Callable[..., dict[str, Any]]

DEFAULTS = {
    name: option["default"]
    for name, option in _variables.options_of().items()
    if name.startswith("rdma_verify_") and "default" in option
}
LAB: dict[str, Any] = {"rdma_links_subnet": "10.0.0.0/24", "rdma_links_mtu": 9000, "rdma_discover_expect_hcas": 1}


def node(facts: dict[str, Any] | None, host: str = "lab-01", group: str = "lab", **values: Any) -> Node:
    return Node(host, group, facts, {**DEFAULTS, **values}, address=host)


def changed(facts: dict[str, Any], **port: Any) -> dict[str, Any]:
    """Facts whose first port has other values; ``netdev_x`` are those of its netdev."""
    result = copy.deepcopy(facts)
    own = result["hcas"][0]["ports"][0]
    own["netdev"] = own["netdev"] and dict(own["netdev"])
    for key, value in port.items():
        if key.startswith("netdev_"):
            own["netdev"][key[len("netdev_") :]] = value
        else:
            own[key] = value
    return result


def worst(checks: list[Check]) -> dict[str, tuple[str, str]]:
    """Subject and text of everything that is not right, by id."""
    return {check.id: (check.subject, check.text) for check in checks if check.verdict in ("warn", "fail")}


def test_a_node_that_is_right_passes_everything(facts_of: Facts) -> None:
    checks = _host_facts.of_node(node(facts_of("lab-01"), **LAB))
    assert worst(checks) == {}
    assert {check.id for check in checks if check.verdict == "pass"} >= {
        "host.ports",
        "host.port_state",
        "host.port_rate",
        "host.gid",
        "host.devices",
        "host.pcie_link",
        "host.mtu",
        "host.address",
        "host.modules",
    }
    assert all(not check.remedy for check in checks if check.verdict == "pass")


@pytest.mark.parametrize(
    ("port", "id_", "said"),
    [
        ({"netdev_mtu": 1500}, "host.mtu", "MTU 1500, rdma_links_mtu is 9000"),
        ({"netdev_addresses": ["10.0.0.9/24"]}, "host.address", "has 10.0.0.9/24, it should have 10.0.0.1/24"),
        ({"netdev_addresses": []}, "host.address", "has no address, it should have 10.0.0.1/24"),
        ({"roce_v2_gid_index": None}, "host.gid", "no GID of RoCE v2"),
        ({"gids": []}, "host.gid", "no GID of RoCE v2 with its address 10.0.0.1/24"),
        ({"rate_gbps": 10.0}, "host.port_rate", "runs at 10 Gb/s, group lab should have 25 Gb/s"),
        ({"link_layer": "InfiniBand"}, "host.link_layer", "is InfiniBand, group lab should have Ethernet"),
    ],
)
def test_a_port_that_is_wrong_is_named(facts_of: Facts, port: dict[str, Any], id_: str, said: str) -> None:
    expect: dict[str, Any] = {"rdma_discover_expect_rate_gbps": 25, "rdma_discover_expect_link_layer": "Ethernet"}
    checks = _host_facts.of_node(node(changed(facts_of("lab-01"), **port), **LAB, **expect))
    subject, text = worst(checks)[id_]
    assert subject == "mlx5_0/1"
    assert said in text
    assert next(check for check in checks if check.id == id_).remedy


@pytest.mark.parametrize(
    ("name", "id_", "verdict", "said"),
    [
        ("lab-02", "host.modules", "fail", "kernel module ib_umad is not loaded"),
        ("lab-02", "host.devices", "fail", "no /dev/infiniband/umadN"),
        ("v100-02", "host.pcie_link", "fail", "behind a PCIe link that carries 63 Gb/s"),
        ("case-no-sm", "host.subnet_manager", "fail", "no subnet manager answers"),
        ("case-acs", "host.acs", "warn", "ACS sends GPU-NIC traffic"),
        ("case-nothing", "host.ports", "fail", "0 usable port(s), group g should have 1"),
    ],
)
def test_faults_of_recorded_nodes(facts_of: Facts, name: str, id_: str, verdict: str, said: str) -> None:
    checks = _host_facts.of_node(node(facts_of(name), name, "g", rdma_discover_expect_hcas=1))
    found = [check for check in checks if check.id == id_ and said in check.text]
    assert [check.verdict for check in found] == [verdict]
    assert found[0].remedy


def test_a_cable_that_is_not_meant_to_be_there_is_not_missed(facts_of: Facts) -> None:
    facts = facts_of("a100-01")
    right = node(facts, "a100-01", rdma_discover_expect_hcas=1, rdma_links_subnet="198.51.100.0/25")
    assert "host.port_state" not in worst(_host_facts.of_node(right))
    assert "host.port_state" in worst(_host_facts.of_node(node(facts, "a100-01")))
    two = node(facts, "a100-01", rdma_links_subnet="198.51.100.0/25", rdma_links_rails=2, rdma_discover_expect_hcas=2)
    found = [check for check in _host_facts.of_node(two) if check.id == "host.port_state"]
    assert [(check.verdict, check.subject) for check in found] == [("fail", "mlx5_0/1")]


def test_a_nic_in_a_pod_is_no_fault(facts_of: Facts) -> None:
    checks = _host_facts.of_node(node(facts_of("case-in-pod"), **LAB))
    assert worst(checks) == {}
    assert [check.verdict for check in checks if check.id == "host.in_pod"] == ["impossible"]


def test_netns_mode(facts_of: Facts) -> None:
    checks = _host_facts.of_node(node(facts_of("case-vf"), rdma_kernel_netns_mode="shared"))
    assert worst(checks)["host.netns_mode"][1] == "the RDMA netns mode is exclusive, rdma_kernel_netns_mode is shared"
    assert "host.netns_mode" not in worst(_host_facts.of_node(node(facts_of("case-vf"))))


def test_a_host_without_facts_is_told_and_nothing_else() -> None:
    assert [(check.id, check.verdict) for check in _host_facts.of_node(node(None))] == [("host.facts", "fail")]


def test_what_only_the_fleet_shows(facts_of: Facts) -> None:
    other = changed(facts_of("lab-02"), netdev_addresses=["10.0.0.1/24", "fe80::1/64"])
    other["hcas"][0]["firmware"] = "1.0"
    nodes = [node(facts_of("lab-01")), node(facts_of("lab-01"), "lab-03"), node(other, "lab-02")]
    nodes[1] = node(changed(facts_of("lab-01"), netdev_addresses=["fe80::1/64"]), "lab-03")
    found = _host_facts.of_fleet(nodes)
    twice = [check for check in found if check.id == "host.duplicate_address"]
    assert {check.host for check in twice} == {"lab-01", "lab-02"}
    assert twice[0].text == "mlx5_0 (ens1np0) has 10.0.0.1, and so has lab-02"
    assert [check.host for check in found if check.id == "host.firmware"] == ["lab-02"]


DIFF = {
    "before_header": "/etc/x.toml",
    "after_header": "/etc/x.toml",
    "before": "a = 1\n  disable = true\n",
    "after": "a = 1\n  disable = false\n",
}
FILE = {"kind": "file", "name": "/etc/x.toml", "before": "present", "after": "present"}
SERVICE = {"kind": "service", "name": "containerd.service", "before": "running", "after": "restarted"}
NRI = {"enabled": True, "request_timeout": "30s"}
DRIFTS: list[tuple[str, dict[str, Any], str, str, str]] = [
    (
        "kernel",
        {"changes": [{"kind": "module", "name": "rdma_rxe", "before": "unloaded", "after": "loaded"}]},
        "host.modules",
        "fail",
        "module rdma_rxe is unloaded, it should be loaded",
    ),
    (
        "kernel",
        {"changes": [{"kind": "file", "name": "/etc/modules-load.d/z.conf", "before": "absent", "after": "present"}]},
        "host.kernel",
        "warn",
        "not as configured for the next boot: /etc/modules-load.d/z.conf is missing",
    ),
    (
        "kernel",
        {"changes": [], "reboot_reasons": ["ib_core.netns_mode is Y, 0 counts from the next boot"]},
        "host.kernel",
        "warn",
        "ib_core.netns_mode is Y, 0 counts from the next boot",
    ),
    (
        "kernel",
        {"changes": [], "not_effective": {"mlx5_core.x": "it is 1"}},
        "host.kernel",
        "fail",
        "mlx5_core.x is not in effect: it is 1",
    ),
    (
        "links",
        {"changes": [{"kind": "mtu", "name": "ens1np0", "before": 1500, "after": 9000}]},
        "host.mtu",
        "fail",
        "mtu ens1np0 is 1500, it should be 9000",
    ),
    (
        "links",
        {"changes": [{"kind": "connection", "name": "rdma-rail0", "before": "disconnected", "after": "connected"}]},
        "host.links",
        "fail",
        "connection rdma-rail0 is disconnected, it should be connected",
    ),
    (
        "runtime",
        {"changes": [FILE, SERVICE], "diff": [DIFF], "unit": "containerd.service"},
        "host.runtime",
        "fail",
        "containerd.service does not run with the configured NRI, CDI and memory lock:"
        " /etc/x.toml has 'disable = true' instead of 'disable = false'",
    ),
    (
        "runtime",
        {"changes": [SERVICE], "unit": "containerd.service"},
        "host.runtime",
        "fail",
        "it does not answer on its NRI socket, or was not restarted since its last change",
    ),
    (
        "runtime",
        {"changes": [{"kind": "sandbox_record", "name": "bad-0", "before": "left behind", "after": "absent"}, SERVICE]},
        "host.sandbox_records",
        "fail",
        "sandbox record bad-0 is left behind",
    ),
    (
        "runtime",
        {"changes": [], "sandbox_records": ["bad-0 (0f38942f46b9)"], "unit": "containerd.service"},
        "host.sandbox_records",
        "fail",
        "containerd.service will fail at its next start, or at a reboot: failed attaches left bad-0 (0f38942f46b9)",
    ),
    ("runtime", {"changes": [], "restart_pending": True}, "host.runtime", "fail", "configured and not restarted since"),
    (
        "runtime",
        {"changes": [], "running_pods_keep_old_limit": 2},
        "host.memlock",
        "warn",
        "2 running pod(s) have a lower limit of locked memory than configured",
    ),
]


@pytest.mark.parametrize(("concern", "result", "id_", "verdict", "said"), DRIFTS)
def test_what_prepare_would_change_is_a_finding(
    facts_of: Facts, concern: str, result: dict[str, Any], id_: str, verdict: str, said: str
) -> None:
    one = node(facts_of("lab-01"))
    setattr(one, concern, result)
    found = [check for check in _host_drift.of_node(one) if check.id == id_ and said in check.text]
    assert [check.verdict for check in found] == [verdict]
    assert found[0].remedy


def test_nothing_to_change_is_as_configured(facts_of: Facts) -> None:
    one = node(facts_of("lab-01"))
    one.kernel, one.links, one.runtime = {"changes": []}, {"changes": []}, {"changes": [], "nri": NRI}
    found = {check.id: (check.verdict, check.text) for check in _host_drift.of_node(one)}
    assert {verdict for verdict, _text in found.values()} == {"pass"}
    assert "NRI is in effect and answers with a request timeout of 30s" in found["host.runtime"][1]


def test_what_the_facts_show_is_not_told_twice(facts_of: Facts) -> None:
    one = node(facts_of("lab-02"), "lab-02")
    one.kernel = {"changes": [{"kind": "module", "name": "ib_umad", "before": "unloaded", "after": "loaded"}]}
    every = _host_facts.of_node(one) + _host_drift.of_node(one)
    assert len([check for check in every if check.subject == "ib_umad" and check.verdict == "fail"]) == 1


def test_what_a_role_refuses_is_a_failure_and_what_it_skipped_is_none(facts_of: Facts) -> None:
    one = node(facts_of("lab-01"))
    one.refused = {"kernel": "modules:\n 'ib_umad' does not exist"}
    one.runtime = {"changed": False, "skipped": True}
    found = {check.id: check for check in _host_drift.of_node(one)}
    assert found["host.kernel"].text == "what is configured cannot be: modules: 'ib_umad' does not exist"
    assert [found[name].verdict for name in ("host.kernel", "host.links", "host.runtime")] == [
        "fail",
        "impossible",
        "impossible",
    ]


def two(facts_of: Facts, **values: Any) -> list[Node]:
    return [node(facts_of(name), name, **values) for name in ("lab-01", "lab-02")]


def test_two_hosts_meet_once_and_measure_themselves(facts_of: Facts) -> None:
    first, second = _host_plan.plan(two(facts_of)).values()
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
    client = _host_plan.plan(nodes)["h100-02"].rounds[0]
    assert [run["hca"] for run in client.runs if run["test"] == "write_bw"] == [f"mlx5_{number}" for number in range(8)]
    assert {run["address"] for run in client.runs} == {"h100-01"}
    assert all("gid_index" not in run for run in client.runs)
    assert len({run["tcp_port"] for run in client.runs}) == 16


def test_addresses_in_one_network_are_taken_first(facts_of: Facts) -> None:
    many = changed(facts_of("lab-02"), netdev_addresses=["172.16.0.2/24", "fd00::2/64", "10.0.0.2/24"])
    client = _host_plan.plan([node(facts_of("lab-01")), node(many, "lab-02")])["lab-02"]
    assert (client.probes[0]["source"], client.probes[0]["target"]) == ("10.0.0.2", "10.0.0.1")
    only_ipv6 = changed(facts_of("lab-02"), netdev_addresses=["fd00::2/64"])
    client = _host_plan.plan([node(facts_of("lab-01")), node(only_ipv6, "lab-02")])["lab-02"]
    assert client.probes == []
    assert client.rounds[0].runs[0]["address"] == "lab-01"


def test_both_ends_know_of_an_ipv6_address(facts_of: Facts) -> None:
    nodes = [
        node(changed(facts_of(f"lab-0{number}"), netdev_addresses=[f"fd00::{number}/64"]), f"lab-0{number}")
        for number in (1, 2)
    ]
    server, client = (own.rounds[0].runs[0] for own in _host_plan.plan(nodes).values())
    assert (client["address"], client["ipv6"], server["ipv6"]) == ("fd00::1", True, True)


def test_a_server_waits_for_all_clients_that_come_before_its_own(facts_of: Facts) -> None:
    nodes = [node(facts_of("lab-01"), f"n{number}", rdma_verify_pairs="ring") for number in range(40)]
    quick, slow = (_host_plan.plan(nodes, forks)["n0"].rounds[0].seconds for forks in (40, 2))
    assert slow == quick * 10


def test_pairs_are_a_matter_of_the_group(facts_of: Facts) -> None:
    nodes = [node(facts_of("lab-01"), f"a{number}", "a", rdma_verify_pairs="none") for number in range(3)]
    nodes += [node(facts_of("lab-01"), f"b{number}", "b") for number in range(3)]
    nodes.append(node(None, "b9", "b"))
    plan = _host_plan.plan(nodes)
    assert {meeting.role for meeting in plan["a0"].rounds} == {"idle"}
    assert plan["a0"].probes == []
    assert sorted(meeting.peer for meeting in plan["b1"].rounds) == ["", "b0", "b2"]
    assert {meeting.role for meeting in plan["b9"].rounds} == {"idle"}


def test_what_cannot_be_measured_is_not_planned(facts_of: Facts) -> None:
    without_gid = changed(facts_of("lab-02"), roce_v2_gid_index=None)
    plan = _host_plan.plan([node(facts_of("lab-01")), node(without_gid, "lab-02", rdma_verify_loopback=False)])
    assert plan["lab-01"].rounds[0].role == "idle"
    assert plan["lab-02"].loopback.role == "idle"
    in_pod = _host_plan.plan([node(facts_of("case-in-pod")), node(facts_of("lab-02"), "lab-02")])
    assert in_pod["lab-02"].rounds[0].role == "idle"


def ping(whole: bool, reached: bool = True, usable: bool = True, lost: int = 0) -> dict[str, Any]:
    return {"whole": whole, "reached": reached, "usable": usable, "lost": lost, "mtu_named": None, "complaint": "said"}


def tried(
    facts_of: Facts, pings: dict[str, Any] | None = None, **results: dict[str, Any]
) -> tuple[list[Check], list[Measurement]]:
    """Verdicts on two hosts whose client and server gave these results by test; loopback was not tried."""
    nodes = two(facts_of, rdma_verify_loopback=False)
    plan = _host_plan.plan(nodes)
    for one in nodes:
        answers = [{**(pings or ping(True)), "name": probe["name"]} for probe in plan[one.host].probes]
        own = [{**claim, "other": None, "skipped": ""} for claim in plan[one.host].addresses]
        one.reached = {"pings": answers, "addresses": own}
    for one, role in zip(nodes, ("server", "client")):
        found = [{"name": f"{test} mlx5_0/1", **result} for test, result in results.get(role, {}).items()]
        one.rounds = [{"round": 0, "results": found}]
    return _host_live.of_fleet(nodes, plan)


GOOD = {
    "write_bw": {"ok": True, "error": "", "value": 23.2},
    "read_lat": {"ok": True, "error": "", "value": 1.94},
}
SERVED = {test: {"ok": True, "error": ""} for test in GOOD}


def test_what_was_measured_is_held_against_the_port(facts_of: Facts) -> None:
    checks, (bandwidth, latency) = tried(facts_of, client=GOOD, server=SERVED)
    assert worst(checks) == {}
    assert (bandwidth.source.host, bandwidth.target.host, bandwidth.value) == ("lab-02", "lab-01", 23.2)
    assert (bandwidth.expected, bandwidth.threshold, bandwidth.verdict) == (25.0, 22.5, "pass")
    assert (latency.unit, latency.threshold, latency.verdict) == ("us", 10.0, "pass")
    slow = {**GOOD, "write_bw": {"ok": True, "error": "", "value": 9.4}}
    assert [one.verdict for one in tried(facts_of, client=slow, server=SERVED)[1]] == ["fail", "pass"]


def test_the_cause_is_the_servers_where_it_did_not_serve(facts_of: Facts) -> None:
    failed = {test: {"ok": False, "error": "Couldn't connect to 10.0.0.1:18515"} for test in GOOD}
    served = {test: {"ok": False, "error": "TCP port 18515 is in use on this node"} for test in GOOD}
    checks, measured = tried(facts_of, client=failed, server=served)
    assert measured == []
    assert worst(checks)["host.bandwidth"] == (
        "mlx5_0/1",
        "read_lat with lab-01 gave no value: TCP port 18515 is in use on this node",
    )
    assert "Couldn't connect" in worst(tried(facts_of, client=failed, server=SERVED)[0])["host.bandwidth"][1]


def test_perftest_that_is_not_there_makes_it_impossible(facts_of: Facts) -> None:
    failed = {test: {"ok": False, "error": f"ib_{test} is not installed (package perftest)"} for test in GOOD}
    checks, _measured = tried(facts_of, client=failed, server=failed)
    assert {check.verdict for check in checks if check.id == "host.bandwidth"} == {"impossible"}


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
    plan = _host_plan.plan(nodes)
    claim = {"netdev": "ens1np0", "address": "10.0.0.1", "other": "02:00:00:00:00:02", "skipped": ""}
    nodes[0].reached = {"pings": [], "addresses": [claim]}
    nodes[1].reached = {"failed": True, "msg": "it broke"}
    checks, _measured = _host_live.of_fleet(nodes, plan)
    assert worst(checks)["host.duplicate_address"][1] == (
        "10.0.0.1 of ens1np0 is also claimed by the station 02:00:00:00:00:02"
    )
    assert [check.text for check in checks if check.host == "lab-02" and check.id == "host.path_mtu"] == [
        "it was not tried: it broke"
    ]


def hostvars(facts_of: Facts, **values: Any) -> dict[str, dict[str, Any]]:
    return {
        name: {"inventory_hostname": name, "group_names": ["lab"], "ansible_facts": {"rdma": facts_of(name)}, **values}
        for name in ("lab-01", "lab-02")
    }


def test_filters(facts_of: Facts) -> None:
    variables = hostvars(facts_of, ansible_host="192.0.2.1", rdma_verify_tests=["send_bw"], **LAB)
    names = list(variables)
    plan = verify_plan({}, names, variables, 50)
    assert [run["test"] for run in plan["lab-02"]["rounds"][0]["runs"]] == ["send_bw"]
    assert verify_part({**variables["lab-02"], "plan": plan}, "plan") == plan["lab-02"]
    found = host_verdicts({}, names, variables, plan, "this is a dry run")
    assert found["bandwidth"] == []
    assert {check["text"] for check in found["checks"] if check["id"] == "host.path_mtu"} == {
        "it was not tried: this is a dry run"
    }
    assert {check["group"] for check in found["checks"]} == {"lab"}
    variables["lab-02"]["__rdma_kernel_modules"] = {"changes": [], "skipped": False}
    again = host_verdicts({}, names, variables)["checks"]
    assert [check["host"] for check in again if check["id"] == "host.kernel" and check["verdict"] == "pass"] == [
        "lab-02"
    ]
