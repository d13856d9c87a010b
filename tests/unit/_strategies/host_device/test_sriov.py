# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The strategy sriov: which VFs pods get, before there are any and afterwards, and what the plugin waits for."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    SRIOV,
    Facts,
    node,
    objects,
    pools,
    unplug,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies, strategy

LABEL = SRIOV.label
hosts_of, plan, recorded, right = SRIOV.hosts_of, SRIOV.plan, SRIOV.recorded, SRIOV.right
EIGHT: dict[str, Any] = {"rdma_links_vfs": 8}


def selectors(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the plugin selects for each resource, by the value of the label of the nodes."""
    return {
        label: {pool["resourceName"]: pool["selectors"] for pool in config["resourceList"]}
        for label, config in HOST_DEVICE.configs(found).items()
    }


def pci(facts: dict[str, Any], *names: str) -> list[str]:
    return [hca["pci"]["address"] for hca in facts["hcas"] if hca["name"] in names]


def test_vfs_are_planned_before_they_are_there(facts_of: Facts) -> None:
    facts = facts_of("lab-01")
    (pf,) = pci(facts, "mlx5_0")
    assert facts["hcas"][0]["sriov"]["num_vfs"] == 0
    found = right(hosts_of({"lab-01": facts}, "lab", **EIGHT))
    assert selectors(found) == {"lab": {"sriov_lab": {"rootDevices": [f"{pf}#0-7"], "isRdma": True}}}
    assert found["labels"] == {"lab-01": {LABEL: "lab"}}
    assert found["status"]["lab-01"]["resources"] == {"rdma/sriov_lab": 8}
    (network,) = objects(found, "NetworkAttachmentDefinition").values()
    assert network["metadata"]["name"] == "sriov-lab"
    assert network["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/resourceName": "rdma/sriov_lab"}
    assert json.loads(network["spec"]["config"])["type"] == "host-device"
    # Nobody can try it on a node that has none yet.
    (ask,) = found["requests"]["lab"]
    assert ask["hosts"] == {}
    assert (ask["limits"], ask["number"], ask["moves"]) == ({"rdma/sriov_lab": 1}, 1, True)
    assert ask["annotations"] == {"k8s.v1.cni.cncf.io/networks": "default/sriov-lab"}


def test_vfs_of_somebody_else(facts_of: Facts) -> None:
    facts = facts_of("case-vf")
    (pf,) = pci(facts, "mlx5_0")
    found = right(hosts_of({"case-vf": facts}, "vf"))
    assert selectors(found) == {"vf": {"sriov_vf": {"rootDevices": [f"{pf}#0-1"], "isRdma": True}}}
    # One of them has no link on the host: nobody sets it up before a pod has it.
    assert found["requests"]["vf"][0]["hosts"] == {"case-vf": ["mlx5_1", "mlx5_2"]}
    # The links are going to have more.
    assert right(hosts_of({"case-vf": facts}, "vf", **EIGHT))["status"]["case-vf"]["resources"] == {"rdma/sriov_vf": 8}


def test_a_vf_in_a_pod_still_counts(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-vf"))
    (entry,) = [one for one in facts["excluded"] if one["hca"] == "mlx5_1"]
    entry["reasons"].append({"code": "in_pod", "text": "netdev ens3v0 is in a pod", "fields": {"netdev": "ens3v0"}})
    found = right(hosts_of({"case-vf": facts}, "vf"))
    assert found["status"]["case-vf"]["resources"] == {"rdma/sriov_vf": 2}


def test_vfs_of_infiniband_that_are_there(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    for hca in facts["hcas"]:
        hca["sriov"].update(role="pf", num_vfs=4)
    found = right(hosts_of({"v100-01": facts}, "v100"))
    assert found["status"]["v100-01"]["resources"] == {"rdma/sriov_v100": 8}


def _default_route(facts: dict[str, Any]) -> dict[str, Any]:
    (entry,) = [one for one in facts["excluded"] if one["hca"] == "mlx5_1"]
    entry["reasons"].append({"code": "default_route", "text": "ens3v0 carries the default route", "fields": {}})
    return {}


def _address(facts: dict[str, Any]) -> dict[str, Any]:
    (hca,) = [one for one in facts["hcas"] if one["name"] == "mlx5_1"]
    hca["ports"][0]["netdev"]["addresses"] = ["fe80::1/64", "203.0.113.130/26"]
    return {}


def _excluded(facts: dict[str, Any]) -> dict[str, Any]:
    return {"rdma_driver_exclude": pci(facts, "mlx5_1")}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_default_route, "ens3v0 carries the default route"),
        (_address, "ens3v0 has 203.0.113.130/26"),
        (_excluded, "rdma_driver_exclude has 0000:"),
    ],
)
def test_vfs_that_the_host_needs(facts_of: Facts, change: Any, why: str) -> None:
    facts = copy.deepcopy(facts_of("case-vf"))
    own = change(facts)
    found = plan(hosts_of({"case-vf": facts, "lab-01": facts_of("lab-01")}, "vf", **EIGHT, **own))
    assert found["problems"] == []
    assert set(found["status"]) == {"lab-01"}
    assert any(
        line.startswith(f"case-vf: pods get no VF of mlx5_0, because the host needs mlx5_1 ({why}")
        for line in found["warnings"]
    )


def test_a_link_local_address_is_no_use(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-vf"))
    for hca in facts["hcas"][1:]:
        hca["ports"][0]["netdev"]["addresses"] = ["fe80::1/64"]
    assert right(hosts_of({"case-vf": facts}))["status"]["case-vf"]["resources"] == {"rdma/sriov_ib": 2}


def test_a_rail_is_a_resource(facts_of: Facts) -> None:
    facts = facts_of("case-h100-roce")
    networks = {"rdma_host_device_networks": [f"10.90.{rail}.0/24" for rail in range(8)], "rdma_links_rails": 8}
    found = right(hosts_of({"h100": facts}, "roce", **EIGHT, **networks))
    rails = [chosen["rootDevices"] for chosen in selectors(found)["roce"].values()]
    assert sorted(rails) == sorted([f"{hca['pci']['address']}#0-7"] for hca in facts["hcas"])
    # The same as those of whole NICs.
    nics = HOST_DEVICE.right(HOST_DEVICE.hosts_of({"h100": facts}, "roce", **networks))
    assert [[f"{pf}#0-7" for pf in own] for own in pools(nics)["roce"].values()] == rails
    assert found["status"]["h100"]["resources"] == {f"rdma/sriov_roce_rail{rail}": 8 for rail in range(8)}


def test_only_ports_that_get_vfs(facts_of: Facts) -> None:
    """One link, and eight NICs: seven of them have no VFs, and the NICs themselves are not handed out."""
    facts = facts_of("case-h100-roce")
    found = right(hosts_of({"h100": facts}, "roce", **EIGHT))
    assert selectors(found)["roce"]["sriov_roce"]["rootDevices"] == [f"{facts['hcas'][0]['pci']['address']}#0-7"]
    assert {line for line in found["warnings"] if line.endswith("has no VFs")} == {
        f"h100: mlx5_{number} has no VFs" for number in range(1, 8)
    }


def test_a_port_that_is_down_has_no_vfs_for_pods(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-h100-roce"))
    unplug(facts, facts["usable"][0])
    networks = {"rdma_host_device_networks": [f"10.90.{rail}.0/24" for rail in range(8)], "rdma_links_rails": 8}
    found = right(hosts_of({"h100": facts}, "roce", **EIGHT, **networks))
    assert "rdma/sriov_roce_rail0" not in found["status"]["h100"]["resources"]
    assert "h100: has no VF for rail 0" in found["warnings"]


def test_nodes_with_other_vfs_have_a_configuration_of_their_own(facts_of: Facts) -> None:
    """The plugin waits for all that its configuration has, which another node may never get."""
    roce, lab = facts_of("case-h100-roce"), facts_of("lab-01")
    found = right(hosts_of({"one": roce, "two": lab}, "mixed", **EIGHT))
    values = [labels[LABEL] for labels in found["labels"].values()]
    assert len(set(values)) == 2
    assert all(value.startswith("mixed-") for value in values)
    more = copy.deepcopy(facts_of("case-vf"))
    more["hcas"][0]["sriov"]["num_vfs"] = 4
    found = right(hosts_of({"one": facts_of("case-vf"), "two": more}, "vf"))
    assert len(selectors(found)) == 2
    assert [shown["resources"] for shown in found["status"].values()] == [{"rdma/sriov_vf": 2}, {"rdma/sriov_vf": 4}]
    assert set(right(recorded(facts_of, "lab-01", group="lab", **EIGHT))["labels"]["lab-01"].values()) == {"lab"}


def _wait(found: dict[str, Any]) -> list[str]:
    (item,) = [one for name, one in objects(found, "DaemonSet").items() if name.startswith("rdma-nics")]
    (container,) = item["spec"]["template"]["spec"]["initContainers"]
    assert container["image"] == item["spec"]["template"]["spec"]["containers"][0]["image"]
    command: list[str] = container["command"]
    return command


def test_the_plugin_waits_for_the_vfs(facts_of: Facts, tmp_path: Path) -> None:
    """It looks for devices once, and after a reboot NetworkManager may make the VFs later than that."""
    facts = facts_of("lab-01")
    (pf,) = pci(facts, "mlx5_0")
    command = _wait(right(hosts_of({"lab-01": facts}, "lab", rdma_links_vfs=2)))
    assert command[-2:] == ["/sys/bus/pci/devices", f"{pf}=2"]
    # Of a card that has gone none will come.
    command = [*command[:-2], str(tmp_path), "0000:ff:00.0=4", f"{pf}=2"]
    (tmp_path / pf / "virtfn0" / "infiniband").mkdir(parents=True)
    # The VF is there, its RDMA device is not yet.
    (tmp_path / pf / "virtfn1").mkdir()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == f"waiting for the RDMA device of VF 1 of {pf}\n"
        assert waiting.poll() is None
        (tmp_path / pf / "virtfn1" / "infiniband").mkdir()
        assert waiting.wait(30) == 0


def test_whole_nics_are_not_waited_for(facts_of: Facts) -> None:
    for item in objects(HOST_DEVICE.right(HOST_DEVICE.recorded(facts_of, "v100-01")), "DaemonSet").values():
        assert "initContainers" not in item["spec"]["template"]["spec"]


def test_images_and_netns_mode_of_a_node(facts_of: Facts) -> None:
    found = strategy({}, recorded(facts_of, "lab-01", **EIGHT)["lab-01"])
    assert (found["name"], found["netns_mode"], len(found["images"])) == ("host_device", "shared", 3)


def test_a_group_goes_from_nics_to_vfs(facts_of: Facts) -> None:
    """The set stays the same and its networks do not, so pods that still ask for the old ones are in the way."""
    nics = HOST_DEVICE.recorded(facts_of, "lab-01", group="lab")
    vfs = recorded(facts_of, "lab-01", group="lab", **EIGHT)
    before, after = HOST_DEVICE.right(nics), right(vfs)
    assert [(one["name"], one["namespace"]) for one in before["sets"]] == [
        (one["name"], one["namespace"]) for one in after["sets"]
    ]
    assert before["labels"] == after["labels"]
    gone = {kind: set(objects(before, kind)) - set(objects(after, kind)) for kind in ("DaemonSet", "ConfigMap")}
    assert gone == {"DaemonSet": set(), "ConfigMap": set()}
    networks = "NetworkAttachmentDefinition"
    assert set(objects(before, networks)).isdisjoint(objects(after, networks))
    assert before["leftovers"] == {"lab-01": ["rdma/sriov_lab"]}
    assert after["leftovers"] == {"lab-01": ["rdma/hostdev_lab"]}
    assert strategies({}, ["lab-01"], vfs, {"lab-01": before["labels"]["lab-01"]})["problems"] == []
    (line,) = strategies({}, ["lab-01"], {"lab-01": {**vfs["lab-01"], "rdma_strategy": "dra"}}, after["labels"])[
        "problems"
    ]
    assert "host_device or sriov still serves this node" in line


def test_groups_of_both_words(facts_of: Facts) -> None:
    hosts = {
        **HOST_DEVICE.recorded(facts_of, "v100-01", group="v100"),
        **recorded(facts_of, "lab-01", group="lab", rdma_host_device_networks=["10.91.0.0/24"], **EIGHT),
    }
    found = right(hosts)
    assert {host: shown["resources"] for host, shown in found["status"].items()} == {
        "v100-01": {"rdma/hostdev_v100": 2},
        "lab-01": {"rdma/sriov_lab": 8},
    }
    nodes = [node("v100-01", hostdev_v100=2), node("lab-01", sriov_lab=7, hostdev_lab=1)]
    checks = strategy_checks(hosts, nodes, [])
    assert {(check["host"], check["subject"]): check["verdict"] for check in checks if check["host"]} == {
        ("v100-01", "rdma/hostdev_v100"): "pass",
        ("lab-01", "rdma/sriov_lab"): "fail",
        ("lab-01", "rdma/hostdev_lab"): "fail",
    }
