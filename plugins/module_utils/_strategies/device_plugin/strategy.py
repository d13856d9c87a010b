# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What strategies have in common whose pods request extended resources, which a device plugin makes of NICs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Dict, Generic, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost, label_of_group
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    Strategy,
    StrategyPlan,
    object_set,
    of_fleet,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import (
    live,
    network_operator,
    ofed,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import (
    PluginPlan,
    groups_of_value,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import OPERATED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, messages

Planned = TypeVar("Planned", bound=PluginPlan)


def _group(host: InventoryHost) -> str:
    """As a DNS label, empty where it cannot be one."""
    try:
        return label_of_group(host.group)
    except PlanError:
        return ""


class DevicePluginStrategy(Strategy, Generic[Planned]):
    """``prefix`` is that of the variables of its role."""

    prefix: str
    # In mode exclusive k8s-rdma-shared-dev-plugin ends at once, and an RDMA device does not follow its netdev.
    netns_modes = ("shared",)
    slices = False

    kinds: Tuple[str, ...] = network_operator.KINDS
    no_fields = network_operator.policy_fields()
    # Those without which an operator cannot do it.
    needed: Tuple[str, ...]

    @abstractmethod
    def planned(
        self,
        own: Sequence[InventoryHost],
        known: variables.Options,
        fleet: Sequence[InventoryHost],
        cluster: ClusterState,
    ) -> Planned:
        """The objects and labels of the strategy's own hosts, of all of the fleet."""

    def live(self, fleet: Sequence[InventoryHost], cluster: ClusterState) -> live.LivePlugins:
        """The configurations of its plugin in the cluster."""
        return live.read(self.label, cluster.daemon_sets, cluster.labels, fleet, self.operated(cluster.objects or ()))

    @abstractmethod
    def operated(self, every: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
        """Digests of the configurations that operators have, by the value of its label; ``every`` are their objects."""

    def lacking(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
    ) -> Iterator[Tuple[str, Problem]]:
        provider = self.prefix + "provider"
        for host in self.own(hosts):
            if host.variables.get(provider) == network_operator.NETWORK_OPERATOR:
                problem = network_operator.served(cluster.kinds, self.needed, provider)
                if problem is not None:
                    yield host.name, problem

    def served_otherwise(self, values: Mapping[str, Any], label: str) -> Optional[Tuple[str, str]]:
        provider, (_value, dot, end) = self.prefix + "provider", label.partition(".")
        of_value = {**{known: name for name, known in OPERATED.items()}, ofed.ENDING: network_operator.NETWORK_OPERATOR}
        serves = of_value.get(dot + end, network_operator.PLUGIN)
        return None if serves == (values.get(provider) or network_operator.PLUGIN) else (provider, serves)

    def lost(
        self,
        hosts: Sequence[InventoryHost],
        own: Sequence[InventoryHost],
        served: Mapping[str, str],
        known: variables.Options,
    ) -> Dict[str, List[str]]:
        names, having = {host.name for host in hosts}, {host.name: host for host in own}
        groups, kept = {_group(host) for host in hosts}, {_group(host) for host in own}
        every = self.resources(hosts, known)
        found: Dict[str, List[str]] = {}
        for node, value in served.items():
            old, host = groups_of_value(value), having.get(node)
            # A node that has left the inventory keeps the plugin as long as a host of its group has it.
            stays = {_group(host)} if host else set() if node in names else kept
            if not stays.isdisjoint(old):
                continue
            # The variables of a group that has left the inventory are not known any more.
            of_gone: List[str] = []
            if groups.isdisjoint(old):
                values: List[Mapping[str, Any]] = [{}, *(host.variables for host in hosts[:1])]
                of_gone = self.resources([InventoryHost(node, group, each) for group in old for each in values], known)
            still = self.resources([host], known) if host else []
            found[node] = [name for name in dict.fromkeys([*every, *of_gone]) if name not in still]
        return found

    @abstractmethod
    def answer(self, found: Planned, result: StrategyPlan) -> None:
        """Add how the pods of a plan without problems ask, and what its nodes show."""

    def plan(self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
        """Hosts of other strategies lose the label."""
        own = self.own(hosts)
        found = self.planned(own, known, hosts, cluster)
        found.found += self.lacking(own, cluster, known)
        silent = [host.name for host in own if host.facts is None]
        result = StrategyPlan(
            labels=self.labels(hosts, found.labels),
            warnings=found.warnings,
            problems=messages(found.found),
            wait=found.wait,
            everywhere=found.everywhere,
            unknown=list(dict.fromkeys([*silent, *found.kept])),
            nodes=manifests.nodes(found.labels),
        )
        there = self.live(hosts, cluster).digests
        result.joining = labels.joining(self.label, result.labels, cluster.labels, there)
        result.leaving = labels.leaving(self.label, result.labels, cluster.labels)
        if not result.problems:
            result.policy = found.policy
            result.sets = [object_set(self.driver_set, of_fleet(own, known), found.objects)]
            self.answer(found, result)
        return result
