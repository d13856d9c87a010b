# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plans the claims of all hosts in one pass, from what is known of their nodes, and finds their problems."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.read import GATHER_FIRST
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import fleet_wide, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts as claims_hosts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import intent, network, single
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import objects as claims_objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import templates as claims_templates
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.hosts import ClaimMember, Found
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import (
    Claim,
    ClaimIntent,
    Template,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode, hcas_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, taints, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, messages, wrong

# firstAvailable (DRAPrioritizedList) and DRAExtendedResource are on by default from here on.
_FIRST_AVAILABLE, _EXTENDED_RESOURCES = (1, 34), (1, 36)
_GPU_DRIVER = (
    "NVIDIA's DRA driver provides gpu.nvidia.com: set rdma_driver_gpu_deploy to true, or install its chart with helm"
    " (oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu, gpuResourcesEnabledOverride=true)"
)


@dataclass
class ClaimPlan:
    """``objects`` are in the order in which they are to be applied; there are none where there are problems.

    ``names`` are the ResourceClaimTemplates of each template, several where a pod has to choose by NUMA node, and
    ``claims`` by host the single claims of its NICs.
    ``resources`` are by group the extended resources, each with the HCAs that a pod can get of it by host.

    ``unmet`` is by host why what is published there does not meet the claims that were planned by its facts, or why its
    GPUs cannot be handed out yet.
    ``unknown`` are hosts with claims of which too little is known, so that objects that they need may be missing.
    """

    objects: List[Dict[str, Any]] = field(default_factory=list)
    names: Dict[str, List[str]] = field(default_factory=dict)
    claims: Dict[str, List[str]] = field(default_factory=dict)
    resources: Dict[str, Dict[str, Dict[str, List[str]]]] = field(default_factory=dict)
    text: str = ""
    warnings: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    unmet: Dict[str, List[str]] = field(default_factory=dict)
    unknown: List[str] = field(default_factory=list)


class ClaimPlanner:
    """``nodes`` are all nodes with facts or published devices, by name."""

    def __init__(
        self, members: Sequence[ClaimMember], nodes: Mapping[str, ClaimNode], kubernetes: Optional[Tuple[int, ...]]
    ) -> None:
        self.members, self.nodes, self.kubernetes = {member.host.name: member for member in members}, nodes, kubernetes
        self.plan = ClaimPlan()
        self.found: Found = []
        self.unnamed: Found = []
        self.invalid = False
        self.lines: List[str] = []
        self.unseen: Set[str] = set()
        self.claimed: Set[str] = set()

    def templates(self) -> None:
        entries, problems = claims_hosts.templates(self.members.values())
        self.found += problems
        taken: Dict[str, str] = {}
        for template, wanted, names in entries.values():
            own = self._template(template, wanted, names)
            self.found += [(name, problem) for problem in own.problems for name in names]
            self.unnamed += own.unnamed.items()
            self.invalid |= own.invalid
            self.unseen |= set(names if own.unseen else ())
            self.plan.warnings += own.warnings
            self.plan.objects += own.objects
            if template.resource:
                self._resource(template.resource, own.places, names)
            else:
                self.plan.names[template.name] = own.names
            groups = ", ".join(dict.fromkeys(self.members[name].host.group for name in names))
            self.lines += [f"{template.name} ({groups}), {own.align}", *own.lines] if own.lines else []
            for name in own.names:
                if taken.setdefault(name, template.name) != template.name:
                    kind = "DeviceClass" if template.resource else "ResourceClaimTemplate"
                    text = f"becomes a {kind} {name}, and so does {taken[name]}: choose another name"
                    self.found += [(host, Problem(f"{template.at}.name", text)) for host in names]

    def _resource(self, resource: str, places: Mapping[str, Collection[int]], names: Sequence[str]) -> None:
        for node in (self.nodes[name] for name in names if name in self.nodes):
            nics = [node.devices[place] for place in sorted(places.get(node.key, ()))]
            of_group = self.plan.resources.setdefault(self.members[node.name].host.group, {})
            of_group.setdefault(resource, {})[node.name] = hcas_of(node, nics)

    def _too_old(self, template: Template) -> Optional[str]:
        """What the template needs that this version of Kubernetes lacks."""
        needs = {"has first_available, which": _FIRST_AVAILABLE} if template.first_available else {}
        if template.resource:
            # Before, the API server drops the field without a word, and pods wait forever.
            needs["is an extended resource served by DRA, which"] = _EXTENDED_RESOURCES
        for what, least in needs.items():
            if self.kubernetes is not None and self.kubernetes < least:
                return f"{what} needs Kubernetes {versions.text(least)}: this is {versions.text(self.kubernetes)}"
        return None

    def _template(self, template: Template, wanted: ClaimIntent, names: Sequence[str]) -> claims_templates.Planned:
        kinds, hosts, silent = claims_hosts.kinds(names, self.nodes)
        too_old = self._too_old(template)
        if too_old is not None:
            return claims_templates.Planned(problems=[Problem(template.at, too_old)])
        if not kinds:
            text = f"({template.name}) cannot be checked without facts of its nodes: {GATHER_FIRST}"
            return claims_templates.Planned(problems=[Problem(template.at, text)])
        warnings: List[str] = []
        if template.nics is None or template.nics > 1 or template.resource:
            sharing, nics = self._sharing(names), [(node, node.nics) for node in kinds]
            settled, warnings = network.apart(template.name, template, wanted.dranet, sharing, nics)
            template = replace(template, parameters=settled)
        own_names = set(names)
        others = [name for name in self.nodes if name not in own_names]
        own = claims_templates.plan(template, wanted, kinds, hosts, *claims_hosts.kinds(others, self.nodes)[:2])
        own.warnings += warnings
        if silent:
            own.warnings.append(f"{template.name}: not checked on hosts without facts: {fold(silent)}")
        unchecked = [name for name in names if name in self.nodes and self.members[name].host.facts is None]
        if unchecked and template.nics != 0:
            text = "NICs counted as published, but not checked, on hosts without facts"
            own.warnings.append(f"{template.name}: {text}: {fold(unchecked)}")
        return own

    def _sharing(self, names: Sequence[str], texts: Sequence[str] = ()) -> List[str]:
        """Hosts of which two rails have the same network; ``texts`` are addresses that pods get instead."""
        return [
            member.host.name
            for member in (self.members[name] for name in names)
            if network.same_subnet(texts) or network.share_subnet(member.host.name, member.values, member.host.facts)
        ]

    def _host_of(self, claim: Claim, names: Sequence[str]) -> Tuple[ClaimMember, Facts]:
        """The host whose NIC a claim is for, with its facts: only they say which NIC that is. Raises PlanError."""
        if claim.host is None and len(names) > 1:
            ways = "set host, or put it into the variables of one host"
            raise PlanError(Problem(claim.at, f"has no host, and {len(names)} hosts have this claim: {ways}"))
        name = claim.host or names[0]
        if name not in self.members:
            raise PlanError(wrong(f"{claim.at}.host", name, "which is not a host of this run"))
        member = self.members[name]
        if member.host.facts is None:
            raise PlanError(Problem(claim.at, f"is for a NIC of {name}, which has no facts: {GATHER_FIRST}"))
        return member, member.host.facts

    def claims(self) -> None:
        entries: Dict[str, Tuple[Claim, List[ClaimMember]]] = {}
        for member in self.members.values():
            for claim in member.wanted.claims:
                known = entries.setdefault(claim.name, (claim, []))
                if replace(known[0], at="", address_at="") != replace(claim, at="", address_at=""):
                    right = (
                        f"which is another claim on {fold(member.host.name for member in known[1])}: names must differ"
                    )
                    self.found.append((member.host.name, wrong(f"{claim.at}.name", claim.name, right)))
                    continue
                known[1].append(member)
        if not entries:
            return
        bound: List[single.Bound] = []
        for claim, having in entries.values():
            try:
                member, facts = self._host_of(claim, [member.host.name for member in having])
                name = member.host.name
                self.claimed.add(name)
                claimed = single.bind(claim, name, member.values, facts, self.nodes[name], member.wanted)
            except single.UnseenError as error:
                self.unseen.add(name)
                why = "In RDMA netns mode exclusive, NICs in pods are not visible, so this may be wrong"
                self.plan.warnings.append(f"{name}: {error}. {why}, and an existing claim is not changed")
                continue
            except PlanError as error:
                self.found.append((having[0].host.name, error.problem))
                continue
            own = single.problems(claimed, member.wanted, self.nodes[name])
            self.found += [(name, problem) for problem in own]
            what = f"{claimed.device.pci} of {name}" + (f", {', '.join(claim.addresses)}" if claim.addresses else "")
            self.lines.append(f"{claim.name}: the NIC at {what}")
            self.unseen |= {name} if claimed.unseen else set()
            bound.append(claimed)
        self._addresses(bound)
        self.plan.warnings += single.warnings(bound)
        for name in dict.fromkeys(claimed.host for claimed in bound):
            self._claims_of(name, [claimed for claimed in bound if claimed.host == name])

    def _claims_of(self, host: str, bound: Sequence[single.Bound]) -> None:
        """The objects of the claims of one host: a pod may have several of them."""
        wanted, names = self.members[host].wanted, ", ".join(claimed.claim.name for claimed in bound)
        own = {claimed.device.name: claimed.claim.addresses for claimed in bound}
        sharing = self._sharing([host], [text for texts in own.values() for text in texts]) if len(own) > 1 else []
        warned: Dict[str, None] = {}
        for claimed in bound:
            nics = [(self.nodes[host], [claimed.device])]
            parameters, warnings = network.apart(names, claimed.claim, wanted.dranet, sharing, nics)
            made = single.objects(claimed, wanted, parameters)
            self.plan.objects += made
            if made:
                self.plan.claims.setdefault(host, []).append(claimed.claim.name)
            warned.update(dict.fromkeys(warnings))
        self.plan.warnings += warned

    def _addresses(self, bound: Sequence[single.Bound]) -> None:
        planned = {}
        for name, member in self.members.items():
            # The role rdma_links reports their problems.
            with contextlib.suppress(PlanError):
                planned[name] = host_links.addresses(name, member.values)
        entries = [(claimed.claim, claimed.host, claimed.rail) for claimed in bound]
        self.found += network.taken(entries, planned)

    def gpu_classes(self, there: Collection[str]) -> None:
        """Refuse claims of GPUs of a class that the cluster does not have."""
        for name, member in self.members.items():
            wanted = member.wanted.gpu_class
            if wanted not in there and any(template.gpus for template in member.wanted.templates):
                brings = "AMD's DRA driver or GPU operator provides it" if wanted == model.AMD_DRIVER else _GPU_DRIVER
                right = f"which is not a DeviceClass of the cluster: {brings}"
                self.found.append((name, wrong(intent.GPU_CLASS, wanted, right)))

    def run(self) -> None:
        self.templates()
        self.claims()
        asking = [
            name
            for name, member in self.members.items()
            # A claim for a NIC of this host may be in the variables of another one.
            if member.wanted.templates or member.wanted.claims or name in self.claimed
        ]
        self.plan.unknown = [name for name in asking if name not in self.nodes]
        if self.plan.unknown:
            text = "these hosts have neither facts nor published devices, so claims that are no longer planned are kept"
            self.plan.warnings.append(f"{fold(self.plan.unknown)}: {text}")
        self.plan.unknown += [name for name in asking if name in self.unseen and name in self.nodes]
        known = [self.nodes[name] for name in asking if name in self.nodes]
        self.plan.warnings += taints.lines(device for node in known for device in node.devices if device.is_barred)
        classes = dict.fromkeys(self.members[name].wanted.nic_class for name in asking)
        self.plan.objects = [claims_objects.device_class(name) for name in classes] + self.plan.objects
        self.plan.text = "\n".join(self.lines)
        warned = [(name, warning) for name, member in self.members.items() for warning in member.wanted.warnings]
        self.plan.warnings += messages(warned)


def _planned(
    members: Sequence[ClaimMember],
    published: Sequence[model.SliceDevice],
    kubernetes: Optional[Tuple[int, ...]],
    device_classes: Optional[Collection[str]],
    tolerant: bool,
) -> Tuple[ClaimPlan, Found]:
    """The plan and its problems."""

    def attempt(odd: Collection[str] = ()) -> ClaimPlanner:
        nodes = claims_hosts.nodes(members, [device for device in published if device.node not in odd])
        for node in (nodes[name] for name in odd if name in nodes):
            # That facts may lack something is no proof that it is there.
            node.may_hide_nics = False
        planner = ClaimPlanner(members, nodes, kubernetes)
        if device_classes is not None:
            planner.gpu_classes(device_classes)
        planner.run()
        return planner

    planner = attempt()
    found, unmet = planner.found, list(planner.unnamed)
    odd = {host for host, _problem in found}
    if tolerant and not planner.invalid and not odd.isdisjoint(str(device.node) for device in published):
        by_facts = attempt(odd)
        if not by_facts.found:
            planner, found, unmet = by_facts, [], [*found, *by_facts.unnamed]
    if found:
        return planner.plan, found
    if not tolerant:
        planner.plan.warnings += messages(unmet)
        unmet = []
    for host, problem in unmet:
        planner.plan.unmet.setdefault(host, []).extend(messages([(host, problem)]))
    return planner.plan, []


def plan(
    hosts: Sequence[InventoryHost],
    slices: Iterable[Mapping[str, Any]] = (),
    kubernetes: Optional[Tuple[int, ...]] = None,
    device_classes: Optional[Collection[str]] = None,
    known: Optional[variables.Options] = None,
    tolerant: bool = False,
) -> ClaimPlan:
    """The claims of a fleet.

    ``slices`` are ResourceSlices of the cluster; ``kubernetes``, its version, and ``device_classes``, their names, are
    ``None`` where nothing is known of them. ``known`` are the specifications of the variables.

    ``tolerant``: claims that are right by the facts of their hosts, and wrong only by what is published there, are no
    problem but ``unmet``, so that the claims of others need not wait for these nodes. GPUs that cannot be handed out
    yet are ``unmet`` as well, and a warning without it.

    A CEL library that is missing is one of the problems, once. Raises ValueError for a slice that is none.
    """
    ordered = sorted(hosts, key=lambda host: natural_key(host.name))
    options = variables.options_of() if known is None else known
    members, found = claims_hosts.members(ordered, options)
    defaults = variables.defaults(options)
    every = [(member.host.name, member.values) for member in members]
    names = (*deployment.one_value([values for _host, values in every]), *claims_hosts.FLEET_WIDE)
    found += fleet_wide.problems(every, defaults, names)
    if not found:
        try:
            result, found = _planned(members, model.devices(slices), kubernetes, device_classes, tolerant)
        except cel.LibraryMissingError as error:
            return ClaimPlan(problems=[str(error)])
    else:
        result = ClaimPlan()
    result.warnings += [
        f"{host.name}: its RDMA facts cannot be used: {host.malformed}" for host in ordered if host.malformed
    ]
    if found:
        result.objects, result.names, result.claims, result.resources = [], {}, {}, {}
        result.problems = messages(found)
    return result
