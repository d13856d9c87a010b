# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From what was read of a cluster to what a migration to DRA has to deal with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN, Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue, components, findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.cluster import ClusterFacts
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import LEVELS, Finding
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import Component
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import ManifestOwner, WorkloadObject
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key


@dataclass
class Workload:
    """A workload with what was found, the worst first; ``pods`` counts those of an owner that does not show their RDMA.

    Their owner does not say it itself, or is of a kind that the audit cannot read.
    """

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
    resource_api: str
    gates: Dict[str, bool]
    workloads: List[Workload]
    cluster: List[Finding]
    others: List[ObjectRef]
    unseen: List[Unseen]


POD = Kind("", "Pod")
_DEPLOYMENT, _REPLICA_SET = Kind("apps", "Deployment"), Kind("apps", "ReplicaSet")
_VOLCANO_JOB = Kind("batch.volcano.sh", "Job")


@dataclass
class AuditInput:
    """What was read: objects with pod templates, the kinds of which all objects are among them, and the cluster.

    ``names`` are those of the site's own resources; ``device_class`` is the DeviceClass that claims for NICs will name.
    """

    kubernetes: str
    objects: Sequence[WorkloadObject] = ()
    listed: Collection[Kind] = ()
    cluster: ClusterFacts = field(default_factory=ClusterFacts)
    gates: Mapping[str, bool] = field(default_factory=dict)
    unseen: Sequence[Unseen] = ()
    device_class: str = ""
    names: Names = WELL_KNOWN


def audit(given: AuditInput) -> Audit:
    """All findings; workloads and the cluster's, the worst first."""
    programs = {seen.ref: program for seen, program in _programs(given.objects, given.names)}
    tops = [seen for seen in given.objects if not _known_owner(seen, given.listed)]
    workloads, others = _workloads(_Owners(programs, given), programs, given)
    given.cluster.components = {
        seen.ref: programs[seen.ref] for seen in tops if seen.ref in programs and seen.ref.kind != POD
    }
    if POD in given.listed:
        given.cluster.placed = _placed(given.objects)
    found = cluster.findings(given.cluster, given.device_class, given.names)
    return Audit(
        kubernetes=given.kubernetes,
        resource_api=given.cluster.dra[0] if given.cluster.dra else "",
        gates=dict(given.gates),
        workloads=workloads,
        cluster=sorted(found, key=_rank),
        others=sorted(others, key=lambda ref: natural_key(str(ref))),
        unseen=sorted(given.unseen, key=lambda unseen: unseen.what),
    )


def _programs(objects: Sequence[WorkloadObject], site: Names) -> Iterator[Tuple[WorkloadObject, Component]]:
    for seen in objects:
        # A sidecar that is called like one makes a workload no program of the node.
        found = None if findings.requests_rdma(seen, site) else components.of(seen)
        if found:
            yield seen, found


def _known_owner(seen: WorkloadObject, listed: Collection[Kind]) -> bool:
    """Whether what makes the object is looked at itself."""
    if seen.owner is None:
        return False
    # Nearly all of them belong to Deployments: where only these may be listed, pods would be told a second time.
    return seen.owner.kind in listed or (seen.owner.kind == _REPLICA_SET and _DEPLOYMENT in listed)


