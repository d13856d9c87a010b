# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""VFs that the SR-IOV operator hands out: the same VFs, resources and requests as with our own objects."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.strategies import strategies
from ansible_collections.zerocopy.rdma.plugins.filter.strategy import strategy
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_plan import strategy_plan
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_verdicts import strategy_verdicts
from ansible_collections.zerocopy.rdma.tests.unit.fleet.device_plugin_plan import (
    HOST_DEVICE,
    SRIOV,
    Facts,
    Hosts,
    daemon_set,
    node,
    objects,
)

OWN = "rdma_host_device_"
PLACE = "sriov-network-operator"
EIGHT: dict[str, Any] = {"rdma_links_vfs": 8}
OPERATED: dict[str, Any] = {OWN + "provider": "sriov_operator", OWN + "prefix": "openshift.io"}
RAILS: dict[str, Any] = {OWN + "networks": [f"10.90.{rail}.0/24" for rail in range(8)], "rdma_links_rails": 8}
KINDS = [
    f"{kind}.sriovnetwork.openshift.io"
    for kind in (
        "SriovNetworkNodePolicy",
        "SriovNetworkPoolConfig",
        "SriovNetwork",
        "SriovIBNetwork",
        "SriovNetworkNodeState",
    )
]
MAKERS = ("HostDeviceNetwork.mellanox.com", *KINDS[2:4])
PLUGIN = {
    "kind": "DaemonSet",
    "metadata": {"name": "sriov-device-plugin", "namespace": PLACE},
    "spec": {"template": {"spec": {"containers": [{"args": ["--log-level=10", "--resource-prefix=openshift.io"]}]}}},
}


def lab(facts_of: Facts, **own: Any) -> Hosts:
    facts = facts_of("lab-01")
    return SRIOV.hosts_of({"lab-01": facts, "lab-02": copy.deepcopy(facts)}, "lab", **{**EIGHT, **OPERATED, **own})


def plan(hosts: Hosts, *there: Any, nodes: Any = None, kinds: Any = None) -> dict[str, Any]:
    every = list(there) if there else None
    kinds = KINDS if kinds is None else kinds
    return strategy_plan({}, list(hosts), hosts, "host_device", kinds=kinds, objects=every, nodes=nodes)


def right(hosts: Hosts) -> dict[str, Any]:
    found = plan(hosts)
    assert found["problems"] == []
    return found


def infiniband(facts_of: Facts) -> dict[str, Any]:
    facts = copy.deepcopy(facts_of("v100-01"))
    for hca in facts["hcas"]:
        hca["sriov"].update(role="pf", num_vfs=4)
    return facts


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
    assert found["asks"] == ours["asks"]
    assert found["shows"]["h100"]["resources"] == ours["shows"]["h100"]["resources"]
    assert found["shows"]["h100"]["daemon_sets"] == ("kube-system/rdma-multus", "kube-system/rdma-whereabouts")
    assert found["shows"]["h100"]["synced"] == PLACE


def test_a_network_is_in_one_subnet_and_has_the_name_that_pods_request(facts_of: Facts) -> None:
    hosts = SRIOV.hosts_of({"h100": facts_of("case-h100-roce")}, "roce", **EIGHT, **RAILS, **OPERATED)
    found = right(hosts)
    networks = objects(found, "SriovNetwork")
    ranges = [json.loads(item["spec"]["ipam"])["range"] for item in networks.values()]
    assert sorted(ranges) == RAILS[OWN + "networks"]
    for ask in found["asks"]["roce"]:
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
    (item,) = objects(right(lab(facts_of, **{OWN + "max_unavailable": "10%"})), "SriovNetworkPoolConfig").values()
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
    own: dict[str, Any] = {OWN + "namespace": "rdma", OWN + "parent_namespace": "kube-system"}

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


REFUSED = [
    (SRIOV, {OWN + "namespaces": ["one", "two"]}, "whose networks are in one namespace: name one"),
    (SRIOV, {OWN + "operator_namespace": "SRIOV"}, "is 'SRIOV', it must be the namespace of the SR-IOV operator"),
    (SRIOV, {OWN + "max_unavailable": "0"}, "it must be a number of nodes or a percentage, at least 1"),
    (HOST_DEVICE, {"rdma_links_vfs": None}, "but rdma_strategy is host_device, and this operator hands out VFs only"),
]


