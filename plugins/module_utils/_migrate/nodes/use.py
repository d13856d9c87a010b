# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a node that changes its strategy is at the moment: its labels, who cordoned it, and which pods use its NICs.

The account of a kubelet may write all annotations of its own Node, so the mark of a move counts only with its digest
in a label, which that account may not write (:mod:`_kube.node_labels`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters as plan_counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN, Names, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.node_annotation import (
    VERSION,
    AnnotationError,
    WrongAnnotationError,
    content,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, strings, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import components, findings, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import WorkloadObject
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity

# On a Node from the moment that it is cordoned for a move until it is uncordoned.
ANNOTATION = "zerocopy.rdma/move"
# The digest of the annotation.
DIGEST = node_labels.of_nodes("move")
# A value of a label has at most 63 characters.
_DIGITS = 40
NETNS_MODES = ("shared", "exclusive")
_RIGHT = f"JSON that a move has written, with its digest in the label {DIGEST}"
_WHEN = " if no run is moving the node"
_POD = Kind("", "Pod")
Read = TypeVar("Read")
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Mark:
    """What a node was when its move began, and the strategy it moves ``to``.

    ``unschedulable`` is true where an admin had cordoned it. ``labels`` are those that the move takes away or gives,
    ``None`` where the node had none; ``counters`` are the resources that it had of us and of no plugin. ``netns_mode``
    is the RDMA netns mode that it had, empty if that was not known.
    """

    to: str
    unschedulable: bool = False
    labels: Mapping[str, Optional[str]] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    netns_mode: str = ""

    def written(self) -> str:
        """As the annotation has it."""
        return json.dumps({**asdict(self), VERSION: state_version.FIRST}, sort_keys=True)

    def metadata(self) -> Dict[str, Dict[str, str]]:
        """What a node's metadata gets, in one write."""
        return {"annotations": {ANNOTATION: self.written()}, "labels": {DIGEST: digest(self.written())}}


# The same when the move has ended.
NO_MARK: Mapping[str, Mapping[str, None]] = {"annotations": {ANNOTATION: None}, "labels": {DIGEST: None}}


def digest(written: str) -> str:
    """Of a mark as the annotation has it."""
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def mark(node: str, annotations: Mapping[str, Any], labels: Mapping[str, str]) -> Optional[Mark]:
    """The mark of a node with these annotations and labels. Raises AnnotationError."""
    written = annotations.get(ANNOTATION)
    if written is None and DIGEST not in labels:
        return None
    if written is None or digest(str(written)) != labels.get(DIGEST):
        raise WrongAnnotationError(node, ANNOTATION, written, _RIGHT, _WHEN, DIGEST)
    found = content(node, ANNOTATION, written)
    before, counted = (found.get(part) if isinstance(found, dict) else None for part in ("labels", "counters"))
    right = isinstance(before, dict) and all(value is None or isinstance(value, str) for value in before.values())
    right = right and isinstance(counted, dict) and all(is_integer(number) for number in counted.values())
    right = right and found.get("netns_mode") in ("", *NETNS_MODES)
    if not right or not isinstance(found.get("to"), str) or not isinstance(found.get("unschedulable"), bool):
        raise WrongAnnotationError(node, ANNOTATION, written, _RIGHT, _WHEN, DIGEST)
    return Mark(found["to"], found["unschedulable"], found["labels"], found["counters"], found["netns_mode"])


@dataclass(frozen=True)
class User:
    """A pod that uses the NICs of its node, and ``why`` it is taken for one.

    ``owner`` is what controls it, with its kind; empty for a pod that nobody makes again.
    """

    namespace: str
    name: str
    uid: str
    why: str
    owner: str = ""
    owner_kind: str = ""

    def __str__(self) -> str:
        made_by = f" ({self.owner})" if self.owner else ""
        return f"{self.namespace}/{self.name}{made_by}: {self.why}"


@dataclass(frozen=True)
class NodeUse:
    """A node: ``resources`` are the RDMA resources in its status, with what is allocatable of each.

    ``plugins`` are DaemonSets (namespace/name) of device plugins with a pod there that no strategy of ours has,
    ``counters`` those of the resources that we wrote and no plugin offers, with the numbers that we wrote. ``broken``
    says what is wrong with the annotations that have ``mark`` and ``counters``, which are then not known.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    mark: Optional[Mark] = None
    resources: Mapping[str, int] = field(default_factory=dict)
    users: Sequence[User] = ()
    plugins: Sequence[str] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    broken: Sequence[str] = ()

    @property
    def offered(self) -> List[str]:
        """The resources that a device plugin offers now: those that only count pods are ours, and no plugin's."""
        return [name for name, number in self.resources.items() if number and name not in self.counters]


def ended(pod: Mapping[str, Any]) -> bool:
    return text(at(pod, "status", "phase")) in _ENDED


def placed_by(pod: Mapping[str, Any], labels: Collection[str]) -> bool:
    """Whether a DaemonSet made the pod that finds its nodes by one of these labels."""
    owners = entries(at(pod, "metadata", "ownerReferences"))
    if not any(owner.get("kind") == "DaemonSet" for owner in owners):
        return False
    return bool(set(labels) & pods.node_labels(table(pod.get("spec"))))


def _why(seen: WorkloadObject, held: str, site: Names) -> str:
    """Why a pod counts as a user of NICs, empty if it does not."""
    if held:
        return f"holds devices of {held}"
    using = [pod for pod in seen.pods if findings.uses_rdma(pod, site)]
    asked = [name for pod in using for container in pod.containers for name in findings.rdma_resources(container, site)]
    if asked:
        return ", ".join(dict.fromkeys(asked))
    if any(findings.injected(pod, container, site) for pod in using for container in pod.containers):
        return "devices by an annotation"
    if any(pod.host_network for pod in using):
        return "hostNetwork with RDMA"
    return "devices or variables of RDMA" if using else ""


def users(
    items: Sequence[Mapping[str, Any]], held: Mapping[str, str], ours: Collection[str], site: Names = WELL_KNOWN
) -> Tuple[List[User], List[str]]:
    """The pods among ``items`` that use NICs, and the DaemonSets of others that hand them out.

    ``held`` are pods (namespace/name) with the DRA driver whose devices they hold, ``ours`` the labels by which our
    DaemonSets find their nodes, ``more`` the site's own RDMA resources.
    """
    found: List[User] = []
    plugins: Dict[str, None] = {}
    for item in items:
        if ended(item):
            continue
        seen = pods.read(_POD, item)
        place = _place(seen.ref)
        uses = place in held or findings.requests_rdma(seen, site)
        if placed_by(item, ours) and not uses:
            continue
        component = components.of(seen)
        if component is not None and not uses:
            if component.role == components.PLUGIN:
                plugins[_place(seen.owner or seen.ref)] = None
            continue
        why = _why(seen, held.get(place, ""), site)
        if why:
            uid = text(at(item, "metadata", "uid"))
            owner = seen.owner if _controlled(item) else None
            kind = owner.kind.kind if owner else ""
            found.append(User(seen.ref.namespace, seen.ref.name, uid, why, str(owner or ""), kind))
    return found, list(plugins)


def _controlled(pod: Mapping[str, Any]) -> bool:
    return any(owner.get("controller") is True for owner in entries(at(pod, "metadata", "ownerReferences")))


def _place(ref: ObjectRef) -> str:
    return f"{ref.namespace}/{ref.name}"


def resources(node: Mapping[str, Any], site: Names = WELL_KNOWN) -> Dict[str, int]:
    """The RDMA resources in a node's status, with what is allocatable."""
    status = table(node.get("status"))
    capacity, allocatable = strings(status.get("capacity")), strings(status.get("allocatable"))
    names = sorted(name for name in {*capacity, *allocatable} if is_rdma(name, site))
    return {name: int(quantity(allocatable.get(name, "0")) or 0) for name in names}


def of_node(
    node: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    held: Mapping[str, str],
    ours: Collection[str],
    site: Names = WELL_KNOWN,
) -> NodeUse:
    """A node with the pods on it, both as the API server gives them."""
    meta = table(node.get("metadata"))
    name, annotations = text(meta.get("name")), table(meta.get("annotations"))
    labels = strings(meta.get("labels"))
    found, plugins = users(items, held, ours, site)
    broken: List[str] = []

    def of_annotation(read: Callable[[], Read], otherwise: Read) -> Read:
        try:
            return read()
        except AnnotationError as error:
            broken.append(str(error))
            return otherwise

    return NodeUse(
        name,
        labels,
        at(node, "spec", "unschedulable") is True,
        of_annotation(lambda: mark(name, annotations, labels), None),
        resources(node, site),
        found,
        plugins,
        of_annotation(lambda: plan_counters.recorded(name, annotations), {}),
        broken,
    )


def written(use: NodeUse) -> Dict[str, Any]:
    """A node as the result of a module has it."""
    return asdict(use)


def read(values: Mapping[str, Any]) -> NodeUse:
    """A node as :func:`written` gave it."""
    told = values["mark"]
    return NodeUse(
        values["name"],
        dict(values["labels"]),
        values["unschedulable"],
        Mark(**told) if told else None,
        dict(values["resources"]),
        [User(**user) for user in values["users"]],
        list(values["plugins"]),
        dict(values["counters"]),
        list(values["broken"]),
    )
