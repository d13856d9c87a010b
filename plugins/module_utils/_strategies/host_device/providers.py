# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The objects by which NICs and VFs are handed out, by who runs the device plugin, and those that are in the way."""

from __future__ import annotations

from typing import Any, Collection, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import MAX_UNAVAILABLE
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import PluginGroup
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.network_operator import (
    NETWORK_OPERATOR,
    PLUGIN,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import (
    objects,
    programs,
    sriov_operator,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import (
    HostDevicePlan,
    HostDevices,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.programs import PROVIDER
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.sriov_operator import SRIOV_OPERATOR
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong


def handed_out(
    groups: Sequence[PluginGroup],
    result: HostDevicePlan,
    fleet: Sequence[InventoryHost],
    kinds: Optional[Collection[str]],
) -> List[Manifest]:
    """The objects of all groups; ``fleet`` are all hosts, ``kinds`` as in ClusterState."""
    of_provider = {
        name: [group for group in groups if group.values[programs.PROVIDER] == name]
        for name in (PLUGIN, NETWORK_OPERATOR, SRIOV_OPERATOR)
    }
    found: List[Manifest] = []
    if of_provider[PLUGIN]:
        found += _ours(of_provider[PLUGIN], result)
    if of_provider[NETWORK_OPERATOR]:
        found += _by_network_operator(of_provider[NETWORK_OPERATOR], result, fleet, kinds)
    for group in of_provider[SRIOV_OPERATOR]:
        found += _by_sriov_operator(group, result)
    return found


def _by_sriov_operator(group: PluginGroup, result: HostDevicePlan) -> List[Manifest]:
    """The objects by which the SR-IOV operator does."""
    place, of_rail = result.operators[group.name], result.networks[group.name]
    (pods,), layer = result.namespaces[group.name], result.layers[group.name]
    most, cni = group.values[MAX_UNAVAILABLE], group.values[programs.CONFIGURATIONS]
    names = {network.resource for network in of_rail}
    ours = [(own, counts) for own, counts in result.configurations if any(names & set(has) for has in counts.values())]
    if not ours:
        return []
    # First of all, so that the operator drains no more nodes than it may.
    found = [sriov_operator.pool(place, group.label, [own for own, _counts in ours], most)]
    for own, counts in ours:
        having = [host for host in group.hosts if host.name in counts]
        found += sriov_operator.policies(place, group.label, own, of_rail, having)
    found += [sriov_operator.network_of(place, pods, network, layer, cni, group.values) for network in of_rail]
    result.warnings += sriov_operator.warnings(group.name, layer, most)
    return found


def _by_network_operator(
    groups: Sequence[PluginGroup],
    result: HostDevicePlan,
    fleet: Sequence[InventoryHost],
    kinds: Optional[Collection[str]],
) -> List[Manifest]:
    """The objects by which the Network Operator hands out NICs."""
    ours = [(own, counts) for own, counts in result.configurations if own.provider == NETWORK_OPERATOR]
    every = [own for own, _counts in ours]
    found: List[Manifest] = []
    if network_operator.with_node_policies(kinds):
        own_policy = network_operator.policy_fields(without=[f"spec.{objects.PLUGIN.component}"])
        result.policy = own_policy.with_spec(result.policy.object.get("spec", {}))
        found = network_operator.node_policies(objects.PLUGIN, every)
    else:

        def taken(own: HostDevices, host: InventoryHost) -> Sequence[str]:
            addresses = {address for several in own.pools.values() for address in several}
            placed = host.facts.placed if host.facts else ()
            return [hca.name for hca, pci in placed if pci.address in addresses]

        result.found += network_operator.clashes(ours, fleet, taken, programs.PROVIDER)
        result.policy = result.policy.with_spec(network_operator.cluster_policy(objects.PLUGIN, every))
        result.everywhere = True
    for group in groups:
        (namespace,) = result.namespaces[group.name]
        cni = group.values[programs.CONFIGURATIONS]
        found += [objects.operated_network(namespace, network, cni) for network in result.networks[group.name]]
    return found


def _ours(groups: Sequence[PluginGroup], result: HostDevicePlan) -> List[Manifest]:
    """Our own objects that do."""
    every = [own for own, _counts in result.configurations if not own.operated]
    found = objects.PLUGIN.objects(result.namespace, every)
    for group in groups:
        for network in result.networks[group.name]:
            for namespace in result.namespaces[group.name]:
                cni = group.values[programs.CONFIGURATIONS]
                found.append(objects.attachment(namespace, network, cni))
    return found


_ATTACHMENT = "NetworkAttachmentDefinition.k8s.cni.cncf.io"
# What operators make one of, of the same name.
_MAKERS = (network_operator.NETWORK, *sriov_operator.NETWORKS)
# Objects to read from the cluster.
LOOKS = tuple((kind, "") for kind in (_ATTACHMENT, *_MAKERS))


def _named(every: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> Set[Tuple[str, str]]:
    """Namespace and name of the NetworkAttachmentDefinitions that objects of these kinds are, or make."""
    names = {kind.partition(".")[0] for kind in kinds}
    found = set()
    for item in every:
        if item["kind"] in names:
            meta, spec = item["metadata"], item.get("spec") or {}
            found.add((str(spec.get("networkNamespace") or meta.get("namespace")), str(meta["name"])))
    return found


def taken(
    group: PluginGroup, found: HostDevicePlan, every: Sequence[Mapping[str, Any]]
) -> Iterator[Tuple[str, Problem]]:
    """What of the cluster is in the way of a group's networks, by host; ``every`` are the objects of LOOKS."""
    if group.values[PROVIDER] == network_operator.PLUGIN:
        return
    theirs = _named(every, [_ATTACHMENT]) - _named(every, _MAKERS)
    for network in found.networks.get(group.name, ()):
        for namespace in found.namespaces.get(group.name, ()):
            if (namespace, network.name) in theirs:
                right = f"but NetworkAttachmentDefinition {namespace}/{network.name} exists already, and the"
                right += " operator would replace it and later delete it: delete or rename it, or rename the group"
                for host in group.hosts:
                    yield host.name, wrong(PROVIDER, group.values[PROVIDER], right)
