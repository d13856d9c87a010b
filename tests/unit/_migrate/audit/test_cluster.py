# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an audit finds in the cluster itself."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import (
    CLASS,
    NAMESPACE,
    Server,
    audited,
    named,
    node,
    pod,
)

_SHARED = "rdma/hca_shared_devices_a"
_PLUGIN = "rdma-shared-dp-ds"
SERVED: dict[str, Any] = {"capacity": {_SHARED: "63"}, "allocatable": {_SHARED: "63"}}


def found(*items: Any, **request: Any) -> dict[str, list[dict[str, Any]]]:
    """The fields of the findings by code."""
    by_code: dict[str, list[dict[str, Any]]] = {}
    for finding in audited(list(items), **request)["cluster"]:
        by_code.setdefault(finding["code"], []).append(finding["fields"])
    return by_code


def on(name: str) -> dict[str, Any]:
    """A pod of the plugin's DaemonSet."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": _PLUGIN, "uid": "1", "controller": True}
    return pod(metadata={"name": f"{_PLUGIN}-{name}", "ownerReferences": [owner]}, nodeName=name)


def agent(image: str, name: str = "agent") -> dict[str, Any]:
    item = named("agent")
    item["metadata"]["name"] = name
    item["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return item


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def test_a_cluster_without_anything_of_the_old_way() -> None:
    assert audited([node("n1"), named("web")])["cluster"] == []


def test_a_plugin_and_what_its_nodes_advertise() -> None:
    nodes = [node(f"n{number}", **SERVED) for number in (1, 2, 3)]
    seen = found(named(_PLUGIN), on("n1"), on("n2"), *nodes)
    (plugin,) = seen["device_plugin"]
    assert (plugin["daemon_set"], plugin["name"]) == (f"DaemonSet {NAMESPACE}/{_PLUGIN}", "k8s-rdma-shared-dev-plugin")
    assert plugin["nodes"] == 2
    assert seen["advertised"] == [{"resource": _SHARED, "nodes": ["n1", "n2", "n3"]}]
    # Something else advertises it there, or nobody does any more.
    assert seen["no_plugin"] == [{"resource": _SHARED, "nodes": ["n3"]}]
    assert "stale" not in seen


@pytest.mark.parametrize("written", ['{"rdma.io/hca": 100}', "{", "[1]", "[" * 100000])
def test_a_resource_that_only_counts_pods_has_no_plugin(written: str) -> None:
    """As the strategy inject has it; what somebody else wrote in its annotation says nothing."""
    item = node("n1", capacity={"rdma.io/hca": "100"}, allocatable={"rdma.io/hca": "100"})
    item["metadata"]["annotations"] = {"zerocopy.rdma/counters": written}
    seen = found(item, on("n1"))
    assert seen["advertised"] == [{"resource": "rdma.io/hca", "nodes": ["n1"]}]
    assert ("no_plugin" in seen) is (written[1:2] != '"')


@pytest.mark.parametrize("allocatable", [{}, {_SHARED: "0"}])
def test_stale_capacity(allocatable: dict[str, str]) -> None:
    seen = found(node("n1", capacity={_SHARED: "63", "cpu": "4"}, allocatable={**allocatable, "cpu": "4"}))
    assert seen == {"stale": [{"resource": _SHARED, "nodes": ["n1"]}]}
    assert found(node("n1", capacity={_SHARED: "0"}, allocatable={_SHARED: "0"})) == {}


def test_nobody_is_accused_where_pods_cannot_be_listed() -> None:
    server = Server([named(_PLUGIN), on("n1"), node("n1", **SERVED)])
    server.refused["/api/v1/pods"] = _forbidden("pods")
    assert "no_plugin" not in {finding["code"] for finding in audited([], server)["cluster"]}


def _forbidden(what: str) -> Exception:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError

    return ApiError(403, {"message": f"{what} is forbidden"})


@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3",
        "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin@sha256:0000",
        "mirror.example.org:5000/k8s-rdma-shared-dev-plugin",
        "ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v3.9.0",
        "docker.io/rocm/k8s-network-device-plugin:v1.2.0",
    ],
)
def test_which_images_are_device_plugins(image: str) -> None:
    assert [one["image"] for one in found(agent(image))["device_plugin"]] == [image]


@pytest.mark.parametrize(
    ("image", "name", "known"),
    [
        ("registry.k8s.io/node-problem-detector/node-problem-detector:v1.35.1", "agent", "node-problem-detector"),
        ("ghcr.io/nvidia/nvsentinel/nic-health-monitor:v1.0.0", "agent", "NVSentinel's NIC monitor"),
        ("mirror.example.org/nic-health-monitor@sha256:00", "agent", "NVSentinel's NIC monitor"),
        ("mirror.example.org/nvs/node-drainer:v1.19.0", "agent", "NVSentinel, what cordons, drains and replaces nodes"),
        ("ghcr.io/nvidia/nvsentinel/labeler:v1.19.0", "agent", "NVSentinel"),
        ("registry.example.org/node-drainer-ui:1", "agent", None),
        ("docker.io/leptonai/gpud:v0.5.0", "agent", "gpud"),
        ("nvcr.io/nvidia/lepton/gpud:v0.12.0", "agent", "gpud"),
        ("registry.example.org/lbnl-nhc:1", "agent", "node health check"),
        ("registry.example.org/tools:1", "rail-health-check", "probably a health check"),
        ("registry.example.org/tools:1", "agent", None),
        ("registry.example.org/enhancer:1", "enhancer", None),
    ],
)
def test_health_checks_of_hosts(image: str, name: str, known: str | None) -> None:
    assert [one["known"] for one in found(agent(image, name)).get("health_check", [])] == ([known] if known else [])


@pytest.mark.parametrize(
    ("name", "content", "sign"),
    [
        ("npd-config", "test -e /sys/class/infiniband/mlx5_0", "/sys/class/infiniband"),
        ("nhc", " * || check_hw_ib 400 mlx5_0", "check_hw_ib"),
        ("anything", "expr: node_infiniband_info < 8", "node_infiniband_info"),
        ("nccl-topology", "mlx5_0", None),
        ("alerts", "up == 0", None),
    ],
)
def test_checks_and_alerts_in_config_maps(name: str, content: str, sign: str | None) -> None:
    seen = found(config_map(name, file=content)).get("health_check", [])
    assert [one["sign"] for one in seen] == ([sign] if sign else [])


def test_an_alert_is_a_check_and_a_recording_rule_is_none() -> None:
    rule = named("fabric")
    (seen,) = found(rule)["health_check"]
    assert (seen["known"], seen["sign"]) == ("alert RailMissing", "node_infiniband_info")
    del rule["spec"]["groups"][0]["rules"][1]
    assert found(rule) == {}


def test_policies_of_operators() -> None:
    (seen,) = found(named("nic-cluster-policy"))["operator_policy"]
    assert seen == {
        "policy": "NicClusterPolicy nic-cluster-policy",
        "sections": ["rdmaSharedDevicePlugin", "secondaryNetwork"],
    }


def test_kueue() -> None:
    queue, config = named("gpus"), named("kueue-manager-config")
    assert found(config) == {}
    assert found(queue, config) == {"kueue_unmapped": [{"device_class": CLASS}]}
    assert found(queue) == {"kueue_unread": [{}]}
    text = config["data"]["controller_manager_config.yaml"].replace("gpu.nvidia.com", f"gpu.nvidia.com, {CLASS}")
    assert found(queue, config_map("renamed", config=text)) == {}
    broken = "apiVersion: config.kueue.x-k8s.io/v1beta2\nresources: [}"
    assert found(queue, config_map("renamed", config=broken)) == {"kueue_unmapped": [{"device_class": CLASS}]}
    broken += "deviceClassMappings:"
    assert found(queue, config_map("renamed", config=broken)) == {"kueue_unread": [{}]}
    (unseen,) = audited([queue, config_map("renamed", config=broken), config])["unseen"]
    assert unseen["what"] == "ConfigMap llm/renamed"
    assert unseen["why"].startswith("its configuration of Kueue is not YAML (line 2): ")


_MANY = f"\nmany: [&a [{'a, ' * 200}], {'*a, ' * 200}]\n"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("\n" + "#" * (1 << 16), "has more than 65536 characters"),
        (_MANY, "has aliases that stand for more than 10000 values: write these out, or fewer"),
        ("\ndeep: " + "[" * 101 + "]" * 101, "has values that are nested more than 100 levels deep (line "),
    ],
)
def test_a_configuration_of_kueue_that_takes_too_long_is_named_and_another_one_counts(more: str, why: str) -> None:
    """Sound but for that, so that whoever reads it finds the class in it."""
    queue, config = named("gpus"), named("kueue-manager-config")
    text = config["data"]["controller_manager_config.yaml"].replace("gpu.nvidia.com", f"gpu.nvidia.com, {CLASS}")
    assert found(queue, config, config_map("sound", config=text)) == {}
    theirs = config_map("theirs", config=text + more)
    assert found(queue, theirs) == {"kueue_unread": [{}]}
    assert found(queue, config, theirs) == {"kueue_unmapped": [{"device_class": CLASS}]}
    (unseen,) = audited([queue, config, theirs])["unseen"]
    assert unseen["what"] == "ConfigMap llm/theirs"
    assert unseen["why"].startswith(f"its configuration of Kueue {why}")


@pytest.mark.parametrize(
    ("kubelet", "runtime", "code"),
    [
        ("v1.36.3", "containerd://2.2.6", None),
        ("v1.34.1+k3s1", "containerd://2.1.4-k3s1", "old_kubelet"),
        ("v1.34.2", "cri-o://1.34.0", None),
        ("v1.34.10", "containerd://2.1.4", None),
        ("v1.35.0", "containerd://2.2.6", "extended_kubelet"),
        ("v1.35.1", "containerd://2.2.6", None),
        ("v1.36.3", "containerd://1.7.28", "old_runtime"),
        ("", "", None),
    ],
)
def test_versions_of_nodes(kubelet: str, runtime: str, code: str | None) -> None:
    assert list(found(node("n1", kubelet, runtime), node("n2"))) == ([code] if code else [])


@pytest.mark.parametrize(
    ("release", "metrics", "on"),
    [
        ("v1.36.3", None, True),
        ("v1.35.4+k3s1", None, False),
        ("v1.36.3", 'kubernetes_feature_enabled{name="DRAExtendedResource",stage="BETA"} 0\n', False),
        ("v1.35.4", 'x 1\nkubernetes_feature_enabled{name="DRAExtendedResource",stage="ALPHA"} 1\n', True),
        ("v1.36.3", 'kubernetes_feature_enabled{name="Other",stage="BETA"} 0\n', True),
        ("unknown", None, None),
    ],
)
def test_feature_gates(release: str, metrics: str | None, on: bool | None) -> None:
    kubernetes = audited([], Server([], release, metrics))["kubernetes"]
    assert kubernetes["gates"].get("DRAExtendedResource") is on
    assert kubernetes["version"] == release


def test_without_dynamic_resource_allocation() -> None:
    server = Server([node("n1")])
    del server._groups["resource.k8s.io"]
    result = audited([], server)
    assert [finding["code"] for finding in result["cluster"]] == ["no_dra"]
    assert result["kubernetes"]["resource_api"] == ""
