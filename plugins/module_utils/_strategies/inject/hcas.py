# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plans from the variables ``rdma_inject_*`` and the facts of a fleet which HCAs can be injected on its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import IN_POD, PASSING
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.exclusions import excluded
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import groups as plugin_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import (
    PluginGroup,
    PluginPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory, integer, memlock, names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import (
    PlanError,
    Problem,
    RefusedError,
    refused,
    wrong,
)

LABEL = node_labels.of_nodes("inject")
PREFIX = "rdma_inject_"
POLICY, NAMESPACES, MEMLOCK = PREFIX + "policy", PREFIX + "namespaces", PREFIX + "memlock"
EXCLUDE, METRICS = PREFIX + "exclude", PREFIX + "metrics"
RESOURCE, COUNT, GPU_RESOURCE = PREFIX + "resource", PREFIX + "count", "rdma_workloads_gpu_resource"
# They may differ from host to host: each has a configuration of its own.
_OF_HOST = (EXCLUDE,)
_MOST = 10000
_AMD = "1002"
# Kept by the node_exporter's textfile collector, which reads no other files.
_METRICS_SUFFIX = ".prom"


@dataclass
class InjectPlan(PluginPlan):
    """``hcas`` are by group and host those that containers can get there, each beside a GPU.

    ``values`` are the groups' variables, ``ethernet`` the groups with an HCA that is RoCE.
    """

    hcas: Dict[str, Dict[str, List[str]]] = field(default_factory=dict)
    values: Dict[str, Mapping[str, Any]] = field(default_factory=dict)
    ethernet: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class _NodeHcas:
    """What a node has beside its GPUs; without ``hcas`` ``why`` says why it has none."""

    hcas: List[str] = field(default_factory=list)
    ethernet: bool = False
    why: str = ""


def _memlock(text: str) -> Any:
    return 0 if text == "0" else memlock.limit(text)


def _namespace(text: str) -> str:
    if not names.is_label(text):
        raise RefusedError("it must be the name of a namespace, like training")
    return text


def _metrics(text: str) -> str:
    found = directory.below_root(text)
    if not found.endswith(_METRICS_SUFFIX):
        raise RefusedError(f"it must end with {_METRICS_SUFFIX}, because node_exporter reads no other file")
    return found


def _resource(text: str) -> str:
    if not names.is_extended_resource(text):
        raise RefusedError("it must be an extended resource like rdma.io/hca, or '' for none")
    return text


def settings(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's ``rdma_inject_*`` variables, beyond their types; defaults included."""
    yield from refused(MEMLOCK, values[MEMLOCK], _memlock, more=", or '0' for no change")
    for variable, rule in ((METRICS, _metrics), (RESOURCE, _resource)):
        if values[variable]:
            yield from refused(variable, values[variable], rule)
    for variable, rule in ((NAMESPACES, _namespace), (EXCLUDE, configuration.hca)):
        for position, text in enumerate(values[variable]):
            yield from refused(f"{variable}[{position}]", text, rule)
    try:
        excluded(values)
    except PlanError as error:
        yield error.problem
    if values[POLICY] == "gpu_containers" and values[NAMESPACES]:
        right = f"but with {POLICY} gpu_containers the containers of all namespaces get devices: leave one of them out"
        yield wrong(NAMESPACES, values[NAMESPACES], right)
    yield from refused(COUNT, values[COUNT], integer.between(0, _MOST))
    if not names.is_extended_resource(values[GPU_RESOURCE]):
        yield wrong(GPU_RESOURCE, values[GPU_RESOURCE], "it must be the GPUs' extended resource, like nvidia.com/gpu")
    elif values[GPU_RESOURCE] == values[RESOURCE]:
        yield wrong(RESOURCE, values[RESOURCE], f"but so is {GPU_RESOURCE}: choose another name")


def exclusions(values: Mapping[str, Any]) -> List[str]:
    """Names and PCI addresses of HCAs that no container gets. Raises PlanError."""
    return [*map(configuration.hca, values[EXCLUDE]), *excluded(values)]


def _for_containers(facts: Facts, exclude: Sequence[str], layer: Optional[str]) -> List[Hca]:
    """The HCAs of a node that containers can have, now or when they have come up or back; ``layer`` is theirs."""
    kept = {entry.hca for entry in facts.excluded if any(reason.code not in PASSING for reason in entry.reasons)}
    barred = {*exclude, *kept}
    every = [hca for hca in facts.hcas if hca.has_layer(layer)]
    return [hca for hca in every if hca.name not in barred and not (hca.pci and hca.pci.address in barred)]


def _node(facts: Facts, exclude: Sequence[str], layer: Optional[str]) -> _NodeHcas:
    """What containers can get on a node with these facts."""
    if not facts.gpus:
        return _NodeHcas(why="no GPU, and NICs are injected only next to GPUs")
    if all(gpu.pci.vendor_id == _AMD for gpu in facts.gpus):
        return _NodeHcas(why="only AMD GPUs, which the plugin does not recognise in containers")
    active = {entry.hca for entry in facts.usable}
    near = {name for entry in facts.affinity for name in entry.nearest}
    found = [hca for hca in _for_containers(facts, exclude, layer) if hca.name in active & near]
    if not found:
        return _NodeHcas(why="no GPU has an HCA with an ACTIVE port")
    layers = {port.link_layer for hca in found for port in hca.ports}
    return _NodeHcas([hca.name for hca in found], "Ethernet" in layers)


def _nodes(group: PluginGroup, result: InjectPlan) -> Dict[str, _NodeHcas]:
    nodes: Dict[str, _NodeHcas] = {}
    for host in group.hosts:
        if host.facts is None:
            continue
        exclude, layer = exclusions(host.variables), host.variables[LAYER]
        own = _node(host.facts, exclude, layer)
        moved = {entry.hca for entry in host.facts.excluded if IN_POD in {reason.code for reason in entry.reasons}}
        away = [hca.name for hca in _for_containers(host.facts, exclude, layer) if hca.name in moved]
        if away:
            result.found.append((host.name, group.taken(away)))
        elif own.hcas:
            nodes[host.name] = own
        else:
            result.warnings.append(f"{host.name}: {own.why}, so containers get no NIC there")
    result.warnings += group.left_alone()
    if not nodes and not result.found:
        result.found += group.all(group.without("has an NVIDIA GPU with an HCA next to it that has an ACTIVE port"))
    return nodes


def plan(hosts: Sequence[InventoryHost], known: plan_variables.Options) -> InjectPlan:
    """What pods can have on hosts that all have this strategy; their ``found`` problems are by host."""
    result = InjectPlan()
    groups = plugin_groups.groups(hosts, PREFIX, known, result.found, [LAYER, GPU_RESOURCE], apart=_OF_HOST)
    values_of: Dict[str, str] = {}
    if not result.found:
        for host in (host for group in groups for host in group.hosts):
            result.found += [(host.name, problem) for problem in settings(host.variables)]
    for group in groups if not result.found else ():
        nodes = _nodes(group, result)
        result.values[group.name] = group.values
        result.hcas[group.name] = {host: own.hcas for host, own in nodes.items()}
        if any(own.ethernet for own in nodes.values()):
            result.ethernet.append(group.name)
            text = "its NICs are RoCE, so only pods on the host network (hostNetwork: true) get them"
            result.warnings.append(f"group {group.name}: {text}; other pods that request RDMA are refused")
        values_of.update(dict.fromkeys(nodes, group.label))
    if not result.found:
        result.labels = plugin_groups.labels(groups, LABEL, values_of)
    return result
