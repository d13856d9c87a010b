# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The steps in which the cluster gets what is planned: typed here, written as JSON, carried out by ``_provision``.

A step says what it wants and not how far the cluster is, so carrying out the same steps again changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Sequence, Type, Union

Object = Dict[str, Any]

# Parts of a run, as its tags name them.
DRIVER, CLAIMS = "driver", "claims"


@dataclass(frozen=True)
class Step:
    """``title`` says what is done, ``part`` is :data:`DRIVER` or :data:`CLAIMS`."""

    kind: ClassVar[str] = ""
    title: str
    part: str


@dataclass(frozen=True)
class HeldCheck(Step):
    """No pod may hold these extended resources (by node), which their nodes are about to lose. Changes nothing."""

    kind: ClassVar[str] = "held"
    nodes: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ObjectsStep(Step):
    """A set of objects (``_provision.applyset``), which is removed where there are no ``objects``.

    ``first`` is for a configuration that has to be there before nodes get their labels: nothing is pruned or awaited,
    and check mode leaves it to the step that follows.
    ``kept`` are kinds of which no pod or workload may use a member that is to go.
    ``rejectable`` are kinds that the cluster's admission may reject until nodes have their labels.
    ``pools`` is a namespace with address pools of whereabouts, which go with the definition of their kind.
    """

    kind: ClassVar[str] = "objects"
    name: str = ""
    namespace: str = ""
    objects: Sequence[Object] = ()
    prune: bool = True
    wait: bool = False
    first: bool = False
    rejectable: Sequence[str] = ()
    kept: Sequence[str] = ()
    pools: str = ""


@dataclass(frozen=True)
class LabelsStep(Step):
    """Labels by node, ``None`` to be removed; ``after_counters``: not where a step before could not count pods.

    ``first`` is for labels that go before the objects change: check mode leaves them to the step that follows.
    """

    kind: ClassVar[str] = "labels"
    nodes: Mapping[str, Mapping[str, Optional[str]]] = field(default_factory=dict)
    first: bool = False
    after_counters: bool = False


@dataclass(frozen=True)
class LeafLabelsStep(Step):
    """One label by node that others, such as topograph, may set as well: what they set stays as it is.

    All other nodes lose what we have set of this kind, also by another ``label``, except those that are ``kept``.
    """

    kind: ClassVar[str] = "leaf_labels"
    label: str = ""
    nodes: Mapping[str, str] = field(default_factory=dict)
    kept: Sequence[str] = ()


@dataclass(frozen=True)
class FieldsStep(Step):
    """Fields of an object that others have fields of as well; without ``spec`` in it, ours are taken back."""

    kind: ClassVar[str] = "fields"
    object: Object = field(default_factory=dict)
    manager: str = ""
    without: Sequence[str] = ()


@dataclass(frozen=True)
class CountersStep(Step):
    """Extended resources by node that no device plugin offers, with their number.

    Without ``keep_used``, no pod may have one that is to go, and every node's annotation has to be readable.
    """

    kind: ClassVar[str] = "counters"
    nodes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    keep_used: bool = False


@dataclass(frozen=True)
class LeftoversStep(Step):
    """Extended resources by node that a device plugin, which serves the nodes with ``label``, has left behind.

    With ``keep_used``, those that pods hold or somebody advertises stay. Then only nodes where a plugin is on its way
    out are waited for: those that lose the label in this run, and, if it changes what drivers and plugins are deployed
    by, those that are ``served``, which already had the label. There the plugin may now offer something else.
    """

    kind: ClassVar[str] = "leftovers"
    nodes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    label: str = ""
    keep_used: bool = False
    served: Sequence[str] = ()


@dataclass(frozen=True)
class RestartStep(Step):
    """Restart the pods with ``selector`` that wait after a crash, and those on ``nodes``, whose kernel has changed."""

    kind: ClassVar[str] = "restart"
    namespace: str = ""
    selector: str = ""
    nodes: Sequence[str] = ()
    wait: bool = False


AnyStep = Union[
    HeldCheck, ObjectsStep, LabelsStep, LeafLabelsStep, FieldsStep, CountersStep, LeftoversStep, RestartStep
]
_KINDS: Dict[str, Type[Step]] = {
    step.kind: step
    for step in (
        HeldCheck,
        ObjectsStep,
        LabelsStep,
        LeafLabelsStep,
        FieldsStep,
        CountersStep,
        LeftoversStep,
        RestartStep,
    )
}


def written(steps: Sequence[Step]) -> List[Dict[str, Any]]:
    """The steps for JSON."""
    return [{"kind": step.kind, **asdict(step)} for step in steps]


def read(documents: Sequence[Mapping[str, Any]]) -> List[AnyStep]:
    """The steps out of JSON. Raises ValueError for what is none."""
    return [_read(document) for document in documents]


def _read(document: Mapping[str, Any]) -> Any:
    kind = _KINDS.get(str(document.get("kind")))
    names = {known.name for known in fields(kind)} if kind else set()
    given = {name: value for name, value in document.items() if name != "kind"}
    if kind is None or not {"title", "part"} <= given.keys() <= names:
        raise ValueError(f"{dict(document)!r} is no step: it needs a kind, one of {', '.join(_KINDS)}, and its fields")
    return kind(**given)
