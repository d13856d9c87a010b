# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What two hosts try with each other, in numbers, and each verdict on it in its words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts, changed, node

VALUES: dict[str, Any] = {
    "rdma_verify_time_limit": 40,
    "rdma_verify_message_size": 65536,
}


def lab(facts_of: Facts, **values: Any) -> list[HostEvidence]:
    return [node(facts_of(name), name, **{**VALUES, **values}) for name in ("lab-01", "lab-02")]


def test_runs_have_the_figures_of_the_group(facts_of: Facts) -> None:
    server, client = (own.rounds[0] for own in host_plan.plan(lab(facts_of), forks=50).values())
    write = {"name": "write_bw mlx5_0/1", "test": "write_bw", "hca": "mlx5_0", "port": 1, "tcp_port": 18515}
    read = {"name": "read_lat mlx5_0/1", "test": "read_lat", "hca": "mlx5_0", "port": 1, "tcp_port": 18516}
    gids = [run.pop("gid_index") for run in client.runs]
    assert len(set(gids)) == 1
    # Three seconds at 25 Gb/s would be more messages than perftest gives a peak of. Latency has a size of its own.
    assert client.runs == [
        {**write, "iterations": 20000, "size": 65536, "address": "10.0.0.1"},
        {**read, "iterations": 1000, "address": "10.0.0.1"},
    ]
    # The server waits for both tests of its one client, with what Ansible needs between them.
    assert (client.seconds, server.seconds) == (40, (40 + 30) * 2)


def test_the_server_decides_what_both_do(facts_of: Facts) -> None:
    nodes = lab(facts_of)
    nodes[1].values = {**nodes[1].values, "rdma_verify_message_size": 1}
    server, client = (own.rounds[0] for own in host_plan.plan(nodes).values())
    assert [run["tcp_port"] for run in client.runs] == [run["tcp_port"] for run in server.runs] == [18515, 18516]
    assert client.runs[0]["size"] == 65536


def test_a_port_to_itself(facts_of: Facts) -> None:
    own = host_plan.plan(lab(facts_of))["lab-01"].loopback
    assert (own.role, own.peer, own.seconds, own.expected) == ("loopback", "lab-01", 40, [25.0])
    assert [run["test"] for run in own.runs] == ["write_bw"]
    assert "address" not in own.runs[0]
    for values in ({"rdma_verify_tests": ["read_lat"]}, {"rdma_verify_loopback": False}):
        assert host_plan.plan(lab(facts_of, **values))["lab-01"].loopback.role == "idle"


def test_without_tests_nobody_meets(facts_of: Facts) -> None:
    assert {own.rounds[0].role for own in host_plan.plan(lab(facts_of, rdma_verify_tests=[])).values()} == {"idle"}


