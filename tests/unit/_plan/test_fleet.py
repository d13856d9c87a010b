# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The fleet view of recorded nodes, small and large."""

from __future__ import annotations

import base64
import copy
import csv
import dataclasses
import io
from typing import Any, Callable

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.filter.fleet import fleet as fleet_filter
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import fleet, fleet_text

Facts = Callable[..., dict[str, Any]]


def view(*nodes: fleet.FleetNode, detail: str = "auto") -> str:
    return fleet_text.text(fleet.fleet(nodes), detail)


def findings(node: fleet.FleetNode, kind: str = "intent") -> list[str]:
    return [finding.code for finding in fleet.fleet([node]).findings if finding.kind == kind]


def large(facts_of: Facts) -> list[fleet.FleetNode]:
    """400 nodes of one shape, one of them with a port down and one unreachable."""
    facts = facts_of("h100-03")
    nodes = [fleet.FleetNode(f"gpu-{number:03}", "h100", read.facts(facts)) for number in range(1, 401)]
    broken = copy.deepcopy(facts)
    broken["hcas"][2]["ports"][0]["state"] = "DOWN"
    broken["usable"] = [entry for entry in broken["usable"] if entry["hca"] != "mlx5_2"]
    reason = {"code": "port_down", "text": "port state is DOWN"}
    broken["excluded"].append({"hca": "mlx5_2", "port": 1, "reasons": [reason]})
    nodes[16] = fleet.FleetNode("gpu-017", "h100", read.facts(broken))
    nodes[99] = fleet.FleetNode("gpu-100", "h100", None)
    return nodes


def test_a_small_fleet_shows_every_port_of_every_host(facts_of: Facts) -> None:
    text = view(*[fleet.FleetNode(name, "a100", read.facts(facts_of(name))) for name in ("a100-01", "a100-02")])
    lines = text.splitlines()
    assert lines[0].split() == [
        "HOST",
        "GROUP",
        "HCA",
        "PORT",
        "LINK",
        "STATE",
        "GBIT/S",
        "NETDEV",
        "NUMA",
        "GPUS",
        "NOTE",
    ]
    assert sum(line.startswith("a100-0") for line in lines) == 6
    assert len({line.find("InfiniBand") for line in lines if "InfiniBand" in line}) == 1, "columns are aligned"
    assert "0-7" in lines[2]
    assert "a100: 2 nodes alike" in text
    assert "a100-01: mlx5_0/1 is DOWN (Disabled), mlx5_1/1 is up: check the cable of mlx5_0/1" in text


def test_a_large_fleet_shows_equal_hosts_once_and_then_what_differs(facts_of: Facts) -> None:
    text = view(*large(facts_of))
    lines = text.splitlines()
    assert len(lines) < 25
    assert sum(line.startswith("398 hosts") for line in lines) == 4
    assert [line.split()[:3] for line in lines if line.startswith("gpu-017")] == [["gpu-017", "h100", "mlx5_2"]]
    assert "excluded: port state is DOWN" in text
    assert "no facts: 1 node: gpu-100" in text
    assert "gpu-[001-099,101-400]" in text


def test_full_detail_keeps_all_rows_of_a_large_fleet(facts_of: Facts) -> None:
    assert view(*large(facts_of), detail="full").count("\ngpu-") == 399 * 4 + 1


def test_rows_as_csv(facts_of: Facts) -> None:
    picture = fleet.fleet(large(facts_of))
    rows = list(csv.DictReader(io.StringIO(fleet_text.as_csv(picture))))
    assert rows == picture.rows
    assert len(rows) == 399 * 4 + 1


def test_host_without_rdma_has_a_row(facts_of: Facts) -> None:
    assert fleet.rows_of(fleet.FleetNode("x", "g", read.facts(facts_of("case-nothing"))))[0]["note"] == "no RDMA device"


def test_shapes_of_a_group_are_told_apart_and_explained(facts_of: Facts) -> None:
    names = ("h100-01", "h100-02", "h100-03")
    group = fleet.fleet([fleet.FleetNode(name, "h100", read.facts(facts_of(name))) for name in names]).groups[0]
    assert [shape.hosts for shape in group.shapes] == [["h100-01", "h100-02"], ["h100-03"]]
    assert [line.split(" ")[0] for line in group.shapes[1].differences] == ["lacks", "lacks"]
    assert "lacks 2 x HCA" in group.shapes[1].differences[0]


def test_shape_that_differs_in_paths_only_is_explained(facts_of: Facts) -> None:
    known = read.facts(facts_of("h100-03"))
    moved = dataclasses.replace(known, signature="0" * 12)
    assert fleet.differences(known, moved) == ["same devices, other PCIe paths between GPUs and HCAs"]


