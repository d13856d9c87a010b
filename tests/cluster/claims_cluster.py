# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes with devices that exist only as objects, and what the real scheduler gives pods of them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

Object = Dict[str, Any]
API = "resource.k8s.io/v1"

# As dra-driver-nvidia-gpu 0.5.0 brings it.
GPU_CLASS: Object = {
    "apiVersion": API,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {
        "extendedResourceName": "nvidia.com/gpu",
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ],
    },
}
_LABEL = "test.zerocopy.rdma/fleet"
_ROOM = {"cpu": "64", "memory": "512Gi", "pods": "110"}


# Not so when it only waits for the claim to be made of its template.
_REFUSED = ("cannot allocate all claims", "Insufficient ")


@dataclass
class Placed:
    """A pod's node and, by request, the names of the devices that its claim got.

    One that has to wait has no node, and the scheduler says why.
    """

    node: str = ""
    devices: Dict[str, List[str]] = field(default_factory=dict)
    why: str = ""


def placed_on(devices: Iterable[SliceDevice], node: str) -> List[SliceDevice]:
    """The devices of one node as those of another."""
    return [replace(device, node=node, pool=node) for device in devices]


def pod(name: str, reference: Mapping[str, str], node: str = "") -> Object:
    """A pod with one claim, on that node if there has to be one."""
    container = {"name": "main", "image": "example.org/none:v1", "resources": {"claims": [{"name": "rdma"}]}}
    spec: Object = {"containers": [container], "resourceClaims": [{"name": "rdma", **reference}]}
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def from_template(name: str, template: str, node: str = "") -> Object:
    return pod(name, {"resourceClaimTemplateName": template}, node)


class Fleet:
    """What a test makes on the control plane. What is not in its namespace is removed at the end."""

    def __init__(self, plane: Any, cluster: dynamic.DynamicClient, namespace: str) -> None:
        """``plane`` is a ``lifecycle.ControlPlane`` of tests/lab."""
        self._command = [str(plane.kubectl), "--kubeconfig", str(plane.kubeconfig)]
        self._cluster = cluster
        self.namespace = namespace

    def create(self, objects: Sequence[Object]) -> None:
        """Create the objects, with strict validation."""
        # By the label they are found again, all at once.
        items = [{**one, "metadata": _labelled(one["metadata"], self.namespace)} for one in objects]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self._kubectl("create", "--validate=strict", "--namespace", self.namespace, "-f", "-", stdin=text)

    def remove(self) -> None:
        """Remove what is in no namespace."""
        for api, kind in (("v1", "Node"), (API, "ResourceSlice"), (API, "DeviceClass")):
            resource = self._cluster.resources.get(api_version=api, kind=kind)
            resource.delete(label_selector=f"{_LABEL}={self.namespace}", body={})

    def nodes(self, devices: Sequence[SliceDevice]) -> None:
        """Make nodes with these devices, and the class of GPUs."""
        names = dict.fromkeys(str(device.node) for device in devices)
        self.create([*map(node, names), *resource_slices(devices), GPU_CLASS])

    def pods(self, pods: Sequence[Object], waits: int = 0, seconds: int = 60) -> Dict[str, Placed]:
        """Make pods and wait until the scheduler has placed all but ``waits`` of them, and tried those as well."""
        self.create(pods)
        found = {one["metadata"]["name"]: Placed() for one in pods}
        resource = self._cluster.resources.get(api_version="v1", kind="Pod")
        for event in resource.watch(namespace=self.namespace, timeout=seconds):
            one = event["raw_object"]
            placed = found.get(one["metadata"]["name"])
            if placed is not None:
                placed.node = one["spec"].get("nodeName", "")
                placed.why = _why(one)
            waiting = [placed for placed in found.values() if not placed.node]
            if len(waiting) <= waits and all(_refused(placed.why) for placed in waiting):
                break
        else:
            late = {name: placed.why for name, placed in found.items() if not placed.node}
            raise AssertionError(f"{len(late)} pods have no node after {seconds} s instead of {waits}: {late}")
        for claim in self.claims():
            for reserved in (claim.get("status") or {}).get("reservedFor") or []:
                if reserved["name"] in found:
                    found[reserved["name"]].devices.update(_results(claim))
        return found

    def claims(self) -> List[Object]:
        """All claims of the namespace."""
        text = self._kubectl("get", "resourceclaims", "--namespace", self.namespace, "-o", "json")
        items: List[Object] = json.loads(text)["items"]
        return items

    def status(self, node: str, status: Object) -> None:
        """Merge this into the status of a node, as a kubelet would."""
        self._kubectl(
            "patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
        )

    def get(self, kind: str, name: str) -> str:
        """An object of the namespace, as JSON."""
        return self._kubectl("get", kind, name, "--namespace", self.namespace, "-o", "json")

    def _kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run([*self._command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def node(name: str) -> Object:
    """A node that is an object only, ready and with room for pods."""
    status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}


def _refused(why: str) -> bool:
    return any(text in why for text in _REFUSED)


def _labelled(meta: Object, value: str) -> Object:
    return {**meta, "labels": {**meta.get("labels", {}), _LABEL: value}}


def _why(one: Mapping[str, Any]) -> str:
    """What the scheduler says about a pod that it has not placed."""
    for condition in one["status"].get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            return str(condition.get("message", ""))
    return ""


def _results(claim: Mapping[str, Any]) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for result in claim["status"]["allocation"]["devices"]["results"]:
        # What comes after the slash is the alternative that was taken.
        found.setdefault(result["request"].partition("/")[0], []).append(result["device"])
    return found


@pytest.fixture(name="fleet")
def make_fleet(control_plane: Any, cluster: dynamic.DynamicClient, namespace: str) -> Iterator[Fleet]:
    """An empty fleet on the control plane that serves resource.k8s.io/v1."""
    fleet = Fleet(control_plane, cluster, namespace)
    yield fleet
    fleet.remove()