def test_two_ports_of_a_card_share_its_link(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    first, second = facts["hcas"]
    second["pci"] = {**second["pci"], "address": first["pci"]["address"][:-1] + "1"}
    both = host_plan.plan([node(facts, name, "v100", **VALUES) for name in ("n1", "n2")])["n2"].rounds[0]
    assert both.expected[:2] == pytest.approx([52.95] * 2, abs=0.01)
    alone = host_plan.plan([node(facts_of("v100-01"), name, "v100", **VALUES) for name in ("n1", "n2")])["n2"].rounds[0]
    assert alone.expected[:2] == [100.0, 100.0]


def test_ports_of_two_link_layers_cannot_talk(facts_of: Facts) -> None:
    other = node(changed(facts_of("lab-02"), link_layer="InfiniBand"), "lab-02", **VALUES)
    found = host_plan.plan([node(facts_of("lab-01"), **VALUES), other])
    assert {own.rounds[0].role for own in found.values()} == {"idle"}
    both = [
        node(changed(facts_of(name), link_layer="InfiniBand", roce_v2_gid_index=None), name, **VALUES)
        for name in ("lab-01", "lab-02")
    ]
    assert host_plan.plan(both)["lab-02"].rounds[0].role == "client"


@pytest.mark.parametrize(
    ("addresses", "claimed"),
    [
        (["10.0.0.1/24", "10.0.0.1/24", "fd00::1/64", "fe80::1/64", "169.254.0.1/16", "127.0.0.2/8"], ["10.0.0.1"]),
        (["10.0.0.9/24", "10.0.0.1/24"], ["10.0.0.9", "10.0.0.1"]),
        ([], []),
    ],
)
def test_addresses_that_another_station_may_have(facts_of: Facts, addresses: list[str], claimed: list[str]) -> None:
    one = node(changed(facts_of("lab-01"), netdev_addresses=addresses), **VALUES)
    found = host_plan.plan([one])["lab-01"].addresses
    assert found == [{"netdev": "ens1np0", "address": address} for address in claimed]


def test_a_netdev_without_an_mtu_is_sent_nothing(facts_of: Facts) -> None:
    nodes = [node(changed(facts_of("lab-01"), netdev_mtu=None), **VALUES), node(facts_of("lab-02"), "lab-02", **VALUES)]
    found = host_plan.plan(nodes)
    assert found["lab-01"].probes == []
    assert [probe["target"] for probe in found["lab-02"].probes] == ["10.0.0.1"]


def test_a_plan_goes_through_json(facts_of: Facts) -> None:
    from dataclasses import asdict

    for own in host_plan.plan(lab(facts_of, rdma_verify_fabric=True)).values():
        assert host_plan.own(asdict(own)) == own


def answered(facts_of: Facts, **answer: Any) -> list[HostEvidence]:
    """Two hosts that were pinged with this answer; nobody has their addresses."""
    nodes = lab(facts_of)
    for one, own in zip(nodes, host_plan.plan(nodes).values()):
        whole = {"usable": True, "reached": True, "whole": True, "lost": 0, "mtu_named": None, "complaint": ""}
        pings = [{**whole, "name": probe["name"], **answer} for probe in own.probes]
        addresses = [{**claim, "other": None, "skipped": ""} for claim in own.addresses]
        one.reached = {"pings": pings, "addresses": addresses}
    return nodes


def verdicts(nodes: list[HostEvidence], what: str, untried: str = "") -> list[tuple[str, str]]:
    """Verdict and text of the first host's checks of this kind."""
    checks, _measured = live.of_fleet(nodes, host_plan.plan(nodes), untried)
    return [(one.verdict, one.text) for one in checks if one.host == nodes[0].host and one.id == f"host.{what}"]


WAY = "10.0.0.1 to 10.0.0.2 (lab-02)"


@pytest.mark.parametrize(
    ("answer", "what", "found"),
    [
        ({}, "path_mtu", [("pass", "packets of 9000 bytes arrive unfragmented over 1 path")]),
        ({}, "reachable", []),
        ({"lost": 1}, "reachable", [("warn", f"1 of 2 packets from {WAY} were lost")]),
        ({"lost": 1}, "path_mtu", [("pass", "packets of 9000 bytes arrive unfragmented over 1 path")]),
        ({"reached": False, "whole": False}, "reachable", [("fail", f"no packet arrives from {WAY}")]),
        ({"reached": False, "whole": False}, "path_mtu", []),
        (
            {"whole": False, "complaint": "message too long"},
            "path_mtu",
            [("fail", f"packets of 9000 bytes do not arrive from {WAY}, but small ones do: message too long")],
        ),
        ({"usable": False, "complaint": "no ping"}, "path_mtu", [("impossible", "it could not be tested: no ping")]),
        ({"name": "of another run"}, "path_mtu", []),
        ({}, "duplicate_address", [("pass", "no other station claims 10.0.0.1")]),
    ],
)
def test_what_packets_tell(facts_of: Facts, answer: dict[str, Any], what: str, found: list[tuple[str, str]]) -> None:
    assert verdicts(answered(facts_of, **answer), what) == found


def test_addresses_that_could_not_be_probed(facts_of: Facts) -> None:
    nodes = answered(facts_of)
    one, other = ({"netdev": "ens1np0", "address": f"10.0.0.{n}", "other": None, "skipped": ""} for n in (1, 9))
    nodes[0].reached = {"pings": [], "addresses": [{**one, "skipped": "it is InfiniBand"}]}
    text = "it is unknown whether another station has 10.0.0.1 of ens1np0: it is InfiniBand"
    assert verdicts(nodes, "duplicate_address") == [("impossible", text)]
    nodes[0].reached = {"pings": [], "addresses": [{**one, "skipped": "it is InfiniBand"}, other]}
    assert verdicts(nodes, "duplicate_address")[1:] == [("pass", "no other station claims 10.0.0.9")]
    nodes[0].reached = {"pings": [], "addresses": [{**one, "other": "02:00:00:00:00:09"}, other]}
    assert [verdict for verdict, _text in verdicts(nodes, "duplicate_address")] == ["fail"]


def test_what_was_not_tried_says_why(facts_of: Facts) -> None:
    nodes = lab(facts_of)
    for what in ("path_mtu", "duplicate_address"):
        assert verdicts(nodes, what) == [("impossible", "it was not tested: the host failed earlier")]
    for what in ("path_mtu", "duplicate_address", "bandwidth"):
        assert verdicts(nodes, what, "a dry run") == [("impossible", "it was not tested: a dry run")]
    nodes[0].facts = None
    assert verdicts(nodes, "path_mtu") == []


def alone(facts_of: Facts, result: dict[str, Any] | None, **values: Any) -> tuple[list[Check], list[Measurement]]:
    """A host that measured a port to itself with this result."""
    one = lab(facts_of, **values)[0]
    one.reached = {"pings": [], "addresses": []}
    one.loopback = result and {
        "results": [{"name": "write_bw mlx5_0/1", "ok": True, "code": "", "error": "", **result}]
    }
    checks, measured = live.of_fleet([one], host_plan.plan([one]))
    return [check for check in checks if check.id == "host.bandwidth"], measured


@pytest.mark.parametrize(
    ("values", "threshold", "verdict"),
    [
        ({}, 22.5, "pass"),
        ({"rdma_verify_fraction": 0.95}, 23.75, "fail"),
        ({"rdma_verify_gbps": 23.2}, 23.2, "pass"),
        ({"rdma_verify_gbps": 24}, 24, "fail"),
    ],
)
def test_what_is_enough_is_up_to_the_group(
    facts_of: Facts, values: dict[str, Any], threshold: float, verdict: str
) -> None:
    checks, (found,) = alone(facts_of, {"value": 23.2049}, **values)
    assert checks == []
    assert (found.value, found.unit, found.expected) == (23.2, "Gb/s", 25.0)
    assert (found.threshold, found.verdict) == (threshold, verdict)
    assert (found.source.host, found.source.hca, found.source.port) == ("lab-01", "mlx5_0", 1)
    assert found.target == found.source


@pytest.mark.parametrize(
    ("result", "verdict", "text", "remedy", "mend"),
    [
        (None, "fail", "it was not tested", "TCP 18515 and following", ""),
        ({"ok": False, "error": "it hangs"}, "fail", "it hangs", "TCP 18515 and following", ""),
        (
            {"ok": False, "code": "not_installed", "error": "no perftest"},
            "impossible",
            "no perftest",
            "Install perftest (rdma_kernel_packages).",
            "kernel",
        ),
    ],
)
def test_a_measurement_that_gave_nothing(
    facts_of: Facts, result: dict[str, Any] | None, verdict: str, text: str, remedy: str, mend: str
) -> None:
    (found,), measured = alone(facts_of, result)
    assert measured == []
    assert (found.verdict, found.text) == (verdict, f"write_bw to itself returned no result: {text}")
    assert remedy in found.remedy
    assert (found.mend, found.subject) == (mend, "mlx5_0/1")


def test_soft_roce_has_no_latency_to_be_held_to(facts_of: Facts) -> None:
    facts = changed(facts_of("lab-01"))
    for software, threshold in ((False, 10.0), (True, None)):
        facts["hcas"][0]["software"] = software
        nodes = [node(facts, name, **VALUES) for name in ("lab-01", "lab-02")]
        plan = host_plan.plan(nodes)
        done = {"ok": True, "code": "", "error": "", "value": 8.0}
        nodes[1].rounds = [
            {"round": 0, "results": [{"name": run["name"], **done} for run in plan["lab-02"].rounds[0].runs]}
        ]
        (latency,) = [one for one in live.of_fleet(nodes, plan)[1] if one.test == "read_lat"]
        assert (latency.unit, latency.expected, latency.threshold) == ("us", None, threshold)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["a", "b", "c", "d"], "a, b, c, d"),
        (["a", "b", "c", "d", "e"], "a, b, c, d and 1 more"),
        ([], ""),
    ],
)
def test_names_in_a_sentence(names: list[str], text: str) -> None:
    assert joined(names) == text
