# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The facts of every node of the recorded (synthesised) fleet, against what its description says."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import tree as discover_tree

NODES = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "fleet" / "nodes").glob("*.yml"))


def usable(facts: dict[str, Any]) -> list[str]:
    return [f"{entry['hca']}/{entry['port']}" for entry in facts["usable"]]


def reasons(facts: dict[str, Any], hca: str) -> list[str]:
    return [reason["code"] for entry in facts["excluded"] if entry["hca"] == hca for reason in entry["reasons"]]


def codes(facts: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in facts["warnings"]]


def nearest(facts: dict[str, Any]) -> list[list[str]]:
    return [entry["nearest"] for entry in facts["affinity"]]


def port(facts: dict[str, Any], name: str, number: int = 1) -> dict[str, Any]:
    hca = next(hca for hca in facts["hcas"] if hca["name"] == name)
    return next(port for port in hca["ports"] if port["number"] == number)


@pytest.mark.parametrize("name", NODES)
def test_every_port_is_usable_or_excluded_and_nothing_is_unreadable(facts_of, name: str) -> None:
    facts = facts_of(name)
    listed = [(entry["hca"], entry["port"]) for entry in facts["usable"] + facts["excluded"]]
    assert sorted(listed) == sorted((hca["name"], port["number"]) for hca in facts["hcas"] for port in hca["ports"])
    assert facts["unreadable"] == []
    assert "unreadable" not in codes(facts)
    assert json.loads(json.dumps(facts)) == facts


def test_v100_uses_both_ports_at_edr(facts_of) -> None:
    facts = facts_of("v100-01")
    assert usable(facts) == ["mlx5_0/1", "mlx5_1/1"]
    assert [port(facts, hca)["rate_gbps"] for hca in ("mlx5_0", "mlx5_1")] == [100.0, 100.0]
    assert port(facts, "mlx5_0")["sm_lid"] > 0
    assert port(facts, "mlx5_0")["gids"][0]["type"] == "IB"


@pytest.mark.parametrize(("name", "up", "down"), [("a100-01", "mlx5_1", "mlx5_0"), ("a100-02", "mlx5_0", "mlx5_1")])
def test_a100_takes_the_active_port_and_ignores_the_bond(facts_of, name: str, up: str, down: str) -> None:
    facts = facts_of(name)
    assert usable(facts) == [f"{up}/1"]
    assert reasons(facts, down) == ["port_down"]
    assert reasons(facts, "mlx5_bond_0") == ["bond", "default_route"]
    assert port(facts, "mlx5_bond_0")["netdev"]["name"] == "bond0"
    assert nearest(facts) == [[up]] * 8
    assert codes(facts) == ["port_down"]


def test_a100_pair_is_alike_whichever_cable_is_plugged_in(facts_of) -> None:
    assert facts_of("a100-01")["signature"] == facts_of("a100-02")["signature"]


def test_h100_with_four_nics_shares_each_between_two_gpus(facts_of) -> None:
    facts = facts_of("h100-03")
    assert [facts["affinity"][gpu]["nearest"] for gpu in (0, 1, 4, 5)] == [["mlx5_0"]] * 2 + [["mlx5_2"]] * 2
    assert facts["affinity"][0]["paths"] == {"mlx5_0": "PHB", "mlx5_1": "PHB", "mlx5_2": "SYS", "mlx5_3": "SYS"}


def test_h100_with_eight_nics_pairs_within_the_numa_node(facts_of) -> None:
    facts = facts_of("h100-01")
    assert nearest(facts) == [[f"mlx5_{gpu}"] for gpu in range(8)]
    numa = {hca["name"]: hca["pci"]["numa_node"] for hca in facts["hcas"]}
    assert [gpu["pci"]["numa_node"] for gpu in facts["gpus"]] == [numa[entry[0]] for entry in nearest(facts)]
    assert facts["signature"] == facts_of("h100-02")["signature"] != facts_of("h100-03")["signature"]


def test_lab_node_has_its_gpu_and_nic_on_different_root_complexes(facts_of) -> None:
    facts = facts_of("lab-01")
    assert usable(facts) == ["mlx5_0/1"]
    assert facts["affinity"][0]["paths"]["mlx5_0"] not in ("PIX", "PXB", "PHB")
    assert facts["gpus"][0]["model"] == "Tesla T4"
    assert port(facts, "mlx5_0")["netdev"]["addresses"][0] == "10.0.0.1/24"


