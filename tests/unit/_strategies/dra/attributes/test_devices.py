# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What each NIC gets, by the facts of recorded nodes and the rails of a plan of links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, PciFunction, Port, Sriov
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import (
    configuration,
    devices,
    planned,
)

FIRST, SECOND = "0000:1a:00.0", "0000:3b:00.0"


def port(number: int = 1, **own: Any) -> Port:
    return Port(number, **{"state": "ACTIVE", "link_layer": "InfiniBand", "rate_gbps": 400.0, **own})


def hca(name: str, address: str, *ports: Port, **own: Any) -> Hca:
    return Hca(name, pci=PciFunction(address, "15b3", "1021", "0207"), ports=list(ports), **own)


def rail(name: str, hca: str = "", pci: str = "", port: int = 1) -> dict[str, Any]:
    return {"name": name, "hca": hca, "port": port, "pci": pci}


def test_rail_rate_and_link_layer() -> None:
    ethernet = port(link_layer="Ethernet", rate_gbps=100.0)
    facts = Facts(hcas=[hca("mlx5_0", FIRST, port()), hca("mlx5_1", SECOND, ethernet)])
    assert devices.of_node(facts, [rail("3", "renamed", FIRST), rail("4", "mlx5_1")]) == {
        FIRST: {"rail": 3, "link_layer": "InfiniBand", "rate_gbps": 400},
        SECOND: {"rail": 4, "link_layer": "Ethernet", "rate_gbps": 100},
    }


def test_a_port_that_is_down_has_no_rate_but_may_have_had_one() -> None:
    facts = Facts(hcas=[hca("mlx5_0", FIRST, port(state="DOWN", rate_gbps=10.0)), hca("mlx5_1", SECOND, port())])
    wanted = devices.of_node(facts, [])
    unknown = devices.untold(facts, wanted, leaf="")
    assert wanted == {
        FIRST: {"link_layer": "InfiniBand"},
        SECOND: {"link_layer": "InfiniBand", "rate_gbps": 400},
    }
    assert unknown == {FIRST: ["rate_gbps"]}
    present = {FIRST: {"rate_gbps": 200, "rail": 1}, SECOND: {"rate_gbps": 100}}
    assert devices.kept(wanted, present, unknown) == {**wanted, FIRST: {**wanted[FIRST], "rate_gbps": 200}}
    assert devices.kept(wanted, {}, unknown) == wanted


def test_a_vf_is_in_the_rail_of_its_port_and_has_its_rate() -> None:
    own = hca("mlx5_8", SECOND, port(state="DOWN", rate_gbps=10.0), sriov=Sriov("vf", pf_address=FIRST))
    facts = Facts(hcas=[hca("mlx5_0", FIRST, port()), own])
    rails = [rail("3", "mlx5_0", FIRST)]
    assert devices.of_node(facts, rails)[SECOND] == {"rail": 3, "link_layer": "InfiniBand", "rate_gbps": 400}
    assert devices.untold(facts, {}, leaf=None) == {}
    # The port of the physical function is unknown while a pod has it.
    facts.hcas.pop(0)
    assert devices.of_node(facts, rails)[SECOND] == {"rail": 3, "link_layer": "InfiniBand"}


def test_the_leaf_group_of_a_node_is_that_of_its_rails() -> None:
    """Storage ports are under other leaves. While nobody can tell, what was written stays."""
    facts = Facts(hcas=[hca("mlx5_0", FIRST, port()), hca("mlx5_1", SECOND, port())])
    rails = [rail("0", "mlx5_0")]
    layer = {"link_layer": "InfiniBand", "rate_gbps": 400}
    known = devices.of_node(facts, rails, "leaf-1")
    assert known == {FIRST: {"rail": 0, "leaf": "leaf-1", **layer}, SECOND: layer}
    unknown = devices.of_node(facts, rails)
    assert unknown[FIRST] == {"rail": 0, **layer}
    assert devices.untold(facts, unknown, None) == {FIRST: ["leaf"]}
    assert devices.kept(unknown, known, devices.untold(facts, unknown, None)) == known
    # In none, by what cabling has found.
    assert devices.untold(facts, unknown, "") == {}


def test_vfs_of_the_same_run_have_what_they_have_once_they_are_there(
    facts_of: Callable[[str], dict[str, Any]],
) -> None:
    facts = read.facts(facts_of("case-vf"))
    values = {"rdma_links_vfs": 2, "rdma_links_ports": [{"hca": "mlx5_0"}], "rdma_links_mtu": 9000}
    there = planned.of_host("n1", values, facts)
    vfs = [each for each in facts.hcas if each.sriov.role == "vf"]
    assert [there[each.pci.address]["rail"] for each in vfs if each.pci] == [0, 0]
    before = replace(facts, hcas=[each for each in facts.hcas if each.sriov.role != "vf"])
    assert planned.of_host("n1", values, before) == there
    assert len(planned.of_host("n1", {**values, "rdma_links_vfs": 0}, before)) == len(there) - 2


def test_a_function_whose_ports_differ_has_no_value() -> None:
    two = hca("mlx4_0", FIRST, port(), port(2, rate_gbps=56.0))
    rails = [rail("0", "mlx4_0", FIRST), rail("1", "mlx4_0", FIRST, 2)]
    assert devices.of_node(Facts(hcas=[two]), rails) == {FIRST: {"link_layer": "InfiniBand"}}


@pytest.mark.parametrize("name", ["a100-01", "h100-01", "v100-01", "case-two-ports", "case-vf", "lab-01"])
def test_what_is_planned_for_recorded_nodes_can_be_published(
    facts_of: Callable[[str], dict[str, Any]], name: str
) -> None:
    facts = read.facts(facts_of(name))
    rails = [rail(str(number), each.name) for number, each in enumerate(facts.hcas)]
    found = configuration.checked(devices.of_node(facts, rails))
    assert set(found) == {each.pci.address for each in facts.hcas if each.pci}
    assert any("rail" in values for values in found.values())


def test_a_nic_that_is_away_keeps_what_it_had() -> None:
    present = {FIRST: {"rail": 3}, SECOND: {"rail": 4}}
    assert devices.joined({FIRST: {"rail": 3, "rate_gbps": 400}}, present) == {
        FIRST: {"rail": 3, "rate_gbps": 400},
        SECOND: {"rail": 4},
    }
    # Unless another one is this rail by now.
    assert devices.joined({FIRST: {"rail": 4}}, present) == {FIRST: {"rail": 4}}
