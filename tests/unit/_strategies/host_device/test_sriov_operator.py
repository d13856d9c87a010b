# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the SR-IOV operator cannot do, and what of others is in its way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    SRIOV,
    Facts,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.host_device.sriov_operated import (
    EIGHT,
    KINDS,
    MAKERS,
    OPERATED,
    OWN,
    PLACE,
    PLUGIN,
    infiniband,
    lab,
    plan,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

REFUSED = [
    (SRIOV, {OWN + "namespaces": ["one", "two"]}, "whose networks are in one namespace: name one"),
    (SRIOV, {"rdma_operator_sriov_namespace": "SRIOV"}, "is 'SRIOV', it must be the namespace of the SR-IOV operator"),
    (SRIOV, {"rdma_max_unavailable": "0"}, "it must be a number of nodes or a percentage, at least 1"),
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
    assert "rdma_operator_sriov_namespace is 'sriov-network-operator', but there is no DaemonSet" in line
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
