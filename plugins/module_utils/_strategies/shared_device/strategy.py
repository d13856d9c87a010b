# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``shared_device``: every pod that asks gets all HCAs of its node, by k8s-rdma-shared-dev-plugin.

Pods of a node share the HCAs: any of them can use all of their bandwidth, and see the others' traffic counters.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images as image_reference
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import Answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ManifestNames,
    NodeStatus,
    PodRequest,
    StrategyImage,
    StrategyPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator, ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.strategy import (
    DevicePluginStrategy,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device import configurations, objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device.configurations import (
    SharedDevicePlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem

NAME = "shared_device"


class SharedDevice(DevicePluginStrategy[SharedDevicePlan]):
    name = NAME
    roles = ("rdma_shared_device",)
    label = objects.LABEL
    prefix = configurations.PREFIX
    driver_set = "shared-device"
    needed = (network_operator.POLICY,)
    has_ofed = True
    manifests = ManifestNames("10-shared-device.yml", "node-labels-shared-device.yml")

    def planned(
        self,
        own: Sequence[InventoryHost],
        known: variables.Options,
        fleet: Sequence[InventoryHost],
        cluster: ClusterState,
    ) -> SharedDevicePlan:
        return configurations.plan(own, known, fleet, cluster.kinds, cluster.labels, self.live(fleet, cluster))

    def with_ofed(self, values: Mapping[str, Any]) -> bool:
        return bool(values.get(configurations.PROVIDER) == network_operator.NETWORK_OPERATOR)

    def operated(self, every: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
        return network_operator.digests(objects.PLUGIN, every)

    def cluster_queries(self, hosts: Sequence[InventoryHost]) -> Sequence[Tuple[str, str]]:
        asked = any(self.with_ofed(host.variables) for host in self.own(hosts))
        return [(network_operator.NODE_POLICY, "")] if asked else []

    def lacking(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
    ) -> Iterator[Tuple[str, Problem]]:
        yield from super().lacking(hosts, cluster, known)
        yield from ofed.against(self.label, self.own(hosts), hosts, cluster.labels, cluster.objects or (), known)

    def answer(self, found: SharedDevicePlan, result: StrategyPlan) -> None:
        result.requests = {
            group: [PodRequest(name, found.hcas[group], limits={name: 1})] for group, name in found.resources.items()
        }
        for devices, part in found.configurations:
            resources = {f"{devices.prefix}/{devices.resource}": devices.most}
            ours = (f"{found.namespace}/{devices.name}",)
            shown = (
                NodeStatus(resources=resources, owners=network_operator.OWNERS)
                if devices.operated
                else NodeStatus(resources=resources, daemon_sets=ours)
            )
            result.status.update(dict.fromkeys(part, shown))

    def doubt(self, word: str, found: Answers) -> str:
        # A pod has the HCA, but none of the addresses of its netdev, and so no GID that it could use.
        roce = "pods on RoCE need hostNetwork or a second network (question 6)"
        return super().doubt(word, found) or (roce if found.ethernet else "")

    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        return [
            StrategyImage(
                image_reference.tagged(configurations.IMAGE, values), str(values[configurations.IMAGE.archive])
            )
        ]

    def resources(self, hosts: Sequence[InventoryHost], known: variables.Options) -> List[str]:
        return list(dict.fromkeys(name for name, _values in configurations.RESOURCE.of_hosts(hosts, known)))

    def one_value(self, hosts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return configurations.FLEET_WIDE
