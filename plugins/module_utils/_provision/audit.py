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

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import cluster, kinds, notes, pods, report
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.audit import POD, AuditInput
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.audit import audit as plan_audit
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.cluster import ClusterSeen
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind, Unseen
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.notes import HealthNote, KueueNote
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api, Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, Query

# Objects of one answer, as kubectl asks for them: a list of thousands at once would block the API server.
PAGE = 500
_DRA = "resource.k8s.io"
_NODE, _CONFIG_MAP = Kind("", "Node"), Kind("", "ConfigMap")
_RULE, _KUEUE = Kind("monitoring.coreos.com", "PrometheusRule"), Kind("kueue.x-k8s.io", "ClusterQueue")
# Which of them are read, if not all.
QUERIES: Mapping[Kind, Query] = {
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
    kind: Kind
    kept: List[Any]


def audit(client: Client, request: AuditRequest) -> Dict[str, Any]:
    """The result of the module ``workload_audit``. Raises ClusterError where nothing at all can be read."""
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
    noted = kept.get(_CONFIG_MAP, [])
    found = plan_audit(
        AuditInput(
            kubernetes=release,
            objects=[seen for kind in kinds.KINDS for seen in kept.get(kind, [])],
            # What owns an object may be in a namespace that was read and still not be seen, if its list failed.
            listed={kind for kind in kept if kind in kinds.KINDS and kind not in failed},
            cluster=ClusterSeen(
                dra=[f"{_DRA}/{version}" for version in api.versions(_DRA)],
                nodes=kept.get(_NODE, []),
                policies=[policy for kind in cluster.POLICIES for policy in kept.get(kind, [])],
                health=[note for note in (*noted, *kept.get(_RULE, [])) if isinstance(note, HealthNote)],
                pools=_pools(kept),
                kueue=_served(api, _KUEUE) is not None,
                kueue_notes=[note for note in noted if isinstance(note, KueueNote)],
                volcano=_served(api, Kind("batch.volcano.sh", "Job")) is not None,
            ),
            gates=cluster.gates(release, _metrics(client)),
            unseen=unseen,
            device_class=request.device_class,
            names=Names(request.resources, request.gpu_resources),
        )
    )
    return {"changed": False, "text": report.as_text(found), **report.as_json(found)}


def _pools(kept: Mapping[Kind, List[Any]]) -> List[Any]:
    """Each pool once: a cluster in transition serves both groups, the same names in them are the same pool."""
    found: Dict[Tuple[str, str], Any] = {}
    for kind in pods.POOLS:
        for pool in kept.get(kind, []):
            found.setdefault((pool.ref.namespace, pool.ref.name), pool)
    return list(found.values())


def _readers() -> Iterator[Tuple[Kind, Read]]:
    def seen(kind: Kind) -> Read:
        return lambda item: [] if kinds.finished(kind, item) else [pods.seen(kind, item)]

    def pool(kind: Kind) -> Read:
        return lambda item: [pods.pool(kind, item)]

    def policy(kind: Kind) -> Read:
        return lambda item: [cluster.policy(kind, item)]

    for kind in kinds.KINDS:
        yield kind, seen(kind)
    for kind in pods.POOLS:
        yield kind, pool(kind)
    for kind in cluster.POLICIES:
        yield kind, policy(kind)
    yield _NODE, lambda item: [cluster.node(item)]
    yield _CONFIG_MAP, lambda item: list(notes.of_config_map(item))
    yield _RULE, lambda item: [note for note in [notes.of_rule(item)] if note]


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
    path = wanted.resource.path(wanted.namespace)
    return _Answer(wanted.kind, listed(client, path, QUERIES.get(wanted.kind, {}), wanted.read))


def listed(client: Client, path: str, base: Query, read: Read) -> List[Any]:
    """What ``read`` keeps of all objects of a list, page by page. Raises ClusterError."""
    kept: List[Any] = []
    query: Query = {**base, "limit": PAGE}
    while True:
        try:
            page = client.get(path, query)
        except ApiError as error:
            if error.status != 410 or "continue" not in query:
                raise
            # The pages have expired meanwhile; without pages nothing can.
            kept, query = [], base
            continue
        items = page.get("items")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                kept += read(item)
        more = (page.get("metadata") or {}).get("continue")
        if not more:
            return kept
        query = {**base, "limit": PAGE, "continue": more}


def _metrics(client: Client) -> str:
    """The API server's metrics, which say what gates are on; empty where they may not be read."""
    try:
        return client.text("/metrics")
    except ClusterError:
        return ""
