# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Facts of published PCIe topologies, against what their files say of the machines."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, PciFunction, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import facts as host_facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import selectors as claims_selectors
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import node
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra import claims_plan
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree
from ansible_collections.zerocopy.rdma.tests.unit.fleet.topology_tree import TopologyTree

CASES = sorted(path.stem for path in topology_tree.CASES.glob("*.yml"))


def observed(tree: TopologyTree, **options: Any) -> Facts:
    return gather.observe(str(tree.root), gather.GatherOptions(**options))


def codes(facts: Facts) -> list[tuple[str, str]]:
    return [(warning.code, warning.subject) for warning in facts.warnings]


def hca(facts: Facts, name: str) -> Hca:
    return next(hca for hca in facts.hcas if hca.name == name)


@pytest.fixture(scope="module", name="tree")
def make_tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TopologyTree]:
    base = tmp_path_factory.mktemp("topologies")
    known: dict[str, TopologyTree] = {}

    def tree(name: str) -> TopologyTree:
        if name not in known:
            known[name] = topology_tree.write(name, base / name)
        return known[name]

    return tree


@pytest.mark.parametrize("name", CASES)
def test_paths_are_those_that_the_machine_shows(tree: Callable[[str], TopologyTree], name: str) -> None:
    described = topology_tree.load(name)
    facts = observed(tree(name))
    rows = [" ".join(entry.paths[column] for column in described["columns"]) for entry in facts.affinity]
    if described["matrix"]:
        assert rows == described["matrix"]


@pytest.mark.parametrize("name", [name for name in CASES if "usable" in topology_tree.load(name)])
def test_what_workloads_can_use(tree: Callable[[str], TopologyTree], name: str) -> None:
    facts = observed(tree(name))
    assert sorted(entry.hca for entry in facts.usable) == sorted(topology_tree.load(name)["usable"])


@pytest.mark.parametrize("name", [name for name in CASES if "nearest" in topology_tree.load(name)])
def test_what_is_next_to_a_gpu(tree: Callable[[str], TopologyTree], name: str) -> None:
    facts = observed(tree(name))
    assert [entry.nearest for entry in facts.affinity] == topology_tree.load(name)["nearest"]


@pytest.mark.parametrize("name", ["dgx-spark", "vm-flat"])
def test_a_link_whose_ends_disagree_is_not_judged(tree: Callable[[str], TopologyTree], name: str) -> None:
    """The emulated root port of a virtual machine, or a chip that has no slot."""
    facts = observed(tree(name))
    assert not {code for code, _subject in codes(facts)} & {"pcie_degraded", "pcie_below_port_rate"}
    assert {hca.pcie_link.degraded for hca in facts.hcas if hca.pcie_link} == {None}


@pytest.mark.parametrize(
    ("card", "slot", "degraded"),
    [
        # Speed, width, maximum of both.
        ((16.0, 16, 32.0, 16), (16.0, 16, 16.0, 16), False),
        ((32.0, 4, 32.0, 16), (32.0, 4, 32.0, 4), False),
        ((16.0, 8, 32.0, 16), (16.0, 8, 16.0, 16), True),
        ((8.0, 16, 32.0, 16), (8.0, 16, 16.0, 16), True),
        ((16.0, 16, 32.0, 16), (32.0, 16, 32.0, 16), None),
    ],
)
def test_a_link_is_as_good_as_both_its_ends(
    tmp_path: Path,
    card: tuple[float, int, float, int],
    slot: tuple[float, int, float, int],
    degraded: bool | None,
) -> None:
    names = ("speed", "width", "maxspeed", "maxwidth")
    nic = {"hca": "0000:13:00.0", "name": "mlx5_0", "ll": "IB", **dict(zip(names, card, strict=True))}
    port = {"b": "0000:10:01.0", "below": [nic], **dict(zip(names, slot, strict=True))}
    tree = TopologyTree(tmp_path, {"default": "eno1", "roots": [{"root": "0000:10", "numa": 0, "below": [port]}]})
    link = hca(observed(tree), "mlx5_0").pcie_link
    assert link is not None
    assert link.degraded is degraded


