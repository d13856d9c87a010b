# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The objects that run k8s-rdma-shared-dev-plugin: a ConfigMap and a DaemonSet for each of its configurations.

What it needs is read from ``deployment/k8s/base`` and ``cmd`` of Mellanox/k8s-rdma-shared-dev-plugin v1.5.3. It talks
to the kubelet only, so it has no account and no rights in the cluster.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import manifests

# On a node it says which DaemonSet runs there. Host names in the DaemonSet instead would restart every plugin of the
# group when a node is added.
LABEL = "zerocopy.rdma/shared-device"

_NAME = "rdma-shared-device-plugin"
# Where the plugin looks for it.
_MOUNT, _KEY = "/k8s-rdma-shared-dev-plugin", "config.json"
_KUBELET = "/var/lib/kubelet"


@dataclass(frozen=True)
class SharedDevices:
    """One configuration of the plugin; ``value`` is that of the nodes' label, a DNS label.

    An ``imported`` image is on the nodes and nowhere else. ``update_interval`` is in seconds.
    """

    value: str
    image: str
    prefix: str
    resource: str
    most: int
    selectors: Mapping[str, Sequence[str]]
    update_interval: int = 60
    imported: bool = False
    kubelet_root: str = _KUBELET
    pull_secrets: Sequence[str] = ()
    max_unavailable: str = "1"

    @property
    def name(self) -> str:
        """Of the ConfigMap and the DaemonSet."""
        return f"rdma-shared-{self.value}"

    @property
    def config(self) -> str:
        entry = {
            "resourceName": self.resource,
            "resourcePrefix": self.prefix,
            "rdmaHcaMax": self.most,
            "selectors": {kind: list(values) for kind, values in self.selectors.items()},
        }
        return json.dumps({"periodicUpdateInterval": self.update_interval, "configList": [entry]}, indent=2) + "\n"


def objects(namespace: str, every: Sequence[SharedDevices]) -> List[Dict[str, Any]]:
    """Everything in ``namespace`` that these configurations need, in the order in which it is applied."""
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": devices.name, "namespace": namespace, "labels": _labels(devices)},
            "data": {_KEY: devices.config},
        }
        for devices in every
    ]
    return maps + [_daemon_set(namespace, devices) for devices in every]


def _labels(devices: SharedDevices) -> Dict[str, str]:
    return {"app.kubernetes.io/name": _NAME, LABEL: devices.value}


def _daemon_set(namespace: str, devices: SharedDevices) -> Dict[str, Any]:
    labels = _labels(devices)
    root, directories = devices.kubelet_root, ("device-plugins", "plugins_registry")
    volumes = [
        *(manifests.volume(name.replace("_", "-"), f"{root}/{name}", "Directory") for name in directories),
        # Where it is missing the kubelet says so. The plugin would offer nothing.
        manifests.volume("infiniband", "/dev/infiniband", "Directory"),
        {"name": "config", "configMap": {"name": devices.name}},
    ]
    mounts = [
        # The paths inside are fixed in the plugin.
        *({"name": name.replace("_", "-"), "mountPath": f"{_KUBELET}/{name}"} for name in directories),
        {"name": "infiniband", "mountPath": "/dev/infiniband", "mountPropagation": "HostToContainer"},
        {"name": "config", "mountPath": _MOUNT, "readOnly": True},
    ]
    container: Dict[str, Any] = {
        "name": _NAME,
        "image": devices.image,
        "imagePullPolicy": "Never" if devices.imported else "IfNotPresent",
        "resources": {"requests": {"cpu": "50m", "memory": "50Mi"}},
        # As upstream runs it. It sets the links that it selects up in the host's network namespace, and makes its
        # socket in a directory of the kubelet, which SELinux keeps from other containers.
        "securityContext": {"privileged": True},
        "volumeMounts": mounts,
    }
    # Two plugins on a node would have one socket, and the one that ends would remove that of its successor.
    alone = {
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": _NAME}},
        "topologyKey": "kubernetes.io/hostname",
    }
    # Netdevs by name, and their link types, are those of the host.
    pod = manifests.node_pod({LABEL: devices.value}, container, volumes, devices.pull_secrets)
    pod["automountServiceAccountToken"] = False
    pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}}
    # The plugin reads its configuration at start only.
    digest = hashlib.sha256(devices.config.encode()).hexdigest()[:12]
    metadata = {"name": devices.name, "namespace": namespace, "labels": labels}
    return manifests.daemon_set(metadata, pod, devices.max_unavailable, {"zerocopy.rdma/config": digest})
