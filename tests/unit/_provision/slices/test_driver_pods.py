# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""States of pods as kubernetes/api documents them."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.driver_pods import driver_pods, state
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Server, status


def waiting(reason: str, **more: Any) -> Dict[str, Any]:
    return {"containerStatuses": [{"name": "dranet", "state": {"waiting": {"reason": reason, **more}}}]}


ENDED = {"lastState": {"terminated": {"exitCode": 255}}, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": [{"type": "Ready", "status": "True"}]}, "its pod is ready, but has published nothing yet"),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}]},
            "its pod is Pending, 0/2 nodes are available",
        ),
        (
            {"phase": "Pending", **waiting("ContainerCreating")},
            "its pod is being created, for which the node needs /var/run/nri (NRI) and /dev/infiniband",
        ),
        ({"containerStatuses": [ENDED]}, "its pod is in CrashLoopBackOff, exit code 255: its log says why"),
        (waiting("ImagePullBackOff", message="no such image"), "its pod is in ImagePullBackOff, no such image"),
        (waiting("ErrImageNeverPull"), "its pod is in ErrImageNeverPull, no message"),
        (
            {"phase": "Running", "containerStatuses": [{"name": "dranet", "state": {"running": {}}}]},
            "its pod is Running, and not ready",
        ),
        ({"phase": "Pending"}, "its pod is Pending, and not ready"),
    ],
)
def test_what_a_pod_does(status: Dict[str, Any], expected: str) -> None:
    assert state({"spec": {}, "status": status}) == expected


def test_pods_that_may_not_be_listed(server: Server, client: Client) -> None:
    pod = {"spec": {"nodeName": "h100-01"}, "status": {"phase": "Unknown"}}
    server.replies = [(200, {}, {"items": [pod]}), status(403), status(404)]
    assert driver_pods(client) == {"h100-01": "its pod is Unknown, and not ready"}
    assert driver_pods(client) is None
    with pytest.raises(ApiError):
        driver_pods(client)
    assert "labelSelector=app.kubernetes.io%2Fname%3Ddranet%2Czerocopy.rdma%2Fgroup" in server.seen[0][1]


def test_pods_of_a_tenant_with_the_labels_of_ours(server: Server, client: Client) -> None:
    """It may also say for which node they are."""
    pods = [
        {"metadata": {"namespace": namespace}, "spec": {"nodeName": "n1"}, "status": {"phase": phase}}
        for namespace, phase in (("kube-system", "Unknown"), ("tenant", "Pending"))
    ]
    server.replies = [(200, {}, {"items": pods}), (200, {}, {"items": pods})]
    assert driver_pods(client, namespaces={"kube-system"}) == {"n1": "its pod is Unknown, and not ready"}
    assert driver_pods(client, namespaces=()) == {}


REFUSED = (
    'E1127 10:00:00 controller.go:1 "Unhandled Error" err="processing ResourceSlice: ResourceSlice n1 is invalid: '
    "spec.devices[0].attributes[dra.net/pciDevice].string: Too long: may not be more than 64 bytes\\n"
)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            (200, {}, REFUSED),
            "the API server refuses what it publishes, because dra.net/pciDevice of a device has more",
        ),
        ((200, {}, "all is well"), "its pod is ready, but has published nothing yet"),
        (status(403), "its pod is ready, but has published nothing yet"),
    ],
)
def test_a_slice_that_the_api_server_refuses(server: Server, client: Client, log: Any, expected: str) -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    pods = [
        {
            "metadata": {"namespace": "kube-system", "name": f"dranet-{name}"},
            "spec": {"nodeName": name},
            "status": ready,
        }
        for name in ("n1", "n2")
    ]
    server.replies = [(200, {}, {"items": pods}), log]
    found = driver_pods(client, ["n1"]) or {}
    assert expected in found["n1"]
    # A node that publishes is asked for nothing.
    assert found["n2"] == "its pod is ready, but has published nothing yet"
    assert "/api/v1/namespaces/kube-system/pods/dranet-n1/log?" in server.seen[1][1]