@pytest.mark.parametrize(("fleet", "own", "message"), REFUSED)
def test_what_the_operator_cannot_do_is_refused(facts_of: Facts, fleet: Any, own: dict[str, Any], message: str) -> None:
    hosts = fleet.recorded(facts_of, "lab-01", "lab-02", group="lab", **{**EIGHT, **OPERATED, **own})
    found = plan(hosts)
    (line,) = found["problems"]
    assert line.startswith("lab-[01-02]: ")
    assert message in line
    assert found["sets"] == []


def test_our_guids_are_not_replaced(facts_of: Facts) -> None:
    (line,) = plan(SRIOV.hosts_of({"v100-01": infiniband(facts_of)}, "v100", **EIGHT, **OPERATED))["problems"]
    assert line.startswith("v100-01: rdma_links_vfs is 8, but rdma_host_device_provider is sriov_operator, which would")


def policy(name: str = "theirs", namespace: str = PLACE, **spec: Any) -> dict[str, Any]:
    whole = {"nodeSelector": {"role": "gpu"}, "nicSelector": {"vendor": "15b3"}, **spec}
    meta = {"name": name, "namespace": namespace}
    return {"kind": "SriovNetworkNodePolicy", "metadata": meta, "spec": whole}


def pool(selector: dict[str, Any] | None, **spec: Any) -> dict[str, Any]:
    meta = {"name": "theirs", "namespace": PLACE}
    return {"kind": "SriovNetworkPoolConfig", "metadata": meta, "spec": {**spec, "nodeSelector": selector}}


def expression(operator: str, *values: str, key: str = "role") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


HAS = "but somebody else's SriovNetworkNodePolicy theirs selects mlx5_0 of this node"
TWO = "but somebody else's SriovNetworkPoolConfig theirs contains this node"


@pytest.mark.parametrize(
    ("there", "message"),
    [
        (policy(), HAS),
        (policy(nodeSelector={}), HAS),
        (policy(nodeSelector={"role": "cpu"}), ""),
        (policy(nodeSelector={"role": "gpu", "zone": "a"}), ""),
        (policy(nodeSelector={SRIOV.label: "lab.sriov", "role": "gpu"}), ""),
        (policy(namespace="elsewhere"), ""),
        (policy(name="default"), ""),
        (policy(nicSelector={}), ""),
        (policy(nicSelector={"vendor": "8086"}), ""),
        (policy(nicSelector={"vendor": "15b3", "deviceID": "ffff"}), ""),
        (policy(nicSelector={"vendor": "15b3", "netFilter": "openstack/NetworkID:1"}), ""),
        (policy(nicSelector={"pfNames": ["PF#0-3"]}), HAS),
        (policy(nicSelector={"pfNames": ["other"]}), ""),
        (policy(nicSelector={"rootDevices": ["ROOT"]}), HAS),
        (policy(nicSelector={"rootDevices": ["0000:ff:00.0"]}), ""),
        (pool(None), TWO),
        (pool({"matchLabels": {"role": "gpu"}}), TWO),
        (pool({"matchLabels": {"role": "cpu"}}), ""),
        (pool(expression("In", "gpu", "cpu")), TWO),
        (pool(expression("In", "cpu")), ""),
        (pool(expression("NotIn", "gpu")), ""),
        (pool(expression("NotIn", "cpu")), TWO),
        (pool(expression("Exists")), TWO),
        (pool(expression("Exists", key="zone")), ""),
        (pool(expression("DoesNotExist")), ""),
        (pool(expression("DoesNotExist", key="zone")), TWO),
        (pool(None, ovsHardwareOffloadConfig={"name": "offload"}), ""),
    ],
)
def test_what_others_have_the_operator_do_is_in_the_way(facts_of: Facts, there: Any, message: str) -> None:
    hosts = lab(facts_of)
    (hca,) = [one for one in facts_of("lab-01")["hcas"] if one["name"] == "mlx5_0"]
    text = json.dumps(there).replace("ROOT", hca["pci"]["address"])
    there = json.loads(text.replace("PF", hca["ports"][0]["netdev"]["name"]))
    nodes = {host: {"role": "gpu"} for host in hosts}
    # Before any node is changed, and by the role alone.
    first = strategies({}, list(hosts), hosts, nodes, kinds=KINDS, objects=[PLUGIN, there])
    for lines in (first["problems"], plan(hosts, PLUGIN, there, nodes=nodes)["problems"]):
        assert len(lines) == bool(message)
        assert message in "".join(lines)
        assert not lines or lines[0].startswith("lab-[01-02]: rdma_host_device_provider is 'sriov_operator', ")


