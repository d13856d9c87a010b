# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Manifests of a fleet's workloads, rewritten to request RDMA as a group's strategy has it, and reverted.

All of them together: twins on one port, Services and InferencePools belong to each other wherever they are written.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import workloads, yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import may_be_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef, Slot, slots
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue, findings, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import Finding
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import (
    choice,
    pod_template,
    ports,
    required,
    revert,
    unread,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    ChoiceError,
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.claimed import Claims
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.need import needed
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.revert import restored, with_way_back
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import PodShape

_SERVICE = Kind("", "Service")
# Settings that a rewrite leaves to people, because it cannot know what else they are for.
_LEFT = {
    catalogue.PRIVILEGED,
    catalogue.HOST_PATH,
    catalogue.INJECTED,
    catalogue.NODE_LABEL,
    catalogue.NIC_BY_HAND,
    catalogue.GID_BY_HAND,
    catalogue.INTERFACE_BY_HAND,
    catalogue.HOST_ADDRESS,
    catalogue.TCP_BY_HAND,
    catalogue.TRANSPORT_BY_HAND,
}
CANNOT, LEFT = "cannot", "left"
_IF_RDMA = "if it is, name it in rdma_audit_resources, and rewrite again"
_NOTHING = ObjectRef(Kind("", ""), "", "")


class Note(NamedTuple):
    """What was not done to an object: it stays as it is (``cannot``), or people have to look at it (``left``)."""

    document: int
    ref: ObjectRef
    level: str
    text: str


@dataclass
class RewriteResult:
    """New values of the documents, in their order, and what was not done."""

    documents: List[Any]
    notes: List[Note] = field(default_factory=list)


def reverted(documents: Sequence[Any], fixed: Collection[int] = ()) -> RewriteResult:
    """The manifests as they were before :func:`rewritten`, except documents with the numbers in ``fixed``."""
    result = RewriteResult(copy.deepcopy(list(documents)))
    for slot in slots(result.documents):
        if slot.document in fixed:
            continue
        slot.holder[slot.place], why = _before(slot, "cannot be reverted, because it was changed after the rewrite")
        if why:
            result.notes.append(Note(slot.document, slot.ref(""), CANNOT, why))
    return result


def _before(slot: Slot, otherwise: str) -> Tuple[Any, str]:
    """An object as it was before any rewrite; as it is, with the reason, where it cannot go back."""
    item = slot.holder[slot.place]
    try:
        return restored(item), ""
    except revert.ForgedError as error:
        return item, str(error)
    except (revert.PatchError, ValueError) as error:
        return item, f"{otherwise}: {error}"


@dataclass
class _Object:
    """An object on its way: as it was before any rewrite, and as it is to be. With ``stays`` it is not touched.

    ``rewritten``: its pods have the requests of the group, before this run or with it. ``seen`` is what is said of one
    that is not, although its pods use RDMA.
    """

    slot: Slot
    ref: ObjectRef
    was: Any
    item: Any
    stays: bool = False
    rewritten: bool = False
    seen: Sequence[str] = ()


class _Rewriter:
    def __init__(self, options: RewriteOptions, claims: Claims) -> None:
        self.options = options
        self.claims = claims
        self.notes: List[Note] = []
        self.servers: List[ports.Server] = []
        self.frontends: List[ports.Frontend] = []
        self.naming = ports.Naming()
        # Templates that keep their ports.
        self.staying: List[Tuple[ObjectRef, PodShape]] = []

    def note(self, unit: _Object, level: str, why: str) -> None:
        self.notes.append(Note(unit.slot.document, unit.ref, level, why))

    def unit(self, slot: Slot, fixed: bool) -> Iterator[_Object]:
        item = slot.holder[slot.place]
        ref = slot.ref(self.options.namespace)
        if not isinstance(at(item, "metadata"), dict):
            return
        was, why = (item, "") if fixed else _before(slot, "was rewritten and then changed by somebody else")
        if why:
            self.notes.append(Note(slot.document, ref, CANNOT, why))
        yield _Object(slot, ref, was, copy.deepcopy(was), fixed or bool(why))

    def take(self, unit: _Object) -> None:
        """Its templates, all or none of them."""
        if unit.ref.kind == _SERVICE or unit.ref.kind in pods.POOLS:
            self.frontends.append(ports.Frontend(unit.ref, unit.item, unit.ref.kind != _SERVICE, unit.stays))
        elif unit.ref.kind not in workloads.KINDS:
            self.naming.add(unit.ref, unit.item)
        if unit.ref.kind not in workloads.KINDS:
            return
        now = pods.read(unit.ref.kind, unit.slot.holder[unit.slot.place]).pods
        moving = set() if unit.stays else self._rewritten(unit, now)
        self.staying += [(unit.ref, pod) for pod in now if pod.place not in moving]

    def _rewritten(self, unit: _Object, now: Sequence[PodShape]) -> Set[str]:
        """Change its templates. Returns the places of those whose port may change with that of their twins."""
        shapes = pods.read(unit.ref.kind, unit.item).pods
        if not any(findings.uses_rdma(pod, self.options.site) for pod in shapes):
            return set()
        plans, reasons = self._plans(unit, shapes)
        namespace = text(at(unit.item, "metadata", "namespace")) or self.options.namespace
        try:
            if not reasons:
                for template, requests in plans:
                    pod_template.change(template, requests, namespace)
        except ChoiceError as error:
            reasons = [str(error)]
        if reasons:
            unit.stays = True
            for why in dict.fromkeys(reasons):
                self.note(unit, CANNOT, why)
            return set()
        of_place = {pod.place: pod for pod in now}
        found: List[ports.Server] = []
        for template, requests in plans:
            for why in (*pod_template.fewer(template, requests), *required.unread(template.pod)):
                self.note(unit, LEFT, why)
            shown = of_place.get(template.pod.place, template.pod)
            found += ports.server(unit.ref, template.pod, template.spec, shown, unit.slot.document, self.options.site)
        self.servers += found
        for container in [each for pod in shapes if plans for each in pod.containers]:
            for name in [each for each in container.resources if may_be_rdma(each, self.options.site)]:
                self.note(unit, LEFT, f"container {container.name} has {name}, which may be RDMA: {_IF_RDMA}")
        told = list(self._told(shapes))
        for text_of_finding in told if plans else ():
            self.note(unit, LEFT, text_of_finding)
        unit.seen = [] if plans else told
        unit.rewritten = bool(plans)
        if not plans and any(pod.host_network and pod.claims for pod in shapes):
            self.note(unit, CANNOT, "has hostNetwork beside claims, which no rewrite replaces: change it by hand")
        return {workload.pod.place for workload in found}

    def _plans(
        self, unit: _Object, shapes: Sequence[PodShape]
    ) -> Tuple[List[Tuple[pod_template.RewrittenTemplate, List[NamedRequest]]], List[str]]:
        plans: List[Tuple[pod_template.RewrittenTemplate, List[NamedRequest]]] = []
        reasons: List[str] = []
        found = zip(shapes, workloads.templates(unit.ref.kind, unit.item))
        for pod, place in found:
            namespace = text(at(unit.item, "metadata", "namespace")) or self.options.namespace
            need = needed(pod, self.options.site, self.claims.of_pod(place.spec, namespace))
            if not need.containers:
                continue
            template = pod_template.RewrittenTemplate(
                pod,
                need,
                dict_of(place.spec),
                workloads.holder(unit.ref.kind, unit.item, pod.place),
                workloads.network_holder(unit.ref.kind, unit.item, pod.place),
                unit.ref.kind.kind,
                workloads.pods_of(unit.ref.kind, unit.item, pod.place),
                namespace,
                pod.scheduler == "volcano" or unit.ref.kind.group == "batch.volcano.sh",
                self.options.site,
            )
            try:
                requests = choice.chosen(unit.ref, need, self.options)
            except ChoiceError as error:
                reasons.append(str(error))
                continue
            reasons += pod_template.obstacles(template, requests)
            plans.append((template, requests))
        return plans, reasons

    def _told(self, shapes: Sequence[PodShape]) -> Iterator[str]:
        """What a rewrite leaves to people."""
        every = [finding for pod in shapes for finding in findings.of_pod(pod, self.options.site)]
        for finding in findings.merged(every):
            if finding.code in _LEFT and not _solved(finding):
                where = f" (container {', '.join(finding.containers)})" if finding.containers else ""
                yield f"{catalogue.text(finding)}{where}"

    def unread(self, documents: List[Any], units: Sequence[_Object], fixed: Collection[int]) -> None:
        """A note for all that asks for RDMA, is not rewritten, and has none."""
        of_place = {(id(unit.slot.holder), unit.slot.place): unit for unit in units}
        have = {(note.document, note.ref) for note in self.notes}
        for slot in slots(documents):
            item = slot.holder[slot.place]
            ref = slot.ref(self.options.namespace) if workloads.is_object(item) else _NOTHING
            unit = of_place.get((id(slot.holder), slot.place))
            if unit and unit.rewritten:
                self._beside(unit)
                continue
            told = (slot.document, ref) in have or slot.document in fixed
            found = [] if told else unread.signs(item, self.options.site) or (unit.seen if unit else ())
            if found:
                self.notes.append(Note(slot.document, ref, CANNOT, f"has {unread.told(found)}, {_why_unread(ref)}"))

    def _beside(self, unit: _Object) -> None:
        """A note for RDMA in a rewritten object where it has no pods."""
        # They are kept, so that nothing else gets their ids.
        places = list(workloads.templates(unit.ref.kind, unit.item))
        known = {id(part) for place in places for part in (place.metadata, place.spec)}
        found = unread.signs(unit.item, self.options.site, known)
        if found:
            self.note(unit, LEFT, f"has {unread.told(found)} outside its pods: left as it is")


def _why_unread(ref: ObjectRef) -> str:
    if ref == _NOTHING:
        return "but is not a Kubernetes object: change it by hand, or render the manifests that are made from it"
    if ref.kind in workloads.KINDS:
        return "but not where its pods request RDMA: change it by hand if it is a request"
    return f"but objects of kind {ref.kind.kind} are not rewritten: change it, or what is made from it, by hand"


def dict_of(value: Any) -> Dict[str, Any]:
    """A map that is changed in place."""
    found: Dict[str, Any] = value
    return found


def _solved(finding: Finding) -> bool:
    if finding.code == catalogue.INJECTED:
        return findings.is_ours(str(finding.fields["annotation"]))
    return finding.code == catalogue.HOST_ADDRESS and finding.fields["variable"] in pod_template.OWN_ADDRESS


def rewritten(documents: Sequence[Any], options: RewriteOptions, fixed: Collection[int] = ()) -> RewriteResult:
    """The manifests with the requests of the group's strategy. Those that have them already are as they are.

    Documents with the numbers in ``fixed`` stay as they are, and what belongs to them with them.
    """
    result = RewriteResult(copy.deepcopy(list(documents)))
    objects = ((slot.ref(options.namespace), slot.holder[slot.place]) for slot in slots(result.documents))
    ours = [name for request in options.requests for name in request.claimed.values()]
    rewriter = _Rewriter(options, Claims(objects, ours))
    units = [unit for slot in slots(result.documents) for unit in rewriter.unit(slot, slot.document in fixed)]
    for unit in units:
        rewriter.take(unit)
    rewriter.unread(result.documents, units, fixed)
    for server, why in ports.unify(rewriter.servers, rewriter.frontends, rewriter.naming, rewriter.staying):
        rewriter.notes.append(Note(server.document, server.ref, LEFT, why))
    # Without its pods, an object that leads to them keeps the ports that it got with them. Not by their names, since a
    # repository may have the same object for several clusters.
    leading = ports.Leading(rewriter.frontends)
    led = {id(frontend.item) for server in rewriter.servers for frontend in leading.to(server.ref, server.pod)}
    alone = {id(frontend.item) for frontend in rewriter.frontends} - led
    for unit in units:
        if unit.stays or id(unit.item) in alone:
            continue
        new = with_way_back(unit.was, unit.item)
        if not yaml_values.same(new, unit.slot.holder[unit.slot.place]):
            unit.slot.holder[unit.slot.place] = new
    result.notes = sorted(rewriter.notes, key=lambda note: (note.document, note.level))
    return result