class _Owners:
    """Which objects are told, and as what: one that does not show the RDMA of its pods does not speak for them."""

    def __init__(self, programs: Collection[ObjectRef], given: AuditInput) -> None:
        self._given = given
        self._read = {seen.ref: seen for seen in given.objects}
        self._using = {
            seen.ref for seen in given.objects if any(findings.uses_rdma(pod, given.names) for pod in seen.pods)
        }
        self._speaking = {*self._using, *programs}

    def read(self, ref: ObjectRef) -> Optional[WorkloadObject]:
        return self._read.get(ref)

    def is_told(self, seen: WorkloadObject) -> bool:
        if seen.ref not in self._using:
            return not _known_owner(seen, self._given.listed)
        return not self._is_copy(seen) and not any(owner.ref in self._speaking for owner in self._above(seen))

    def told_as(self, seen: WorkloadObject) -> ObjectRef:
        """Pods of an owner that the audit cannot read are one workload, and so is what an owner that it read made."""
        above = list(self._above(seen))
        if above:
            return above[-1].ref
        if seen.ref.kind == POD and seen.owner is not None and seen.owner.kind.kind != "Node":
            return seen.owner
        return seen.ref

    def _above(self, seen: WorkloadObject) -> Iterator[WorkloadObject]:
        """The owners that were read, up to the topmost."""
        been = {seen.ref}
        owner = self._owner(seen)
        while owner is not None and owner.ref not in been:
            been.add(owner.ref)
            if not self._is_copy(owner):
                yield owner
            owner = self._owner(owner)

    def _owner(self, seen: WorkloadObject) -> Optional[WorkloadObject]:
        ref = seen.owner
        if ref is not None and ref not in self._read and ref.kind == _REPLICA_SET:
            # Where these may not be listed, their names lead to their Deployments.
            ref = ObjectRef(_DEPLOYMENT, ref.namespace, ref.name.rpartition("-")[0])
        return self._read.get(ref) if ref is not None else None

    def _is_copy(self, seen: WorkloadObject) -> bool:
        """Whether it is a revision of a Deployment: old ones without pods stay for years, as their manifest was."""
        owner = self._owner(seen) if seen.ref.kind == _REPLICA_SET else None
        return owner is not None and owner.ref.kind == _DEPLOYMENT


def _placed(objects: Sequence[WorkloadObject]) -> Dict[ObjectRef, Set[str]]:
    found: Dict[ObjectRef, Set[str]] = {}
    for seen in objects:
        if seen.node and seen.owner is not None:
            found.setdefault(seen.owner, set()).add(seen.node)
    return found


def _rank(finding: Finding) -> Tuple[int, str]:
    return catalogue.ORDER[finding.code], catalogue.text(finding)


def _workloads(
    owners: _Owners, programs: Mapping[ObjectRef, Component], given: AuditInput
) -> Tuple[List[Workload], List[ObjectRef]]:
    """Those that use RDMA, and those that have hostNetwork without it."""
    named: Dict[ObjectRef, List[WorkloadObject]] = {}
    below: Dict[ObjectRef, int] = {}
    for seen in given.objects:
        if seen.ref in programs:
            continue
        ref = owners.told_as(seen)
        if owners.is_told(seen):
            named.setdefault(ref, []).append(seen)
        if seen.ref.kind == POD:
            below[ref] = below.get(ref, 0) + 1
    using: Dict[ObjectRef, List[WorkloadObject]] = {}
    others: List[ObjectRef] = []
    for ref, several in named.items():
        pods = [pod for seen in several for pod in seen.pods]
        if any(findings.uses_rdma(pod, given.names) for pod in pods):
            using[ref] = several
        elif any(pod.host_network for pod in pods):
            others.append(ref)
    shapes = [
        (ref, pod)
        for ref, several in using.items()
        for seen in several
        for pod in seen.pods
        if findings.uses_rdma(pod, given.names)
    ]
    found: Dict[ObjectRef, List[Finding]] = {ref: [] for ref in using}
    for ref, pod in shapes:
        found[ref] += findings.of_pod(pod, given.names)
        if ref.kind == _VOLCANO_JOB and pod.scheduler in ("", "volcano"):
            found[ref].append(Finding(catalogue.VOLCANO_TEMPLATES, {}, (pod.place,)))
    for ref, finding in (*findings.remapped(shapes, given.names), *findings.of_pools(shapes, given.cluster.pools)):
        found[ref].append(finding)
    workloads = [
        Workload(
            ref,
            _owners(ref, owners.read(ref) or using[ref][0]),
            sorted(findings.merged(found[ref]), key=_rank),
            pods=below.get(ref, 0) if any(seen.ref != ref for seen in using[ref]) else 0,
        )
        for ref in using
    ]
    return sorted((workload for workload in workloads if workload.findings), key=_worst), others


def _owners(ref: ObjectRef, first: WorkloadObject) -> Tuple[ManifestOwner, ...]:
    if first.owner is None or first.owner.kind.kind == "Node":
        return first.owners
    # It is itself what makes the pods, and who made it was not read.
    if first.owner == ref:
        return ()
    return (ManifestOwner("operator", str(first.owner)),)


def _worst(workload: Workload) -> Tuple[int, int, List[Tuple[int, int, str]]]:
    levels = [LEVELS.index(catalogue.level(finding)) for finding in workload.findings]
    return min(levels), -len(levels), natural_key(str(workload.ref))
