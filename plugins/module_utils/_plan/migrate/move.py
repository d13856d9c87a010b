# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Manifests of a fleet's workloads, rewritten to ask as a group's strategy wants it, and back. All of them together:
twins on one port, Services and InferencePools belong to each other wherever they are written.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import (
    codes,
    findings,
    kinds,
    patch,
    pods,
    port_moves,
    replicas,
    requests,
    rewrite,
    texts,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.documents import Slot, ref_of, slots
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import (
    Finding,
    Kind,
    ObjectRef,
    PodShape,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import ChoiceError, PodAsk, Wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.way_back import remembering, restored

_SERVICE = Kind("", "Service")
# Settings that a rewrite leaves to people, because it cannot know what else they are for.
_LEFT = {
    codes.PRIVILEGED,
    codes.HOST_PATH,
    codes.INJECTED,
    codes.NODE_LABEL,
    codes.NIC_BY_HAND,
    codes.GID_BY_HAND,
    codes.INTERFACE_BY_HAND,
    codes.HOST_ADDRESS,
    codes.TRANSPORT_BY_HAND,
}
CANNOT, LEFT = "cannot", "left"


class Note(NamedTuple):
    """What was not done to an object: it stays as it is (``cannot``), or people have to look at it (``left``)."""

    document: int
    ref: ObjectRef
    level: str
    text: str


@dataclass
class Moved:
    """New values of the documents, in their order, and what was not done."""

    documents: List[Any]
    notes: List[Note] = field(default_factory=list)


def back(documents: Sequence[Any], fixed: Collection[int] = ()) -> Moved:
    """The manifests as they were before :func:`forward`, except documents with the numbers in ``fixed``."""
    moved = Moved(copy.deepcopy(list(documents)))
    for slot in slots(moved.documents):
        if slot.document in fixed:
            continue
        item = slot.holder[slot.place]
        try:
            slot.holder[slot.place] = restored(item)
        except (patch.PatchError, ValueError) as error:
            why = f"cannot go back, because it was changed since: {error}"
            moved.notes.append(Note(slot.document, ref_of(item, ""), CANNOT, why))
    return moved


@dataclass
class _Unit:
    """An object on its way: as it was before any rewrite, and as it is to be. With ``stays`` it is not touched."""

    slot: Slot
    ref: ObjectRef
    was: Any
    item: Any
    stays: bool = False


class _Mover:
    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.notes: List[Note] = []
        self.servers: List[port_moves.Server] = []
        self.others: List[port_moves.Other] = []
        # Templates that keep their ports.
        self.staying: List[Tuple[ObjectRef, PodShape]] = []

    def note(self, unit: _Unit, level: str, why: str) -> None:
        self.notes.append(Note(unit.slot.document, unit.ref, level, why))

    def unit(self, slot: Slot, fixed: bool) -> Iterator[_Unit]:
        item = slot.holder[slot.place]
        ref = ref_of(item, self.wish.namespace)
        if not isinstance(at(item, "metadata"), dict):
            return
        was = item
        try:
            was = item if fixed else restored(item)
        except (patch.PatchError, ValueError) as error:
            fixed = True
            why = f"was rewritten and then changed by somebody else: {error}"
            self.notes.append(Note(slot.document, ref, CANNOT, why))
        yield _Unit(slot, ref, was, copy.deepcopy(was), fixed)

    def take(self, unit: _Unit) -> None:
        """Its templates, all or none of them."""
        if unit.ref.kind == _SERVICE or unit.ref.kind in pods.POOLS:
            self.others.append(port_moves.Other(unit.ref, unit.item, unit.ref.kind != _SERVICE, unit.stays))
        if unit.ref.kind not in kinds.KINDS:
            return
        now = pods.seen(unit.ref.kind, unit.slot.holder[unit.slot.place]).pods
        moving = set() if unit.stays else self._rewritten(unit, now)
        self.staying += [(unit.ref, pod) for pod in now if pod.place not in moving]

    def _rewritten(self, unit: _Unit, now: Sequence[PodShape]) -> Set[str]:
        """Change its templates. Returns the places of those whose port may change with that of their twins."""
        shapes = pods.seen(unit.ref.kind, unit.item).pods
        if not any(findings.uses_rdma(pod, self.wish.more) for pod in shapes):
            return set()
        plans, reasons = self._plans(unit, shapes)
        namespace = text(at(unit.item, "metadata", "namespace")) or self.wish.namespace
        try:
            if not reasons:
                for template, asks in plans:
                    rewrite.change(template, asks, namespace)
        except ChoiceError as error:
            reasons = [str(error)]
        if reasons:
            unit.stays = True
            for why in dict.fromkeys(reasons):
                self.note(unit, CANNOT, why)
            return set()
        of_place = {pod.place: pod for pod in now}
        found: List[port_moves.Server] = []
        for template, asks in plans:
            for why in rewrite.fewer(template, asks):
                self.note(unit, LEFT, why)
            shown = of_place.get(template.pod.place, template.pod)
            found += port_moves.server(unit.ref, template.pod, template.spec, shown, unit.slot.document, self.wish.more)
        self.servers += found
        self._left(unit, shapes)
        return {workload.pod.place for workload in found}

    def _plans(
        self, unit: _Unit, shapes: Sequence[PodShape]
    ) -> Tuple[List[Tuple[rewrite.RewrittenTemplate, List[PodAsk]]], List[str]]:
        plans: List[Tuple[rewrite.RewrittenTemplate, List[PodAsk]]] = []
        reasons: List[str] = []
        found = zip(shapes, kinds.templates(unit.ref.kind, unit.item))
        for pod, place in found:
            if not rewrite.asking(pod, self.wish.more):
                continue
            namespace = text(at(unit.item, "metadata", "namespace")) or self.wish.namespace
            template = rewrite.RewrittenTemplate(
                pod,
                dict_of(place.spec),
                kinds.holder(unit.ref.kind, unit.item, pod.place),
                unit.ref.kind.kind,
                replicas.pods_of(unit.ref.kind, unit.item, pod.place),
                namespace,
                pod.scheduler == "volcano" or unit.ref.kind.group == "batch.volcano.sh",
                self.wish.more,
            )
            try:
                more = self.wish.more
                asks = requests.chosen(unit.ref, rewrite.gpus(pod, more), self.wish, rewrite.parts(pod, more))
            except ChoiceError as error:
                reasons.append(str(error))
                continue
            reasons += rewrite.obstacles(template, asks)
            plans.append((template, asks))
        return plans, reasons

    def _left(self, unit: _Unit, shapes: Sequence[PodShape]) -> None:
        every = [finding for pod in shapes for finding in findings.of_pod(pod, self.wish.more)]
        for finding in findings.merged(every):
            if finding.code in _LEFT and not _solved(finding):
                where = f" (container {', '.join(finding.containers)})" if finding.containers else ""
                self.note(unit, LEFT, f"{texts.text(finding)}{where}")


def dict_of(value: Any) -> Dict[str, Any]:
    """A map that is changed in place."""
    found: Dict[str, Any] = value
    return found


def _solved(finding: Finding) -> bool:
    if finding.code == codes.INJECTED:
        return findings.is_ours(str(finding.fields["annotation"]))
    return finding.code == codes.HOST_ADDRESS and finding.fields["variable"] in rewrite.OWN_ADDRESS


def forward(documents: Sequence[Any], wish: Wish, fixed: Collection[int] = ()) -> Moved:
    """The manifests as they ask by the group's strategy. Those that do already are as they are.

    Documents with the numbers in ``fixed`` stay as they are, and what belongs to them with them.
    """
    moved = Moved(copy.deepcopy(list(documents)))
    mover = _Mover(wish)
    units = [unit for slot in slots(moved.documents) for unit in mover.unit(slot, slot.document in fixed)]
    for unit in units:
        mover.take(unit)
    for server, why in port_moves.bring_back(mover.servers, mover.others, mover.staying):
        mover.notes.append(Note(server.document, server.ref, LEFT, why))
    # Without its pods, an object that leads to them keeps the ports that it got with them. Not by their names, since a
    # repository may have the same object for several clusters.
    servers = [(server.ref, server.pod) for server in mover.servers]
    alone = {
        id(other.item) for other in mover.others if not any(port_moves.leads(other, *server) for server in servers)
    }
    for unit in units:
        if unit.stays or id(unit.item) in alone:
            continue
        new = remembering(unit.was, unit.item)
        if not patch.same(new, unit.slot.holder[unit.slot.place]):
            unit.slot.holder[unit.slot.place] = new
    moved.notes = sorted(mover.notes, key=lambda note: (note.document, note.level))
    return moved
