# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What only the facts of several nodes show: equal addresses, and what differs within a group."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import fleet
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts, changed, node


def test_what_only_the_fleet_shows(facts_of: Facts) -> None:
    other = changed(facts_of("lab-02"), netdev_addresses=["10.0.0.1/24", "fe80::1/64"])
    other["hcas"][0]["firmware"] = "1.0"
    nodes = [node(facts_of("lab-01")), node(facts_of("lab-01"), "lab-03"), node(other, "lab-02")]
    nodes[1] = node(changed(facts_of("lab-01"), netdev_addresses=["fe80::1/64"]), "lab-03")
    found = fleet.of_fleet(nodes)
    twice = [check for check in found if check.id == "host.duplicate_address"]
    assert {check.host for check in twice} == {"lab-01", "lab-02"}
    assert twice[0].text == "mlx5_0 (ens1np0) has 10.0.0.1, and so has lab-02"
    assert [check.host for check in found if check.id == "host.firmware"] == ["lab-02"]
    # A card that does not say what it is, or has, is not odd.
    for name in ("firmware", "board_id"):
        silent = copy.deepcopy(facts_of("lab-01"))
        silent["hcas"][0].update({"board_id": "MT_1", name: None})
        others = [node(silent, "lab-04"), node(silent, "lab-05"), node(other, "lab-02")]
        others[1].known.hcas[0].firmware = None if name == "firmware" else "2.0"
        assert [check for check in fleet.of_fleet(others) if check.id == "host.firmware"] == []


def test_an_address_is_the_same_however_it_is_spelled(facts_of: Facts) -> None:
    nodes = [
        node(changed(facts_of("lab-01"), netdev_addresses=["fd00::1/64"])),
        node(changed(facts_of("lab-02"), netdev_addresses=["fd00:0:0::1/64"]), "lab-02"),
    ]
    twice = [check for check in fleet.of_fleet(nodes) if check.id == "host.duplicate_address"]
    assert {check.host for check in twice} == {"lab-01", "lab-02"}


def test_drivers_that_differ_within_a_group(facts_of: Facts) -> None:
    def versions(host: str, group: str = "h100", **own: str) -> HostEvidence:
        facts = copy.deepcopy(facts_of("h100-01"))
        facts["system"].update(kernel="6.8.0-45-generic", versions={"nvidia": "560.35.03", **own})
        return node(facts, host, group)

    nodes = [versions("n1", mlx5_core="24.10-0.7.0"), versions("n2", mlx5_core="24.10-0.7.0")]
    nodes += [versions("n3", mlx5_core="24.07-0.6.1"), versions("m1", "other", mlx5_core="5.8-2.0.3")]
    checks = [check for check in fleet.of_fleet(nodes) if check.id == "host.drivers"]
    (odd,) = [check for check in checks if check.verdict == "warn"]
    assert (odd.host, odd.subject) == ("n3", "mlx5_core")
    assert odd.text == (
        "mlx5_core is 24.07-0.6.1, most of group h100 have 24.10-0.7.0 (24.07-0.6.1: n3; 24.10-0.7.0: n[1-2])"
    )
    nodes[3].known.gpus.clear()
    (alone,) = [check for check in fleet.of_fleet(nodes[3:]) if check.id == "host.drivers"]
    assert "GPUDirect" not in alone.text
    shown = {check.host: check.text for check in checks if check.verdict == "pass"}
    assert shown["n1"] == "kernel 6.8.0-45-generic, nvidia 560.35.03, mlx5_core 24.10-0.7.0, GPUDirect DMA-BUF"


def test_hosts_that_reach_gpu_memory_in_another_way(facts_of: Facts) -> None:
    nodes = [node(facts_of("h100-01"), "n1"), node(facts_of("h100-01"), "n2"), node(facts_of("v100-01"), "n3")]
    odd = {check.subject: check.text for check in fleet.of_fleet(nodes) if check.verdict == "warn"}
    assert odd["GPUDirect"].startswith("GPUDirect is nvidia_peermem, most of group lab have DMA-BUF")


def _with(facts_of: Facts, ports: int, gpus: int = 8, **values: Any) -> HostEvidence:
    facts = copy.deepcopy(facts_of("h100-01"))
    for key, number in (("usable", ports), ("gpus", gpus), ("affinity", gpus)):
        facts[key] = facts[key][:number]
    if not ports:
        facts["hcas"] = []
    return node(facts, values.pop("host"), values.pop("group", "h100"), **values)


@pytest.mark.parametrize(
    ("ports", "odd"),
    [
        ([8, 8, 8], {}),
        ([0, 8], {0: "0 ports fit for workloads; other nodes of group h100 with the same GPUs have 8 (0: n0; 8: n1)"}),
        (
            [8, 7, 8],
            {1: "7 ports fit for workloads; other nodes of group h100 with the same GPUs have 8 (7: n1; 8: n[0,2])"},
        ),
        ([0, 0, 1], {0: "have 1 (0: n[0-1]; 1: n2)", 1: "have 1 (0: n[0-1]; 1: n2)"}),
        ([4, 4, 1], {2: "1 port fit for workloads"}),
        ([4, 4, 8], {2: "8 ports fit for workloads"}),
        ([0, 0], {}),
    ],
)
def test_nodes_with_the_same_gpus_have_as_many_ports(facts_of: Facts, ports: list[int], odd: dict[int, str]) -> None:
    """One whose HCAs are gone has no other finding."""
    nodes = [_with(facts_of, number, host=f"n{place}") for place, number in enumerate(ports)]
    found = {check.host: check for check in fleet.of_fleet(nodes) if check.id == "host.ports"}
    assert found.keys() == {f"n{place}" for place in odd}
    for place, said in odd.items():
        check = found[f"n{place}"]
        assert (check.verdict, check.evidence["ports"]) == ("warn", ports[place])
        assert said in check.text
        assert "rdma_discover_expect_hcas" in check.remedy


def test_nodes_of_which_nothing_says_that_they_should_be_alike(facts_of: Facts) -> None:
    expected = _with(facts_of, 4, host="n1", rdma_discover_expect_hcas=4)
    nodes = [_with(facts_of, 8, host="n2"), _with(facts_of, 8, host="n3"), expected]
    nodes += [_with(facts_of, 4, 4, host="n4"), _with(facts_of, 4, host="n5", group="other"), node(None, "n6", "h100")]
    nodes += [_with(facts_of, 0, 0, host="n7")]
    assert [check.text for check in fleet.of_fleet(nodes) if check.id == "host.ports"] == []
