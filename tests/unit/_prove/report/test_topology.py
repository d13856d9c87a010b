# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Topology drawings of reports: what is in the tree of a recorded node, and where its boxes go."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any, Callable, Iterator

import expand  # conftest.py says where it is
import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import DocumentHost, VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import drawing as report_drawing

Facts = Callable[..., dict[str, Any]]


def shapes(**facts: dict[str, Any]) -> list[topology.DrawnShape]:
    return topology.shapes(VerifyDocument(None, "0", {name: DocumentHost("g", own) for name, own in facts.items()}))


def flat(below: list[Any], *above: str) -> Iterator[tuple[str, ...]]:
    for one in below:
        if isinstance(one, topology.Switch):
            yield from flat(one.below, *above, one.address)
        else:
            yield (*above, one.name)


def tree(shape: topology.DrawnShape) -> dict[Any, list[tuple[str, ...]]]:
    return {node.number: [path for root in node.roots for path in flat(root.below, root.name)] for node in shape.numa}


def test_devices_are_below_their_switches(facts_of: Facts) -> None:
    [shape] = shapes(node=facts_of("v100-01"))
    switches = [("pci0000:3a", "0000:3b:00.0"), ("pci0000:85", "0000:86:00.0")]
    assert tree(shape) == {
        0: [(*switches[0], "GPU 0"), (*switches[0], "GPU 1"), (*switches[0], "mlx5_0")],
        1: [(*switches[1], "GPU 2"), (*switches[1], "GPU 3"), (*switches[1], "mlx5_1")],
    }
    assert shape.paths == [["PIX", "SYS"], ["PIX", "SYS"], ["SYS", "PIX"], ["SYS", "PIX"]]


def test_devices_in_hexadecimal_order_without_switches(facts_of: Facts) -> None:
    [shape] = shapes(node=facts_of("h100-01"))
    names = [path[-1] for path in tree(shape)[1]]
    assert names == ["GPU 4", "GPU 5", "GPU 6", "GPU 7", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"]
    near = [box.right for box in report_drawing.draw(shape.numa[0]).boxes if box.kind == "gpu"]
    assert near == [f"NODE mlx5_{number}" for number in range(4)]


def test_what_is_down_is_near_to_no_gpu(facts_of: Facts) -> None:
    """As in the table of facts, where mlx5_0 has no GPU and mlx5_1 all of them."""
    [shape] = shapes(node=facts_of("a100-01"))
    gpus = {box.right for numa in shape.numa for box in report_drawing.draw(numa).boxes if box.kind == "gpu"}
    assert {text.partition(" ")[2] for text in gpus} == {"mlx5_1"}


def test_a_pf_stands_for_its_vfs(facts_of: Facts) -> None:
    facts = facts_of("case-vf")
    assert [hca["name"] for hca in facts["hcas"]] == ["mlx5_0", "mlx5_1", "mlx5_2"]
    [shape] = shapes(node=facts)
    assert [path[-1] for path in tree(shape)[0]] == ["GPU 0", "mlx5_0"]
    assert shape.hcas == ["mlx5_0"]
    [box] = [box for box in report_drawing.draw(shape.numa[0]).boxes if box.kind == "hca"]
    assert (box.name, box.after) == ("mlx5_0", "Ethernet, 2 VFs")


def test_what_is_nowhere_in_pcie_is_told(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-soft-roce"))
    facts["hcas"][0]["pci"] = None
    [shape] = shapes(node=facts)
    assert shape.unplaced == [facts["hcas"][0]["name"]]


def test_a_neighbour_that_does_not_know_its_numa_node_is_drawn(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    facts["hcas"][0]["pci"]["numa_node"] = None
    [shape] = shapes(node=facts)
    assert tree(shape)[None] == [("pci0000:3a", "0000:3b:00.0", "mlx5_0")]
    assert [report_drawing.draw(node).title for node in shape.numa][-1] == "NUMA node unknown"


def test_nodes_alike_are_one_shape_and_the_most_frequent_comes_first(facts_of: Facts) -> None:
    same, other = facts_of("a100-01"), facts_of("h100-03")
    found = shapes(b=facts_of("a100-02"), a=same, c=other, nothing=facts_of("case-nothing"), silent={})
    assert [(shape.hosts, shape.example) for shape in found] == [(["a", "b"], "a"), (["c"], "c")]


@pytest.mark.parametrize("name", expand.nodes())
def test_boxes_of_a_drawing_do_not_overlap(facts_of: Facts, name: str) -> None:
    facts = facts_of(name)
    for shape in shapes(node=facts):
        drawings = [report_drawing.draw(node) for node in shape.numa]
        boxes = [box for drawing in drawings for box in drawing.boxes]
        assert sum(box.kind == "gpu" for box in boxes) == len(facts["gpus"])
        for drawing in drawings:
            for one, other in combinations(drawing.boxes, 2):
                beside = one.x + one.width < other.x or other.x + other.width < one.x
                assert beside or one.y + one.height < other.y or other.y + other.height < one.y
            for box in drawing.boxes:
                assert 0 < box.x < box.x + box.width < drawing.width
                assert 0 < box.y < box.y + box.height < drawing.height
            children = [box for box in drawing.boxes if box.kind != "root"]
            assert len(drawing.lines) == len(children), "one line to each device and switch"
            assert {line[-1] for line in drawing.lines} == {(box.x, box.y + box.height // 2) for box in children}


def test_a_port_shows_state_rate_netdev_and_address(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("lab-01"))
    [port] = facts["hcas"][0]["ports"]
    port["netdev"]["addresses"] = ["10.0.0.1/24", "fd00:0010:0100::0001/64"]
    [shape] = shapes(node=facts)
    [box] = [box for node in shape.numa for box in report_drawing.draw(node).boxes if box.kind == "hca"]
    assert box.lines == [("ACTIVE, 25 Gb/s", True), ("ens1np0 10.0.0.1/24, fd00:0010:\u2026", True)]
    assert (shape.ports[0].netdev, shape.ports[0].addresses) == ("ens1np0", "10.0.0.1/24, fd00:0010:0100::0001/64")


def test_a_port_that_is_down_or_in_a_pod_says_so(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("a100-01"))
    [shape] = shapes(node=facts)
    assert [(port.name, port.state, port.up) for port in shape.ports][:2] == [
        ("mlx5_0/1", "DOWN", False),
        ("mlx5_1/1", "ACTIVE", True),
    ]
    [away] = shapes(node=facts_of("case-in-pod"))
    assert "in a pod" in [port.state for port in away.ports]


def test_links_that_differ_among_nodes_alike_are_told(facts_of: Facts) -> None:
    down = copy.deepcopy(facts_of("lab-01"))
    down["hcas"][0]["ports"][0]["state"] = "DOWN"
    [shape] = shapes(a=facts_of("lab-01"), b=down, c=down)
    assert shape.others == [("mlx5_0/1 is DOWN", ["b", "c"])]
