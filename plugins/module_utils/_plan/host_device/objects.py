# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The objects that hand out NICs: the device plugin's ConfigMaps and DaemonSets, and the networks of pods.

What the plugin needs is read from ``deployments`` and ``cmd`` of k8snetworkplumbingwg/sriov-network-device-plugin
v3.11.0. It talks to the kubelet only, so it has no account and no rights in the cluster. NICs are named by PCI address:
with ``pfNames`` or ``linkTypes`` a plugin that restarts would lose a NIC whose netdev is in a pod.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network

# On a node it says which DaemonSet of the plugin runs there.
LABEL = "zerocopy.rdma/host-device"
# How Multus is told of networks, and which resource a network's device is from (its docs/how-to-use.md).
ANNOTATION, RESOURCE = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/resourceName"
NAME = "rdma-host-device-plugin"

_KUBELET = "/var/lib/kubelet"
# Where the plugin tells Multus about devices.
_DEVICES = "/var/run/k8s.cni.cncf.io/devinfo/dp"
_MOUNT, _KEY = "/etc/pcidp", "config.json"


@dataclass(frozen=True)
class HostDevices:
    """One configuration of the plugin; ``value`` is that of the nodes' label, a DNS label.

    ``pools`` have the PCI addresses by the name of their resource after the ``prefix``. An ``imported`` image is on the
    nodes and nowhere else.
    """

    value: str
    image: str
    prefix: str
    pools: Mapping[str, Sequence[str]]
    imported: bool = False
    pull_secrets: Sequence[str] = ()
    max_unavailable: str = "1"

    @property
    def name(self) -> str:
        """Of the ConfigMap and the DaemonSet."""
        return f"rdma-nics-{self.value}"

    @property
    def config(self) -> str:
        pools = [
            {
                "resourceName": name,
                "resourcePrefix": self.prefix,
                "selectors": {"pciAddresses": list(addresses), "isRdma": True},
            }
            for name, addresses in self.pools.items()
        ]
        return json.dumps({"resourceList": pools}, indent=2) + "\n"


@dataclass(frozen=True)
class PodNetwork:
    """A network of pods; the NIC is one of ``resource``, its address is from ``network``."""

    name: str
    resource: str
    network: Network


def objects(namespace: str, every: Sequence[HostDevices]) -> List[Dict[str, Any]]:
    """Everything in ``namespace`` that these configurations need, in the order in which it is applied."""
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": one.name, "namespace": namespace, "labels": _labels(one)},
            "data": {_KEY: one.config},
        }
        for one in every
    ]
    return maps + [_daemon_set(namespace, one) for one in every]


def attachment(namespace: str, network: PodNetwork, cni: str) -> Dict[str, Any]:
    """The NetworkAttachmentDefinition by which pods of ``namespace`` name the network.

    ``cni`` is the directory of the node's CNI configurations, where whereabouts has its own.
    """
    own = f"{cni}/whereabouts.d/whereabouts"
    config = {
        "cniVersion": "0.3.1",
        "name": network.name,
        "type": "host-device",
        "ipam": {
            "type": "whereabouts",
            "range": str(network.network),
            "configuration_path": f"{own}.conf",
            "kubernetes": {"kubeconfig": f"{own}.kubeconfig"},
        },
    }
    meta = {"name": network.name, "namespace": namespace, "annotations": {RESOURCE: network.resource}}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": meta,
        "spec": {"config": json.dumps(config)},
    }


def _labels(one: HostDevices) -> Dict[str, str]:
    return {"app.kubernetes.io/name": NAME, LABEL: one.value}


def _daemon_set(namespace: str, one: HostDevices) -> Dict[str, Any]:
    labels = _labels(one)
    directories = ("device-plugins", "plugins_registry")
    volumes = [
        *(manifests.volume(name.replace("_", "-"), f"{_KUBELET}/{name}", "Directory") for name in directories),
        manifests.volume("devices", _DEVICES, "DirectoryOrCreate"),
        {"name": "config", "configMap": {"name": one.name}},
    ]
    mounts = [
        *({"name": name.replace("_", "-"), "mountPath": f"{_KUBELET}/{name}"} for name in directories),
        {"name": "devices", "mountPath": _DEVICES},
        {"name": "config", "mountPath": _MOUNT, "readOnly": True},
    ]
    container: Dict[str, Any] = {
        "name": NAME,
        "image": one.image,
        "imagePullPolicy": "Never" if one.imported else "IfNotPresent",
        "args": ["--log-level=3"],
        "resources": {"requests": {"cpu": "50m", "memory": "40Mi"}},
        # As upstream runs it: it asks netlink about devices, and makes its socket in a directory of the kubelet.
        "securityContext": {"privileged": True},
        "volumeMounts": mounts,
    }
    # Two plugins on a node would have one socket, and the one that ends would remove that of its successor.
    alone = {
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
        "topologyKey": "kubernetes.io/hostname",
    }
    # Default routes and netdevs are those of the host.
    pod = manifests.node_pod({LABEL: one.value}, container, volumes, one.pull_secrets)
    pod["automountServiceAccountToken"] = False
    pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}}
    # The plugin reads its configuration at start only.
    digest = hashlib.sha256(one.config.encode()).hexdigest()[:12]
    metadata = {"name": one.name, "namespace": namespace, "labels": labels}
    return manifests.daemon_set(metadata, pod, one.max_unavailable, {"zerocopy.rdma/config": digest})
