# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The objects of the strategy host_device: the plugin, Multus, whereabouts, and the networks of pods."""

from __future__ import annotations

import json
from typing import Any

import yaml

from ansible_collections.zerocopy.rdma.plugins.filter.manifests import manifests
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    RAILS,
    Facts,
    objects,
    pools,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy

OWN = "rdma_host_device_"
LABEL = HOST_DEVICE.label
recorded, right = HOST_DEVICE.recorded, HOST_DEVICE.right


def test_objects_of_a_recorded_group(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100", rdma_host_device_namespaces=["one", "two"])
    found = right(hosts)
    (one,) = found["sets"]
    assert (one["name"], one["namespace"]) == ("zerocopy-rdma-host-device", "kube-system")
    assert set(objects(found, "DaemonSet")) == {"rdma-nics-v100", "rdma-multus", "rdma-whereabouts"}
    assert set(objects(found, "CustomResourceDefinition")) == {
        "network-attachment-definitions.k8s.cni.cncf.io",
        "ippools.whereabouts.cni.cncf.io",
        "overlappingrangeipreservations.whereabouts.cni.cncf.io",
    }
    assert pools(found) == {"v100": {"hostdev_v100": ["0000:3f:00.0", "0000:8a:00.0"]}}
    networks = [item for item in one["objects"] if item["kind"] == "NetworkAttachmentDefinition"]
    assert [item["metadata"]["namespace"] for item in networks] == ["one", "two"]
    assert {item["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] for item in networks} == {
        "rdma/hostdev_v100"
    }
    config = json.loads(networks[0]["spec"]["config"])
    assert (config["type"], config["ipam"]["type"], config["ipam"]["range"]) == (
        "host-device",
        "whereabouts",
        "10.90.0.0/24",
    )
    assert found["labels"] == {host: {LABEL: "v100"} for host in hosts}
    (ask,) = found["requests"]["v100"]
    assert ask["limits"] == {"rdma/hostdev_v100": 1}
    assert ask["annotations"] == {"k8s.v1.cni.cncf.io/networks": "one/rdma-v100"}
    assert ask["hosts"] == {host: ["mlx5_0", "mlx5_1"] for host in hosts}
    assert (ask["number"], ask["moves"], ask["networks"], ask["namespace"]) == (1, True, ("10.90.0.0/24",), "one")
    shown = found["status"]["v100-02"]
    assert shown["resources"] == {"rdma/hostdev_v100": 2}
    assert set(shown["daemon_sets"]) == {
        f"kube-system/{name}" for name in ("rdma-nics-v100", "rdma-multus", "rdma-whereabouts")
    }


def test_manifests_are_the_objects(facts_of: Facts) -> None:
    """Without an API server they are written to a file, definitions before what they define."""
    (one,) = right(recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS))["sets"]
    written = list(yaml.safe_load_all(manifests(one["objects"])))
    assert sorted(map(json.dumps, written)) == sorted(map(json.dumps, one["objects"]))
    kinds = [item["kind"] for item in written]
    assert kinds.index("NetworkAttachmentDefinition") > max(
        place for place, kind in enumerate(kinds) if kind == "CustomResourceDefinition"
    )


def test_every_mount_has_its_volume(facts_of: Facts) -> None:
    for item in objects(right(recorded(facts_of, "v100-01")), "DaemonSet").values():
        pod = item["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_selectors_do_without_the_netdev(facts_of: Facts) -> None:
    """A plugin that starts while a pod has the netdev sees neither its name nor its link type."""
    (item,) = [
        entry
        for entry in objects(right(recorded(facts_of, "v100-01")), "ConfigMap").values()
        if "config.json" in entry["data"]
    ]
    (pool,) = json.loads(item["data"]["config.json"])["resourceList"]
    assert set(pool["selectors"]) == {"pciAddresses", "isRdma"}


def test_a_rail_is_a_resource_and_a_network(facts_of: Facts) -> None:
    found = right(recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS))
    assert pools(found) == {"v100": {"hostdev_v100_rail0": ["0000:3f:00.0"], "hostdev_v100_rail1": ["0000:8a:00.0"]}}
    ranges = {
        name: json.loads(item["spec"]["config"])["ipam"]["range"]
        for name, item in objects(found, "NetworkAttachmentDefinition").items()
    }
    assert ranges == {"rdma-v100-rail0": "10.90.0.0/24", "rdma-v100-rail1": "10.90.1.0/24"}
    assert [ask["annotations"]["k8s.v1.cni.cncf.io/networks"] for ask in found["requests"]["v100"]] == [
        "default/rdma-v100-rail0",
        "default/rdma-v100-rail1",
    ]
    assert [ask["hosts"]["v100-02"] for ask in found["requests"]["v100"]] == [["mlx5_0"], ["mlx5_1"]]
    assert found["status"]["v100-01"]["resources"] == {"rdma/hostdev_v100_rail0": 1, "rdma/hostdev_v100_rail1": 1}


def test_a_sites_own_multus_and_whereabouts_are_left_alone(facts_of: Facts) -> None:
    own = {OWN + "multus_deploy": False, OWN + "whereabouts_deploy": False}
    hosts = recorded(facts_of, "v100-01", group="v100", **own)
    found = right(hosts)
    assert [item["kind"] for item in found["sets"][0]["objects"]] == [
        "ConfigMap",
        "DaemonSet",
        "NetworkAttachmentDefinition",
    ]
    assert found["status"]["v100-01"]["daemon_sets"] == ("kube-system/rdma-nics-v100",)
    (image,) = strategy({}, hosts["v100-01"])["images"]
    assert image["name"].startswith("ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v")


def test_images_and_netns_mode_of_a_node(facts_of: Facts) -> None:
    own = recorded(facts_of, "v100-01", rdma_host_device_multus_archive="/images/multus.tar")["v100-01"]
    found = strategy({}, own)
    assert found["netns_mode"] == "shared"
    assert [(image["name"].rpartition("/")[2], image["archive"]) for image in found["images"]] == [
        ("sriov-network-device-plugin:v3.11.0", ""),
        ("multus-cni:v4.2.2", "/images/multus.tar"),
        ("whereabouts:v0.8.0", ""),
    ]


def test_directories_of_another_distribution(facts_of: Facts) -> None:
    cni = "/var/lib/rancher/k3s/agent/etc/cni/net.d"
    found = right(recorded(facts_of, "v100-01", rdma_host_device_cni_config=cni))
    (item,) = objects(found, "NetworkAttachmentDefinition").values()
    ipam = json.loads(item["spec"]["config"])["ipam"]
    assert ipam["kubernetes"]["kubeconfig"] == f"{cni}/whereabouts.d/whereabouts.kubeconfig"
    multus = objects(found, "DaemonSet")["rdma-multus"]["spec"]["template"]["spec"]
    assert f"--multus-kubeconfig-file-host={cni}/multus.d/multus.kubeconfig" in multus["containers"][0]["args"]
    assert cni in [volume["hostPath"]["path"] for volume in multus["volumes"]]


def test_the_plugin_restarts_with_its_configuration_and_only_then(facts_of: Facts) -> None:
    def annotation(**own: Any) -> str:
        item = objects(right(recorded(facts_of, "v100-01", **own)), "DaemonSet")["rdma-nics-ib"]
        return str(item["spec"]["template"]["metadata"]["annotations"]["zerocopy.rdma/config"])

    assert annotation() == annotation(rdma_host_device_networks=["10.95.0.0/24"])
    assert annotation() != annotation(rdma_driver_exclude=["0000:3f:00.0"])