def test_missing_umad_on_roce_is_told(facts_of) -> None:
    assert "umad_missing" in codes(facts_of("lab-02"))
    assert "umad_missing" not in codes(facts_of("lab-01"))


def test_narrow_pcie_link_is_told_with_what_it_carries(facts_of) -> None:
    facts = facts_of("v100-02")
    assert [code for code in codes(facts) if code.startswith("pcie")] == ["pcie_below_port_rate", "pcie_degraded"]
    link = next(hca["pcie_link"] for hca in facts["hcas"] if hca["name"] == "mlx5_1")
    assert (link["width"], link["max_width"], link["gbps"], link["degraded"]) == (8, 16, 63.0, True)


def test_nic_in_a_pod_is_excluded_but_keeps_its_gpu(facts_of) -> None:
    facts = facts_of("case-in-pod")
    assert reasons(facts, "mlx5_0") == ["in_pod"]
    assert nearest(facts) == [["mlx5_0"]]
    assert port(facts, "mlx5_0")["netdev"]["present"] is False


def test_nic_in_a_pod_that_is_excluded_anyway_is_no_gpus(facts_of) -> None:
    facts = facts_of("case-in-pod", drivers=["bnxt_en"])
    assert reasons(facts, "mlx5_0") == ["driver_not_allowed", "in_pod"]
    assert nearest(facts) == [[]]


def test_a_pods_name_for_its_nic_is_not_taken_for_the_hosts_netdev_of_that_name(root_of, tmp_path: Path) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-in-pod"), root, symlinks=True)
    netdevs = root / "sys/class/net"
    management = next(path for path in netdevs.iterdir() if "pci" in os.readlink(path))
    (netdevs / "ens1np0").symlink_to(os.readlink(management))
    facts = gather.gather(str(root))
    assert reasons(facts, "mlx5_0") == ["in_pod"]
    assert port(facts, "mlx5_0")["netdev"]["addresses"] == []


def test_default_route_through_a_bridge_excludes_the_nic_below(facts_of) -> None:
    assert "default_route" in reasons(facts_of("case-default-route"), "mlx5_0")


@pytest.mark.parametrize(
    "lost", ["proc/net", "proc/net/route", "sys/class/net/br0", "sys/class/net/ens1np0.7", "mangled"]
)
def test_management_nic_is_never_usable_for_want_of_a_routing_table(root_of, tmp_path: Path, lost: str) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-default-route"), root, symlinks=True)
    victim = root / ("proc/net/ipv6_route" if lost == "mangled" else lost)
    if lost == "mangled":
        victim.write_text("no routing table\n")
    elif victim.is_dir() and not victim.is_symlink():
        shutil.rmtree(victim)
    else:
        victim.unlink()
    facts = gather.gather(str(root))
    assert usable(facts) == []
    assert reasons(facts, "mlx5_0")[0] in ("default_route", "default_route_unknown")


def test_vfs_are_told_from_their_pf(facts_of) -> None:
    facts = facts_of("case-vf")
    assert [hca["sriov"]["role"] for hca in facts["hcas"]] == ["pf", "vf", "vf"]
    assert facts["hcas"][1]["sriov"]["pf_address"] == facts["hcas"][0]["pci"]["address"]
    assert [facts["hcas"][0]["sriov"][name] for name in ("vf_offset", "vf_stride")] == [1, 1]
    assert usable(facts) == ["mlx5_0/1"]
    assert reasons(facts, "mlx5_1")[0] == "vf"
    assert facts["system"]["netns_mode"] == "exclusive"
    assert facts["system"]["iommu"] == "passthrough"


def test_iommu_that_treats_devices_differently_is_mixed(root_of, tmp_path: Path) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-acs"), root, symlinks=True)
    assert gather.gather(str(root))["system"]["iommu"] == "translated"
    nic = next(hca["pci"]["address"] for hca in gather.gather(str(root))["hcas"])
    kind = root / "sys/bus/pci/devices" / nic / "iommu_group/type"
    kind.write_text("identity\n")
    assert gather.gather(str(root))["system"]["iommu"] == "mixed"
    kind.unlink()
    assert gather.gather(str(root))["system"]["iommu"] is None


