# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Bonds (RoCE LAG) and ports of the LAN beside them and beside rails."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree
from ansible_collections.zerocopy.rdma.tests.unit.fleet.topology_tree import TopologyTree


def observed(tree: TopologyTree) -> Facts:
    return gather.observe(str(tree.root), gather.GatherOptions())


def test_bonds_are_used_where_there_is_nothing_else(tmp_path: Path) -> None:
    described = topology_tree.load("roce-lag")
    facts = observed(TopologyTree(tmp_path / "lag", described))
    assert facts.lags == [(f"mlx5_bond_{number}", 1) for number in range(8)]
    netdevs = [entry.ports[0].netdev for entry in facts.hcas]
    assert [(netdev.name, netdev.slave) for netdev in netdevs if netdev] == [
        (f"bond{number}", f"eth{2 * number}") for number in range(8)
    ]
    assert "no_rdma_device" not in {warning.code for warning in facts.warnings}
    # One NIC that is no bond is what workloads have, up or down; the bonds are another network then.
    nic = {"hca": "0000:e0:00.0", "name": "mlx5_8", "ll": "IB"}
    for state, usable in (("ACTIVE", ["mlx5_8"]), ("DOWN", [])):
        root = {"root": "0000:e0", "below": [{**nic, "state": state}]}
        with_nic = {**described, "roots": [*described["roots"], root]}
        facts = observed(TopologyTree(tmp_path / state, with_nic))
        assert [entry.hca for entry in facts.usable] == usable
        assert {reason.code for reason in facts.reasons["mlx5_bond_0", 1]} == {"bond"}
    # Nor are they, where they carry the default route.
    facts = observed(TopologyTree(tmp_path / "route", {**described, "default": "bond3"}))
    assert [entry.hca for entry in facts.excluded] == ["mlx5_bond_3"]


GEN3 = {"speed": 8.0, "width": 8}


@pytest.mark.parametrize(
    ("fields", "usable"),
    [
        ({"rate": "25 Gb/sec (1X EDR)"}, True),
        ({"rate": "10 Gb/sec (1X QDR)"}, True),
        # Without a link the rate is nominal; the card's slot carries no more than 63 Gb/s.
        ({"state": "DOWN", "rate": "40 Gb/sec (4X QDR)", **GEN3}, False),
        # A bond of the LAN beside those of the rails, with the default route or without.
        ({"name": "mlx5_bond_8", "bond": "bond8", "rate": "25 Gb/sec (1X EDR)"}, False),
    ],
)
@pytest.mark.parametrize("names", [("mlx5_bond_{}", "bond{}"), ("rocep{}s0f0", "rail-{}")])
def test_bonds_beside_a_lan_port(tmp_path: Path, fields: dict[str, Any], usable: bool, names: tuple[str, str]) -> None:
    text = (topology_tree.CASES / "roce-lag.yml").read_text()
    for pattern, name in zip((r"\bmlx5_bond_(\d)\b", r"\bbond(\d)\b"), names, strict=True):
        text = re.sub(pattern, name.format(r"\1"), text)
    described = yaml.safe_load(text)
    described["roots"].append(topology_tree.lan_port(**fields))
    if "bond" in fields:
        described["bonds"].append({"name": "bond8", "slaves": ["eno5"]})
    rails = [names[0].format(number) for number in range(8)]
    for default in ("eno1", "eno5") if "bond" not in fields else ("eno1", "bond8"):
        facts = observed(TopologyTree(tmp_path / default, {**described, "default": default}))
        assert [hca for hca, _port in facts.lags] == rails
        assert [entry.nearest for entry in facts.affinity] == [[name] for name in rails]
        lan = [entry.hca for entry in facts.usable if entry.hca not in rails]
        assert lan == (["roceo1"] if usable and default == "eno1" else [])


def test_a_faster_nic_than_bonds_is_what_workloads_have(tmp_path: Path) -> None:
    described = topology_tree.load("roce-lag")
    for rate in ("200 Gb/sec (4X HDR)", "400 Gb/sec (4X NDR)"):
        roots = [*described["roots"], topology_tree.lan_port(id="15b3:1021", rate=rate)]
        facts = observed(TopologyTree(tmp_path / rate.split()[0], {**described, "roots": roots}))
        assert [entry.hca for entry in facts.usable] == ["roceo1"]


def test_a_lan_port_is_no_rail_however_near(tmp_path: Path) -> None:
    """GPUs of one NUMA node have no rail there."""
    described = topology_tree.load("epyc-flat")
    described["roots"] = [root for root in described["roots"] if root["root"] not in ("0000:0c", "0000:36")]
    facts = observed(TopologyTree(tmp_path, described))
    assert [entry.nearest for entry in facts.affinity] == [["rocep181s0f0"]] * 4
    assert set(topology.other_kind(facts)) == {"roceo12409"}
