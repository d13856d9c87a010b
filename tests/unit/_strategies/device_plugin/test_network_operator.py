# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Device plugins that NVIDIA's Network Operator runs: the same NICs, resources and requests as with our own objects."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._migrate.nodes.planned_move import planned_move
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    RAILS,
    SHARED_DEVICE,
    SRIOV,
    Facts,
    Hosts,
    objects,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies, strategy, strategy_plan

POLICY, NODE_POLICY, NETWORK = (
    f"{kind}.mellanox.com" for kind in ("NicClusterPolicy", "NicNodePolicy", "HostDeviceNetwork")
)
OLDER, NEWER = [POLICY, NETWORK], [POLICY, NODE_POLICY, NETWORK]
SHARED, NICS = "rdma_shared_device_", "rdma_host_device_"
BY_OPERATOR = {SHARED + "provider": "network_operator", NICS + "provider": "network_operator"}
NVIDIA = {NICS + "prefix": "nvidia.com"}


def plan(hosts: Hosts, name: str, kinds: list[str] | None = None) -> dict[str, Any]:
    return strategy_plan({}, list(hosts), hosts, name, kinds=kinds)


def right(hosts: Hosts, name: str, kinds: list[str] | None = None) -> dict[str, Any]:
    found = plan(hosts, name, kinds)
    assert found["problems"] == []
    return found


def two_shapes(facts_of: Facts, **own: Any) -> Hosts:
    """A pair of nodes that one configuration does not fit: their netdevs have the same names, and one is up on each."""
    second, names = copy.deepcopy(facts_of("a100-02")), {"ib0": "ibp5s0", "ib1": "ibp133s0"}
    for port in (port for hca in second["hcas"] for port in hca["ports"]):
        if port["netdev"]:
            port["netdev"]["name"] = names.get(port["netdev"]["name"], port["netdev"]["name"])
    return SHARED_DEVICE.hosts_of({"a100-01": facts_of("a100-01"), "a100-02": second}, "a100", **own)


def with_operator(hosts: Hosts) -> Hosts:
    return {name: {**own, **BY_OPERATOR} for name, own in hosts.items()}


@pytest.mark.parametrize("kinds", [None, NEWER])
def test_a_node_policy_shares_what_our_own_plugin_would(facts_of: Facts, kinds: list[str] | None) -> None:
    hosts = two_shapes(facts_of, rdma_shared_device_max=7)
    ours, found = right(hosts, "shared_device"), right(with_operator(hosts), "shared_device", kinds)
    assert {item["kind"] for item in found["sets"][0]["objects"]} == {"NicNodePolicy"}
    assert found["policy"]["without"] == ["spec.rdmaSharedDevicePlugin"]
    assert "spec" not in found["policy"]["object"]
    specs = [item["spec"] for item in objects(found, "NicNodePolicy").values()]
    configs = {
        spec["nodeSelector"][SHARED_DEVICE.label]: json.loads(spec["rdmaSharedDevicePlugin"]["config"])
        for spec in specs
    }
    expected = SHARED_DEVICE.configs(ours)
    assert len(expected) > 1
    for config in expected.values():
        # The webhook of the operator takes no prefix without a dot, and this one is the plugin's own.
        assert config["configList"][0].pop("resourcePrefix") == "rdma"
    assert configs == {f"{value}.operator": config for value, config in expected.items()}
    assert found["requests"] == ours["requests"]
    for host, shown in found["status"].items():
        assert shown["resources"] == ours["status"][host]["resources"] != {}
        assert shown["daemon_sets"] == ()
    assert found["labels"] == {
        host: {SHARED_DEVICE.label: f"{label[SHARED_DEVICE.label]}.operator"} for host, label in ours["labels"].items()
    }
    assert found["leftovers"] == ours["leftovers"]


def test_nics_and_networks_are_those_of_our_own_objects(facts_of: Facts) -> None:
    hosts = HOST_DEVICE.recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS, **NVIDIA)
    ours, found = right(hosts, "host_device"), right(with_operator(hosts), "host_device", NEWER)
    (policy,) = objects(found, "NicNodePolicy").values()
    config = json.loads(policy["spec"]["sriovDevicePlugin"]["config"])
    assert [config] == list(HOST_DEVICE.configs(ours).values())
    networks = objects(found, "HostDeviceNetwork")
    definitions = objects(ours, "NetworkAttachmentDefinition")
    assert set(networks) == set(definitions) == {"rdma-v100-rail0", "rdma-v100-rail1"}
    for name, network in networks.items():
        spec, definition = network["spec"], definitions[name]
        assert json.loads(spec["ipam"]) == json.loads(definition["spec"]["config"])["ipam"]
        annotation = definition["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"]
        assert f"nvidia.com/{spec['resourceName']}" == annotation
        assert spec["networkNamespace"] == definition["metadata"]["namespace"]
    assert found["requests"] == ours["requests"]
    assert set(objects(found, "DaemonSet")) == {"rdma-whereabouts"}
    assert found["status"]["v100-01"]["daemon_sets"] == ("kube-system/rdma-whereabouts",)
    multus = found["policy"]["object"]["spec"]
    assert multus == {
        "secondaryNetwork": {
            "multus": {"image": "multus-cni", "repository": "ghcr.io/k8snetworkplumbingwg", "version": "v4.2.2"}
        }
    }
    assert found["policy"]["without"] == ["spec.sriovDevicePlugin"]