def test_roce_v2_gid_is_the_ipv4_one_of_the_port_itself(facts_of) -> None:
    roce = port(facts_of("case-vf"), "mlx5_0")
    chosen = next(gid for gid in roce["gids"] if gid["index"] == roce["roce_v2_gid_index"])
    assert (chosen["type"], chosen["netdev"]) == ("RoCE v2", "ens3np0")
    assert chosen["gid"] == "0000:0000:0000:0000:0000:ffff:cb00:7101"


def test_two_ports_of_one_function_have_their_own_netdevs(facts_of) -> None:
    facts = facts_of("case-two-ports")
    assert [port(facts, "mlx4_0", number)["netdev"]["name"] for number in (1, 2)] == ["fabric", "storage"]
    assert [port(facts, "mlx4_0", number)["link_layer"] for number in (1, 2)] == ["InfiniBand", "Ethernet"]


def test_port_without_subnet_manager_is_told(facts_of) -> None:
    facts = facts_of("case-no-sm")
    assert codes(facts) == ["no_subnet_manager"]
    assert reasons(facts, "mlx5_1") == ["port_down"]
    assert nearest(facts) == [["mlx5_0"]] * 4


def test_acs_between_gpus_and_their_hcas_is_told(facts_of) -> None:
    facts = facts_of("case-acs")
    assert codes(facts) == ["acs_redirects"]
    assert True in facts["system"]["acs"].values()
    assert True not in facts_of("v100-01")["system"]["acs"].values()


@pytest.mark.parametrize(("down", "instead"), [(["mlx5_5", "mlx5_6"], "mlx5_9"), (["mlx5_0", "mlx5_1"], "mlx5_4")])
def test_with_nps4_the_same_socket_is_nearer(root_of, tmp_path: Path, down: list[str], instead: str) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-nps4"), root, symlinks=True)
    for name in down:
        (root / "sys/class/infiniband" / name / "ports/1/state").write_text("1: DOWN\n")
    own = [["mlx5_0"], ["mlx5_1"], ["mlx5_2"], ["mlx5_3"], ["mlx5_5"], ["mlx5_6"], ["mlx5_7"], ["mlx5_8"]]
    assert nearest(gather.gather(str(root_of("case-nps4")))) == own
    facts = gather.gather(str(root))
    assert nearest(facts) == [[instead] if name[0] in down else name for name in own]
    assert len(facts["system"]["numa_nodes"]) == 8


@pytest.mark.parametrize(
    ("down", "instead"),
    [
        pytest.param(["mlx5_4"], "mlx5_7", id="an InfiniBand rail is shared before Ethernet storage is used"),
        pytest.param([f"mlx5_{number}" for number in (4, 7, 8, 9, 10, 13, 14, 15)], "mlx5_5", id="no rail is left"),
    ],
)
def test_a_gpu_without_its_rail_keeps_to_the_link_layer(root_of, tmp_path: Path, down: list[str], instead: str) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-b200"), root, symlinks=True)
    for name in down:
        (root / "sys/class/infiniband" / name / "ports/1/state").write_text("1: DOWN\n")
    assert nearest(gather.gather(str(root)))[0] == [instead]


def test_software_devices_are_used_only_when_allowed(facts_of) -> None:
    assert usable(facts_of("case-soft-roce")) == []
    facts = facts_of("case-soft-roce", allow_software=True)
    assert usable(facts) == ["rxe0/1"]
    assert reasons(facts, "siw0") == ["default_route"]
    assert [hca["driver"] for hca in facts["hcas"]] == ["rxe", "siw"]


def test_other_drivers_are_excluded(facts_of) -> None:
    facts = facts_of("v100-01", drivers=["bnxt_en"])
    assert usable(facts) == []
    assert reasons(facts, "mlx5_0") == ["driver_not_allowed"]


def test_amd_gpus_count_by_class(facts_of) -> None:
    facts = facts_of("case-amd")
    assert len(facts["gpus"]) == 8
    assert nearest(facts) == [[f"mlx5_{gpu}"] for gpu in range(8)]
    assert facts_of("case-amd", gpu_vendors=["10de"])["gpus"] == []


