# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the variables ``rdma_shared_device_*`` and the facts of a fleet to the plugin's configurations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.images import ImageVariables
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import groups as plugin_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator, ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import (
    PluginGroup,
    PluginPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.live import (
    NO_PLUGINS,
    LivePlugins,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import KUBELET
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.resource import ResourceVariables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device import objects, selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device.objects import SharedDevices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.shared_device.selectors import NodePorts
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory, integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, checked, wrong

PREFIX = "rdma_shared_device_"
RESOURCE = ResourceVariables(PREFIX + "prefix", PREFIX + "resource", "rdma_", 63)
MOST = PREFIX + "max"
NAMESPACE = PREFIX + "namespace"
# Variables with one value for the whole fleet.
FLEET_WIDE = (NAMESPACE,)
PROVIDER = PREFIX + "provider"
IMAGE = ImageVariables(PREFIX + "image", PREFIX + "version", PREFIX + "digest", PREFIX + "archive")
_KUBELET_ROOT = PREFIX + "kubelet_root"

NodeLabels = Mapping[str, Mapping[str, str]]


@dataclass
class SharedDevicePlan(PluginPlan):
    """``configurations`` have the hosts on which they apply; ``resources`` are the full names by group.

    ``hcas`` are by group and host those that pods share.
    """

    configurations: List[Tuple[SharedDevices, List[str]]] = field(default_factory=list)
    resources: Dict[str, str] = field(default_factory=dict)
    hcas: Dict[str, Dict[str, List[str]]] = field(default_factory=dict)


def _devices(group: PluginGroup, known: variables.Options) -> SharedDevices:
    """A group's configuration without its selectors. Raises PlanError."""
    values = group.values
    checked(MOST, values[MOST], integer.between(1, 10000))
    manifests.check_share(variables.MAX_UNAVAILABLE, values[variables.MAX_UNAVAILABLE])
    operated = values[PROVIDER] == network_operator.NETWORK_OPERATOR
    if operated:
        network_operator.check_image(IMAGE.image, values[IMAGE.image])
        if values[_KUBELET_ROOT] != KUBELET:
            right = f"but {PROVIDER} is {values[PROVIDER]}, which runs the plugin with {KUBELET} only"
            raise PlanError(wrong(_KUBELET_ROOT, values[_KUBELET_ROOT], right))
    return SharedDevices(
        value=group.label,
        image=images.reference(IMAGE, values, known),
        prefix=RESOURCE.prefix(values),
        resource=RESOURCE.name(group.name, values),
        most=values[MOST],
        selectors={},
        imported=bool(values[IMAGE.archive]),
        kubelet_root=checked(_KUBELET_ROOT, values[_KUBELET_ROOT], directory.below_root),
        pull_secrets=tuple(values[PREFIX + "pull_secrets"]),
        max_unavailable=values[variables.MAX_UNAVAILABLE],
        provider=values[PROVIDER],
        driver=ofed.component(values) if operated else {},
    )


def _ports(group: PluginGroup, result: SharedDevicePlan) -> Dict[str, NodePorts]:
    """What the nodes of a group have to share."""
    nodes: Dict[str, NodePorts] = {}
    for host in group.hosts:
        if host.facts is None:
            continue
        try:
            exclude = exclusions.excluded(host.variables)
            own = selectors.ports(host.facts, exclude, host.variables[LAYER])
        except PlanError as error:
            result.found.append((host.name, error.problem))
            continue
        if own.in_pod:
            result.found.append((host.name, group.taken(own.in_pod)))
            continue
        result.warnings += [f"{host.name}: {text}" for text in own.left_out]
        if own.selectable:
            result.warnings += [f"{host.name}: {text}" for text in exclusions.of_lan(host.facts, own.hcas)]
            nodes[host.name] = own
        else:
            result.warnings.append(f"{host.name}: no ACTIVE port that pods can share, so the plugin does not run there")
    result.warnings += group.left_alone()
    if not nodes and not result.found:
        result.found += group.all(group.without("has an ACTIVE port that pods can share"))
    return nodes


def _configurations(
    devices: SharedDevices, nodes: Mapping[str, NodePorts], live: LivePlugins
) -> List[Tuple[SharedDevices, List[str]]]:
    """One configuration, or one for each shape, which then has a name of its own.

    It also has one where nodes of which nothing is known keep the group's: nobody can tell which of their HCAs a
    changed one would select.
    """
    parts = selectors.shapes(nodes)
    found = []
    for part in parts:
        own = replace(devices, selectors=selectors.selectors([nodes[host] for host in part]))
        # With another label a node would load the OFED driver again.
        if len(parts) > 1 or (live.keeps(own) and not own.driver):
            own = replace(own, value=plugin_groups.value_of_shape(devices.value, own.selectors))
        found.append((own, part))
    return found


def _value(own: SharedDevices, host: str, labels: NodeLabels, result: SharedDevicePlan) -> str:
    """The label's value of a host: provision lets it have the OFED driver if it has it, and role rdma_ofed gives it."""
    now = str(labels.get(host, {}).get(objects.LABEL) or "")
    if not (own.driver and now.endswith(ofed.ENDING)):
        return own.label_value
    value = ofed.with_driver(own.label_value)
    if value != now:
        text = f"is true, but this node has the driver through the label {objects.LABEL}={now}, and {value}"
        right = "would load the driver again: set it to false and run zerocopy.rdma.ofed first"
        result.found.append((host, Problem(ofed.DEPLOY, f"{text} {right}")))
    return value


def _node_policies(result: SharedDevicePlan, parts: Sequence[Tuple[SharedDevices, List[str]]]) -> List[Manifest]:
    """Those that select a node: the operator calls no other one ready."""
    found: List[Manifest] = []
    for own, part in parts:
        values = {result.labels[host][objects.LABEL] for host in part}
        if own.label_value in values or not part:
            found += network_operator.node_policies(objects.PLUGIN, [own])
        value = ofed.with_driver(own.label_value)
        without = [host for host in part if own.driver and result.labels[host][objects.LABEL] != value]
        if without:
            result.warnings.append(f"{fold(without)}: no OFED driver yet: zerocopy.rdma.ofed deploys it")
        if value in values:
            name, beside = own.name + ofed.ENDING.replace(".", "-"), {ofed.COMPONENT: dict(own.driver)}
            found.append(network_operator.node_policy(objects.PLUGIN, own, name, value, beside))
    return found


def _operated(
    result: SharedDevicePlan, hosts: Sequence[InventoryHost], kinds: Optional[Collection[str]]
) -> List[Manifest]:
    """The objects of the groups whose plugin the Network Operator runs."""
    parts = [(own, part) for own, part in result.configurations if own.operated]
    every = [own for own, _part in parts]
    if not parts:
        return []
    if network_operator.with_node_policies(kinds):
        components = [objects.PLUGIN.component, *([ofed.COMPONENT] if any(own.driver for own in every) else [])]
        result.policy = network_operator.policy_fields(without=[f"spec.{name}" for name in components])
        return _node_policies(result, parts)
    for own, part in parts:
        if own.driver:
            right = "but the cluster has no NicNodePolicy (Network Operator 26.4 or newer), so no node could be first"
            result.found += [(host, wrong(ofed.DEPLOY, True, right)) for host in part]

    def taken(own: SharedDevices, host: InventoryHost) -> Sequence[str]:
        return selectors.selected(own.selectors, host.facts) if host.facts else ()

    result.found += network_operator.clashes(parts, hosts, taken, PROVIDER)
    result.policy = result.policy.with_spec(network_operator.cluster_policy(objects.PLUGIN, every))
    result.everywhere = True
    return []


def plan(
    hosts: Sequence[InventoryHost],
    known: variables.Options,
    fleet: Sequence[InventoryHost] = (),
    kinds: Optional[Collection[str]] = None,
    labels: Optional[NodeLabels] = None,
    live: LivePlugins = NO_PLUGINS,
) -> SharedDevicePlan:
    """The plugin for hosts that all have this strategy; their ``found`` problems are by host.

    ``fleet`` are all hosts, ``kinds`` the operators' kinds that the API server serves, ``None`` if nobody knows.
    ``labels`` are those of the cluster's nodes, ``live`` the configurations that they have.
    """
    result = SharedDevicePlan()
    groups = plugin_groups.groups(hosts, (PREFIX, ofed.PREFIX), known, result.found, [LAYER], apart=FLEET_WIDE)
    if not result.found and groups:
        first = groups[0]
        result.namespace = first.values[NAMESPACE]
        misplaced = manifests.misplaced(variables.PARENT_NAMESPACE, NAMESPACE, first.values)
        result.found += [(first.hosts[0].name, problem) for problem in misplaced]
    for group in groups if not result.found else ():
        result.wait = result.wait or any(host.variables[variables.WAIT] for host in group.hosts)
        try:
            devices = _devices(group, known)
        except PlanError as error:
            result.found += group.all(error.problem)
            continue
        nodes = _ports(group, result)
        result.resources[group.name] = f"{devices.prefix}/{devices.resource}"
        result.hcas[group.name] = {host: own.hcas for host, own in nodes.items()}
        result.configurations += _configurations(devices, nodes, live)
    if not result.found and groups:
        every = [own for own, _part in result.configurations]
        of_host = {
            host: _value(own, host, labels or {}, result) for own, part in result.configurations for host in part
        }
        result.kept = live.left_out([group.label for group in groups], set(of_host.values()))
        result.labels = plugin_groups.labels(groups, objects.LABEL, of_host)
        operated = _operated(result, fleet, kinds)
        ours = [own for own in every if not own.operated]
        namespaces = manifests.namespaces(result.namespace) if ours else []
        result.objects = [*namespaces, *objects.PLUGIN.objects(result.namespace, ours), *operated]
    return result
