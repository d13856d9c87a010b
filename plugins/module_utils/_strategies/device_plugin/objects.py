# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The objects that run a device plugin: a ConfigMap and a DaemonSet for each of its configurations.

Such a plugin talks to the kubelet only, so it has no account and no rights in the cluster.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests, node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest

KUBELET = "/var/lib/kubelet"
_DIRECTORIES = {"device-plugins": "device-plugins", "plugins-registry": "plugins_registry"}
_KEY = "config.json"
# A plugin reads its configuration at start only, so its pod has a digest of it.
DIGEST = "zerocopy.rdma/config"
# The end of the label's value on nodes where an operator runs the plugin, by provider; a DNS label has no dot.
OPERATED = {"plugin": "", "network_operator": ".operator", "sriov_operator": ".sriov"}


def config_text(document: Any) -> str:
    """The file that a plugin reads."""
    return json.dumps(document, indent=2) + "\n"


def digest_of(content: Any) -> str:
    """The digest of a document that a plugin reads, or of what an operator makes one from."""
    return hashlib.sha256(config_text(content).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class PluginConfiguration(ABC):
    """One configuration of a plugin; ``value`` is that of the nodes' label, a DNS label.

    ``provider`` says who runs the plugin on its nodes: with an operator there is no DaemonSet of ours.

    An ``imported`` image is on the nodes and nowhere else. ``kubelet_root`` is the kubelet's directory on the node.
    """

    value: str
    image: str
    imported: bool
    pull_secrets: Sequence[str]
    max_unavailable: str
    kubelet_root: str
    prefix: str
    provider: str

    @property
    def operated(self) -> bool:
        return bool(OPERATED[self.provider])

    @property
    def label_value(self) -> str:
        """Of the nodes' label: by it a node keeps away from a DaemonSet of the same configuration."""
        return f"{self.value}{OPERATED[self.provider]}"

    @property
    @abstractmethod
    def resources(self) -> List[str]:
        """The names of its resources, without the prefix."""

    @property
    @abstractmethod
    def document(self) -> Dict[str, Any]:
        """What the plugin reads."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the ConfigMap and the DaemonSet."""

    @property
    def digest(self) -> str:
        return digest_of(self.document)

    @property
    def before(self) -> List[Manifest]:
        """The containers that have to end before the plugin starts."""
        return []

    @property
    def pull_policy(self) -> str:
        return "Never" if self.imported else "IfNotPresent"


@dataclass(frozen=True)
class DevicePlugin:
    """A program that tells the kubelet about devices.

    ``label`` says on a node which of the DaemonSets runs there: host names in the DaemonSet instead would restart every
    plugin of the group when a node is added. ``directory`` is where the program looks for its configuration, ``path``
    what it needs of the node beside the kubelet's directories, mounted in the same place with ``mount``.
    ``container`` is what else its container has. ``component`` is what NVIDIA's Network Operator calls it.
    """

    name: str
    label: str
    directory: str
    path: Manifest
    mount: Mapping[str, str]
    container: Mapping[str, Any]
    component: str

    def objects(self, namespace: str, every: Sequence[PluginConfiguration]) -> List[Manifest]:
        """Everything in ``namespace`` that these configurations need, in the order in which it is applied."""
        maps = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": self._metadata(namespace, configuration),
                "data": {_KEY: config_text(configuration.document)},
            }
            for configuration in every
        ]
        return maps + [self._daemon_set(namespace, configuration) for configuration in every]

    def _metadata(self, namespace: str, configuration: PluginConfiguration) -> Manifest:
        labels = {"app.kubernetes.io/name": self.name, node_labels.of_objects(self.label): configuration.value}
        return {"name": configuration.name, "namespace": namespace, "labels": labels}

    def _container(self, configuration: PluginConfiguration) -> Manifest:
        mounts: List[Dict[str, Any]] = [
            # These paths are fixed in the plugins.
            *({"name": name, "mountPath": f"{KUBELET}/{directory}"} for name, directory in _DIRECTORIES.items()),
            {"name": self.path["name"], "mountPath": self.path["hostPath"]["path"], **self.mount},
            {"name": "config", "mountPath": self.directory, "readOnly": True},
        ]
        return {
            "name": self.name,
            "image": configuration.image,
            "imagePullPolicy": configuration.pull_policy,
            # As upstream runs them: they make their socket in a directory of the kubelet, which SELinux keeps from
            # other containers, and ask netlink about devices or set their links up.
            "securityContext": {"privileged": True},
            "volumeMounts": mounts,
            **self.container,
        }

    def _daemon_set(self, namespace: str, configuration: PluginConfiguration) -> Manifest:
        root = configuration.kubelet_root
        volumes = [
            *(manifests.volume(name, f"{root}/{path}", "Directory") for name, path in _DIRECTORIES.items()),
            dict(self.path),
            {"name": "config", "configMap": {"name": configuration.name}},
        ]
        # Two plugins on a node would have one socket, and the one that ends would remove that of its successor.
        alone = {
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": self.name}},
            "topologyKey": "kubernetes.io/hostname",
        }
        # Netdevs, their link types and default routes are those of the host.
        selector, container = {self.label: configuration.value}, self._container(configuration)
        pod = manifests.node_pod(selector, container, volumes, configuration.pull_secrets)
        pod["automountServiceAccountToken"] = False
        if configuration.before:
            pod["initContainers"] = configuration.before
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}}
        metadata = self._metadata(namespace, configuration)
        return manifests.daemon_set(metadata, pod, configuration.max_unavailable, {DIGEST: configuration.digest})