NVSWITCH = [f"mlx5_{number}" for number in range(4)]


def test_functions_that_manage_nvswitches_are_no_nics(facts_of) -> None:
    facts = facts_of("case-b200")
    assert [reasons(facts, hca) for hca in NVSWITCH] == [["nvswitch_management"]] * 4
    assert {hca["pci"]["device_id"] for hca in facts["hcas"] if hca["name"] in [*NVSWITCH, "mlx5_4"]} == {"1021"}
    assert nearest(facts) == [[f"mlx5_{number}"] for number in (4, 7, 8, 9, 10, 13, 14, 15)]
    assert codes(facts) == ["port_down"] * 2


@pytest.mark.parametrize(("marked", "excluded"), [(NVSWITCH[:1], NVSWITCH), ([], [])])
def test_one_marked_function_stands_for_its_card(
    root_of, tmp_path: Path, marked: list[str], excluded: list[str]
) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-b200"), root, symlinks=True)
    for name in NVSWITCH:
        path = root / "sys/class/infiniband" / name / "device/vpd"
        path.write_bytes(path.read_bytes() if name in marked else b"\x82\x01\x00x\x78")
    facts = gather.gather(str(root))
    assert [hca["name"] for hca in facts["hcas"] if "nvswitch_management" in reasons(facts, hca["name"])] == excluded


def test_without_vpd_the_subsystem_decides(root_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover_tree.Tree, "head", lambda *_arguments: None)
    facts = gather.gather(str(root_of("case-b200")))
    assert [reasons(facts, hca) for hca in [*NVSWITCH, "mlx5_4"]] == [["nvswitch_management"]] * 4 + [[]]


@pytest.mark.parametrize("name", [name for name in NODES if name not in ("case-b200", "h100-03")])
def test_vpd_is_slow_and_read_only_where_it_decides(root_of, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    head = discover_tree.Tree.head

    def read(tree: discover_tree.Tree, path: str, size: int, offset: int = 0) -> bytes | None:
        if path.endswith("/vpd"):
            raise AssertionError(f"read {path}")
        return head(tree, path, size, offset)

    monkeypatch.setattr(discover_tree.Tree, "head", read)
    gather.gather(str(root_of(name)))


def test_soft_roce_has_no_cable_to_blame(root_of, tmp_path: Path) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-soft-roce"), root, symlinks=True)
    (root / "proc/uptime").write_text("600.00 1000.00\n")
    for port in root.glob("sys/class/infiniband/*/ports/1"):
        (port / "hw_counters").mkdir(exist_ok=True)
        (port / "counters").mkdir(exist_ok=True)
        (port / "counters/link_downed").write_text("9\n")
        (port / "hw_counters/link_downed").write_text("9\n")
    facts = gather.gather(str(root), gather.GatherOptions(allow_software=True))
    assert any(port["error_counters"].get("link_downed") for hca in facts["hcas"] for port in hca["ports"])
    assert "link_errors" not in codes(facts)


def test_an_hca_without_a_place_in_pcie_is_unknown(root_of, tmp_path: Path) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("lab-01"), root, symlinks=True)
    link = root / "sys/class/infiniband/mlx5_0"
    place = link.resolve()
    link.unlink()
    shutil.copytree(place, link, ignore=shutil.ignore_patterns("device", "subsystem"))
    facts = gather.gather(str(root))
    assert facts["hcas"][0]["software"] is False
    assert reasons(facts, "mlx5_0")[0] == "pci_unknown"
    # As ibsim shows it; what keeps the port from being up is told all the same.
    (link / "ports/1/state").write_text("1: DOWN\n")
    down = gather.gather(str(root))
    assert reasons(down, "mlx5_0") == ["pci_unknown", "port_down"]
    assert "port_down" in codes(down)


