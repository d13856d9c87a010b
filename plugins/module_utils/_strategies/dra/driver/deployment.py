# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the variables ``rdma_driver_*`` of a fleet to the driver's objects and the labels of the nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import fleet_wide, images
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import host as inventory_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.images import ImageVariables
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import labels as label_changes
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.daemon_options import ATTRIBUTES
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import objects as drivers_objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import (
    GROUP_LABEL,
    Driver,
    LiveDrivers,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import long_names, model, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory, duration, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import (
    PlanError,
    Problem,
    checked,
    messages,
    wrong,
)

PREFIX = "rdma_driver_"
ARCHIVE, IMAGE = "rdma_driver_archive", "rdma_driver_image"
IMAGES = ImageVariables(IMAGE, versions.DRANET_VERSION, "rdma_driver_digest", ARCHIVE)
KUBELET_ROOT = "rdma_driver_kubelet_root"
NAMESPACE = "rdma_driver_namespace"
GPU_DEPLOY = "rdma_driver_gpu_deploy"
# Variables with one value for the whole fleet, and those that are so where the collection deploys the GPUs' driver.
FLEET_WIDE = (NAMESPACE, GPU_DEPLOY)
_OF_THE_GPU_DRIVER = (
    "rdma_driver_gpu_chart",
    "rdma_driver_gpu_root",
    "rdma_driver_gpu_values",
    "rdma_driver_gpu_version",
    KUBELET_ROOT,
)

_SHORTEST_POLL, _LONGEST_POLL = "1s", "24h"
_ADDRESS = f"{model.DRANET}/pciAddress"

Values = Mapping[str, Any]
Found = Iterator[Tuple[str, Problem]]


def one_value(hosts: Iterable[Values]) -> Tuple[str, ...]:
    """Variables of the role with one value for the whole fleet, where hosts have these."""
    return (*FLEET_WIDE, *(_OF_THE_GPU_DRIVER if any(values.get(GPU_DEPLOY) for values in hosts) else ()))


@dataclass
class DriverPlan:
    """``labels`` are those of each node, ``None`` to be removed; ``nodes`` are the same as objects, for manifests.

    A host without facts is in ``unknown``, and its labels stay as they are. ``groups`` is by host the group, as a DNS
    label, whose driver the host shall have.

    ``joining`` are nodes that get a driver that others of their group have already, so that its filter has to be right
    before they are labelled; ``leaving`` are the labels of nodes that lose the driver they have.

    ``unprepared`` is by host why the driver would not work on its node as it is now, which the room prepare can change.
    There are no objects where there are problems.
    """

    namespace: str = ""
    wait: bool = False
    objects: List[Dict[str, Any]] = field(default_factory=list)
    nodes: List[Dict[str, Any]] = field(default_factory=list)
    labels: Dict[str, Dict[str, Optional[str]]] = field(default_factory=dict)
    groups: Dict[str, str] = field(default_factory=dict)
    joining: List[str] = field(default_factory=list)
    leaving: Dict[str, Dict[str, Optional[str]]] = field(default_factory=dict)
    unknown: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    unprepared: Dict[str, str] = field(default_factory=dict)


@dataclass
class _DriverGroup:
    """The hosts of a group that have the driver, with the variables of the first of them in their types."""

    name: str
    label: str
    values: Values
    hosts: List[InventoryHost] = field(default_factory=list)


def keeps(exclude: Sequence[str]) -> str:
    """The driver's filter (CEL over a device's attributes): what is published at all."""
    # Both attributes stay while a NIC is in a pod; an expression that fails would keep the device.
    found = f'"{model.DRANET}/rdma" in attributes && attributes["{model.DRANET}/rdma"].BoolValue'
    if exclude:
        addresses = ", ".join(f'"{address}"' for address in exclude)
        found += f' && !("{_ADDRESS}" in attributes && attributes["{_ADDRESS}"].StringValue in [{addresses}])'
    return found


def _left_out(group: _DriverGroup, kept: Sequence[str] = ()) -> List[str]:
    """PCI addresses that the driver of a group does not publish, ``kept`` among them. Raises PlanError."""
    named = exclusions.excluded(group.values)
    version = versions.dranet(group.values[versions.DRANET_VERSION])
    by_facts = long_names.of_group([host.facts for host in group.hosts if host.facts is not None], version)
    return [*named, *sorted({*by_facts, *kept}.difference(named), key=pci.order)]


def _driver(group: _DriverGroup, kept: Sequence[str], known: plan_variables.Options) -> Driver:
    """The driver of a group, which leaves out what is ``kept`` in any case. Raises PlanError."""
    values = group.values
    version = values[versions.DRANET_VERSION]
    # Before anything that depends on the version, such as the digest.
    versions.dranet(version)
    left_out = _left_out(group, kept)
    manifests.check_share(plan_variables.MAX_UNAVAILABLE, values[plan_variables.MAX_UNAVAILABLE])
    _poll_intervals(values)
    attributes = values[ATTRIBUTES]
    if attributes and not versions.can(versions.dranet(version), versions.PROVIDER_WEBHOOK):
        right = f"but DRANET {version} ({versions.DRANET_VERSION}) takes attributes from nobody: leave it out"
        raise PlanError(wrong(ATTRIBUTES, attributes, right))
    return Driver(
        group=group.label,
        image=images.reference(IMAGES, values, known),
        imported=bool(values[ARCHIVE]),
        filter=keeps(left_out),
        move_ib_interfaces=values["rdma_driver_move_ib_interfaces"],
        kubelet_root=checked(KUBELET_ROOT, values[KUBELET_ROOT], directory.below_root),
        poll_min_interval=values["rdma_driver_poll_min_interval"],
        poll_max_interval=values["rdma_driver_poll_max_interval"],
        more_arguments=drivers_objects.checked_arguments(values[drivers_objects.ARGUMENTS], version, attributes),
        pull_secrets=tuple(values["rdma_driver_pull_secrets"]),
        max_unavailable=values[plan_variables.MAX_UNAVAILABLE],
        attributes=attributes,
    )


def _poll_intervals(values: Values) -> None:
    """:raises PlanError: one is no duration, or the shorter is longer than the other."""
    shorter, longer = "rdma_driver_poll_min_interval", "rdma_driver_poll_max_interval"
    found = [
        checked(name, values[name], lambda text: duration.between(text, _SHORTEST_POLL, _LONGEST_POLL))
        for name in (shorter, longer)
    ]
    if found[0] > found[1]:
        raise PlanError(wrong(longer, values[longer], f"it must be at least {shorter}, {values[shorter]}"))


def _unknown_excludes(group: _DriverGroup) -> Found:
    """Addresses that no node of a group has, so that a NIC that no pod may have is published after all."""
    known: Dict[str, None] = {}
    for host in group.hosts:
        found = host.facts or Facts()
        # A driver may not be loaded yet, and in exclusive mode an RDMA device in a pod is not seen on the host.
        if not found.hcas or found.system.netns_mode == "exclusive":
            return
        known.update(dict.fromkeys(place.address for _hca, place in found.placed))
    for position, text in enumerate(group.values[exclusions.EXCLUDE]):
        if pci.address(text) not in known:
            right = f"which no RDMA device of these nodes has: they have {', '.join(sorted(known, key=pci.order))}"
            for host in group.hosts:
                yield host.name, wrong(f"{exclusions.EXCLUDE}[{position}]", text, right)


def _without_nri(hosts: Iterable[InventoryHost]) -> Dict[str, str]:
    what = "NRI is off (nothing listens on /var/run/nri/nri.sock), but DRANET attaches NICs only through NRI"
    why = f"{what}: prepare the node first (role rdma_runtime)"
    return {host.name: why for host in hosts if host.facts is not None and host.facts.system.nri is False}


def _join(groups: Dict[str, _DriverGroup], host: InventoryHost, values: Values) -> Iterator[Problem]:
    """Add a host to its group, by the group's label, and tell what does not go with the others in it."""
    try:
        label = inventory_groups.label_of_group(host.group)
    except PlanError as error:
        yield error.problem
        return
    group = groups.setdefault(label, _DriverGroup(host.group, label, values))
    group.hosts.append(host)
    if group.name != host.group:
        yield inventory_groups.same_label(host.group, group.name)
    apart = {*FLEET_WIDE, plan_variables.PARENT_NAMESPACE}
    different = sorted(name for name in values.keys() - apart if values[name] != group.values[name])
    if different:
        name, first = different[0], group.hosts[0].name
        right = f"but {group.values[name]!r} on {first}: a group has one driver, so it must be the same"
        yield wrong(name, values[name], right)


def _without_facts(group: _DriverGroup, unseen: Sequence[str], kept: Sequence[str]) -> Iterator[str]:
    """Warnings of hosts without facts, and of what is ``kept`` from pods because of ``unseen`` nodes."""
    silent = [host.name for host in group.hosts if host.facts is None]
    if silent:
        yield f"{fold(silent)}: no facts, so the driver is neither deployed there nor removed"
    planned = _left_out(group)
    only = [address for address in kept if address not in planned]
    if only:
        why = "no facts, so the NICs that these nodes need are unknown: the driver still does not publish"
        yield f"{fold(unseen)}: {why} {', '.join(only)} on any node of group {group.name}"


def _long_names(group: _DriverGroup) -> Iterator[str]:
    """Warnings of NICs that are left out so that the node's others are published."""
    version = group.values[versions.DRANET_VERSION]
    if versions.can(versions.dranet(version), versions.CUT_NAMES):
        return
    found: Dict[str, List[str]] = {}
    for host in group.hosts:
        against = long_names.why(host.facts) if host.facts else {}
        if against:
            rest = {place.address for _hca, place in host.facts.placed} - {*against} if host.facts else set()
            end = "" if rest else ", and the node has no other"
            found.setdefault(f"{'; '.join(against.values())}. It is left out{end}", []).append(host.name)
    for text, names in found.items():
        ways = f"a DRANET newer than {version}, or with another {plan_variables.STRATEGY}"
        yield f"{fold(names)}: {text}: pods get it with {ways}"


def _unprotected(group: _DriverGroup, unseen: Sequence[str], live: LiveDrivers) -> Found:
    """Nodes with the label of a group that has no driver yet, which would publish all of their NICs."""
    for node in unseen if live.nodes is not None and group.label not in live.left_out else ():
        right = "but this group has no driver yet, and without facts, the NICs that this node needs are unknown"
        yield node, wrong(GROUP_LABEL, group.label, f"{right}: gather its facts, or remove the label from the node")


def plan(
    hosts: Sequence[InventoryHost], known: plan_variables.Options, live: Optional[LiveDrivers] = None
) -> DriverPlan:
    """The objects and labels for all hosts. A group's variables have to be the same on all its hosts.

    ``known`` are the specifications of the variables, ``live`` the drivers that are there, ``None`` if nobody knows.
    The nodes of a group share a filter. As long as one of them is not known, it keeps leaving out what it does now.
    """
    live = live or LiveDrivers({}, {})
    of_set = plan_variables.defaults({plan_variables.SET: known[plan_variables.SET]})
    known = plan_variables.with_prefix((PREFIX, *plan_variables.OF_ROLES), known)
    defaults = plan_variables.defaults(known)
    result = DriverPlan(namespace=defaults[NAMESPACE])
    found: List[Tuple[str, Problem]] = []
    groups: Dict[str, _DriverGroup] = {}
    every: List[Tuple[str, Values]] = []
    for host in hosts:
        typed, problems = plan_variables.converted(host.variables, known)
        problems += [problem for problem in host.broken if problem.variable in known]
        values = {**defaults, **typed}
        every.append((host.name, values))
        if not problems and values["rdma_driver_enabled"]:
            result.wait |= values[plan_variables.WAIT]
            problems += _join(groups, host, values)
        found += [(host.name, problem) for problem in problems]
    found += fleet_wide.problems(every, {**defaults, **of_set}, one_value([values for _host, values in every]))
    if every:
        first_host, first_values = every[0]
        result.namespace = first_values[NAMESPACE]
        misplaced = manifests.misplaced(plan_variables.PARENT_NAMESPACE, NAMESPACE, first_values)
        found += [(first_host, problem) for problem in misplaced]
    result.groups = {host.name: group.label for group in groups.values() for host in group.hosts}
    result.unknown = [host.name for host in hosts if host.facts is None and host.name in result.groups]
    result.labels = {
        host.name: {GROUP_LABEL: result.groups.get(host.name)} for host in hosts if host.name not in result.unknown
    }
    nodes = live.nodes or {}
    result.joining = label_changes.joining(GROUP_LABEL, result.labels, nodes, live.left_out)
    result.leaving = label_changes.leaving(GROUP_LABEL, result.labels, nodes)
    drivers = []
    for group in sorted(groups.values(), key=lambda group: group.label):
        unseen = live.unseen(group.label, group.hosts, result.labels)
        kept = live.left_out.get(group.label, ()) if unseen else ()
        try:
            drivers.append(_driver(group, kept, known))
            result.warnings += [*_without_facts(group, unseen, kept), *_long_names(group)]
            found += _unknown_excludes(group)
            found += _unprotected(group, unseen, live)
        except PlanError as error:
            found.append((group.hosts[0].name, error.problem))
    result.problems = messages(found)
    result.unprepared = _without_nri(host for group in groups.values() for host in group.hosts)
    if not found and drivers:
        result.objects = drivers_objects.objects(result.namespace, drivers)
        result.nodes = manifests.nodes(result.labels)
    return result
