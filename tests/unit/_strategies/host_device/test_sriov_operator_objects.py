# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""VFs that the SR-IOV operator hands out: the same VFs, resources and requests as with our own objects."""

from __future__ import annotations

import copy
import json
from typing import Any

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    SRIOV,
    Facts,
    Hosts,
    objects,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.host_device.sriov_operated import (
    EIGHT,
    KINDS,
    OPERATED,
    OWN,
    PLACE,
    infiniband,
    lab,
    plan,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy

RAILS: dict[str, Any] = {OWN + "networks": [f"10.90.{rail}.0/24" for rail in range(8)], "rdma_links_rails": 8}


def right(hosts: Hosts) -> dict[str, Any]:
    found = plan(hosts)
    assert found["problems"] == []
    return found


def test_a_policy_has_the_vfs_of_our_own_plugin(facts_of: Facts) -> None:
    facts = facts_of("case-h100-roce")
    hosts = SRIOV.hosts_of({"h100": facts}, "roce", **EIGHT, **RAILS, **OPERATED)
    found = right(hosts)
    ours = SRIOV.right({name: {**own, OWN + "provider": "plugin"} for name, own in hosts.items()})
    (config,) = SRIOV.configs(ours).values()
    policies = objects(found, "SriovNetworkNodePolicy")
    assert len(policies) == len(config["resourceList"]) == 8
    by_resource = {item["spec"]["resourceName"]: item for item in policies.values()}
    identity = {hca["pci"]["address"]: hca["pci"] for hca in facts["hcas"]}
    for pool in config["resourceList"]:
        spec = by_resource[pool["resourceName"]]["spec"]
        (root,) = spec["nicSelector"]["rootDevices"]
        assert [f"{root}#0-{spec['numVfs'] - 1}"] == pool["selectors"]["rootDevices"]
        assert spec["nicSelector"]["vendor"] == identity[root]["vendor_id"] == "15b3"
        assert spec["nicSelector"]["deviceID"] == identity[root]["device_id"]
        assert (spec["isRdma"], spec["deviceType"], spec["externallyManaged"]) == (True, "netdevice", True)
        assert "linkType" not in spec
        assert spec["nodeSelector"] == {SRIOV.label: "roce.sriov"} == found["labels"]["h100"]
    assert {item["metadata"]["namespace"] for item in policies.values()} == {PLACE}
    assert found["requests"] == ours["requests"]
    assert found["status"]["h100"]["resources"] == ours["status"]["h100"]["resources"]
    assert found["status"]["h100"]["daemon_sets"] == ("kube-system/rdma-multus", "kube-system/rdma-whereabouts")
    assert found["status"]["h100"]["synced"] == PLACE


def test_a_network_is_in_one_subnet_and_has_the_name_that_pods_request(facts_of: Facts) -> None:
    hosts = SRIOV.hosts_of({"h100": facts_of("case-h100-roce")}, "roce", **EIGHT, **RAILS, **OPERATED)
    found = right(hosts)
    networks = objects(found, "SriovNetwork")
    ranges = [json.loads(item["spec"]["ipam"])["range"] for item in networks.values()]
    assert sorted(ranges) == RAILS[OWN + "networks"]
    for ask in found["requests"]["roce"]:
        ((resource, number),) = ask["limits"].items()
        namespace, _slash, name = ask["annotations"]["k8s.v1.cni.cncf.io/networks"].partition("/")
        spec = networks[name]["spec"]
        assert (f"openshift.io/{spec['resourceName']}", spec["networkNamespace"]) == (resource, namespace)
        assert number == 1
    assert objects(found, "SriovIBNetwork") == objects(found, "NetworkAttachmentDefinition") == {}
    assert set(objects(found, "DaemonSet")) == {"rdma-multus", "rdma-whereabouts"}


def test_drains_are_limited_and_announced(facts_of: Facts) -> None:
    found = right(lab(facts_of))
    (item,) = objects(found, "SriovNetworkPoolConfig").values()
    chosen = {"key": SRIOV.label, "operator": "In", "values": ["lab.sriov"]}
    assert item["spec"] == {"maxUnavailable": 1, "nodeSelector": {"matchExpressions": [chosen]}}
    assert item["metadata"] == {"name": "rdma-lab", "namespace": PLACE}
    (line,) = found["warnings"]
    assert line.startswith("lab: the SR-IOV operator cordons and drains nodes of the group when its policies for them")
    assert "at most 1 at a time" in line
    (item,) = objects(right(lab(facts_of, rdma_max_unavailable="10%")), "SriovNetworkPoolConfig").values()
    assert item["spec"]["maxUnavailable"] == "10%"


def test_nodes_with_other_vfs_have_policies_of_their_own(facts_of: Facts) -> None:
    more = copy.deepcopy(facts_of("case-vf"))
    more["hcas"][0]["sriov"]["num_vfs"] = 4
    found = right(SRIOV.hosts_of({"one": facts_of("case-vf"), "two": more}, "vf", **OPERATED))
    policies = objects(found, "SriovNetworkNodePolicy").values()
    by_label = {item["spec"]["nodeSelector"][SRIOV.label]: item["spec"]["numVfs"] for item in policies}
    assert {host: by_label[labels[SRIOV.label]] for host, labels in found["labels"].items()} == {"one": 2, "two": 4}
    (pool,) = objects(found, "SriovNetworkPoolConfig").values()
    assert pool["spec"]["nodeSelector"]["matchExpressions"][0]["values"] == sorted(by_label)
    assert len(objects(found, "SriovNetwork")) == 1


def test_nics_of_one_node_with_other_numbers_of_vfs(facts_of: Facts) -> None:
    facts = infiniband(facts_of)
    facts["hcas"][0]["sriov"]["num_vfs"] = 2
    found = right(SRIOV.hosts_of({"v100-01": facts}, "v100", **OPERATED))
    policies = objects(found, "SriovNetworkNodePolicy")
    assert set(policies) == {"sriov-v100-2vfs", "sriov-v100-4vfs"}
    assert {item["spec"]["resourceName"] for item in policies.values()} == {"sriov_v100"}


def test_infiniband_has_networks_of_its_own_and_guids_of_the_operator(facts_of: Facts) -> None:
    found = right(SRIOV.hosts_of({"v100-01": infiniband(facts_of)}, "v100", **OPERATED))
    assert set(objects(found, "SriovIBNetwork")) == {"sriov-v100"}
    assert objects(found, "SriovNetwork") == {}
    assert any("GUIDs from /etc/sriov-operator/infiniband/guids" in line for line in found["warnings"])


def test_a_node_needs_no_image_of_a_plugin(facts_of: Facts) -> None:
    hosts = lab(facts_of)
    images = strategy({}, hosts["lab-01"])["images"]
    assert len(images) == 2
    assert not any("device-plugin" in image["name"] for image in images)


def test_a_namespace_of_our_own_objects_is_there_once(facts_of: Facts) -> None:
    own: dict[str, Any] = {OWN + "namespace": "rdma", "rdma_parent_namespace": "kube-system"}

    def kinds(hosts: Hosts) -> list[str]:
        return [item["kind"] for item in right(hosts)["sets"][0]["objects"]]

    assert kinds(lab(facts_of, **own)).count("Namespace") == 1
    assert kinds(SRIOV.recorded(facts_of, "lab-01", **EIGHT, **own)).count("Namespace") == 1
    bare: dict[str, Any] = {OWN + "multus_deploy": False, OWN + "whereabouts_deploy": False}
    assert kinds(lab(facts_of, **own, **bare)).count("Namespace") == 0
    assert kinds(SRIOV.recorded(facts_of, "lab-01", **EIGHT, **own, **bare)).count("Namespace") == 1


def test_the_operators_chart_brings_the_definition_of_networks(facts_of: Facts) -> None:
    """One that is there already is in no set of ours, so provision would refuse it."""
    name = "network-attachment-definitions.k8s.cni.cncf.io"
    every = objects(right(lab(facts_of)), "CustomResourceDefinition")
    assert name not in every
    assert "ippools.whereabouts.cni.cncf.io" in every
    assert name in objects(right(SRIOV.recorded(facts_of, "lab-01", **EIGHT)), "CustomResourceDefinition")


def test_beside_whole_nics_of_another_provider(facts_of: Facts) -> None:
    hosts = {**lab(facts_of), **HOST_DEVICE.recorded(facts_of, "v100-01", group="v100")}
    hosts["v100-01"][OWN + "networks"] = ["10.92.0.0/24"]
    found = right(hosts)
    assert set(objects(found, "DaemonSet")) == {"rdma-multus", "rdma-whereabouts", "rdma-nics-v100"}
    assert set(objects(found, "SriovNetworkNodePolicy")) == {"sriov-lab"}
    hosts["v100-01"].update({OWN + "provider": "network_operator", OWN + "prefix": "nvidia.com"})
    kinds = [*KINDS, *(f"{kind}.mellanox.com" for kind in ("NicClusterPolicy", "NicNodePolicy", "HostDeviceNetwork"))]
    found = plan(hosts, kinds=kinds)
    assert found["problems"] == []
    assert set(objects(found, "NicNodePolicy")) == {"rdma-nics-v100"}
    # The other operator's, also for VFs.
    assert set(objects(found, "DaemonSet")) == {"rdma-whereabouts"}
    hosts.update(HOST_DEVICE.recorded(facts_of, "a100-01", group="a100"))
    hosts["a100-01"][OWN + "networks"] = ["10.93.0.0/24"]
    (line,) = plan(hosts, kinds=kinds)["problems"]
    assert "but plugin for group a100: one of them runs Multus" in line


def test_trust_spoof_check_and_link_state(facts_of: Facts) -> None:
    wanted = {OWN + "vf_trust": True, OWN + "vf_spoof_check": False, OWN + "vf_link_state": "enable"}
    hosts = SRIOV.hosts_of({"h100": facts_of("case-h100-roce")}, "roce", **EIGHT, **RAILS, **OPERATED)
    plain = [item["spec"] for item in objects(right(hosts), "SriovNetwork").values()]
    assert len(plain) == 8
    assert all(not {"trust", "spoofChk", "linkState"} & set(spec) for spec in plain)
    hosts = {name: {**own, **wanted} for name, own in hosts.items()}
    specs = [item["spec"] for item in objects(right(hosts), "SriovNetwork").values()]
    assert [(spec["trust"], spec["spoofChk"], spec["linkState"]) for spec in specs] == [("on", "off", "enable")] * 8
    # Nothing else sets them.
    (problem,) = plan({name: {**own, OWN + "provider": "plugin"} for name, own in hosts.items()})["problems"]
    assert "rdma_host_device_vf_trust is True, but only the SR-IOV operator sets this" in problem