def test_a_bmc_with_the_vendor_of_a_gpu_is_no_gpu(facts_of, root_of, tmp_path: Path) -> None:
    facts = facts_of("case-mi300x")
    assert [gpu["index"] for gpu in facts["gpus"]] == list(range(8))
    assert {gpu["model"] for gpu in facts["gpus"]} == {"AMD Instinct MI300X"}
    assert nearest(facts) == [[f"bnxt_re{gpu}"] for gpu in range(8)]
    # A card of AMD with a VGA output computes, whether its driver is loaded or not.
    root = tmp_path / "node"
    shutil.copytree(root_of("case-mi300x"), root, symlinks=True)
    path = root / "sys/bus/pci/devices" / facts["gpus"][0]["pci"]["address"]
    (path / "class").write_text("0x030000\n")
    assert len(gather.gather(str(root))["gpus"]) == 8
    (path / "driver").unlink()
    assert len(gather.gather(str(root))["gpus"]) == 8


@pytest.mark.parametrize(("bound", "codes_found"), [("nvidia", []), ("vfio-pci", ["gpu_index"])])
def test_indices_that_are_not_those_of_nvidia_smi_are_told(
    facts_of, root_of, tmp_path: Path, bound: str, codes_found: list[str]
) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-h100-roce"), root, symlinks=True)
    driver = root / "sys/bus/pci/devices" / facts_of("case-h100-roce")["gpus"][2]["pci"]["address"] / "driver"
    driver.unlink()
    driver.symlink_to(f"../../../bus/pci/drivers/{bound}")
    facts = gather.gather(str(root))
    assert codes(facts) == codes_found
    assert [warning["subject"] for warning in facts["warnings"]] == ["GPU 2"] * len(codes_found)
    assert len(facts["gpus"]) == 8


def test_an_infiniband_port_below_its_equal_is_told(root_of, tmp_path: Path) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-b200"), root, symlinks=True)
    port_of = root / "sys/class/infiniband/mlx5_8/ports/1"
    (port_of / "rate").write_text("200 Gb/sec (4X HDR)\n")
    (port_of / "counters/local_link_integrity_errors").write_text("3\n")
    facts = gather.gather(str(root))
    told = {warning["code"]: warning for warning in facts["warnings"] if warning["subject"] == "mlx5_8/1"}
    assert set(told) == {"rate_below_maximum", "link_errors"}
    assert told["rate_below_maximum"]["fields"] == {"rate_gbps": 200.0, "max_rate_gbps": 400.0, "twin": "mlx5_4/1"}
    assert told["link_errors"]["fields"] == {"counter": "local_link_integrity_errors", "count": 3, "limit": 0.0}


def test_node_without_rdma_has_empty_facts(facts_of) -> None:
    facts = facts_of("case-nothing")
    assert (facts["hcas"], facts["usable"], facts["excluded"], facts["affinity"]) == ([], [], [], [])


def test_gpu_models_and_uuids_come_from_the_driver(facts_of) -> None:
    gpu = facts_of("h100-01")["gpus"][0]
    assert gpu["model"] == "NVIDIA H100 80GB HBM3"
    assert gpu["uuid"].startswith("GPU-")


def test_gpudirect_depends_on_the_driver_flavour(facts_of) -> None:
    assert facts_of("h100-03")["system"]["gpudirect"]["dmabuf"] is True
    assert facts_of("v100-01")["system"]["gpudirect"]["dmabuf"] is False


def test_subsets_leave_parts_out(facts_of) -> None:
    facts = facts_of("v100-01", subsets=gather.subsets(["hcas"]))
    assert not {"gpus", "affinity", "system"} & set(facts)
    assert facts["hcas"][0]["ports"][0]["error_counters"] == {}
    assert usable(facts) == ["mlx5_0/1", "mlx5_1/1"]


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (["all"], list(gather.SUBSETS)),
        (["!counters"], ["hcas", "qos", "kernel_log", "gpus", "affinity", "system"]),
        (["all", "!system", "!counters"], ["hcas", "qos", "kernel_log", "gpus", "affinity"]),
        (["gpus", "hcas"], ["hcas", "gpus"]),
        ([], list(gather.SUBSETS)),
    ],
)
def test_subset_resolution(requested: list[str], expected: list[str]) -> None:
    assert gather.subsets(requested) == expected


def test_unknown_subset_is_named() -> None:
    with pytest.raises(ValueError, match="'network' is not one of all, hcas"):
        gather.subsets(["network"])
