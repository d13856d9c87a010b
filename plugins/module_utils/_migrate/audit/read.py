# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Reading what an audit needs: one pass of lists, whatever the number of workloads, and nothing but lists.

A kind that may not be listed, or whose own API server does not answer, is told and left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import kueue, workloads
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.kueue import KueueConfiguration
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import cluster, document, report
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.cluster import ClusterFacts, HealthNote
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.evaluate import POD, AuditInput, Unseen
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.evaluate import audit as plan_audit
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import pages
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.answers import CUT, is_cut
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, Query

# Of each list, objects that are named because they cannot be read.
_NAMED = 20
_KUEUE_TEXT = "its configuration of Kueue"
_DRA = "resource.k8s.io"
_NODE, _CONFIG_MAP = Kind("", "Node"), Kind("", "ConfigMap")
_RULE, _KUEUE = Kind("monitoring.coreos.com", "PrometheusRule"), Kind("kueue.x-k8s.io", "ClusterQueue")
# Which of them are read, if not all.
_QUERIES: Mapping[Kind, Query] = {
    POD: {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
    # Every namespace has this one.
    _CONFIG_MAP: {"fieldSelector": "metadata.name!=kube-root-ca.crt"},
}

Read = Callable[[Any], Sequence[Any]]


@dataclass(frozen=True)
class AuditRequest:
    """What the user asks for. Without ``namespaces`` all are read.

    ``resources`` are extended resources of the site that stand for RDMA, ``gpu_resources`` those that are GPUs, or
    prefixes of them that end with ``/``.
    """

    device_class: str
    namespaces: Sequence[str] = ()
    resources: Sequence[str] = field(default_factory=list)
    gpu_resources: Sequence[str] = ()


class _Wanted(NamedTuple):
    """One list to ask for, and what is kept of each of its objects."""

    kind: Kind
    resource: Resource
    namespace: str
    read: Read


class _Answer(NamedTuple):
    """What is kept of a list, and the objects in it that could not be read, or not all of them."""

    kind: Kind
    kept: List[Any]
    unseen: List[Unseen]


def audit(client: Client, request: AuditRequest) -> Dict[str, Any]:
    """The result of the module ``workload_audit_info``. Raises ClusterError where nothing at all can be read."""
    release = str(client.get("/version").get("gitVersion", ""))
    api = Api([client.get("/api", accept=ACCEPT), client.get("/apis", accept=ACCEPT)])
    unseen: List[Unseen] = []
    wanted = list(_wanted(api, request.namespaces, unseen))
    kept: Dict[Kind, List[Any]] = {}
    failed = set()
    for listing, answer in zip(wanted, client.map(lambda listing: _list(client, listing), wanted)):
        if isinstance(answer, ClusterError):
            failed.add(listing.kind)
            unseen.append(Unseen(_told(listing), str(answer)))
        else:
            kept.setdefault(listing.kind, []).extend(answer.kept)
            unseen += answer.unseen[:_NAMED]
            if len(answer.unseen) > _NAMED:
                unseen.append(Unseen(_told(listing), f"{len(answer.unseen) - _NAMED} more of them, for such reasons"))
    noted = kept.get(_CONFIG_MAP, [])
    found = plan_audit(
        AuditInput(
            kubernetes=release,
            objects=[seen for kind in workloads.KINDS for seen in kept.get(kind, [])],
            # What owns an object may be in a namespace that was read and still not be seen, if its list failed.
            listed={kind for kind in kept if kind in workloads.KINDS and kind not in failed},
            cluster=ClusterFacts(
                dra=[f"{_DRA}/{version}" for version in api.versions(_DRA)],
                nodes=kept.get(_NODE, []),
                policies=[policy for kind in cluster.POLICIES for policy in kept.get(kind, [])],
                health=[note for note in (*noted, *kept.get(_RULE, [])) if isinstance(note, HealthNote)],
                pools=_pools(kept),
                kueue=_served(api, _KUEUE) is not None,
                kueue_configurations=[note for note in noted if isinstance(note, KueueConfiguration)],
                volcano=_served(api, Kind("batch.volcano.sh", "Job")) is not None,
            ),
            gates=cluster.gates(release, _metrics(client)),
            unseen=unseen,
            device_class=request.device_class,
            names=Names(request.resources, request.gpu_resources),
        )
    )
    return {"changed": False, "text": report.as_text(found), **document.as_json(found)}


def _pools(kept: Mapping[Kind, List[Any]]) -> List[Any]:
    """Each pool once: a cluster in transition serves both groups, the same names in them are the same pool."""
    found: Dict[Tuple[str, str], Any] = {}
    for kind in pods.POOLS:
        for pool in kept.get(kind, []):
            found.setdefault((pool.ref.namespace, pool.ref.name), pool)
    return list(found.values())


def _readers() -> Iterator[Tuple[Kind, Read]]:
    def seen(kind: Kind) -> Read:
        return lambda item: [] if workloads.finished(kind, item) else [pods.read(kind, item)]

    def pool(kind: Kind) -> Read:
        return lambda item: [pods.pool(kind, item)]

    def policy(kind: Kind) -> Read:
        return lambda item: [cluster.policy(kind, item)]

    def config_map(item: Any) -> List[Any]:
        found = kueue.configuration(item) or cluster.health_check(item)
        return [found] if found else []

    for kind in workloads.KINDS:
        yield kind, seen(kind)
    for kind in pods.POOLS:
        yield kind, pool(kind)
    for kind in cluster.POLICIES:
        yield kind, policy(kind)
    yield _NODE, lambda item: [cluster.node(item)]
    yield _CONFIG_MAP, config_map
    yield _RULE, lambda item: [note for note in [cluster.alert(item)] if note]


def _served(api: Api, kind: Kind) -> Optional[Resource]:
    try:
        return api.find(GroupKind(*kind))
    except ClusterError:
        return None


def _wanted(api: Api, namespaces: Sequence[str], unseen: List[Unseen]) -> Iterator[_Wanted]:
    for kind, read in _readers():
        try:
            resource = api.find(GroupKind(*kind))
        except ClusterError as error:
            unseen.append(Unseen(kind.kind, str(error)))
            continue
        if resource is not None and "list" in resource.verbs:
            for namespace in namespaces if namespaces and resource.namespaced else [""]:
                yield _Wanted(kind, resource, namespace, read)


def _told(wanted: _Wanted) -> str:
    resource = wanted.resource
    name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    return f"{name} of namespace {wanted.namespace}" if wanted.namespace else name


def _list(client: Client, wanted: _Wanted) -> _Answer:
    unseen: List[Unseen] = []

    def keep(item: Any) -> Sequence[Any]:
        if is_cut(item):
            unseen.append(Unseen(_object_of(wanted.kind, item), CUT))
        found = wanted.read(item)
        problems = [note.problem for note in found if isinstance(note, KueueConfiguration) and note.problem]
        unseen.extend(Unseen(_object_of(wanted.kind, item), f"{_KUEUE_TEXT} {problem}") for problem in problems)
        return [] if problems else found

    path = wanted.resource.path(wanted.namespace)
    kept = pages.read(client, path, _QUERIES.get(wanted.kind, {}), keep)
    return _Answer(wanted.kind, kept, unseen)


def _object_of(kind: Kind, item: Any) -> str:
    meta = at(item, "metadata")
    return f"{kind.kind} " + "/".join(filter(None, (text(at(meta, "namespace")), text(at(meta, "name")))))


def _metrics(client: Client) -> str:
    """The API server's metrics, which say what gates are on; empty where they may not be read."""
    try:
        return client.text("/metrics")
    except ClusterError:
        return ""
