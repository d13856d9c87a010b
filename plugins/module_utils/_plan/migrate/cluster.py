# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a migration has to deal with in the cluster itself: versions, nodes, plugins, operators, health checks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import (
    Any,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Pattern,
    Sequence,
    Set,
    Tuple,
)

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters as plan_counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN, Names, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.node_annotation import AnnotationError
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, strings, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import codes, components
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.components import Component
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import (
    FieldValue,
    Finding,
    Kind,
    ObjectRef,
    Pool,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.notes import HealthNote, KueueNote
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity

POLICIES = (
    Kind("mellanox.com", "NicClusterPolicy"),
    Kind("mellanox.com", "NicNodePolicy"),
    Kind("sriovnetwork.openshift.io", "SriovNetworkNodePolicy"),
)
# Parts of a NicClusterPolicy or NicNodePolicy that hand out NICs, or put them into pods.
_SECTIONS = ("rdmaSharedDevicePlugin", "sriovDevicePlugin", "secondaryNetwork", "ibKubernetes", "ofedDriver")
_BROKEN = re.compile(r"v?1\.34\.[01](?![0-9]).*")
_EXTENDED = re.compile(r"v?1\.35\.0(?![0-9]).*")
_OLD_CONTAINERD = re.compile(r"containerd://v?1\..*")
_VERSION = re.compile(r"v?([0-9]{1,3})\.([0-9]{1,3})(?:\D.*)?")
# From which minor release of Kubernetes 1 these gates are on unless somebody switched them off (kube_features.go).
_ON_FROM = {"DRAExtendedResource": 36, "DRAConsumableCapacity": 36}
GATES = tuple(_ON_FROM)


class ClusterNode(NamedTuple):
    """What an audit reads of a node; ``counters`` are resources that we wrote, and that no plugin offers."""

    name: str
    kubelet: str
    runtime: str
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    counters: Collection[str] = ()


@dataclass
class ClusterSeen:
    """Everything that is known of the cluster. ``None`` means that it could not be read.

    ``components`` are by the object that runs them, ``placed`` the nodes with a pod of each DaemonSet. ``kueue`` and
    ``volcano`` say whether their kinds are served; ``dra`` are the versions of resource.k8s.io, the newest first.
    """

    dra: Sequence[str] = ()
    nodes: Sequence[ClusterNode] = ()
    components: Mapping[ObjectRef, Component] = field(default_factory=dict)
    placed: Optional[Mapping[ObjectRef, Set[str]]] = None
    policies: Sequence[Tuple[str, Tuple[str, ...]]] = ()
    health: Sequence[HealthNote] = ()
    pools: Sequence[Pool] = ()
    kueue: bool = False
    kueue_notes: Sequence[KueueNote] = ()
    volcano: bool = False


def node(item: Any) -> ClusterNode:
    """A node as the API server gives it."""
    status = table(at(item, "status"))
    info = table(status.get("nodeInfo"))
    return ClusterNode(
        text(at(item, "metadata", "name")),
        text(info.get("kubeletVersion")),
        text(info.get("containerRuntimeVersion")),
        strings(status.get("capacity")),
        strings(status.get("allocatable")),
        _counters(text(at(item, "metadata", "name")), table(at(item, "metadata", "annotations"))),
    )


def _counters(node: str, annotations: Mapping[str, Any]) -> Collection[str]:
    try:
        return plan_counters.recorded(node, annotations)
    except AnnotationError:
        return ()


def policy(kind: Kind, item: Any) -> Tuple[str, Tuple[str, ...]]:
    """A policy of an operator, and what it deploys or hands out."""
    spec = table(at(item, "spec"))
    sections = [name for name in _SECTIONS if spec.get(name)]
    if kind.kind == "SriovNetworkNodePolicy":
        sections = [text(spec.get("resourceName"))] if text(spec.get("resourceName")) else []
    return f"{kind.kind} {text(at(item, 'metadata', 'name'))}", tuple(sections)


def gates(release: str, metrics: str) -> Dict[str, bool]:
    """Which feature gates are on: as the API server's metrics say, or else as its version has them."""
    minor = _VERSION.fullmatch(release)
    found = {}
    for name, first in _ON_FROM.items():
        said = re.search(rf'^kubernetes_feature_enabled{{[^}}]*name="{name}"[^}}]*}} ([01])', metrics, re.MULTILINE)
        if said:
            found[name] = said[1] == "1"
        elif minor:
            found[name] = (int(minor[1]), int(minor[2])) >= (1, first)
    return found


def _number(value: str) -> bool:
    return bool(quantity(value))


def _by_version(nodes: Iterable[ClusterNode], version: str, pattern: Pattern[str]) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for node in nodes:
        written = getattr(node, version)
        if pattern.fullmatch(written):
            found.setdefault(written, []).append(node.name)
    return found


def findings(seen: ClusterSeen, device_class: str, more: Names = WELL_KNOWN) -> List[Finding]:
    """The findings, in no particular order."""
    return [*_versions(seen), *_schedulers(seen, device_class), *_owners(seen), *_resources(seen, more), *_checks(seen)]


def _versions(seen: ClusterSeen) -> Iterator[Finding]:
    if not seen.dra:
        yield Finding(codes.NO_DRA)
    for code, version, pattern in (
        (codes.OLD_KUBELET, "kubelet", _BROKEN),
        (codes.EXTENDED_KUBELET, "kubelet", _EXTENDED),
        (codes.OLD_RUNTIME, "runtime", _OLD_CONTAINERD),
    ):
        for written, names in _by_version(seen.nodes, version, pattern).items():
            yield Finding(code, {"version": written, "nodes": tuple(names)})


def _schedulers(seen: ClusterSeen, device_class: str) -> Iterator[Finding]:
    if seen.kueue and not seen.kueue_notes:
        yield Finding(codes.KUEUE_UNREAD)
    elif seen.kueue and not any(device_class in note.classes for note in seen.kueue_notes):
        yield Finding(codes.KUEUE_UNMAPPED, {"device_class": device_class})
    if seen.volcano:
        yield Finding(codes.VOLCANO)


def _owners(seen: ClusterSeen) -> Iterator[Finding]:
    for name, sections in seen.policies:
        yield Finding(codes.OPERATOR_POLICY, {"policy": name, "sections": sections})
    for ref, component in seen.components.items():
        if component.role == components.PLUGIN:
            placed = len((seen.placed or {}).get(ref, ()))
            program: Dict[str, FieldValue] = {"name": component.name, "image": component.image}
            yield Finding(codes.DEVICE_PLUGIN, {"daemon_set": str(ref), "nodes": placed, **program})


def _resources(seen: ClusterSeen, more: Names) -> Iterator[Finding]:
    plugins = {ref for ref, component in seen.components.items() if component.role == components.PLUGIN}
    served = {name for ref in plugins for name in (seen.placed or {}).get(ref, ())}
    by_code: Dict[Tuple[str, str], List[str]] = {}
    for node in seen.nodes:
        for name in sorted({*node.capacity, *node.allocatable}):
            if not is_rdma(name, more):
                continue
            if _number(node.allocatable.get(name, "")):
                by_code.setdefault((codes.ADVERTISED, name), []).append(node.name)
                if seen.placed is not None and node.name not in served and name not in node.counters:
                    by_code.setdefault((codes.NO_PLUGIN, name), []).append(node.name)
            elif _number(node.capacity.get(name, "")):
                by_code.setdefault((codes.STALE, name), []).append(node.name)
    for (code, name), names in by_code.items():
        yield Finding(code, {"resource": name, "nodes": tuple(names)})


def _checks(seen: ClusterSeen) -> Iterator[Finding]:
    for pool in seen.pools:
        if len(pool.ports) > 1:
            yield Finding(codes.POOL, {"pool": f"{pool.ref.namespace}/{pool.ref.name}", "ports": pool.ports})
    for ref, component in seen.components.items():
        if component.role == components.HEALTH:
            yield Finding(codes.HEALTH_CHECK, {"what": str(ref), "known": component.name, "sign": ""})
    for note in seen.health:
        yield Finding(codes.HEALTH_CHECK, {"what": str(note.ref), "known": note.known, "sign": note.sign})
