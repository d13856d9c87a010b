# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import copy
from typing import Any, List, Optional, Sequence, Tuple

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


def reference_node() -> Tuple[Any, ...]:
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


def rails(*, numa: int = 4) -> Tuple[List[Gpu], List[Hca]]:
    """Two GPUs per NUMA node, each with a NIC of its own behind cascaded switches (PXB)."""
    cards, nics = [], []
    for index in range(2 * numa):
        bus, node = 0x10 * (index + 1), index // 2
        name = f"pci0000:{bus:02x}"
        switch = f"{bus:02x}:01.0 {bus + 1:02x}:00.0"
        cards.append(function(f"{switch} {bus + 2:02x}:00.0 {bus + 3:02x}:00.0 {bus + 4:02x}:00.0", node, name))
        nics.append(hca(f"mlx5_{index}", f"{switch} {bus + 2:02x}:01.0 {bus + 6:02x}:00.0", node, name))
    return gpus(*cards), nics


def assigned(without: Sequence[str] = (), spare: Sequence[Hca] = (), **options: Any) -> List[List[str]]:
    cards, nics = rails()
    nics += spare
    usable = [nic.name for nic in nics if nic.name not in without]
    return [entry.nearest for entry in topology.affinity(cards, nics, usable, 4, **options)]


OWN = [[f"mlx5_{index}"] for index in range(8)]


def test_a_gpu_without_its_nic_takes_the_free_one_however_far() -> None:
    spare = hca("spare", "f0:01.0 f1:00.0", 3, "pci0000:f0")
    assert assigned(without=["mlx5_0"], spare=[spare]) == [["spare"], *OWN[1:]]


def test_a_gpu_without_its_nic_takes_one_of_several_before_an_only_one() -> None:
    second = hca("second", "80:01.0 81:00.0 82:02.0 87:00.0", 3, "pci0000:80")
    found = assigned(without=["mlx5_0"], spare=[second])
    assert found == [["mlx5_7"], *OWN[1:7], ["mlx5_7", "second"]]


def test_gpus_without_their_nics_share_the_nearest_when_none_is_free() -> None:
    assert assigned(without=["mlx5_0"]) == [["mlx5_1"], *OWN[1:]]
    assert assigned(without=["mlx5_0", "mlx5_1"])[:2] == [["mlx5_2"], ["mlx5_3"]]


def test_a_nic_that_comes_back_changes_nothing_for_the_others() -> None:
    assert assigned() == OWN
    assert assigned(without=["mlx5_3", "mlx5_6"])[:3] == OWN[:3]


def test_one_free_nic_goes_to_the_nearer_of_two_gpus() -> None:
    spare = hca("spare", "f0:01.0 f1:00.0", 3, "pci0000:f0")
    found = assigned(without=["mlx5_0", "mlx5_6"], spare=[spare])
    assert (found[0], found[6]) == (["mlx5_1"], ["spare"])


def test_ties_across_numa_nodes_go_by_distance() -> None:
    spare = [hca("far", "e0:01.0 e1:00.0", 1, "pci0000:e0"), hca("near", "f0:01.0 f1:00.0", 2, "pci0000:f0")]
    nps2 = {
        one: {other: 10 if one == other else 12 if one // 2 == other // 2 else 32 for other in range(4)}
        for one in range(4)
    }
    gone = ["mlx5_6", "mlx5_7"]
    assert assigned(without=gone, spare=spare, numa_distances=nps2)[6:] == [["near"], ["near"]]
    assert assigned(without=gone, spare=spare)[6:] == [["far"], ["near"]]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_below_cascaded_switches_the_nearest_bridge_decides(order: Tuple[int, int]) -> None:
    """Two NICs are PXB: one below the GPU's own switch by a further one, one below the switch above."""
    gpu = gpus(function("00:01.0 01:00.0 02:00.0 03:00.0 04:00.0 05:00.0"))
    near, far = "04:08.0 20:00.0 21:00.0 22:00.0", "02:08.0 10:00.0 11:00.0 12:00.0"
    paths = [f"00:01.0 01:00.0 02:00.0 03:00.0 {near}", f"00:01.0 01:00.0 {far}"]
    nics = [hca(f"mlx5_{place}", paths[which]) for place, which in enumerate(order)]
    entry = topology.affinity(gpu, nics, ["mlx5_0", "mlx5_1"], numa_nodes=1)[0]
    assert set(entry.paths.values()) == {"PXB"}
    assert entry.nearest == [f"mlx5_{order.index(0)}"]


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
