# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is particular to k8s-rdma-shared-dev-plugin: parameters, and what one of its configurations says.

Its ConfigMap and DaemonSet are written by ``DevicePlugin.objects`` in :mod:`_strategies.device_plugin.objects`;
:mod:`configurations` puts all objects of the strategy together.
What it needs is read from ``deployment/k8s/base`` and ``cmd`` of Mellanox/k8s-rdma-shared-dev-plugin v1.5.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests, node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import (
    DevicePlugin,
    PluginConfiguration,
)

LABEL = node_labels.of_nodes("shared-device")
_DEFAULT_PREFIX = "rdma"
PLUGIN = DevicePlugin(
    name="rdma-shared-device-plugin",
    label=LABEL,
    directory="/k8s-rdma-shared-dev-plugin",
    # Where it is missing the kubelet says so. The plugin would offer nothing.
    path=manifests.volume("infiniband", "/dev/infiniband", "Directory"),
    mount={"mountPropagation": "HostToContainer"},
    container={"resources": {"requests": {"cpu": "50m", "memory": "50Mi"}}},
    component="rdmaSharedDevicePlugin",
)


# Between two looks of the plugin at the HCAs of its node.
_UPDATE_SECONDS = 60


@dataclass(frozen=True)
class SharedDevices(PluginConfiguration):
    """HCAs of which each is handed out ``most`` times.

    ``driver`` is what the Network Operator is told of the OFED driver, empty where it is not to deploy one.
    """

    resource: str
    most: int
    selectors: Mapping[str, Sequence[str]]
    driver: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"rdma-shared-{self.value}"

    @property
    def resources(self) -> List[str]:
        return [self.resource]

    @property
    def document(self) -> Dict[str, Any]:
        entry: Dict[str, Any] = {"resourceName": self.resource}
        # It is the plugin's own default, and the operator's webhook takes none without a dot.
        if not (self.operated and self.prefix == _DEFAULT_PREFIX):
            entry["resourcePrefix"] = self.prefix
        entry["rdmaHcaMax"] = self.most
        entry["selectors"] = {kind: list(values) for kind, values in self.selectors.items()}
        return {"periodicUpdateInterval": _UPDATE_SECONDS, "configList": [entry]}
