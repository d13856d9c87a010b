# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What facts of recorded nodes answer of the questions that lead to a strategy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import questions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree

Facts = Callable[..., dict[str, Any]]
CHECKOUT = Path(__file__).resolve().parents[3]


def host(name: str, facts: dict[str, Any] | None, strategy: str = "dra", group: str = "gpu") -> InventoryHost:
    return InventoryHost(name, group, {"rdma_strategy": strategy}, read.facts(facts) if facts else None)


def line(*hosts: InventoryHost) -> str:
    title, found = questions.lines(hosts)
    assert title == questions.TITLE
    return found


@pytest.fixture(scope="module", name="lag")
def lag_facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Eight RoCE LAGs over bonds, and nothing else."""
    root = tmp_path_factory.mktemp("lag")
    topology_tree.write("roce-lag", root)
    return gather.gather(str(root))


def test_each_group_has_a_line_in_the_order_of_the_inventory(facts_of: Facts) -> None:
    hosts = [
        host("v100-01", facts_of("v100-01"), "shared_device", "v100"),
        host("a100-01", facts_of("a100-01"), "host_device", "a100"),
        host("v100-02", facts_of("v100-02"), "shared_device", "v100"),
    ]
    assert questions.lines(hosts) == [
        questions.TITLE,
        "  v100: shared_device fits. A node has 2 NICs (InfiniBand) and 4 GPUs. The firmware of a NIC allows 8 VFs.",
        "  a100: host_device fits. A node has 1 NIC (InfiniBand) and 8 GPUs. The firmware of a NIC allows 8 VFs.",
    ]
    assert questions.lines([]) == []


def test_nodes_that_differ_are_a_range_and_silent_ones_are_named(facts_of: Facts) -> None:
    hosts = [*(host(name, facts_of(name)) for name in ("h100-01", "h100-03")), host("h100-04", None)]
    assert line(*hosts) == (
        "  gpu: dra fits. A node has 4 to 8 NICs (InfiniBand) and 8 GPUs. The firmware of a NIC allows 0 to 8 VFs."
        " There are no facts of h100-04."
    )
    assert line(host("h100-04", None)) == "  gpu: dra, no facts"


def test_both_link_layers_of_a_group_are_named(facts_of: Facts) -> None:
    hosts = [host(name, facts_of(name)) for name in ("a100-01", "lab-01")]
    assert " NIC (Ethernet and InfiniBand) and " in line(*hosts)


@pytest.mark.parametrize(
    ("strategy", "verdict"),
    [
        ("dra", "dra, but RoCE LAGs over bonds cannot be moved into pods. "),
        ("host_device", "host_device, but RoCE LAGs over bonds cannot be moved into pods. "),
        ("sriov", "sriov, but RoCE LAGs over bonds cannot be moved into pods. "),
        ("shared_device", "shared_device, but pods on RoCE need hostNetwork or a second network (question 6). "),
        ("inject", "inject, but pods on RoCE need hostNetwork (question 8). "),
        ("none", "none fits. "),
    ],
)
def test_bonds_can_only_be_shared(lag: dict[str, Any], strategy: str, verdict: str) -> None:
    found = line(host("b300-01", lag, strategy))
    assert found.startswith(f"  gpu: {verdict}A node has 8 NICs (Ethernet, all of them RoCE LAGs over bonds) and ")


def test_one_node_without_bonds_leaves_the_question_open(lag: dict[str, Any], facts_of: Facts) -> None:
    assert "bonds" not in line(host("b300-01", lag), host("lab-01", facts_of("lab-01")))


def test_sriov_needs_vfs(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    assert "  gpu: sriov fits. " in line(host("v100-01", facts, "sriov"))
    facts["hcas"][0]["sriov"]["total_vfs"] = 0
    found = line(host("v100-01", facts, "sriov"))
    assert "sriov, but the firmware of NICs allows no VFs. " in found
    assert " allows 0 to 8 VFs." in found
    facts["hcas"][1]["sriov"]["total_vfs"] = 0
    assert " allows no VFs." in line(host("v100-01", facts, "sriov"))


def test_a_node_without_a_nic_fits_no_strategy_but_none(facts_of: Facts) -> None:
    nothing = facts_of("case-nothing")
    for word in registry.words():
        verdict = "none fits" if word == "none" else f"{word}, but no node has a usable NIC"
        assert line(host("n1", nothing, word)) == f"  gpu: {verdict}. A node has no usable NIC, and 0 GPUs."


def test_the_numbers_of_doubts_are_those_of_the_page() -> None:
    page = (CHECKOUT / "docs/choosing-a-strategy.md").read_text("utf-8")
    own = page.partition("## Questions that lead to one\n")[2].partition("\n## ")[0]
    numbered = dict(re.findall(r"^(\d)\. \*\*(.*?)\*\*", own, re.MULTILINE))
    assert numbered["6"] == "Does a pod need a NIC of its own?"
    assert numbered["8"] == "NIC next to the GPU?"
