# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``host_device``: a pod gets NICs of its node, by sriov-network-device-plugin, Multus and CNI.

With ``sriov`` it gets VFs of them instead, in the same way.

The netdev is moved into the pod, the RDMA device is not: CNI's host-device moves netdevs only. In netns mode ``shared``
the pod uses the RDMA device all the same, by its device nodes; in ``exclusive`` nobody but the host could.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images as image_reference
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import UNMOVABLE, Answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ManifestNames,
    NodeStatus,
    PodRequest,
    StrategyImage,
    StrategyPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.strategy import (
    DevicePluginStrategy,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import networks as pod_networks
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import (
    objects,
    pools,
    programs,
    sriov_operator,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import (
    providers as host_device_providers,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import (
    HostDevicePlan,
    PodNetwork,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Network
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem

NAME = "host_device"
_OPERATORS = (network_operator.NETWORK_OPERATOR, sriov_operator.SRIOV_OPERATOR)


def _ask(network: PodNetwork, hcas: Mapping[str, Sequence[str]], namespace: str) -> PodRequest:
    # Which RDMA device it is differs from node to node: in the pod, /sys/class/net/net1/device/infiniband has it.
    return PodRequest(
        network.resource,
        hcas,
        limits={network.resource: 1},
        number=1,
        annotations={objects.ANNOTATION: f"{namespace}/{network.name}"},
        # A site's own Multus may allow a pod the networks of its own namespace only.
        namespace=namespace,
        moves=True,
        networks=(str(network.network),),
    )


class HostDevice(DevicePluginStrategy[HostDevicePlan]):
    name = NAME
    also = (pod_networks.SRIOV,)
    roles = ("rdma_host_device",)
    label = objects.LABEL
    prefix = programs.PREFIX
    driver_set = "host-device"
    kinds = (*network_operator.KINDS, *sriov_operator.KINDS)
    needed = (network_operator.POLICY, network_operator.NETWORK)
    manifests = ManifestNames("10-host-device.yml", "node-labels-host-device.yml")
    # A NIC in a pod comes back under the pod's name for it, where Multus is not there any more to bring it back.
    kept = ("NetworkAttachmentDefinition", "HostDeviceNetwork", "SriovNetwork", "SriovIBNetwork")
    # The operator's webhook judges a policy by the nodes that it selects. Before they are labelled, that is none.
    rejectable = ("SriovNetworkNodePolicy",)

    def cluster_queries(self, hosts: Sequence[InventoryHost]) -> Sequence[Tuple[str, str]]:
        # Variables have any type.
        providers = {str(host.variables.get(programs.PROVIDER)) for host in self.own(hosts)}
        return (
            *(sriov_operator.LOOKS if sriov_operator.SRIOV_OPERATOR in providers else ()),
            *([(network_operator.NODE_POLICY, "")] if network_operator.NETWORK_OPERATOR in providers else ()),
            *(host_device_providers.LOOKS if providers.intersection(_OPERATORS) else ()),
        )

    def lacking(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
    ) -> Iterator[Tuple[str, Problem]]:
        yield from super().lacking(hosts, cluster, known)
        own = self.own(hosts)
        operated = [host for host in own if sriov_operator.chosen(host.variables)]
        problem = sriov_operator.served(cluster.kinds) if operated else None
        if problem is not None:
            yield from ((host.name, problem) for host in operated)
        elif cluster.objects is not None and any(host.variables.get(programs.PROVIDER) in _OPERATORS for host in own):
            found = pools.plan(own, known, hosts, cluster.kinds)
            addresses = {host: [*devices.vfs] for devices, counts in found.configurations for host in counts}
            for group in found.groups:
                if sriov_operator.chosen(group.values):
                    of_group = (group.values, group.hosts, addresses, cluster.objects, cluster.labels)
                    yield from sriov_operator.against(*of_group)
                yield from host_device_providers.taken(group, found, cluster.objects)

    def planned(
        self,
        own: Sequence[InventoryHost],
        known: variables.Options,
        fleet: Sequence[InventoryHost],
        cluster: ClusterState,
    ) -> HostDevicePlan:
        return pools.plan(own, known, fleet, cluster.kinds, self.live(fleet, cluster))

    def operated(self, every: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
        return {**network_operator.digests(objects.PLUGIN, every), **sriov_operator.digests(every)}

    def answer(self, found: HostDevicePlan, result: StrategyPlan) -> None:
        for group, of_rail in found.networks.items():
            place = found.namespaces[group][0]
            result.requests[group] = [_ask(network, hcas, place) for network, hcas in zip(of_rail, found.hcas[group])]
        operators = {host.name: found.operators.get(group.name, "") for group in found.groups for host in group.hosts}
        for devices, counts in found.configurations:
            ours = found.beside if devices.operated else [devices.name, *found.beside]
            daemon_sets = tuple(f"{found.namespace}/{name}" for name in ours)
            for host, resources in counts.items():
                place = operators[host]
                foreign = sriov_operator.daemon_sets(place) if place else ()
                owners = network_operator.OWNERS if devices.operated and not place else ()
                result.status[host] = NodeStatus((), resources, daemon_sets, foreign, place, owners)

    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        return [
            StrategyImage(image_reference.tagged(image, values), str(values[image.archive]))
            for image in programs.images(values)
        ]

    def resources(self, hosts: Sequence[InventoryHost], known: variables.Options) -> List[str]:
        return pod_networks.resources(hosts, known)

    def node_check(self, values: Mapping[str, Any]) -> str:
        # The SR-IOV operator has a CNI plugin of its own.
        return "" if values[programs.PROVIDER] == sriov_operator.SRIOV_OPERATOR else self.roles[0]

    def address_pools(self, values: Mapping[str, Any], removal: bool) -> str:
        # With a whereabouts of the site, the pools may be those of others.
        return str(values[pools.NAMESPACE]) if removal or values[programs.PREFIX + "whereabouts_deploy"] else ""

    def doubt(self, word: str, found: Answers) -> str:
        problem = super().doubt(word, found) or (UNMOVABLE if found.bonds else "")
        if problem or word != pod_networks.SRIOV:
            return problem
        return "" if found.vfs[0] else "the firmware of NICs allows no VFs"

    def networks(self, values: Mapping[str, Any]) -> List[Tuple[str, Network]]:
        return pod_networks.networks(values)

    def one_value(self, hosts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return pools.FLEET_WIDE
