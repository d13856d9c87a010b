# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What an audit sees and finds. Codes and fields decide; their texts are made in :mod:`texts`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Tuple, Union

FieldValue = Union[str, int, Tuple[str, ...], Tuple[int, ...]]

# Levels of findings, the worst first: the migration stops there or its pods would not start, the manifest has to be
# changed, and somebody has to look at it because the audit cannot know.
STOPS, CHANGE, LOOK = "stops", "change", "look"
LEVELS = (STOPS, CHANGE, LOOK)


class Kind(NamedTuple):
    """A kind whatever its version; the core group is ``""``."""

    group: str
    kind: str


class ObjectRef(NamedTuple):
    """An object of the cluster."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


@dataclass(frozen=True)
class ManifestOwner:
    """Who would have to change a manifest, or would change it back.

    ``tool`` is ``operator``, ``argocd``, ``flux``, ``helm``, ``kubectl`` or ``other``, ``name`` what the tool calls the
    manifest (release, application ...), ``manager`` the name in ``metadata.managedFields``. Both may be empty.
    """

    tool: str
    name: str = ""
    manager: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that a migration has to deal with; ``places`` are pod templates, ``containers`` those in them."""

    code: str
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    places: Tuple[str, ...] = ()
    containers: Tuple[str, ...] = ()


@dataclass(frozen=True)
class ContainerShape:
    """What an audit reads of a container.

    ``environment`` has the values that are written there, in ``command`` also those that its shell sets, and options of
    the server that name NICs;
    ``from_fields`` has the field paths of those that Kubernetes fills in. ``resources`` are limits and requests.
    """

    name: str
    image: str
    init: bool
    privileged: bool
    capabilities: FrozenSet[str]
    resources: Mapping[str, str]
    ports: Tuple[int, ...]
    environment: Mapping[str, str]
    from_fields: Mapping[str, str]
    command: str
    mounts: FrozenSet[str]


@dataclass(frozen=True)
class PodShape:
    """What an audit reads of a pod template; ``place`` is its path in the object.

    ``host_paths`` are by the volume's name. ``claims`` says whether it has any ``resourceClaims``, ``node_labels`` are
    those that its nodes must have.
    """

    place: str
    host_network: bool
    dns_policy: str
    scheduler: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    host_paths: Mapping[str, str]
    claims: bool
    node_labels: FrozenSet[str]
    containers: Tuple[ContainerShape, ...]


@dataclass(frozen=True)
class Seen:
    """An object that makes pods; ``owner`` is what made it, ``node`` is set for pods only."""

    ref: ObjectRef
    owner: Optional[ObjectRef]
    owners: Tuple[ManifestOwner, ...]
    pods: Tuple[PodShape, ...]
    node: str = ""


@dataclass(frozen=True)
class Pool:
    """An InferencePool: its target ports, and the labels of its pods."""

    ref: ObjectRef
    ports: Tuple[int, ...]
    selector: Mapping[str, str]


@dataclass
class Workload:
    """A workload with what was found, the worst first; ``pods`` counts those of an owner that the audit cannot read."""

    ref: ObjectRef
    owners: Tuple[ManifestOwner, ...]
    findings: List[Finding]
    pods: int = 0


@dataclass(frozen=True)
class Unseen:
    """What could not be read: the plural name of a kind, and why."""

    what: str
    why: str


@dataclass
class Audit:
    """All of it. ``others`` are workloads with hostNetwork and no sign of RDMA, ``gates`` what is known of gates."""

    kubernetes: str
    dra: str
    gates: Dict[str, bool]
    workloads: List[Workload]
    cluster: List[Finding]
    others: List[ObjectRef]
    unseen: List[Unseen]