def test_a_sites_own_multus_is_no_field_of_ours(facts_of: Facts) -> None:
    own: dict[str, Any] = {NICS + "multus_deploy": False, NICS + "whereabouts_deploy": False}
    hosts = with_operator(HOST_DEVICE.recorded(facts_of, "v100-01", **NVIDIA, **own))
    found = right(hosts, "host_device", NEWER)
    assert "spec" not in found["policy"]["object"]
    assert {item["kind"] for item in found["sets"][0]["objects"]} == {"NicNodePolicy", "HostDeviceNetwork"}


def test_images_are_given_as_the_operator_takes_them(facts_of: Facts) -> None:
    def component(**own: Any) -> dict[str, Any]:
        found = right(with_operator(SHARED_DEVICE.recorded(facts_of, "v100-01", **own)), "shared_device")
        (item,) = objects(found, "NicNodePolicy").values()
        return {name: value for name, value in item["spec"]["rdmaSharedDevicePlugin"].items() if name != "config"}

    digest = component().pop("version")
    assert digest.startswith("sha256:")
    own = {SHARED + "image": "registry.example.org:5000/plugins/shared", SHARED + "digest": ""}
    assert component(**own, **{SHARED + "pull_secrets": ["mirror"]}) == {
        "image": "shared",
        "repository": "registry.example.org:5000/plugins",
        "version": "v1.5.3",
        "imagePullSecrets": ["mirror"],
    }
    hosts = with_operator(SHARED_DEVICE.recorded(facts_of, "v100-01"))
    assert strategy({}, hosts["v100-01"])["netns_mode"] == "shared"


def test_without_node_policies_all_groups_are_in_the_one_policy(facts_of: Facts) -> None:
    hosts = with_operator(
        {
            **SHARED_DEVICE.recorded(facts_of, "v100-01", "v100-02", group="v100"),
            **SHARED_DEVICE.recorded(facts_of, "h100-01", group="h100"),
        }
    )
    found = right(hosts, "shared_device", OLDER)
    assert found["sets"][0]["objects"] == []
    policy = found["policy"]["object"]
    assert (policy["kind"], policy["metadata"]) == ("NicClusterPolicy", {"name": "nic-cluster-policy"})
    config = json.loads(policy["spec"]["rdmaSharedDevicePlugin"]["config"])
    assert [entry["resourceName"] for entry in config["configList"]] == ["rdma_h100", "rdma_v100"]
    # The plugin is on all nodes, so it says 0 where it has nothing.
    assert found["leftovers"] == {}
    assert set(right(hosts, "shared_device", NEWER)["leftovers"]) == set(hosts)


@pytest.mark.parametrize(
    ("name", "group", "message"),
    [
        # Of the same machine type.
        ("dra", "other", "would hand out mlx5_0, mlx5_1 of v100-02 as rdma/rdma_v100, too"),
        ("shared_device", "other", "would hand out mlx5_0, mlx5_1 of v100-02 as rdma/rdma_v100, too"),
        ("shared_device", "v100", ""),
    ],
)
def test_one_policy_for_all_must_not_reach_others(facts_of: Facts, name: str, group: str, message: str) -> None:
    hosts = with_operator(
        {
            **SHARED_DEVICE.recorded(facts_of, "v100-01", group="v100"),
            **SHARED_DEVICE.recorded(facts_of, "v100-02", group=group, rdma_strategy=name),
        }
    )
    lines = plan(hosts, "shared_device", OLDER)["problems"]
    assert bool(lines) == bool(message)
    assert not message or f"v100-01: {SHARED}provider is 'network_operator', but one NicClusterPolicy" in lines[0]
    assert not message or message in lines[0]
    assert not message or "Network Operator 26.4 or newer" in lines[0]
    assert plan(hosts, "shared_device", NEWER)["problems"] == []


def test_one_policy_has_one_configuration_of_a_resource(facts_of: Facts) -> None:
    lines = plan(with_operator(two_shapes(facts_of)), "shared_device", OLDER)["problems"]
    assert len(lines) == 2
    assert all("one NicClusterPolicy" in line for line in lines)
    others = {
        **SHARED_DEVICE.recorded(facts_of, "v100-01", group="v100"),
        **SHARED_DEVICE.recorded(facts_of, "h100-01", group="h100", rdma_shared_device_image="ghcr.io/other/plugin"),
    }
    (line,) = plan(with_operator(others), "shared_device", OLDER)["problems"]
    assert "one image for all groups" in line


