# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Verdicts on a fabric: recorded (synthesised) hosts, and what the real iblinkinfo said of one that ibsim simulated."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.iblinkinfo import parse
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import fabric
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_plan
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts, node

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/iblinkinfo"


def links(name: str, **own: Any) -> list[dict[str, Any]]:
    every = parse((FIXTURES / f"{name}.txt").read_text())
    return [{**dataclasses.asdict(link), **own} for link in every]


def judged(facts_of: Facts, fabrics: list[dict[str, Any]] | None) -> list[Check]:
    nodes = [node(facts_of(name), name, "v100", rdma_verify_fabric=True) for name in ("v100-01", "v100-02")]
    nodes[0].reached = None if fabrics is None else {"fabrics": fabrics}
    return fabric.of_fleet(nodes, host_plan.plan(nodes))


def read(own: list[dict[str, Any]], error: str = "") -> list[dict[str, Any]]:
    return [{"hca": "mlx5_0", "port": 1, "error": error, "links": own}]


def test_one_host_of_a_group_reads_the_fabric_and_only_when_asked(facts_of: Facts) -> None:
    names = ("v100-01", "v100-02", "lab-01")
    nodes = [node(facts_of(name), name, name.partition("-")[0], rdma_verify_fabric=True) for name in names]
    ports = {host: own.fabric_ports for host, own in host_plan.plan(nodes).items()}
    hcas = facts_of("v100-01")["hcas"]
    guids = ["0x" + hca["ports"][0]["gids"][0]["gid"].replace(":", "")[-16:] for hca in hcas]
    assert ports["v100-01"] == [
        {"hca": hca["name"], "port": 1, "guid": guid} for hca, guid in zip(hcas, guids, strict=True)
    ]
    assert (ports["v100-02"], ports["lab-01"]) == ([], [])
    quiet = host_plan.plan([node(facts_of("v100-01"), "v100-01", "v100")])
    assert quiet["v100-01"].fabric_ports == []


def test_a_host_that_cannot_ask_leaves_it_to_the_next(facts_of: Facts) -> None:
    blind = copy.deepcopy(facts_of("v100-01"))
    for hca in blind["hcas"]:
        for port in hca["ports"]:
            port["umad"]["present"] = False
    nodes = [
        node(facts, name, "v100", rdma_verify_fabric=True) for name, facts in (("a", blind), ("b", facts_of("v100-02")))
    ]
    plans = host_plan.plan(nodes)
    assert plans["a"].fabric_ports == []
    assert plans["b"].fabric_ports != []
    nodes[1].reached = {"fabrics": read(links("managed", could=[]))}
    assert [(check.host, check.verdict) for check in fabric.of_fleet(nodes, plans)] == [("b", "pass")]


def test_links_below_what_they_could_be(facts_of: Facts) -> None:
    found = judged(facts_of, read(links("managed")))
    # Each cable once.
    assert len(found) == 5
    assert {(check.id, check.host, check.verdict) for check in found} == {("host.fabric", "v100-01", "warn")}
    (narrow,) = [check for check in found if "1X" in check.text]
    assert (narrow.subject, narrow.text) == (
        "leaf2/7",
        "leaf2/7 to spine/2 runs at 1X with 2.5 Gb/s on each lane, both ends support 12X and 10.0 Gbps",
    )


def test_without_a_subnet_manager(facts_of: Facts) -> None:
    first = judged(facts_of, read(links("unmanaged")))[0]
    assert (first.verdict, first.subject) == ("fail", "mlx5_0/1")
    assert first.text == "none of the 5 links of the fabric of mlx5_0/1 is set up: there is no subnet manager"
    assert "Start a subnet manager" in first.remedy


def test_a_link_that_the_subnet_manager_left_out(facts_of: Facts) -> None:
    own = links("managed", could=[])
    for link in own:
        if "node3" in (link["name"], link["peer"]):
            link["state"] = "Initialize"
    (check,) = judged(facts_of, read(own))
    assert (check.verdict, check.text) == ("fail", "the subnet manager has not set up node3/1")


@pytest.mark.parametrize(
    ("fabrics", "verdict", "said"),
    [
        (read(links("managed", could=[])), "pass", "5 links of the fabric of mlx5_0/1 run at the width and speed"),
        (read([], "iblinkinfo is not installed"), "impossible", "are not known: iblinkinfo is not installed"),
        (None, "impossible", "were not read"),
    ],
)
def test_all_of_a_fabric(facts_of: Facts, fabrics: list[dict[str, Any]] | None, verdict: str, said: str) -> None:
    (check,) = judged(facts_of, fabrics)
    assert check.verdict == verdict
    assert said in check.text
