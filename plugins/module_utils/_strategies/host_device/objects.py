# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What hands out NICs: sriov-network-device-plugin with its configurations, and the networks of pods.

What the plugin needs is read from ``deployments`` and ``cmd`` of k8snetworkplumbingwg/sriov-network-device-plugin
v3.11.0. NICs are named by PCI address: with ``pfNames`` or ``linkTypes`` a plugin that restarts would lose a NIC whose
netdev is in a pod. VFs are named by their PF and their numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests, node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import (
    PluginGroup,
    PluginPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import (
    DevicePlugin,
    PluginConfiguration,
    digest_of,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network

LABEL = node_labels.of_nodes("host-device")
# How Multus is told of networks, and which resource a network's device is from (its docs/how-to-use.md).
ANNOTATION, RESOURCE = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/resourceName"
PLUGIN = DevicePlugin(
    name="rdma-host-device-plugin",
    label=LABEL,
    directory="/etc/pcidp",
    # Where the plugin tells Multus about devices.
    path=manifests.volume("devices", "/var/run/k8s.cni.cncf.io/devinfo/dp", "DirectoryOrCreate"),
    mount={},
    container={"args": ["--log-level=3"], "resources": {"requests": {"cpu": "50m", "memory": "40Mi"}}},
    component="sriovDevicePlugin",
)


# The plugin looks for devices at its start and never again. Its arguments are the directory and <PF>=<number of VFs>;
# of a card that has gone no VFs will come.
_WAIT = """\
directory=$1; shift
for entry; do
  pf=$directory/${entry%=*}
  number=0
  while [ -e "$pf" ] && [ "$number" -lt "${entry#*=}" ]; do
    if [ -e "$pf/virtfn$number/infiniband" ]; then
      number=$((number + 1))
    else
      echo "waiting for the RDMA device of VF $number of ${entry%=*}"
      sleep 2
    fi
  done
done
"""


def digest_of_vfs(every: Iterable[Tuple[str, str, int]]) -> str:
    """Of NICs, each with its resource, its PCI address and the number of its VFs."""
    return digest_of(sorted(every))


@dataclass(frozen=True)
class HostDevices(PluginConfiguration):
    """NICs; ``pools`` have their PCI addresses by the name of their resource after the ``prefix``.

    ``vfs`` have the number of VFs of each, where pods get these.
    """

    pools: Mapping[str, Sequence[str]]
    vfs: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"rdma-nics-{self.value}"

    @property
    def resources(self) -> List[str]:
        return list(self.pools)

    @property
    def document(self) -> Dict[str, Any]:
        pools = [
            {
                "resourceName": name,
                "resourcePrefix": self.prefix,
                "selectors": {**self._selector(addresses), "isRdma": True},
            }
            for name, addresses in self.pools.items()
        ]
        return {"resourceList": pools}

    @property
    def digest(self) -> str:
        # Policies of the SR-IOV operator have no prefix.
        if self.operated and self.vfs:
            every = [(name, address) for name, addresses in self.pools.items() for address in addresses]
            return digest_of_vfs((name, address, self.vfs[address]) for name, address in every)
        return super().digest

    def _selector(self, addresses: Sequence[str]) -> Dict[str, List[str]]:
        if self.vfs:
            return {"rootDevices": [f"{address}#0-{self.vfs[address] - 1}" for address in addresses]}
        return {"pciAddresses": list(addresses)}

    @property
    def before(self) -> List[Manifest]:
        if not self.vfs:
            return []
        numbers = [f"{address}={number}" for address, number in self.vfs.items()]
        wait = {
            "name": "vfs",
            "image": self.image,
            "imagePullPolicy": self.pull_policy,
            "command": ["/bin/sh", "-c", _WAIT, "wait", "/sys/bus/pci/devices", *numbers],
            "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}},
        }
        return [wait]


@dataclass(frozen=True)
class PodNetwork:
    """A network of pods; the NIC is one of ``resource``, its address is from ``network``."""

    name: str
    resource: str
    network: Network


def ipam(network: PodNetwork, cni: str) -> Dict[str, Any]:
    own = f"{cni}/whereabouts.d/whereabouts"
    return {
        "type": "whereabouts",
        "range": str(network.network),
        "configuration_path": f"{own}.conf",
        "kubernetes": {"kubeconfig": f"{own}.kubeconfig"},
    }


def attachment(namespace: str, network: PodNetwork, cni: str) -> Dict[str, Any]:
    """The NetworkAttachmentDefinition by which pods of ``namespace`` name the network.

    ``cni`` is the directory of the node's CNI configurations, where whereabouts has its own.
    """
    config = {"cniVersion": "0.3.1", "name": network.name, "type": "host-device", "ipam": ipam(network, cni)}
    meta = {"name": network.name, "namespace": namespace, "annotations": {RESOURCE: network.resource}}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": meta,
        "spec": {"config": json.dumps(config)},
    }


def operated_network(namespace: str, network: PodNetwork, cni: str) -> Dict[str, Any]:
    """What NVIDIA's Network Operator makes such a NetworkAttachmentDefinition from, which has the same name.

    It puts the prefix of its own resources before the name.
    """
    spec = {
        "networkNamespace": namespace,
        "resourceName": network.resource.partition("/")[2],
        "ipam": json.dumps(ipam(network, cni)),
    }
    return {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "HostDeviceNetwork",
        "metadata": {"name": network.name},
        "spec": spec,
    }


@dataclass
class HostDevicePlan(PluginPlan):
    """``configurations`` have the hosts on which they apply with the number of NICs by the full name of the resource.

    ``networks`` are those of pods by group, in the order of the rails, ``namespaces`` where they are defined, and
    ``hcas`` the HCAs that a node has for each of them.
    ``beside`` are the DaemonSets that every node of the strategy needs, ``layers`` the link layers by group. ``groups``
    are those whose variables are right. ``operators`` have the namespace of the SR-IOV operator by group, where it
    hands out the VFs.
    """

    namespaces: Dict[str, List[str]] = field(default_factory=dict)
    configurations: List[Tuple[HostDevices, Dict[str, Dict[str, int]]]] = field(default_factory=list)
    networks: Dict[str, List[PodNetwork]] = field(default_factory=dict)
    hcas: Dict[str, List[Dict[str, List[str]]]] = field(default_factory=dict)
    beside: List[str] = field(default_factory=list)
    layers: Dict[str, str] = field(default_factory=dict)
    operators: Dict[str, str] = field(default_factory=dict)
    groups: List[PluginGroup] = field(default_factory=list)