def test_a_nic_address_that_other_nodes_have_too(facts_of: Facts) -> None:
    hosts = with_operator(
        {
            **HOST_DEVICE.recorded(facts_of, "v100-01", group="v100", **NVIDIA),
            **HOST_DEVICE.recorded(facts_of, "v100-02", group="other", rdma_strategy="none"),
        }
    )
    (line,) = plan(hosts, "host_device", OLDER)["problems"]
    assert "would hand out mlx5_0, mlx5_1 of v100-02 as nvidia.com/hostdev_v100, too" in line
    alone = {"v100-01": hosts["v100-01"]}
    spec = right(alone, "host_device", OLDER)["policy"]["object"]["spec"]
    assert set(spec) == {"secondaryNetwork", "sriovDevicePlugin"}


REFUSED = [
    (SHARED_DEVICE, {SHARED + "provider": "operator"}, "it must be plugin or network_operator"),
    (SHARED_DEVICE, {SHARED + "image": "plugin"}, "image is 'plugin', but the policies of network_operator need a rep"),
    (HOST_DEVICE, {NICS + "multus_image": "multus"}, "it must be like ghcr.io/mellanox/multus"),
    (SHARED_DEVICE, {SHARED + "kubelet_root": "/data/kubelet"}, "which runs the plugin with /var/lib/kubelet only"),
    (HOST_DEVICE, {NICS + "prefix": "rdma"}, "prefix is 'rdma', but rdma_host_device_provider is network_operator"),
    (HOST_DEVICE, {NICS + "namespaces": ["one", "two"]}, "whose networks are in one namespace"),
    (SRIOV, {}, "but rdma_strategy is sriov, and its plugin does not wait for VFs: set it to plugin"),
]


@pytest.mark.parametrize(("fleet", "own", "message"), REFUSED)
def test_what_the_operator_cannot_do_is_refused(facts_of: Facts, fleet: Any, own: dict[str, Any], message: str) -> None:
    hosts = fleet.recorded(facts_of, "v100-01", "v100-02", **{**BY_OPERATOR, **NVIDIA, **own})
    found = plan(hosts, fleet.name or fleet.strategy, NEWER)
    (line,) = found["problems"]
    assert line.startswith("v100-[01-02]: ")
    assert message in line
    assert (found["sets"], "spec" in found["policy"]["object"]) == ([], False)


@pytest.mark.parametrize(
    ("fleet", "kinds", "lacks"),
    [(SHARED_DEVICE, [], POLICY), (HOST_DEVICE, [], f"{POLICY}, {NETWORK}"), (HOST_DEVICE, [POLICY], NETWORK)],
)
def test_a_cluster_without_the_operator(facts_of: Facts, fleet: Any, kinds: list[str], lacks: str) -> None:
    hosts = with_operator(fleet.recorded(facts_of, "v100-01", "v100-02", **NVIDIA))
    expected = f"provider is 'network_operator', but the API server does not serve {lacks}: install"
    (line,) = plan(hosts, fleet.strategy, kinds)["problems"]
    assert expected in line
    # Before any node is changed.
    (line,) = strategies({}, list(hosts), hosts, kinds=kinds)["problems"]
    assert line.startswith("v100-[01-02]: ")
    assert expected in line
    assert strategies({}, list(hosts), hosts, kinds=NEWER)["problems"] == []
    own = fleet.recorded(facts_of, "v100-01")
    assert strategies({}, list(own), own, kinds=[])["problems"] == []


@pytest.mark.parametrize(
    ("provider", "label", "message"),
    [
        ("network_operator", "ib", "provider is 'network_operator', but plugin still serves this node"),
        ("plugin", "ib.operator", "provider is 'plugin', but network_operator still serves this node"),
        ("network_operator", "ib.operator", ""),
        ("plugin", "ib", ""),
    ],
)
def test_a_node_has_one_provider_at_a_time(facts_of: Facts, provider: str, label: str, message: str) -> None:
    """Two plugins on a node would have one socket."""
    hosts = SHARED_DEVICE.recorded(facts_of, "v100-01", **{SHARED + "provider": provider})
    nodes = {"v100-01": {SHARED_DEVICE.label: label}}
    lines = strategies({}, list(hosts), hosts, nodes, kinds=NEWER)["problems"]
    assert len(lines) == bool(message)
    assert message in "".join(lines)


def test_names_of_node_policies_are_short(facts_of: Facts) -> None:
    long = ["gpu-nodes-of-the-second-hall-row-1", "gpu-nodes-of-the-second-hall-row-2"]
    hosts = {
        **SHARED_DEVICE.recorded(facts_of, "v100-01", group=long[0]),
        **SHARED_DEVICE.recorded(facts_of, "v100-02", group=long[1]),
    }
    names = list(objects(right(with_operator(hosts), "shared_device"), "NicNodePolicy"))
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 30


def test_one_policy_for_all_nodes_stops_a_move(facts_of: Facts) -> None:
    hosts = with_operator(SHARED_DEVICE.recorded(facts_of, "v100-01"))

    def stops(kinds: list[str]) -> list[str]:
        return list(planned_move(hosts, kinds=kinds)["problems"])

    (problem,) = stops(OLDER)
    assert "a NicClusterPolicy runs its plugin on all nodes at once, so nodes cannot move one by one" in problem
    assert stops(NEWER) == []
