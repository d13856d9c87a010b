# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Claims that the real scheduler has reserved for a pod."""

from __future__ import annotations

import time
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, actions, claim, pod_spec, reasons

DRIVER = "reserved.example.org"


@pytest.fixture
def nic_class(cluster_set: ClusterSet) -> Any:
    """Name of a DeviceClass of which one node, which is an object only, has two devices."""
    name = cluster_set.namespace
    room = {"cpu": "8", "memory": "64Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    driver = f"{name}.{DRIVER}"
    devices: List[Dict[str, Any]] = [{"name": "nic0"}, {"name": "nic1"}]
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    api = "resource.k8s.io/v1"
    slice_spec = {"driver": driver, "nodeName": name, "pool": pool, "devices": devices}
    made = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status},
        {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": slice_spec},
        {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": [selector]}},
    ]
    cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": made})
    yield name
    cluster_set.kubectl("delete", f"node/{name}", f"resourceslice/{name}", f"deviceclass/{name}")


def test_a_reserved_claim_stays_until_its_pod_ends(cluster_set: ClusterSet, nic_class: str) -> None:
    place = cluster_set.namespace
    first = cluster_set(objects=[claim("prefill", place, 1, nic_class)])
    old = first["names"]["ResourceClaim"][place]["prefill"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": place}}
    cluster_set.kubectl("create", "-f", "-", stdin={**pod, "spec": pod_spec(resourceClaimName=old)})
    reserved = "--for=jsonpath={.status.reservedFor[0].name}=p"
    cluster_set.kubectl("wait", "resourceclaim", old, "-n", place, reserved, "--timeout=60s")
    wanted = [claim("prefill", place, 2, nic_class)]
    predicted = cluster_set(objects=wanted, _ansible_check_mode=True)
    second = cluster_set(objects=wanted)
    assert predicted == second
    assert reasons(second) == {old: "reserved for pods p"}
    assert second["names"]["ResourceClaim"][place]["prefill"] != old
    held = cluster_set(state="absent")
    assert reasons(held) == {old: "reserved for pods p"}
    # Who wants the old one back gets the one that is still there.
    assert cluster_set(objects=[claim("prefill", place, 1, nic_class)])["changed"] is False
    cluster_set(objects=wanted)
    # There is no kubelet that could say that the pod has ended.
    cluster_set.kubectl("delete", "pod", "p", "-n", place, "--force")
    deadline = time.monotonic() + 60
    while cluster_set.get("resourceclaim", old).get("status"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert actions(cluster_set(objects=wanted))[f"ResourceClaim {place}/{old}"] == "pruned"
    assert cluster_set.absent("resourceclaim", old)


def test_a_claim_that_is_reserved_at_the_last_moment_stays(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = cluster_set.namespace
    first = cluster_set(objects=[claim("prefill", place, 1)])
    [old] = first["names"]["ResourceClaim"][place].values()
    delete = Client.delete

    def late(self: Client, path: str, options: Any) -> None:
        # Whatever changes the claim changes its resourceVersion, as a reservation does.
        cluster_set.patch("resourceclaim", old, {"metadata": {"labels": {"changed": "now"}}})
        delete(self, path, options)

    with monkeypatch.context() as patch:
        patch.setattr(Client, "delete", late)
        held = cluster_set(objects=[])
    assert reasons(held) == {old: "changed at the same moment"}
    assert not cluster_set.absent("resourceclaim", old)
    assert actions(cluster_set(objects=[]))[f"ResourceClaim {place}/{old}"] == "pruned"