@pytest.mark.parametrize(("there", "message"), [(policy, HAS), (pool, TWO)])
def test_others_may_select_nodes_by_our_label(facts_of: Facts, there: Any, message: str) -> None:
    hosts = lab(facts_of)
    nodes = {host: {SRIOV.label: "lab.sriov"} for host in hosts}
    chosen = {SRIOV.label: "lab.sriov"}
    theirs = policy(nodeSelector=chosen) if there is policy else pool({"matchLabels": chosen})
    (line,) = plan(hosts, PLUGIN, theirs, nodes=nodes)["problems"]
    assert message in line
    ours = {**theirs, "metadata": {**theirs["metadata"], "set": "applyset-x-v1"}}
    assert plan(hosts, PLUGIN, ours, nodes=nodes)["problems"] == []


def test_a_selector_that_the_operator_cannot_read_is_no_pool(facts_of: Facts) -> None:
    hosts = lab(facts_of)
    unknown: list[dict[str, str]] = [{"key": "role", "operator": "in"}, {}]
    for expression in unknown:
        selector = {"matchExpressions": [expression]}
        assert plan(hosts, PLUGIN, pool(selector), nodes={host: {} for host in hosts})["problems"] == []


def attachment(name: str = "sriov-lab", namespace: str = "default") -> dict[str, Any]:
    return {"kind": "NetworkAttachmentDefinition", "metadata": {"name": name, "namespace": namespace}, "spec": {}}


def network(kind: str, namespace: str = "default") -> dict[str, Any]:
    meta = {"name": "sriov-lab", "namespace": PLACE}
    return {"kind": kind, "metadata": meta, "spec": {"networkNamespace": namespace}}


@pytest.mark.parametrize(
    ("there", "refused"),
    [
        ([attachment()], True),
        ([attachment("other")], False),
        ([attachment(namespace="elsewhere")], False),
        # It is what the operator has made of ours.
        ([attachment(), network("SriovNetwork")], False),
        ([attachment(), network("SriovNetwork", "elsewhere")], True),
    ],
)
def test_a_network_of_somebody_else_is_not_replaced_by_the_operator(
    facts_of: Facts, there: list[Any], refused: bool
) -> None:
    hosts = lab(facts_of)
    first = strategies({}, list(hosts), hosts, kinds=KINDS, objects=[PLUGIN, *there])
    for lines in (first["problems"], plan(hosts, PLUGIN, *there)["problems"]):
        text = "provider is 'sriov_operator', but NetworkAttachmentDefinition default/sriov-lab exists already"
        assert [text in line for line in lines] == [True] * refused
    # A conflict with one of our own is for the API server to tell.
    assert SRIOV.plan(SRIOV.recorded(facts_of, "lab-01", **EIGHT))["problems"] == []


def test_a_network_of_somebody_else_is_not_replaced_by_the_network_operator(facts_of: Facts) -> None:
    own: dict[str, Any] = {OWN + "provider": "network_operator", OWN + "prefix": "nvidia.com"}
    hosts = HOST_DEVICE.recorded(facts_of, "v100-01", group="v100", **own)
    kinds = [f"{kind}.mellanox.com" for kind in ("NicClusterPolicy", "NicNodePolicy", "HostDeviceNetwork")]
    (line,) = plan(hosts, attachment("rdma-v100"), kinds=kinds)["problems"]
    assert "but NetworkAttachmentDefinition default/rdma-v100 exists already" in line
    made = {"kind": "HostDeviceNetwork", "metadata": {"name": "rdma-v100"}, "spec": {"networkNamespace": "default"}}
    assert plan(hosts, attachment("rdma-v100"), made, kinds=kinds)["problems"] == []


def test_the_operator_has_to_be_where_it_is_said_to_be(facts_of: Facts) -> None:
    hosts = lab(facts_of)
    elsewhere = {**PLUGIN, "metadata": {"name": "sriov-device-plugin", "namespace": "openshift-sriov-network-operator"}}
    (line,) = plan(hosts, elsewhere)["problems"]
    assert "rdma_host_device_operator_namespace is 'sriov-network-operator', but there is no DaemonSet" in line
    assert plan(hosts, PLUGIN)["problems"] == []
    assert strategies({}, list(hosts), hosts)["objects"] == [
        {"kind": KINDS[0], "name": ""},
        {"kind": KINDS[1], "name": ""},
        {"kind": "DaemonSet.apps", "name": "sriov-device-plugin"},
        *({"kind": kind, "name": ""} for kind in ("NetworkAttachmentDefinition.k8s.cni.cncf.io", *MAKERS)),
    ]
    others = SRIOV.recorded(facts_of, "lab-01", **EIGHT)
    assert strategies({}, list(others), others)["objects"] == []