@pytest.mark.parametrize(
    ("name", "intent", "expected"),
    [
        ("a100-01", fleet.NodeIntent(hcas=1, gpus=8, link_layer="InfiniBand", rate_gbps=200), []),
        ("a100-01", fleet.NodeIntent(hcas=2), ["ports_missing"]),
        ("v100-01", fleet.NodeIntent(hcas=1), ["ports_unexpected"]),
        ("v100-01", fleet.NodeIntent(rate_gbps=200), ["rate_below_intent", "rate_below_intent"]),
        ("v100-01", fleet.NodeIntent(rate_gbps=50), []),
        ("v100-01", fleet.NodeIntent(link_layer="Ethernet"), ["link_layer_differs", "link_layer_differs"]),
        # Two of the ten usable ports belong to a storage network on Ethernet.
        ("case-b200", fleet.NodeIntent(hcas=8, link_layer="InfiniBand", rate_gbps=400), []),
        ("case-b200", fleet.NodeIntent(hcas=7, link_layer="InfiniBand"), ["ports_unexpected"]),
        ("case-b200", fleet.NodeIntent(link_layer="InfiniBand"), ["link_layer_differs", "link_layer_differs"]),
        (
            "case-b200",
            fleet.NodeIntent(hcas=9, link_layer="InfiniBand"),
            ["ports_unexpected", "link_layer_differs", "link_layer_differs"],
        ),
        ("v100-01", fleet.NodeIntent(gpus=8), ["gpus_missing"]),
        ("case-in-pod", fleet.NodeIntent(hcas=1), []),
        ("case-nothing", fleet.NodeIntent(hcas=1, gpus=1), ["ports_missing", "gpus_missing"]),
    ],
)
def test_intent(facts_of: Facts, name: str, intent: fleet.NodeIntent, expected: list[str]) -> None:
    assert findings(fleet.FleetNode(name, "g", read.facts(facts_of(name)), intent)) == expected


def test_a_warning_is_told_once_for_all_its_hosts(facts_of: Facts) -> None:
    nodes = [fleet.FleetNode(f"n{number}", "g", read.facts(facts_of("case-acs"))) for number in range(3)]
    assert [finding.hosts for finding in fleet.fleet(nodes).findings] == [["n0", "n1", "n2"]]


def test_filter_takes_group_and_intent_from_the_inventory(facts_of: Facts) -> None:
    variables = {
        "ansible_facts": {"rdma": facts_of("a100-01")},
        "group_names": ["a100", "rack1"],
        "rdma_discover_expect_hcas": "2",
    }
    result = fleet_filter(["one"], {"one": variables})
    assert result["rows"][0]["group"] == "a100"
    assert result["findings"][0]["text"] == "1 usable port, group a100 should have 2"
    assert fleet_filter(["one"], {"one": dict(variables, rdma_group="rack1")})["rows"][0]["group"] == "rack1"
    assert fleet_filter(["one"], {"one": {}})["rows"][0]["note"] == "no facts: unreachable or failed"


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("failed: no such file\nTraceback", "failed: no such file"),
        (
            "unreachable: ssh: connect to 192.0.2.1, not to 192.0.2.11",
            "unreachable: ssh: connect to <host>, not to 192.0.2.11",
        ),
        ("failed: one is down", "failed: <host> is down"),
        ("failed: " + "x" * 500, "failed: " + "x" * 192 + "..."),
    ],
)
def test_a_host_without_facts_has_the_reason(said: str, note: str) -> None:
    variables = {"ansible_host": "192.0.2.1", "rdma_discover_silent": True}
    variables["rdma_discover_silence"] = base64.b64encode(said.encode()).decode()
    assert fleet_filter(["one"], {"one": variables})["rows"][0]["note"] == f"no facts: {note}"
    # Who sets it in an inventory has it taken for nothing.
    variables["rdma_discover_silence"] = "no Base64"
    assert fleet_filter(["one"], {"one": variables})["rows"][0]["note"] == "no facts: unreachable or failed"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"rdma_discover_expect_hcas": "two"}, "one: rdma_discover_expect_hcas is 'two', it must be a number"),
        ({"rdma_discover_expect_gpus": -1}, "one: rdma_discover_expect_gpus is -1, it must be a number"),
        ({"rdma_discover_expect_link_layer": "IB"}, "one: rdma_discover_expect_link_layer is 'IB', it must be Infini"),
    ],
)
def test_filter_names_host_variable_and_value(variables: dict[str, Any], message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        fleet_filter(["one"], {"one": variables})


@pytest.mark.parametrize(
    "damage",
    [
        {"warnings": [{"code": "port_down", "text": "no subject"}]},
        {"hcas": [{"name": "mlx5_0", "sriov": 5}]},
        {"gpus": [{"index": 0, "model": 5}]},
        {"warnings": [{"code": "x", "subject": "y", "text": "z" * 2000}] * 25000},
        [],
    ],
)
def test_malformed_facts_of_one_host_leave_the_fleet_its_picture(facts_of: Facts, damage: Any) -> None:
    sent = {**facts_of("a100-01"), **damage} if damage else damage
    hostvars = {"bad": {"ansible_facts": {"rdma": sent}}, "good": {"ansible_facts": {"rdma": facts_of("a100-02")}}}
    result = fleet_filter(["bad", "good"], hostvars)
    assert result["rows"][0]["note"] == "no facts: malformed"
    assert {row["host"] for row in result["rows"]} == {"bad", "good"}
    (finding,) = [one for one in result["findings"] if one["code"] == "facts_malformed"]
    assert finding["hosts"] == ["bad"]
    assert finding["text"].startswith("the facts cannot be used: ")
    assert len(finding["text"]) < 300


def test_cells_that_a_spreadsheet_would_take_for_a_formula() -> None:
    cells = {"=1+1": "'=1+1", "+a": "'+a", "-a": "'-a", "@x": "'@x", "\tx": "'\tx", "\rx": "' x"}
    cells.update({"-": "-", "-1": "-1", "+2.5": "+2.5", "a=b": "a=b", "": ""})
    rows = [dict.fromkeys(fleet.COLUMNS, "") | {"netdev": cell} for cell in cells]
    written = csv.DictReader(io.StringIO(fleet_text.as_csv(fleet.Fleet(rows, [], []))))
    assert [row["netdev"] for row in written] == list(cells.values())
