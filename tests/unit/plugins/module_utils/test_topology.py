# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import copy
from typing import List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Gpu, Hca, PciFunction, Port


def function(path: str, numa: Optional[int] = 0, root: Optional[str] = "pci0000:00") -> PciFunction:
    """A PCI function at the end of ``path``, a list of bus:device.function without the domain."""
    addresses = ["0000:" + part for part in path.split()]
    return PciFunction(addresses[-1], "15b3", "1021", "020700", "mlx5_core", numa, root, addresses)


def hca(name: str, path: str, numa: Optional[int] = 0, root: str = "pci0000:00") -> Hca:
    return Hca(name, driver="mlx5_core", pci=function(path, numa, root), ports=[Port(1, link_layer="InfiniBand")])


def gpus(*functions: PciFunction) -> List[Gpu]:
    return [Gpu(index, pci) for index, pci in enumerate(functions)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(
            function("00:01.0 01:00.0 02:00.0 03:00.0"),
            function("00:01.0 01:00.0 02:01.0 04:00.0"),
            "PIX",
            id="two downstream ports of one switch",
        ),
        pytest.param(
            function("00:01.0 01:00.0 02:00.0 03:00.0"),
            function("00:01.0 01:00.0 02:01.0 04:00.0 05:00.0 06:00.0"),
            "PXB",
            id="a switch below the switch",
        ),
        pytest.param(
            function("00:01.0 01:00.0"), function("00:02.0 02:00.0"), "PHB", id="two root ports of one root complex"
        ),
        pytest.param(function("00:02.0"), function("00:03.0"), "PHB", id="integrated endpoints"),
        pytest.param(
            function("00:01.0 01:00.0", 1),
            function("40:01.0 41:00.0", 1, "pci0000:40"),
            "NODE",
            id="two root complexes of one NUMA node",
        ),
        pytest.param(
            function("00:01.0 01:00.0", 0), function("40:01.0 41:00.0", 1, "pci0000:40"), "SYS", id="two NUMA nodes"
        ),
        pytest.param(
            function("00:01.0 01:00.0", None),
            function("40:01.0 41:00.0", None, "pci0000:40"),
            "SYS",
            id="unknown NUMA nodes are not the same one",
        ),
        pytest.param(
            function("01:00.0", None, None), function("02:00.0", None, None), "SYS", id="unknown root complexes"
        ),
    ],
)
def test_path_class_follows_the_nvidia_legend(one: PciFunction, other: PciFunction, expected: str) -> None:
    assert topology.path_class(one, other, numa_nodes=2) == expected
    assert topology.path_class(other, one, numa_nodes=2) == expected


def test_without_numa_every_root_complex_is_on_the_one_node() -> None:
    one, other = function("00:01.0 01:00.0", None), function("40:01.0 41:00.0", None, "pci0000:40")
    assert topology.path_class(one, other, numa_nodes=1) == "NODE"


def reference_node() -> tuple:
    """S1.10: 8 GPUs and 4 HCAs on two root complexes, each device on a root port of its own."""
    cards, nics = [], []
    for root, bus in enumerate((0x00, 0x80)):
        name = f"pci0000:{bus:02x}"
        for slot in range(6):
            path = f"{bus:02x}:{slot + 1:02x}.0 {bus + slot + 1:02x}:00.0"
            if slot < 4:
                cards.append(function(path, root, name))
            else:
                nics.append(hca(f"mlx5_{root * 2 + slot - 4}", path, root, name))
    return gpus(*cards), nics


def nearest(*, usable: List[str]) -> List[List[str]]:
    cards, nics = reference_node()
    return [entry.nearest for entry in topology.affinity(cards, nics, usable, numa_nodes=2)]


def test_eight_gpus_share_four_hcas_in_pairs() -> None:
    pairs = nearest(usable=["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"])
    assert pairs == [["mlx5_0"]] * 2 + [["mlx5_1"]] * 2 + [["mlx5_2"]] * 2 + [["mlx5_3"]] * 2


def test_gpus_without_an_hca_on_their_side_share_the_far_ones_evenly() -> None:
    pairs = nearest(usable=["mlx5_2", "mlx5_3"])
    assert pairs[:4] == [["mlx5_2"], ["mlx5_2"], ["mlx5_3"], ["mlx5_3"]]


def test_more_hcas_than_gpus_are_all_used() -> None:
    cards, nics = reference_node()
    entries = topology.affinity(cards[:1], nics[:2], ["mlx5_0", "mlx5_1"], numa_nodes=2)
    assert entries[0].nearest == ["mlx5_0", "mlx5_1"]


def test_no_usable_hca_leaves_gpus_without_one_but_keeps_the_paths() -> None:
    cards, nics = reference_node()
    entry = topology.affinity(cards, nics, [], numa_nodes=2)[7]
    assert entry.nearest == []
    assert entry.paths == {"mlx5_0": "SYS", "mlx5_1": "SYS", "mlx5_2": "PHB", "mlx5_3": "PHB"}


def signature_after(change) -> bool:
    """Whether a change to one node leaves its signature as it was."""
    cards, nics = reference_node()
    before = topology.signature(cards, nics, 2)
    cards, nics = copy.deepcopy((cards, nics))
    change(cards, nics)
    return topology.signature(cards, nics, 2) == before


def test_signature_ignores_what_differs_between_equal_nodes() -> None:
    def operate(cards: List[Gpu], nics: List[Hca]) -> None:
        nics[0].name, nics[0].node_guid, nics[0].firmware = "rocep1s0", "0000:0000:0000:0001", "28.0.1"
        nics[0].ports[0].state = "DOWN"
        nics.append(Hca("rxe0", driver="rxe", software=True, pci=nics[0].pci))

    assert signature_after(operate)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda cards, nics: nics.pop(), id="an HCA less"),
        pytest.param(lambda cards, nics: cards.pop(), id="a GPU less"),
        pytest.param(lambda cards, nics: setattr(nics[0], "board_id", "MT_0000000001"), id="another board"),
        pytest.param(lambda cards, nics: setattr(nics[0].ports[0], "link_layer", "Ethernet"), id="another link layer"),
        pytest.param(lambda cards, nics: setattr(cards[0], "pci", cards[4].pci), id="a GPU on the other side"),
    ],
)
def test_signature_tells_different_hardware_apart(change) -> None:
    assert not signature_after(change)
