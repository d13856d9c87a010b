# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the variables ``rdma_host_device_*`` and the facts of a fleet to the NICs that pods can have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.claims.hosts import ClaimHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin import groups as plugin_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin.groups import PluginGroup, PluginPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin.objects import KUBELET
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.drivers import plan as drivers_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.host_device import (
    networks,
    nics,
    objects,
    operated,
    programs,
    vfs,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.host_device.nics import NodeNics
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.host_device.objects import HostDevices, PodNetwork
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.host_device.programs import PREFIX
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import addresses as links_addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import limits as links_limits
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import ports as links_ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links.plan import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

NAMESPACE, PARENT_NAMESPACE = PREFIX + "namespace", PREFIX + "parent_namespace"
WAIT, NAMESPACES = PREFIX + "wait", PREFIX + "namespaces"
# Of the links, with which the rails of pods are numbered.
_OF_LINKS = (
    links_addresses.SUBNET,
    links_addresses.RAIL_SUBNETS,
    links_addresses.ADDRESSES,
    links_addresses.RAILS,
    links_addresses.HOST_NUMBER,
    links_ports.PORTS,
    links_limits.MTU,
    VFS,
    "rdma_discover_expect_hcas",
    LAYER,
)
_LAYERS = ("InfiniBand", "Ethernet")


@dataclass
class HostDevicePlan(PluginPlan):
    """``configurations`` have the hosts on which they apply with the number of NICs by the full name of the resource.

    ``networks`` are those of pods by group, in the order of the rails, ``namespaces`` where they are defined, and
    ``hcas`` the HCAs that a node has for each of them.
    ``beside`` are the DaemonSets that every node of the strategy needs.
    """

    namespaces: Dict[str, List[str]] = field(default_factory=dict)
    configurations: List[Tuple[HostDevices, Dict[str, Dict[str, int]]]] = field(default_factory=list)
    networks: Dict[str, List[PodNetwork]] = field(default_factory=dict)
    hcas: Dict[str, List[Dict[str, List[str]]]] = field(default_factory=dict)
    beside: List[str] = field(default_factory=list)


def _layer(group: PluginGroup) -> str:
    """The link layer of which pods get NICs. Raises PlanError."""
    wanted = group.values.get(LAYER)
    there = {layer for host in group.hosts if host.facts is not None for layer in nics.layers(host.facts)}
    if not wanted and len(there) > 1:
        text = f"is not set, and nodes of the group have ports of {' and '.join(sorted(there))}: set that of pods' NICs"
        raise PlanError(Problem(LAYER, text))
    return str(wanted or next(iter(there), _LAYERS[0]))


def _nodes(group: PluginGroup, rails: int, result: HostDevicePlan) -> Dict[str, NodeNics]:
    """What the nodes of a group have for pods. Raises PlanError where none has anything."""
    layer, of_vfs = _layer(group), strategy_of(group.values) == networks.SRIOV
    choose, what, nothing = (vfs.vfs, "VF", "VF") if of_vfs else (nics.nics, "NIC", "ACTIVE NIC")
    nodes: Dict[str, NodeNics] = {}
    for host in group.hosts:
        if host.facts is None:
            continue
        try:
            exclude = drivers_plan.excluded(host.variables)
            own = choose(host.name, host.variables, host.facts, rails, layer, exclude)
        except PlanError as error:
            result.found.append((host.name, error.problem))
            continue
        result.warnings += [f"{host.name}: {text}" for text in own.left_out]
        missing = [str(rail) for rail in range(rails) if rail not in own.pools]
        if not own.pools:
            result.warnings.append(f"{host.name}: has no {nothing} for pods, so it gets no plugin")
            continue
        if missing:
            result.warnings.append(f"{host.name}: has no {what} for rail {', '.join(missing)}")
        nodes[host.name] = own
    result.warnings += group.left_alone()
    if not nodes and not result.found:
        raise PlanError(_nothing(group, layer, of_vfs))
    # A VF is set up when the next pod gets it.
    if layer == "Ethernet" and not of_vfs and links_plan.asked(group.values) is None:
        text = f"{group.name}: NICs return from pods with their links down: set {links_addresses.SUBNET} or"
        result.warnings.append(f"{text} {links_limits.MTU}, so that NetworkManager brings them up again")
    if rails == 1 and any(len(own.pools[0]) > 1 for own in nodes.values()):
        text = f"{group.name}: all {what}s of a pod get addresses from {networks.NETWORKS}[0]"
        result.warnings.append(f"{text}; set one network for each rail if pods request more than one")
    return nodes


def _nothing(group: PluginGroup, layer: str, of_vfs: bool) -> Problem:
    """What is wrong where no node of a group has anything for pods."""
    asked = next((host.variables[VFS] for host in group.hosts if host.variables.get(VFS)), None)
    numbers = vfs.usable(group.hosts, layer)
    if of_vfs and not asked and numbers and not any(numbers):
        return vfs.missing(layer)
    why, name = "NICs with VFs are not given to pods", strategy_of(group.values)
    if asked and not of_vfs:
        right = f"leave it out, or set {STRATEGY} to {networks.SRIOV}"
        return wrong(VFS, asked, f"but {STRATEGY} is {name}, and {why}: {right}")
    if numbers and all(numbers) and not of_vfs:
        right = f"with {STRATEGY} none, prepare removes those of {VFS}"
        return wrong(STRATEGY, name, f"but all usable NICs of the group have VFs, and {why}: {right}")
    return group.without(f"has {'a VF of ' if of_vfs else ''}an ACTIVE NIC of {layer} that a pod can have")


def _check_room(group: PluginGroup, nodes: Mapping[str, NodeNics]) -> None:
    """:raises PlanError: a network has fewer addresses than there are NICs that need one."""
    for rail, (at, network) in enumerate(networks.networks(group.values)):
        need = sum(own.number(rail) for own in nodes.values())
        if need > networks.room(network):
            what = "VFs" if any(own.vfs for own in nodes.values()) else "NICs"
            text = f"which has addresses for {networks.room(network)} pods, but the group's nodes have {need} {what}"
            raise PlanError(wrong(at, str(network), text))


def _configurations(
    devices: HostDevices, nodes: Mapping[str, NodeNics], of_rail: Sequence[PodNetwork]
) -> List[Tuple[HostDevices, Dict[str, Dict[str, int]]]]:
    """One configuration, or one for each shape, which then has a name of its own."""
    parts = nics.shapes(nodes)
    found = []
    for part in parts:
        pools = nics.union([nodes[host] for host in part])
        by_name = {of_rail[rail].resource.partition("/")[2]: pools[rail] for rail in pools}
        own = replace(devices, pools=by_name, vfs=nodes[part[0]].vfs)
        if len(parts) > 1:
            own = replace(own, value=plugin_groups.value_of_shape(devices.value, {**by_name, **own.vfs}))
        counts = {
            host: {of_rail[rail].resource: nodes[host].number(rail) for rail in sorted(nodes[host].pools)}
            for host in part
        }
        found.append((own, counts))
    return found


def _of_group(group: PluginGroup, known: plan_variables.Options, result: HostDevicePlan) -> None:
    """Adds what a group needs to the result. Raises PlanError."""
    of_rail = networks.pod_networks(group.name, group.label, group.values)
    drivers_plan.check_share(programs.UNAVAILABLE, group.values[programs.UNAVAILABLE])
    for place, name in enumerate(group.values[NAMESPACES]):
        if not names.is_label(name):
            raise PlanError(wrong(f"{NAMESPACES}[{place}]", name, "it must be the name of a namespace"))
    if not group.values[NAMESPACES]:
        raise PlanError(Problem(NAMESPACES, "is empty: name at least one namespace of pods"))
    if strategy_of(group.values) == networks.SRIOV:
        wanted = [(host.name, vfs.none_of(host.variables)) for host in group.hosts]
        result.found += [(host, problem) for host, problem in wanted if problem is not None]
    if programs.operated(group.values):
        operated.check(group.values)
    devices = HostDevices(
        value=group.label,
        image=programs.reference(programs.PLUGIN, group.values, known),
        prefix=networks.resource(group.values).prefix(group.values),
        imported=programs.imported(programs.PLUGIN, group.values),
        pull_secrets=tuple(group.values[programs.PULL_SECRETS]),
        max_unavailable=group.values[programs.UNAVAILABLE],
        kubelet_root=KUBELET,
        operated=programs.operated(group.values),
        pools={},
    )
    nodes = _nodes(group, len(of_rail), result)
    _check_room(group, nodes)
    result.networks[group.name] = of_rail
    result.hcas[group.name] = [
        {host: own.hcas[rail] for host, own in nodes.items() if own.hcas.get(rail)} for rail in range(len(of_rail))
    ]
    result.configurations += _configurations(devices, nodes, of_rail)
    result.namespaces[group.name] = list(group.values[NAMESPACES])


def _operated(
    groups: Sequence[PluginGroup],
    result: HostDevicePlan,
    fleet: Sequence[ClaimHost],
    kinds: Optional[Collection[str]],
) -> List[manifests.Manifest]:
    """The objects by which the Network Operator hands out NICs."""
    every = [own for own, _counts in result.configurations]
    found: List[manifests.Manifest] = []
    if network_operator.with_node_policies(kinds):
        own_policy = network_operator.PolicyFields(without=[f"spec.{objects.PLUGIN.component}"])
        result.policy = own_policy.with_spec(result.policy.object.get("spec", {}))
        found = network_operator.node_policies(objects.PLUGIN, every)
    else:

        def taken(own: HostDevices, host: ClaimHost) -> Sequence[str]:
            addresses = {address for several in own.pools.values() for address in several}
            placed = host.facts.placed if host.facts else ()
            return [hca.name for hca, pci in placed if pci.address in addresses]

        result.found += network_operator.clashes(result.configurations, fleet, taken, programs.PROVIDER)
        result.policy = result.policy.with_spec(network_operator.cluster_policy(objects.PLUGIN, every))
        result.everywhere = True
    for group in groups:
        (namespace,) = result.namespaces[group.name]
        cni = group.values[programs.CONFIGURATIONS]
        found += [objects.operated_network(namespace, network, cni) for network in result.networks[group.name]]
    return found


def _handed_out(groups: Sequence[PluginGroup], result: HostDevicePlan) -> List[manifests.Manifest]:
    """Our own objects that do."""
    found = objects.PLUGIN.objects(result.namespace, [own for own, _counts in result.configurations])
    for group in groups:
        for network in result.networks[group.name]:
            for namespace in result.namespaces[group.name]:
                cni = group.values[programs.CONFIGURATIONS]
                found.append(objects.attachment(namespace, network, cni))
    return found


def _one_name(groups: Sequence[PluginGroup], result: HostDevicePlan) -> None:
    """Groups whose pods would ask for the same: the scheduler would mix their nodes."""
    first: Dict[str, str] = {}
    for group in groups:
        for network in result.networks.get(group.name, ()):
            other = first.setdefault(network.resource, group.name)
            if other != group.name:
                right = f"which group {other} also has: names must differ"
                problem = wrong(networks.RESOURCE.name_variable, network.resource, right)
                result.found += [(host.name, problem) for host in group.hosts]


def plan(
    hosts: Sequence[ClaimHost],
    known: plan_variables.Options,
    fleet: Sequence[ClaimHost] = (),
    kinds: Optional[Collection[str]] = None,
) -> HostDevicePlan:
    """The NICs and VFs of hosts that all have this strategy; their ``found`` problems are by host.

    ``fleet`` are all hosts, ``kinds`` the operators' kinds that the API server serves, ``None`` if nobody knows.
    """
    result = HostDevicePlan()
    groups = plugin_groups.groups(hosts, PREFIX, known, result.found, _OF_LINKS)
    if result.found or not groups:
        return result
    values = groups[0].values
    result.namespace, result.beside = values[NAMESPACE], programs.daemon_sets(values)
    for problem in manifests.misplaced(PARENT_NAMESPACE, NAMESPACE, values):
        result.found += [(host.name, problem) for host in groups[0].hosts]
    try:
        of_cni = programs.objects(result.namespace, values, known)
        result.policy = result.policy.with_spec(programs.multus_component(values, known))
    except PlanError as error:
        result.found += [(host.name, error.problem) for group in groups for host in group.hosts]
    for group in groups if not result.found else ():
        result.wait = result.wait or any(host.variables[WAIT] for host in group.hosts)
        try:
            _of_group(group, known, result)
        except PlanError as error:
            result.found += [(host.name, error.problem) for host in group.hosts]
    _one_name(groups, result)
    if result.found:
        return result
    of_host = {host: own.label_value for own, counts in result.configurations for host in counts}
    result.labels = plugin_groups.labels(groups, objects.LABEL, of_host)
    by_operator = programs.operated(values)
    of_nics = _operated(groups, result, fleet, kinds) if by_operator else _handed_out(groups, result)
    namespaces = manifests.namespaces(result.namespace) if of_cni or not by_operator else []
    result.objects = [*namespaces, *of_cni, *of_nics]
    return result
