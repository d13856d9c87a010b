# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the variables ``rdma_host_device_*`` and the facts of a fleet to the NICs that pods can have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses as links_addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links, limits, ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import groups as plugin_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import PluginGroup
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.live import (
    NO_PLUGINS,
    LivePlugins,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import KUBELET
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import (
    networks,
    nics,
    objects,
    programs,
    providers,
    sriov_operator,
    vfs,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.nics import NodeNics
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import (
    HostDevicePlan,
    HostDevices,
    PodNetwork,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.programs import PREFIX, PROVIDER
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

_NAMESPACES = PREFIX + "namespaces"
# What the operator puts before the resource names of its networks; it knows no other.
_RESOURCES = "nvidia.com"


def check(values: Mapping[str, Any]) -> None:
    """:raises PlanError: the Network Operator does not support the variables of a group."""
    but = f"but {PROVIDER} is {values[PROVIDER]}, whose networks"
    if strategy_of(values) == networks.SRIOV:
        right = f"but {STRATEGY} is {networks.SRIOV}, and its plugin does not wait for VFs: set it to"
        right += f" {network_operator.PLUGIN}"
        raise PlanError(wrong(PROVIDER, values[PROVIDER], right))
    name = networks.RESOURCE.prefix_variable
    if values[name] != _RESOURCES:
        raise PlanError(wrong(name, values[name], f"{but} are of {_RESOURCES}/...: set it to {_RESOURCES}"))
    if len(values[_NAMESPACES]) > 1:
        right = f"{but} are in one namespace: name one; pods of others can request <namespace>/<network>"
        raise PlanError(wrong(_NAMESPACES, values[_NAMESPACES], right))


NAMESPACE, NAMESPACES = PREFIX + "namespace", PREFIX + "namespaces"
# Variables with one value for the whole fleet.
FLEET_WIDE = (NAMESPACE, *programs.FLEET_WIDE)
# Of the links, with which the rails of pods are numbered, and of the SR-IOV operator.
_OTHERS = (
    links_addresses.SUBNET,
    links_addresses.RAIL_SUBNETS,
    links_addresses.ADDRESSES,
    links_addresses.RAILS,
    links_addresses.HOST_NUMBER,
    ports.PORTS,
    limits.MTU,
    VFS,
    "rdma_discover_expect_hcas",
    LAYER,
    sriov_operator.NAMESPACE,
)
_LAYERS = ("InfiniBand", "Ethernet")


def _layer(group: PluginGroup) -> str:
    """The link layer of which pods get NICs. Raises PlanError."""
    wanted = group.values.get(LAYER)
    there = {layer for host in group.hosts if host.facts is not None for layer in nics.layers(host.facts)}
    if not wanted and len(there) > 1:
        found = " and ".join(sorted(there))
        text = f"is not set, and nodes of the group have ports of {found}: set it to that of the NICs for pods"
        raise PlanError(Problem(LAYER, text))
    every = {
        port.link_layer
        for host in group.hosts
        for hca in (host.facts.hcas if host.facts is not None else ())
        for port in hca.ports
        if port.link_layer in _LAYERS and not hca.software
    }
    return str(wanted or next(iter(there or (every if len(every) == 1 else ())), _LAYERS[0]))


def _nodes(group: PluginGroup, layer: str, rails: int, result: HostDevicePlan) -> Dict[str, NodeNics]:
    """What the nodes of a group have for pods. Raises PlanError where none has anything."""
    of_vfs = strategy_of(group.values) == networks.SRIOV
    choose, what, nothing = (vfs.vfs, "VF", "VF") if of_vfs else (nics.nics, "NIC", "ACTIVE NIC")
    nodes: Dict[str, NodeNics] = {}
    left_out: Dict[str, None] = {}
    for host in group.hosts:
        if host.facts is None:
            continue
        try:
            exclude = exclusions.excluded(host.variables)
            own = choose(host.name, host.variables, host.facts, rails, layer, exclude)
        except PlanError as error:
            result.found.append((host.name, error.problem))
            continue
        result.warnings += [f"{host.name}: {text}" for text in own.left_out]
        left_out.update(dict.fromkeys(own.left_out))
        missing = [str(rail) for rail in range(rails) if rail not in own.pools]
        if not own.pools:
            result.warnings.append(f"{host.name}: has no {nothing} for pods, so it gets no plugin")
            continue
        if missing:
            result.warnings.append(f"{host.name}: has no {what} for rail {', '.join(missing)}")
        given = (hca for rail in sorted(own.hcas) for hca in own.hcas[rail])
        result.warnings += [f"{host.name}: {text}" for text in exclusions.of_lan(host.facts, given)]
        nodes[host.name] = own
    result.warnings += group.left_alone()
    if not nodes and not result.found:
        raise PlanError(_nothing(group, layer, of_vfs, list(left_out)))
    # A VF is set up when the next pod gets it.
    if layer == "Ethernet" and not of_vfs and host_links.asked(group.values) is None:
        text = f"{group.name}: NICs return from pods with their links down: set {links_addresses.SUBNET} or"
        result.warnings.append(f"{text} {limits.MTU}, so that NetworkManager brings them up again")
    if rails == 1 and any(len(own.pools[0]) > 1 for own in nodes.values()):
        text = f"{group.name}: all {what}s of a pod get addresses from {networks.NETWORKS}[0]"
        result.warnings.append(f"{text}; set one network for each rail if pods request more than one")
    return nodes


def _nothing(group: PluginGroup, layer: str, of_vfs: bool, left_out: Sequence[str]) -> Problem:
    """The problem if no node of a group has a NIC for pods. ``left_out`` are the reasons for usable NICs."""
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
    problem = group.without(f"has {'a VF of ' if of_vfs else ''}an ACTIVE {layer} NIC that a pod can have")
    return replace(problem, text="; ".join([problem.text, *left_out]))


def _check_room(group: PluginGroup, nodes: Mapping[str, NodeNics]) -> None:
    """:raises PlanError: a network has fewer addresses than there are NICs that need one."""
    for rail, (at, network) in enumerate(networks.networks(group.values)):
        need = sum(own.number(rail) for own in nodes.values())
        if need > networks.room(network):
            what = "VFs" if any(own.vfs for own in nodes.values()) else "NICs"
            text = f"which has addresses for {networks.room(network)} pods, but the group's nodes have {need} {what}"
            text += ": take a larger network"
            raise PlanError(wrong(at, str(network), text))


def _configurations(
    devices: HostDevices, nodes: Mapping[str, NodeNics], of_rail: Sequence[PodNetwork], live: LivePlugins
) -> List[Tuple[HostDevices, Dict[str, Dict[str, int]]]]:
    """One configuration, or one for each shape, which then has a name of its own.

    It also has one where nodes of which nothing is known keep the group's: nobody can tell which of their NICs have the
    addresses of a changed one.
    """
    parts = nics.shapes(nodes)
    found = []
    for part in parts:
        pools = nics.union([nodes[host] for host in part])
        by_name = {of_rail[rail].resource.partition("/")[2]: pools[rail] for rail in pools}
        own = replace(devices, pools=by_name, vfs=nodes[part[0]].vfs)
        if len(parts) > 1 or live.keeps(own):
            own = replace(own, value=plugin_groups.value_of_shape(devices.value, {**by_name, **own.vfs}))
        counts = {
            host: {of_rail[rail].resource: nodes[host].number(rail) for rail in sorted(nodes[host].pools)}
            for host in part
        }
        found.append((own, counts))
    return found


def _of_group(group: PluginGroup, known: variables.Options, result: HostDevicePlan, live: LivePlugins) -> None:
    """Adds what a group needs to the result. Raises PlanError."""
    of_rail = networks.pod_networks(group.name, group.label, group.values)
    manifests.check_share(variables.MAX_UNAVAILABLE, group.values[variables.MAX_UNAVAILABLE])
    for place, name in enumerate(group.values[NAMESPACES]):
        if not names.is_label(name):
            raise PlanError(wrong(f"{NAMESPACES}[{place}]", name, "it must be the name of a namespace"))
        if name in group.values[NAMESPACES][:place]:
            raise PlanError(wrong(f"{NAMESPACES}[{place}]", name, "which is in the list already: name it once"))
    if not group.values[NAMESPACES]:
        raise PlanError(Problem(NAMESPACES, "is empty: name at least one namespace of pods"))
    if strategy_of(group.values) == networks.SRIOV:
        wanted = [(host.name, vfs.none_of(host.variables)) for host in group.hosts]
        result.found += [(host, problem) for host, problem in wanted if problem is not None]
    if programs.operated(group.values):
        check(group.values)
    layer = result.layers[group.name] = _layer(group)
    sriov_operator.check_vfs(group.values, layer)
    if sriov_operator.chosen(group.values):
        sriov_operator.check(group.values, layer)
        result.operators[group.name] = group.values[sriov_operator.NAMESPACE]
    devices = HostDevices(
        value=group.label,
        image=programs.reference(programs.PLUGIN, group.values, known),
        prefix=networks.resource(group.values).prefix(group.values),
        imported=programs.imported(programs.PLUGIN, group.values),
        pull_secrets=tuple(group.values[programs.PULL_SECRETS]),
        max_unavailable=group.values[variables.MAX_UNAVAILABLE],
        kubelet_root=KUBELET,
        provider=group.values[programs.PROVIDER],
        pools={},
    )
    nodes = _nodes(group, layer, len(of_rail), result)
    _check_room(group, nodes)
    result.networks[group.name] = of_rail
    result.hcas[group.name] = [
        {host: own.hcas[rail] for host, own in nodes.items() if own.hcas.get(rail)} for rail in range(len(of_rail))
    ]
    result.configurations += _configurations(devices, nodes, of_rail, live)
    result.namespaces[group.name] = list(group.values[NAMESPACES])


def _one_name(groups: Sequence[PluginGroup], result: HostDevicePlan) -> None:
    """Groups with the same resource or network name: their nodes would be mixed, or they would share a network."""
    first: Dict[str, str] = {}
    for group in groups:
        for network in result.networks.get(group.name, ()):
            other, of_name = (first.setdefault(name, group.name) for name in (network.resource, f"/{network.name}"))
            problem = None
            if other != group.name:
                right = f"which group {other} also has: names must differ"
                problem = wrong(networks.RESOURCE.name_variable, network.resource, right)
            elif of_name != group.name:
                right = f"but group {of_name} has a network of the same name, {network.name}: rename one of the groups"
                problem = wrong("rdma_group", group.name, right)
            if problem:
                result.found += group.all(problem)


def _shared(groups: Sequence[PluginGroup], beside: Sequence[str]) -> Iterator[Tuple[str, Problem]]:
    """What differs between groups although both have the same Multus, and the other DaemonSets ``beside``."""
    names = {programs.PROVIDER: "one of them runs Multus"}
    if beside:
        names[variables.MAX_UNAVAILABLE] = f"their nodes share {' and '.join(beside)}"
    for group in groups:
        for name, why in names.items():
            own, first = (side.values[name] for side in (group, groups[0]))
            if own != first:
                right = f"but {first} for group {groups[0].name}: {why}, so it must be the same for both"
                yield from group.all(wrong(name, own, right))


def plan(
    hosts: Sequence[InventoryHost],
    known: variables.Options,
    fleet: Sequence[InventoryHost] = (),
    kinds: Optional[Collection[str]] = None,
    live: LivePlugins = NO_PLUGINS,
) -> HostDevicePlan:
    """The NICs and VFs of hosts that all have this strategy; their ``found`` problems are by host.

    ``fleet`` are all hosts, ``kinds`` the operators' kinds that the API server serves, ``None`` if nobody knows.
    ``live`` are the configurations that nodes have.
    """
    result = HostDevicePlan()
    groups = plugin_groups.groups(hosts, PREFIX, known, result.found, _OTHERS, FLEET_WIDE)
    if result.found or not groups:
        return result
    result.groups = groups
    # The SR-IOV operator runs no Multus.
    rest = [group for group in groups if not sriov_operator.chosen(group.values)]
    values = (rest or groups)[0].values
    result.namespace, result.beside = values[NAMESPACE], programs.daemon_sets(values)
    result.found += _shared(rest, result.beside)
    for problem in manifests.misplaced(variables.PARENT_NAMESPACE, NAMESPACE, values):
        result.found += groups[0].all(problem)
    try:
        # Its chart brings the definition of pods' networks, which would be in no set of ours.
        of_cni = programs.objects(result.namespace, values, known, defined=not rest)
        result.policy = result.policy.with_spec(programs.multus_component(values, known))
    except PlanError as error:
        for group in groups:
            result.found += group.all(error.problem)
    for group in groups if not result.found else ():
        result.wait = result.wait or any(host.variables[variables.WAIT] for host in group.hosts)
        try:
            _of_group(group, known, result, live)
        except PlanError as error:
            result.found += group.all(error.problem)
    _one_name(groups, result)
    if result.found:
        return result
    of_host = {host: own.label_value for own, counts in result.configurations for host in counts}
    result.kept = live.left_out([group.label for group in groups], set(of_host.values()))
    result.labels = plugin_groups.labels(groups, objects.LABEL, of_host)
    of_nics = providers.handed_out(groups, result, fleet, kinds)
    ours = of_cni or any(not own.operated for own, _counts in result.configurations)
    namespaces = manifests.namespaces(result.namespace) if ours else []
    result.objects = [*namespaces, *of_cni, *of_nics]
    return result
