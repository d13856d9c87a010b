# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What DRA drivers publish in a cluster, and how it differs from what is expected of the nodes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import kueue
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import pages
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.dra_version import GROUP, negotiate
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import JSON, METADATA_LIST, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.driver_pods import driver_pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.wait import until_published
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import compare, model, taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.compare import (
    Expected,
    NodeDifferences,
    NodeSeen,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

SUBSETS = ("slices", "devices")
_QUEUE = GroupKind("kueue.x-k8s.io", "ClusterQueue")
# What Kueue's chart and its manifests give all of its objects.
_OF_KUEUE = {"labelSelector": "app.kubernetes.io/name=kueue"}


@dataclass(frozen=True)
class SliceRequest:
    """What the user asks for. ``wait_timeout`` is in seconds without progress, ``None`` not to wait.

    ``namespaces`` are those of DRANET's DaemonSets, ``None`` if nobody knows: anybody can give a pod their labels.

    If the wait is in vain, that is not an error: ``silent`` says which nodes publish nothing, and why.
    """

    expected: Mapping[str, Any] = field(default_factory=dict)
    subsets: Sequence[str] = SUBSETS
    wait_timeout: Optional[float] = None
    namespaces: Optional[Collection[str]] = None


def info(client: Client, request: SliceRequest) -> Dict[str, Any]:
    """The module's result. Raises ClusterError, also when DRA is off."""
    return _Info(client, request).result()


class _Info:
    def __init__(self, client: Client, request: SliceRequest) -> None:
        self._client = client
        self._request = request
        self._release = client.get("/version")
        cluster.refuse_broken(self._release)
        self._api = Api([client.get("/apis", accept=ACCEPT)])
        self._version = negotiate(self._api.versions(GROUP), lambda: self._release)
        self._expected = {name: _read(name, expected) for name, expected in request.expected.items()}

    def result(self) -> Dict[str, Any]:
        labels = self._labels()
        awaited = {
            (driver, name) for name, expected in self._expected.items() for driver in expected.wait if name in labels
        }
        if self._request.wait_timeout is not None and awaited:
            until_published(self._client, self._path("ResourceSlice"), awaited, self._request.wait_timeout)
        slices = self._list("ResourceSlice") if self._expected or self._asks_for(*SUBSETS) else []
        devices = model.devices(slices)
        serving = model.serving(devices)
        compared, seen = self._compare(labels, slices, devices)
        silent = {
            name: {
                driver: self._silent(driver, seen[name], differences)
                for driver in self._expected[name].wait
                if (driver, name) not in serving
            }
            for name, differences in compared.items()
        }
        found: Dict[str, Any] = {
            "changed": False,
            "kubernetes": self._release["gitVersion"],
            "api_version": f"{GROUP}/{self._version}",
            "device_classes": [
                metadata(device_class)["name"] for device_class in self._list("DeviceClass", METADATA_LIST)
            ],
            "kueue_classes": self._kueue_classes(),
            "nodes": {name: _node(seen[name], differences, silent[name]) for name, differences in compared.items()},
            "differences": [*compare.lines(compared), *_misplaced(slices)],
            "tainted": taints.lines(devices),
        }
        if self._asks_for("slices"):
            found["slices"] = [self._whole(piece) for piece in slices]
        if self._asks_for("devices"):
            found["devices"] = [model.plain(device) for device in devices]
        return found

    def _kueue_classes(self) -> Optional[List[str]]:
        """The DeviceClasses that Kueue maps, ``None`` without Kueue or a configuration that can be read."""
        if self._api.find(_QUEUE) is None:
            return None
        # Anybody can give a ConfigMap this label.
        notes = pages.read_if_allowed(
            self._client, "/api/v1/configmaps", _OF_KUEUE, lambda item: [kueue.configuration(item)]
        )
        found = [note for note in notes or [] if note and not note.problem]
        return sorted({name for note in found for name in note.classes}) if found else None

    def _asks_for(self, *subsets: str) -> bool:
        return any(subset in self._request.subsets for subset in subsets)

    def _path(self, kind: str) -> str:
        return self._api.must_find(GroupKind(GROUP, kind), self._version).path()

    def _list(self, kind: str, accept: str = JSON) -> List[Object]:
        return self._client.get(self._path(kind), accept=accept).get("items") or []

    def _whole(self, item: Object) -> Object:
        """A slice as a file would have it: lists do not repeat the kind, and nobody reads who wrote it."""
        metadata(item).pop("managedFields", None)
        return {"apiVersion": f"{GROUP}/{self._version}", "kind": "ResourceSlice", **item}

    def _labels(self) -> Dict[str, Dict[str, str]]:
        """The labels of all nodes of the cluster."""
        if not self._expected:
            return {}
        nodes = self._client.get("/api/v1/nodes", accept=METADATA_LIST)["items"]
        return {metadata(node)["name"]: metadata(node).get("labels") or {} for node in nodes}

    def _compare(
        self, labels: Mapping[str, Mapping[str, str]], slices: Sequence[Object], devices: Sequence[model.SliceDevice]
    ) -> Tuple[Dict[str, NodeDifferences], Dict[str, NodeSeen]]:
        publishing = model.publishing(slices)
        by_node: Dict[str, List[model.SliceDevice]] = {}
        for device in devices:
            by_node.setdefault(str(device.node), []).append(device)
        silent = [
            name
            for name, expected in self._expected.items()
            if model.DRANET in expected.drivers - publishing.get(name, set())
        ]
        pods: Optional[Dict[str, str]] = driver_pods(self._client, silent, self._request.namespaces) if silent else {}
        compared, seen = {}, {}
        for name, expected in self._expected.items():
            seen[name] = NodeSeen(
                exists=name in labels,
                labels=labels.get(name, {}),
                drivers=publishing.get(name, set()),
                pod=None if pods is None else pods.get(name, ""),
            )
            compared[name] = compare.compare(expected, by_node.get(name, []), seen[name])
        return compared, seen

    def _silent(self, driver: str, seen: NodeSeen, differences: NodeDifferences) -> str:
        """Why a driver publishes no device of a node, empty where that is as it should be."""
        if not seen.exists:
            return ""
        # Where nobody has waited, the driver may be still to come.
        begun = driver in seen.drivers or (driver == model.DRANET and bool(seen.pod))
        if self._request.wait_timeout is None and not begun:
            return ""
        reasons = [device.reason for device in differences.missing if device.driver == driver and not device.intended]
        reasons += [
            device.reason
            for device in differences.differing
            if device.driver == driver and device.attribute == model.RDMA
        ]
        return reasons[0] if reasons else "the driver runs there, but publishes none of them"


def _read(name: str, entry: Any) -> Expected:
    try:
        return compare.read(name, entry)
    except ValueError as error:
        raise ClusterError(f"expected: {name} {error}, use the result of the module plan") from error


def _misplaced(slices: Sequence[Object]) -> List[str]:
    nodes = model.misplaced(slices)
    why = "ResourceSlices of this node are in a pool with another name than the node, so they do not count"
    return [f"{fold(nodes)}: {why}"] if nodes else []


def _node(seen: NodeSeen, compared: NodeDifferences, silent: Mapping[str, str]) -> Dict[str, Any]:
    """A node as JSON has it; ``silent`` is by driver why it publishes nothing."""
    labels = {name: value for name, value in seen.labels.items() if name in (GROUP_LABEL, *compare.GPU_LABELS)}
    told = {"exists": seen.exists, "labels": labels, "drivers": sorted(seen.drivers)}
    of_nics, of_gpus = (silent.get(driver, "") for driver in (model.DRANET, model.GPU_DRIVER))
    return {**told, "silent": of_nics, "without_gpus": of_gpus, **asdict(compared)}
