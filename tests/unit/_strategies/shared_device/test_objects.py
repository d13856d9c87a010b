# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The objects of the strategy shared_device, and what a node needs for them."""

from __future__ import annotations

from typing import Any

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SHARED_DEVICE,
    Facts,
    objects,
    shared,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy

LABEL = SHARED_DEVICE.label
recorded, right = SHARED_DEVICE.recorded, SHARED_DEVICE.right


def test_objects_of_a_recorded_group(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100")
    found = right(hosts)
    assert [(one["name"], one["namespace"]) for one in found["sets"]] == [
        ("zerocopy-rdma-shared-device", "kube-system")
    ]
    assert [item["kind"] for item in found["sets"][0]["objects"]] == ["ConfigMap", "DaemonSet"]
    (item,) = objects(found, "DaemonSet").values()
    pod = item["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert item["metadata"]["name"] == "rdma-shared-v100"
    assert container["image"].startswith("ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3@sha256:")
    assert "serviceAccountName" not in pod
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert shared(found) == {
        "v100": {
            "resourceName": "rdma_v100",
            "resourcePrefix": "rdma",
            "rdmaHcaMax": 63,
            "selectors": {"ifNames": ["ibp63s0", "ibp138s0"], "linkTypes": ["infiniband"]},
        }
    }
    assert found["labels"] == {host: {LABEL: "v100"} for host in hosts}
    (ask,) = found["requests"]["v100"]
    assert ask["limits"] == {"rdma/rdma_v100": 1}
    assert ask["hosts"] == {host: ["mlx5_0", "mlx5_1"] for host in hosts}
    assert not ask["moves"]
    shown = found["status"]["v100-02"]
    assert shown == {
        "drivers": (),
        "resources": {"rdma/rdma_v100": 63},
        "daemon_sets": ("kube-system/rdma-shared-v100",),
        "foreign": (),
        "synced": "",
        "owners": (),
    }


def test_the_plugin_restarts_with_its_configuration_and_only_then(facts_of: Facts) -> None:
    def annotation(**own: Any) -> str:
        (item,) = objects(right(recorded(facts_of, "v100-01", **own)), "DaemonSet").values()
        return str(item["spec"]["template"]["metadata"]["annotations"]["zerocopy.rdma/config"])

    assert annotation() == annotation(rdma_max_unavailable="50%")
    assert annotation() != annotation(rdma_shared_device_max=10)


def test_an_imported_image_is_never_pulled(facts_of: Facts) -> None:
    (item,) = objects(right(recorded(facts_of, "v100-01", rdma_shared_device_digest="")), "DaemonSet").values()
    container = item["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["imagePullPolicy"]) == (
        "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3",
        "IfNotPresent",
    )
    own = recorded(facts_of, "v100-01", rdma_shared_device_archive="/images/plugin.tar")["v100-01"]
    (image,) = strategy({}, own)["images"]
    assert image == {"name": "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3", "archive": "/images/plugin.tar"}


def test_the_netns_mode_follows(facts_of: Facts) -> None:
    assert strategy({}, recorded(facts_of, "v100-01")["v100-01"])["netns_mode"] == "shared"
