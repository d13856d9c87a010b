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

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN, Names, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.kueue import LONGEST, KueueConfiguration
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.node_annotation import AnnotationError
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, strings, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue, components
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import FieldValue, Finding
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.components import Component
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import Pool
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
# Metrics of node_exporter's infiniband collector, checks of LBNL NHC, and how a check of a node names an HCA.
_CERTAIN = re.compile(r"node_infiniband_\w*|check_hw_ib|check_hw_eth")
_NIC = re.compile(r"/sys/class/infiniband|ibstat|ibv_dev\w*|infiniband|\bmlx5_\w*|\brdma (?:link|dev)\b|\broce\b", re.I)
_CHECK_NAME = re.compile(
    r"problem-detector|\bnpd\b|nhc|gpud|nvsentinel|health|checks?\b|alert|prometheus|rules|monitor"
)


class HealthNote(NamedTuple):
    """An object with a rule or check about NICs; ``sign`` is the text that says so."""

    ref: ObjectRef
    known: str
    sign: str


class ClusterNode(NamedTuple):
    """What an audit reads of a node; ``counters`` are resources that we wrote, and that no plugin offers."""

    name: str
    kubelet: str
    runtime: str
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    counters: Collection[str] = ()


@dataclass
class ClusterFacts:
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
    kueue_configurations: Sequence[KueueConfiguration] = ()
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
        return counters.recorded(node, annotations)
    except AnnotationError:
        return ()


def policy(kind: Kind, item: Any) -> Tuple[str, Tuple[str, ...]]:
    """A policy of an operator, and what it deploys or hands out."""
    spec = table(at(item, "spec"))
    sections = [name for name in _SECTIONS if spec.get(name)]
    if kind.kind == "SriovNetworkNodePolicy":
        sections = [text(spec.get("resourceName"))] if text(spec.get("resourceName")) else []
    return f"{kind.kind} {text(at(item, 'metadata', 'name'))}", tuple(sections)


def _ref(kind: Kind, item: Any) -> ObjectRef:
    meta = table(at(item, "metadata"))
    return ObjectRef(kind, text(meta.get("namespace")), text(meta.get("name")))


def health_check(config_map: Any) -> Optional[HealthNote]:
    """A ConfigMap with checks of NICs."""
    ref = _ref(Kind("", "ConfigMap"), config_map)
    contents = strings(at(config_map, "data"))
    named = any(_CHECK_NAME.search(name.lower()) for name in (ref.name, *contents))
    for content in contents.values():
        sign = _CERTAIN.search(content, 0, LONGEST) or (_NIC.search(content, 0, LONGEST) if named else None)
        if sign:
            return HealthNote(ref, "checks or alerts", sign[0])
    return None


def alert(item: Any) -> Optional[HealthNote]:
    """A PrometheusRule with an alert on metrics of RDMA devices."""
    for group in entries(at(item, "spec", "groups")):
        for rule in entries(group.get("rules")):
            sign = _CERTAIN.search(text(rule.get("expr")), 0, LONGEST) or _NIC.search(text(rule.get("expr")))
            if sign and text(rule.get("alert")):
                ref = _ref(Kind("monitoring.coreos.com", "PrometheusRule"), item)
                return HealthNote(ref, f"alert {text(rule.get('alert'))}", sign[0])
    return None


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


def findings(seen: ClusterFacts, device_class: str, site: Names = WELL_KNOWN) -> List[Finding]:
    """The findings, in no particular order."""
    return [*_versions(seen), *_schedulers(seen, device_class), *_owners(seen), *_resources(seen, site), *_checks(seen)]


def _versions(seen: ClusterFacts) -> Iterator[Finding]:
    if not seen.dra:
        yield Finding(catalogue.NO_DRA)
    for code, version, pattern in (
        (catalogue.OLD_KUBELET, "kubelet", _BROKEN),
        (catalogue.EXTENDED_KUBELET, "kubelet", _EXTENDED),
        (catalogue.OLD_RUNTIME, "runtime", _OLD_CONTAINERD),
    ):
        for written, names in _by_version(seen.nodes, version, pattern).items():
            yield Finding(code, {"version": written, "nodes": tuple(names)})


def _schedulers(seen: ClusterFacts, device_class: str) -> Iterator[Finding]:
    if seen.kueue and not seen.kueue_configurations:
        yield Finding(catalogue.KUEUE_UNREAD)
    elif seen.kueue and not any(device_class in found.classes for found in seen.kueue_configurations):
        yield Finding(catalogue.KUEUE_UNMAPPED, {"device_class": device_class})
    if seen.volcano:
        yield Finding(catalogue.VOLCANO)


def _owners(seen: ClusterFacts) -> Iterator[Finding]:
    for name, sections in seen.policies:
        yield Finding(catalogue.OPERATOR_POLICY, {"policy": name, "sections": sections})
    for ref, component in seen.components.items():
        if component.role == components.PLUGIN:
            placed = len((seen.placed or {}).get(ref, ()))
            program: Dict[str, FieldValue] = {"name": component.name, "image": component.image}
            yield Finding(catalogue.DEVICE_PLUGIN, {"daemon_set": str(ref), "nodes": placed, **program})


def _resources(seen: ClusterFacts, site: Names) -> Iterator[Finding]:
    plugins = {ref for ref, component in seen.components.items() if component.role == components.PLUGIN}
    served = {name for ref in plugins for name in (seen.placed or {}).get(ref, ())}
    by_code: Dict[Tuple[str, str], List[str]] = {}
    for node in seen.nodes:
        for name in sorted({*node.capacity, *node.allocatable}):
            if not is_rdma(name, site):
                continue
            if _number(node.allocatable.get(name, "")):
                by_code.setdefault((catalogue.ADVERTISED, name), []).append(node.name)
                if seen.placed is not None and node.name not in served and name not in node.counters:
                    by_code.setdefault((catalogue.NO_PLUGIN, name), []).append(node.name)
            elif _number(node.capacity.get(name, "")):
                by_code.setdefault((catalogue.STALE, name), []).append(node.name)
    for (code, name), names in by_code.items():
        yield Finding(code, {"resource": name, "nodes": tuple(names)})


def _checks(seen: ClusterFacts) -> Iterator[Finding]:
    for pool in seen.pools:
        if len(pool.ports) > 1:
            yield Finding(catalogue.POOL, {"pool": f"{pool.ref.namespace}/{pool.ref.name}", "ports": pool.ports})
    for ref, component in seen.components.items():
        if component.role == components.HEALTH:
            yield Finding(catalogue.HEALTH_CHECK, {"what": str(ref), "known": component.name, "sign": ""})
    for note in seen.health:
        yield Finding(catalogue.HEALTH_CHECK, {"what": str(note.ref), "known": note.known, "sign": note.sign})