def with_ports(described: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The same with other ports above GPUs and NICs, or, without fields, with none."""
    below = [below for port in described["roots"][0]["below"] for below in port["below"]]
    ports = [{**port, **fields} for port in described["roots"][0]["below"]]
    return {**described, "roots": [{**described["roots"][0], "below": ports if fields else below}]}


@pytest.mark.parametrize(
    "port",
    [
        # QEMU copies the state of the link below, and its own maximum is that of no slot.
        {"id": "1b36:000c", "speed": 16.0, "width": 16, "maxspeed": 64.0, "maxwidth": 32},
        {"id": "15ad:07a0", "speed": 16.0, "width": 16, "maxspeed": 32.0, "maxwidth": 16},
        {"id": "8086:3420", "speed": 2.5, "width": 1},
        {},
    ],
)
def test_what_a_virtual_machine_says_of_links_is_not_judged(tmp_path: Path, port: dict[str, Any]) -> None:
    facts = observed(TopologyTree(tmp_path, with_ports(topology_tree.load("vm-flat"), **port)))
    assert codes(facts) == []
    assert {hca.pcie_link.degraded for hca in facts.hcas if hca.pcie_link} == {None}
    assert len(facts.usable) == 8


@pytest.mark.parametrize(("width", "verdicts"), [(4, ["warn", "warn"]), (8, ["pass"])])
def test_what_a_slot_cannot_carry_is_no_failure(tmp_path: Path, width: int, verdicts: list[str]) -> None:
    """Ports of 200 Gb/s behind links of four lanes, whose root ports say so."""
    described = topology_tree.load("dgx-spark")
    ports = {"speed": 32.0, "width": width, "maxwidth": width}
    for root in described["roots"]:
        root["below"] = [
            {**port, **ports, "below": [{**below, "width": width} for below in port["below"]]} for port in root["below"]
        ]
    facts = gather.gather(str(TopologyTree(tmp_path, described).root))
    found = [check for check in host_facts.of_node(node(facts)) if check.id == "host.pcie_link"]
    assert [check.verdict for check in found] == verdicts


@pytest.mark.parametrize(
    ("kind", "node"),
    [
        # Up, and down with neither a GID nor, in another namespace, a netdev.
        ("sf", {"auxiliary": "mlx5_core.sf.4", "ll": "ETH", "netdev": "enp19s0f0s0"}),
        ("sf", {"auxiliary": "mlx5_core.sf.4", "ll": "ETH", "netdev": "enp19s0f0s0", "state": "DOWN"}),
        ("sf", {"auxiliary": "mlx5_core.sf.4", "ll": "ETH"}),
        # Of the other port, with a name that sorts before it.
        ("sf", {"name": "a_sf", "auxiliary": "mlx5_core.sf.12", "ll": "ETH", "netdev": "ens3f1s88"}),
        # Of another driver.
        ("sf", {"auxiliary": "ice.sf.1", "ll": "ETH", "netdev": "ens3f1s1"}),
        ("smi", {"ll": "IB"}),
        ("smi", {"name": "a_smi", "ll": "ETH"}),
    ],
)
@pytest.mark.parametrize("parent", ["0000:13:00.0", "0000:13:00.1"])
def test_a_part_of_an_hca_is_no_further_one(tmp_path: Path, kind: str, node: dict[str, Any], parent: str) -> None:
    node = {"name": "mlx5_2", **node}
    alone = observed(topology_tree.write("bluefield3", tmp_path / "alone"))
    tree = topology_tree.write("bluefield3", tmp_path / "with")
    tree.subdevice(parent, **node)
    facts = observed(tree)
    part = hca(facts, node["name"])
    assert (part.subdevice, part.parent, part.pci) == (kind, parent, None)
    netdev = part.ports[0].netdev
    assert (netdev.name if netdev else None) == node.get("netdev")
    assert [reason.code for reason in facts.reasons[part.name, 1]][:1] == ["subdevice"]
    # Nothing else of the node is different, not even its shape.
    assert (facts.usable, facts.affinity, facts.signature) == (alone.usable, alone.affinity, alone.signature)
    assert codes(facts) == codes(alone)
    assert [entry for entry in facts.hcas if entry is not part] == alone.hcas


def test_hcas_without_verbs_are_no_planes(tmp_path: Path) -> None:
    """The module is not loaded: nothing of it says which is which, or that there is more than one."""
    tree = topology_tree.write("bluefield3", tmp_path)
    shutil.rmtree(tmp_path / "sys/class/infiniband_verbs")
    assert {hca.subdevice for hca in observed(tree).hcas} == {None}


def test_a_lan_port_is_no_rail(tree: Callable[[str], TopologyTree]) -> None:
    """A port of 25 Gb/s is as near as those of 400."""
    facts = observed(tree("epyc-flat"))
    assert "roceo12409" in {entry.hca for entry in facts.usable}
    assert [entry.nearest for entry in facts.affinity] == [
        ["rocep13s0f0"],
        ["rocep55s0f0"],
        ["rocep181s0f0"],
        ["rocep181s0f0"],
    ]
    text = "it runs at 25 Gb/s, the NICs next to GPUs at 400"
    assert topology.other_kind(facts) == {"roceo12409": ("rate", text)}


def test_a_claim_gets_no_lan_port(tree: Callable[[str], TopologyTree]) -> None:
    facts = gather.gather(str(tree("epyc-flat").root))
    addresses = ["0000:0d:00.0", "0000:37:00.0", "0000:b5:00.0"]
    requests: list[dict[str, Any]] = [{"nics": 1}, {"nics": 1, "gpus": 1}]
    for wanted in requests:
        specs = claims_plan.right(claims_plan.plan({"n1": facts}, claims_plan.template(**wanted)))
        for request in (request for spec in specs for request in spec["requests"] if request["name"].startswith("nic")):
            assert claims_selectors.nic_address(addresses) in claims_plan.selectors(request["exactly"])
    # It can be asked for.
    lan = claims_plan.plan({"n1": facts}, claims_plan.template(nics=1, nic={"min_rate": 25}))
    assert "nic matches 4 of 4 NICs on n1" in lan.text


@pytest.mark.parametrize("with_root_ports", [True, False])
def test_what_alignment_is_worth_where_any_pair_has_it(tmp_path: Path, with_root_ports: bool) -> None:
    described = topology_tree.load("vm-flat")
    described = described if with_root_ports else with_ports(described)
    facts = gather.gather(str(TopologyTree(tmp_path, described).root))
    for gpus in (1, 8):
        found = claims_plan.plan({"n1": facts}, claims_plan.template(gpus=gpus, nics=gpus))
        first = found.text.splitlines()[0]
        assert first.startswith(
            "one (group), align=none: counts only; not pcie_root, all GPUs and NICs have one PCIe root"
        )
        (spec,) = claims_plan.right(found)
        assert "constraints" not in spec
    found = claims_plan.plan({"n1": facts}, claims_plan.template(gpus=1, nics=1, align="pcie_root"))
    assert "so any pair would do" in found.text.splitlines()[0]


@pytest.mark.parametrize(
    ("rates", "layers", "kept"),
    [
        ((400, 400, 25), ("Ethernet",) * 3, [0, 1]),
        ((400, 200, 400), ("Ethernet",) * 3, [0, 2]),
        ((400, 400, 400), ("InfiniBand", "Ethernet", "InfiniBand"), [0, 2]),
        ((200, 400, 200), ("InfiniBand", "Ethernet", "InfiniBand"), [1]),
        ((400, 400), ("Ethernet", "InfiniBand"), [1]),
        ((None, 400), ("Ethernet", "Ethernet"), [0, 1]),
    ],
)
def test_equally_near_nics_of_one_kind(
    rates: tuple[float | None, ...], layers: tuple[str, ...], kept: list[int]
) -> None:
    ports = [[Port(1, link_layer=layer, rate_gbps=rate)] for rate, layer in zip(rates, layers, strict=True)]
    places = [PciFunction(f"0000:0{number}:00.0", "15b3", f"102{number}", "020700") for number in range(len(ports))]
    hcas = {
        f"mlx5_{number}": Hca(f"mlx5_{number}", pci=places[number], ports=ports[number]) for number in range(len(ports))
    }
    assert topology.alike(list(hcas), hcas) == [f"mlx5_{number}" for number in kept]
    # A slower one of the same model has a bad cable.
    for place in places:
        place.device_id = "1021"
    same_layer = [name for name in hcas if layers[int(name[-1])] == layers[kept[0]]]
    assert topology.alike(list(hcas), hcas) == same_layer


def test_accelerators_of_other_vendors_are_named(tree: Callable[[str], TopologyTree]) -> None:
    facts = observed(tree("hygon"))
    (found,) = [warning for warning in facts.warnings if warning.code == "other_gpus"]
    assert (found.subject, found.fields) == ("0000:37:00.0", {"vendor": "1d94", "count": 8})
    assert "add the vendor to rdma_discover_gpu_vendors" in found.text
    facts = observed(tree("hygon"), gpu_vendors=["1d94"])
    assert (len(facts.gpus), "other_gpus" in {code for code, _subject in codes(facts)}) == (8, False)
    assert [entry.nearest for entry in facts.affinity if not {"mlx5_2", "mlx5_3"}.isdisjoint(entry.nearest)] == []


@pytest.mark.parametrize("with_port", [True, False])
@pytest.mark.parametrize(
    "card",
    [
        # Gaudi, Ascend, Neuron, MLU, and Intel's Ponte Vecchio.
        {"id": "1da3:1020", "class": "120000"},
        {"id": "19e5:d802", "class": "120000"},
        {"id": "1d0f:7164", "class": "120000"},
        {"id": "cabc:0370", "class": "038000"},
        {"id": "8086:0bd5", "class": "038000"},
    ],
)
def test_accelerators_of_any_vendor(tmp_path: Path, card: dict[str, Any], with_port: bool) -> None:
    """Also on the root bus of a virtual machine, where only what is Intel's may be a part of the processor."""
    below: list[dict[str, Any]] = [{"gpu": "0000:11:00.0", "driver": "", **card}]
    below = [{"b": "0000:10:01.0", "below": below}] if with_port else below
    described = {"default": "eno1", "roots": [{"root": "0000:10", "numa": 0, "below": below}]}
    vendor = card["id"][:4]
    found = codes(observed(TopologyTree(tmp_path / "default", described)))
    assert found == ([("other_gpus", "0000:11:00.0")] if with_port or vendor != "8086" else [])
    facts = observed(TopologyTree(tmp_path / "asked", described), gpu_vendors=["10de", vendor])
    assert ([gpu.pci.vendor_id for gpu in facts.gpus], codes(facts)) == ([vendor], [])


@pytest.mark.parametrize(
    "card",
    [
        # Virtio, a BMC, a processor's own display, and one that only shows a desktop.
        {"id": "1af4:1050", "class": "038000"},
        {"id": "1a03:2000", "class": "030200"},
        {"id": "8086:0bd5", "class": "030000"},
    ],
)
def test_displays_are_no_accelerators(tmp_path: Path, card: dict[str, Any]) -> None:
    port = {"b": "0000:10:01.0", "below": [{"gpu": "0000:11:00.0", "driver": "", **card}]}
    tree = TopologyTree(tmp_path, {"default": "eno1", "roots": [{"root": "0000:10", "numa": 0, "below": [port]}]})
    assert codes(observed(tree)) == []


def test_drivers_that_nobody_listed_are_named(tree: Callable[[str], TopologyTree], tmp_path: Path) -> None:
    facts = observed(tree("other-drivers"))
    assert facts.usable == []
    (found,) = [warning for warning in facts.warnings if warning.code == "other_drivers"]
    assert found.fields["drivers"] == ["erdma", "hfi1", "hns3", "ice"]
    assert found.fields["hcas"] == ["erdma_0", "hfi1_0", "hns_0", "irdma0", "irdma1"]
    # Beside an HCA for workloads, they are LAN ports.
    described = topology_tree.load("other-drivers")
    nic = {"hca": "0000:e1:00.0", "name": "mlx5_0", "ll": "IB"}
    described["roots"].append({"root": "0000:e0", "below": [{"b": "0000:e0:01.0", "below": [nic]}]})
    there = TopologyTree(tmp_path / "rail", described)
    assert "other_drivers" not in {code for code, _subject in codes(observed(there))}
    # But not beside a port of the LAN, whatever its driver.
    described["roots"][-1] = topology_tree.lan_port(rate="10 Gb/sec (1X QDR)")
    assert "other_drivers" in {code for code, _subject in codes(observed(TopologyTree(tmp_path / "lan", described)))}
    assert "other_drivers" not in {code for code, _subject in codes(observed(tree("roce-lag")))}


@pytest.mark.parametrize(
    ("kernel", "cmdline", "processor", "heard"),
    [
        ("6.8.0-1025-nvidia-64k", "quiet iommu.passthrough=1", {"proc/sys/kernel/arch": "aarch64"}, True),
        ("5.15.0-60-generic", "iommu.passthrough=1", {"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41"}, True),
        ("6.11.0-8-generic", "iommu.passthrough=1", {"proc/sys/kernel/arch": "aarch64"}, False),
        ("6.8.0-1025-nvidia-64k", "quiet", {"proc/sys/kernel/arch": "aarch64"}, False),
        ("6.8.0-60-generic", "iommu.passthrough=1", {"proc/sys/kernel/arch": "x86_64"}, False),
    ],
)
def test_acs_that_keeps_cuda_from_working(
    root_of: Callable[[str], Path], tmp_path: Path, kernel: str, cmdline: str, processor: dict[str, str], heard: bool
) -> None:
    for name, found in (("case-acs", heard), ("v100-01", False)):
        root = tmp_path / name
        shutil.copytree(root_of(name), root, symlinks=True)
        for path, text in {"proc/sys/kernel/osrelease": kernel, "proc/cmdline": cmdline, **processor}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"{text}\n")
        facts = gather.gather(str(root))
        said = [entry for entry in facts["warnings"] if entry["code"] == "acs_without_cuda"]
        assert bool(said) is found
        checks = [
            check for check in host_facts.of_node(node(facts)) if check.evidence.get("code") == "acs_without_cuda"
        ]
        assert [(check.id, check.verdict) for check in checks] == ([("host.acs", "fail")] if found else [])
