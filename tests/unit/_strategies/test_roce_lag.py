# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What strategies make of nodes whose HCAs are all RoCE LAGs, and of LAN ports: pods get them, or it says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    SHARED_DEVICE,
    SRIOV,
    PluginFleet,
    shared,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree

NAMES = [f"mlx5_bond_{number}" for number in range(8)]
INJECT = PluginFleet("inject", "zerocopy.rdma.node-restriction.kubernetes.io/inject", {})
DRA = PluginFleet("dra", "zerocopy.rdma.node-restriction.kubernetes.io/group", {})


@pytest.fixture(scope="module", name="facts")
def lag_facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("lag")
    topology_tree.write("roce-lag", root)
    return gather.gather(str(root))


def test_pods_share_them(facts: dict[str, Any]) -> None:
    found = SHARED_DEVICE.right(SHARED_DEVICE.hosts_of({"n1": facts}, "b300"))
    # The plugin knows a function by the slave that is on it.
    assert shared(found)["b300"]["selectors"] == {
        "ifNames": [f"eth{number}" for number in range(0, 16, 2)],
        "linkTypes": ["ether"],
    }
    (ask,) = found["requests"]["b300"]
    assert ask["hosts"] == {"n1": NAMES}
    assert found["warnings"] == []


def test_they_are_injected_next_to_gpus(facts: dict[str, Any]) -> None:
    found = INJECT.right(INJECT.hosts_of({"n1": facts}, "b300"))
    (ask,) = found["requests"]["b300"]
    assert (ask["hosts"], ask["host_network"]) == ({"n1": NAMES}, True)


@pytest.mark.parametrize("fleet", [HOST_DEVICE, SRIOV, DRA], ids=lambda fleet: fleet.strategy)
def test_they_are_moved_into_no_pod(facts: dict[str, Any], fleet: PluginFleet) -> None:
    found = fleet.plan(fleet.hosts_of({"n1": facts}, "b300"))
    (line,) = found["problems"]
    assert "RoCE LAG" in line
    assert "InfiniBand" not in line
    assert found["sets"] == []


@pytest.mark.parametrize("fleet", [SHARED_DEVICE, INJECT, HOST_DEVICE, SRIOV], ids=lambda fleet: fleet.strategy)
def test_beside_a_nic_that_is_down_they_are_named(tmp_path: Path, fleet: PluginFleet) -> None:
    described = topology_tree.load("roce-lag")
    nic = {"hca": "0000:e1:00.0", "name": "mlx5_0", "ll": "ETH", "netdev": "eno5", "id": "15b3:1015", "state": "DOWN"}
    described["roots"].append({"root": "0000:e0", "numa": 0, "below": [nic]})
    facts = gather.gather(str(topology_tree.TopologyTree(tmp_path, described).root))
    (line,) = fleet.plan(fleet.hosts_of({"n1": facts}, "b300"))["problems"]
    assert "mlx5_bond_7 (RoCE LAG over bonds) would be used only if all other NICs" in line
    assert "InfiniBand" not in line


def test_a_template_says_why_it_fits_nowhere(facts: dict[str, Any]) -> None:
    own = {"rdma_claims_templates": [{"name": "one", "gpus": 1, "nics": 1}]}
    (line,) = DRA.plan(DRA.hosts_of({"n1": facts}, "b300", **own))["problems"]
    assert "n1: rdma_strategy is dra, but its NICs (mlx5_bond_0, " in line


def test_their_links_are_those_of_the_bonds(facts: dict[str, Any]) -> None:
    """Ours would be a second profile for their netdevs, and their slaves are no links."""
    values = {"rdma_links_subnet": "10.0.0.0/16", "rdma_links_rails": 8}
    texts = [problem.text for problem in host_links.problems("n1", values, read.facts(facts))]
    assert any("mlx5_bond_7/1: mlx5_bond_7 is a RoCE LAG over the bond bond7" in text for text in texts), texts


@pytest.mark.parametrize("fleet", [SHARED_DEVICE, HOST_DEVICE], ids=lambda fleet: fleet.strategy)
def test_pods_get_no_lan_port_without_a_word(tmp_path: Path, fleet: PluginFleet) -> None:
    """Device plugins cannot tell which HCA of theirs a pod gets."""
    topology_tree.write("epyc-flat", tmp_path)
    facts = gather.gather(str(tmp_path))
    said = "n1: pods may get roceo12409, but it runs at 25 Gb/s, the NICs next to GPUs at 400: add its PCI address to"
    assert [text for text in fleet.right(fleet.hosts_of({"n1": facts}, "h100"))["warnings"] if said in text]
    own = {"rdma_driver_exclude": ["0000:22:00.1"]}
    found = fleet.right(fleet.hosts_of({"n1": facts}, "h100", **own))
    assert not [text for text in found["warnings"] if "roceo12409" in text]
