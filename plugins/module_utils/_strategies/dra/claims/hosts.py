# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of a fleet for the plan of claims: their variables in their types, what is known of their devices, VFs that
links will bring included, and which of them share a template.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import coming_vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import MODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import configuration, planned
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names as attribute_names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import intent, node
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import ClaimIntent, Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import (
    long_names,
    model,
    predict,
    versions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

Found = List[Tuple[str, Problem]]

# Variables of the role with one value for the whole fleet.
FLEET_WIDE = ("rdma_claims_wait_timeout",)


@dataclass
class ClaimMember:
    """A host whose variables are right."""

    host: InventoryHost
    values: Dict[str, Any]
    wanted: ClaimIntent


def _defaults(known: plan_variables.Options) -> Dict[str, Any]:
    return {name: known[name]["default"] for name in intent.VARIABLES if known.get(name, {}).get("default") is not None}


def members(hosts: Sequence[InventoryHost], known: plan_variables.Options) -> Tuple[List[ClaimMember], Found]:
    """The hosts with valid variables, and the problems of all others."""
    defaults = _defaults(known)
    intents: Dict[str, Tuple[Optional[ClaimIntent], List[Problem]]] = {}
    members: List[ClaimMember] = []
    found: Found = []
    for host in hosts:
        values, problems = plan_variables.converted(host.variables, known)
        ours = [problem for problem in host.broken + problems if problem.variable.startswith(intent.VARIABLES)]
        ours += plan_variables.unknown((name for name in host.variables if name.startswith("rdma_claims")), known)
        wanted: Optional[ClaimIntent] = None
        if not ours:
            own = {**defaults, **{name: values[name] for name in intent.VARIABLES if name in values}}
            # Not as JSON: YAML has keys that JSON does not, such as dates.
            key = repr(sorted(own.items()))
            if key not in intents:
                intents[key] = intent.intent(own)
            wanted, ours = intents[key]
        found += [(host.name, problem) for problem in ours]
        if wanted is not None:
            members.append(ClaimMember(_with_vfs(host, values, wanted), values, wanted))
    return _without_excluded(members), found


def _of_vfs(wanted: ClaimIntent) -> bool:
    return any(pick.vf for template in wanted.templates for pick in template.nic)


def _with_vfs(host: InventoryHost, values: Mapping[str, Any], wanted: ClaimIntent) -> InventoryHost:
    """The same, with the VFs that are still to be created where a template asks for VFs."""
    if host.facts is None or not _of_vfs(wanted):
        return host
    return replace(host, facts=coming_vfs.of_host(host.name, values, host.facts))


def _without_excluded(members: Sequence[ClaimMember]) -> List[ClaimMember]:
    """The same, with what the driver of each group leaves out by the facts of its nodes."""
    groups: Dict[str, List[Facts]] = {}
    drivers: Dict[str, versions.Numbers] = {}
    for member in members:
        if member.host.facts is not None:
            groups.setdefault(member.host.group, []).append(member.host.facts)
            drivers.setdefault(member.host.group, member.wanted.dranet)
    excluded = {group: long_names.of_group(facts, drivers[group]) for group, facts in groups.items()}
    # Hosts with the same variables go on sharing one intent.
    intents: Dict[Tuple[int, str], ClaimIntent] = {}
    for member in members:
        key = (id(member.wanted), member.host.group)
        if key not in intents:
            every = dict.fromkeys([*member.wanted.exclude, *excluded.get(member.host.group, [])])
            intents[key] = replace(member.wanted, exclude=tuple(every))
    return [replace(member, wanted=intents[id(member.wanted), member.host.group]) for member in members]


def _of_rails(wanted: ClaimIntent) -> bool:
    return any(template.rails for template in wanted.templates)


def _with_rails(member: ClaimMember, facts: Facts, devices: Sequence[model.SliceDevice]) -> List[model.SliceDevice]:
    """The devices with the rails that the daemon of the host is to say, whatever DRANET has heard so far."""
    said = planned.of_host(member.host.name, member.values, facts)
    found = []
    for device in devices:
        attributes = device.attributes
        if device.driver == model.DRANET and device.pci in said:
            attributes = {name: value for name, value in attributes.items() if name != attribute_names.RAIL}
            rail = said[device.pci].get(configuration.RAIL)
            attributes.update({} if rail is None else {attribute_names.RAIL: rail})
        found.append(replace(device, attributes=attributes))
    return found


def _own_selectors(members: Iterable[ClaimMember]) -> List[str]:
    found: Dict[str, None] = {}
    for member in members:
        for template in member.wanted.templates:
            for texts in [pick.selectors for pick in template.gpu] + [pick.selectors for pick in template.nic]:
                found.update(dict.fromkeys(texts))
    return list(found)


def nodes(members: Sequence[ClaimMember], published: Sequence[model.SliceDevice]) -> Dict[str, ClaimNode]:
    """The nodes with facts or published devices. Published devices take precedence over expected ones."""
    by_node: Dict[str, List[model.SliceDevice]] = {}
    for device in published:
        by_node.setdefault(str(device.node), []).append(device)
    selectors = _own_selectors(members)
    found = {}
    for member in members:
        host, wanted = member.host, member.wanted
        devices = by_node.get(host.name, [])
        drivers = {device.driver for device in devices}
        if host.facts is not None and (
            _of_vfs(wanted) or not drivers >= {model.DRANET, *predict.gpu_drivers(host.facts)}
        ):
            there = {device.pci for device in devices}
            expected = predict.predicted(
                host.name, host.facts, wanted.dranet, wanted.gpu, wanted.move_ib, wanted.exclude
            )
            # A driver that runs already publishes new VFs only some time after they were created.
            devices = devices + [
                device
                for device in expected
                if device.driver not in drivers
                or (_of_vfs(wanted) and device.attributes.get(model.IS_VF) is True and device.pci not in there)
            ]
        if host.facts is not None and _of_rails(wanted):
            devices = _with_rails(member, host.facts, devices)
        if devices or host.facts is not None:
            found[host.name] = node.node(
                host.name,
                host.group,
                devices,
                host.facts,
                selectors,
                published=drivers,
                transport_mode=member.values.get(MODE),
            )
    return found


def _same(template: Template, wanted: ClaimIntent, other: Template, other_wanted: ClaimIntent) -> bool:
    """Whether two templates with the same name are equal except for their place in the inventory."""
    return wanted is other_wanted or (
        replace(template, at="") == replace(other, at="")
        # A DeviceClass is in no namespace.
        and (bool(template.resource) or wanted.namespaces == other_wanted.namespaces)
        and (wanted.nic_class, wanted.gpu_class) == (other_wanted.nic_class, other_wanted.gpu_class)
    )


def templates(members: Iterable[ClaimMember]) -> Tuple[Dict[str, Tuple[Template, ClaimIntent, List[str]]], Found]:
    """Each template with the hosts that have it; a problem where two are different and have one name."""
    found: Dict[str, Tuple[Template, ClaimIntent, List[str]]] = {}
    problems: Found = []
    for member in members:
        # Hosts with the same variables share one intent.
        for template in member.wanted.templates:
            known, wanted, names = found.setdefault(template.name, (template, member.wanted, []))
            if _same(template, member.wanted, known, wanted):
                names.append(member.host.name)
                continue
            what = "extended resource" if template.resource else "template"
            right = f"which is a different {what} on {fold(names)}: use different names, or the same content"
            problems.append((member.host.name, wrong(f"{template.at}.name", template.name, right)))
    return found, problems


def kinds(
    names: Sequence[str], nodes: Mapping[str, ClaimNode]
) -> Tuple[List[ClaimNode], Dict[str, List[str]], List[str]]:
    """One node of each kind, the names of all nodes of a kind by its key, and the hosts without facts or devices."""
    hosts: Dict[str, List[str]] = {}
    found: List[ClaimNode] = []
    for name in names:
        node = nodes.get(name)
        if node is not None and node.key not in hosts:
            found.append(node)
        if node is not None:
            hosts.setdefault(node.key, []).append(name)
    return found, hosts, [name for name in names if name not in nodes]