def test_the_prefix_is_that_of_the_operator(facts_of: Facts) -> None:
    (line,) = plan(lab(facts_of, **{OWN + "prefix": "rdma"}), PLUGIN)["problems"]
    assert "rdma_host_device_prefix is 'rdma', but the resources of the SR-IOV operator are openshift.io/..." in line


def test_a_cluster_without_the_operator(facts_of: Facts) -> None:
    hosts = lab(facts_of)
    expected = f"but the API server does not serve {KINDS[2]}, {KINDS[3]}, {KINDS[4]}: install the SR-IOV network"
    for found in (plan(hosts, kinds=KINDS[:2]), strategies({}, list(hosts), hosts, kinds=KINDS[:2])):
        (line,) = found["problems"]
        assert expected in line
        assert line.startswith("lab-[01-02]: ")


@pytest.mark.parametrize(
    ("provider", "label", "message"),
    [
        ("sriov_operator", "lab", "provider is 'sriov_operator', but plugin still serves this node"),
        ("plugin", "lab.sriov", "provider is 'plugin', but sriov_operator still serves this node"),
        ("sriov_operator", "lab.operator", "but network_operator still serves this node"),
        ("sriov_operator", "lab.sriov", ""),
    ],
)
def test_a_node_has_one_provider_at_a_time(facts_of: Facts, provider: str, label: str, message: str) -> None:
    hosts = {"lab-01": {**lab(facts_of)["lab-01"], OWN + "provider": provider}}
    lines = strategies({}, list(hosts), hosts, {"lab-01": {SRIOV.label: label}}, kinds=KINDS)["problems"]
    assert len(lines) == bool(message)
    assert message in "".join(lines)


def state(host: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": host, "namespace": PLACE}, "status": status}


@pytest.mark.parametrize(
    ("there", "verdict", "text"),
    [
        ([state("lab-01", syncStatus="Succeeded")], "pass", "is done with the node"),
        ([state("lab-01", syncStatus="InProgress")], "warn", "is at work on the node"),
        ([state("lab-01", syncStatus="Failed", lastSyncError="no PF")], "fail", "says Failed of the node: no PF"),
        ([state("lab-01")], "fail", "says nothing of the node"),
        ([], "fail", f"there is no SriovNetworkNodeState {PLACE}/lab-01"),
    ],
)
def test_what_the_operator_says_of_a_node_is_judged(facts_of: Facts, there: Any, verdict: str, text: str) -> None:
    hosts = {"lab-01": lab(facts_of)["lab-01"]}
    # Its DaemonSets are on further nodes, too.
    sets = [daemon_set(name, 3, 3) for name in ("sriov-device-plugin", "sriov-network-config-daemon")]
    for item in sets:
        item["metadata"]["namespace"] = PLACE
    checks = strategy_verdicts({}, list(hosts), hosts, [node("lab-01")], sets, there)["checks"]
    (found,) = [check for check in checks if check["id"] == "cluster.state"]
    assert (found["host"], found["verdict"]) == ("lab-01", verdict)
    assert text in found["text"]
    plugins = {check["subject"]: check["verdict"] for check in checks if check["id"] == "cluster.plugin"}
    assert {name: plugins[f"{PLACE}/{name}"] for name in ("sriov-device-plugin", "sriov-network-config-daemon")} == {
        "sriov-device-plugin": "pass",
        "sriov-network-config-daemon": "pass",
    }


def test_the_operators_daemon_has_to_be_on_all_nodes(facts_of: Facts) -> None:
    hosts = lab(facts_of)
    item = daemon_set("sriov-network-config-daemon", 1, 1)
    item["metadata"]["namespace"] = PLACE
    checks = strategy_verdicts({}, list(hosts), hosts, [node("lab-01"), node("lab-02")], [item], [])["checks"]
    texts = {check["subject"]: check["text"] for check in checks if check["id"] == "cluster.plugin"}
    assert "selects 1 node, but 2 of the inventory need it" in texts[f"{PLACE}/sriov-network-config-daemon"]
    assert texts[f"{PLACE}/sriov-device-plugin"] == f"there is no DaemonSet {PLACE}/sriov-device-plugin"
