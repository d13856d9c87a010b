# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the API server says of the cluster as a whole: its version, its networks, and its nodes."""

from __future__ import annotations

import ipaddress
import re
from http import HTTPStatus
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.counters import ANNOTATION
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import leaf_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import review
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.dra_version import GROUP, negotiate
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    FIELD_MANAGER,
    METADATA_LIST,
    Client,
    Query,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import applied_by
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import (
    PART_OF,
    Parent,
    is_ours,
    secrets,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_extended_resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity

# Their kubelets lose the registration of DRA drivers (kubernetes#133920).
_BROKEN = re.compile(r"v?1\.34\.[01](?![0-9]).*")
_CLAIM = GroupKind("resource.k8s.io", "ResourceClaim")


def refuse_broken(release: Mapping[str, Any]) -> None:
    """:raises ClusterError: DRA does not work with this release; ``release`` is the answer of ``/version``."""
    version = str(release.get("gitVersion", ""))
    if _BROKEN.fullmatch(version):
        raise ClusterError(f"the API server is Kubernetes {version}, {_why()}")


def _why() -> str:
    return "in which DRA drivers do not stay registered (kubernetes#133920): it must be 1.34.2 or newer"


def _refuse_kubelets(nodes: Iterable[Object]) -> None:
    versions: Dict[str, List[str]] = {}
    for node in nodes:
        version = str(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion", ""))
        if _BROKEN.fullmatch(version):
            versions.setdefault(version, []).append(metadata(node)["name"])
    if versions:
        told = "; ".join(f"{version} on {fold(names)}" for version, names in versions.items())
        raise ClusterError(f"the kubelet is Kubernetes {told}, {_why()}")


def _needed(client: Client, path: str, query: Optional[Query] = None) -> List[Object]:
    """A list that decides whether a driver may leave a node. Raises ClusterError, even if listing is forbidden."""
    try:
        return client.get(path, query).get("items") or []
    except ApiError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        why = "so it is unknown whether pods need a DRA driver: let this user list that resource in all namespaces"
        raise ClusterError(f"{error}, {why}") from error


def _networks(texts: Iterable[Optional[str]]) -> List[str]:
    """As few networks as hold all of these."""
    every = [ipaddress.ip_network(text, strict=False) for text in dict.fromkeys(texts) if text]
    four = ipaddress.collapse_addresses(network for network in every if isinstance(network, ipaddress.IPv4Network))
    six = ipaddress.collapse_addresses(network for network in every if isinstance(network, ipaddress.IPv6Network))
    return [str(network) for network in (*four, *six)]


def _networks_of(client: Client, api: Api, nodes: Iterable[Object]) -> Dict[str, List[str]]:
    kind = api.find(GroupKind("networking.k8s.io", "ServiceCIDR"), "v1")
    services = client.items_if_allowed(kind.path()) if kind else None
    specs = [node.get("spec") or {} for node in nodes]
    return {
        "pods": _networks(text for spec in specs for text in spec.get("podCIDRs") or [spec.get("podCIDR")]),
        "services": _networks(text for item in services or [] for text in (item.get("spec") or {}).get("cidrs") or []),
    }


def held(client: Client, api: Api) -> Dict[str, Dict[str, List[str]]]:
    """By DRA driver and node the pods that hold devices; a driver's pool is named after its node.

    (``kubeletplugin`` of k8s.io/dynamic-resource-allocation, for devices of a node.)
    """
    kind = api.find(_CLAIM)
    found: Dict[str, Dict[str, List[str]]] = {}
    for claim in _needed(client, kind.path()) if kind else []:
        status, namespace = claim.get("status") or {}, metadata(claim)["namespace"]
        pods = [f"{namespace}/{user['name']}" for user in status.get("reservedFor") or [] if user["resource"] == "pods"]
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
        for driver, node in dict.fromkeys((result["driver"], result["pool"]) for result in results):
            known = found.setdefault(driver, {}).setdefault(node, [])
            known += [pod for pod in pods if pod not in known]
    return {driver: {node: sorted(pods) for node, pods in nodes.items() if pods} for driver, nodes in found.items()}


def _told(kind: str, item: Object) -> Object:
    """What is told of an object; ``set`` in its metadata is the set of objects that it is in, empty for none."""
    meta = {field: metadata(item).get(field) for field in ("namespace", "name")}
    meta["set"] = (metadata(item).get("labels") or {}).get(PART_OF, "")
    return {"kind": kind, "metadata": meta, "spec": item.get("spec") or {}, **_refused(kind, item)}


def _refused(kind: str, item: Object) -> Dict[str, bool]:
    """Whether a DaemonSet has no pod on any of its nodes, because admission refuses them."""
    status = item.get("status") or {}
    wanted, there = (status.get(f"{name}NumberScheduled") for name in ("desired", "current"))
    return {"refused": True} if kind == "DaemonSet" and wanted and there == 0 else {}


def _daemon_sets(client: Client, sets: Sequence[Parent], parents: Mapping[Parent, Object]) -> List[Object]:
    """The DaemonSets of these sets of objects; ``parents`` are those that there are.

    Anybody can give a DaemonSet the label of a set. So a member is where the parent says that there are some, and has
    been applied by this tool.
    """
    if not sets:
        return []
    places = {parent.id: _namespaces(parent, live) for parent, live in parents.items()}
    query = {"labelSelector": f"{PART_OF} in ({','.join(dict.fromkeys(parent.id for parent in sets))})"}
    return [
        _told("DaemonSet", item)
        for item in _needed(client, "/apis/apps/v1/daemonsets", query)
        if metadata(item).get("namespace") in places.get(metadata(item)["labels"][PART_OF], ())
        and applied_by(FIELD_MANAGER, item) is not None
    ]


def _namespaces(parent: Parent, live: Object) -> FrozenSet[str]:
    """Where the members of a set are. A parent that is damaged is refused when the set is applied."""
    try:
        scope = parent.read(live)
    except ClusterError:
        scope = None
    return (scope or parent.scope()).namespaces


def _parents(client: Client, sets: Sequence[Parent]) -> Dict[Parent, Object]:
    """Those of these sets of objects that there are, with their parents. Raises ClusterError."""
    found = client.all(lambda parent: client.find(parent.path), sets)
    return {parent: live for parent, live in zip(sets, found) if live}


def _others(client: Client, sets: Sequence[Parent]) -> List[Dict[str, str]]:
    """Further sets of this tool in the namespaces of these, as far as this user may list Secrets."""
    found: List[Dict[str, str]] = []
    known = {(parent.namespace, parent.name) for parent in sets}
    for namespace in dict.fromkeys(parent.namespace for parent in sets):
        path, query = secrets(namespace)
        for item in client.items_if_allowed(path, query, METADATA_LIST) or []:
            name = metadata(item)["name"]
            if is_ours(item) and (namespace, name) not in known:
                found.append({"name": name, "namespace": namespace})
    return found


def _extended_resources(node: Object) -> List[str]:
    status = node.get("status") or {}
    every = dict.fromkeys(name for part in ("capacity", "allocatable") for name in status.get(part) or {})
    return [name for name in every if is_extended_resource(name)]


def _allocatable(node: Object) -> List[str]:
    """Of a plugin that was removed, the kubelet keeps a zero."""
    found = (node.get("status") or {}).get("allocatable") or {}
    return [name for name, number in found.items() if is_extended_resource(name) and quantity(str(number))]


def _objects(client: Client, api: Api, wanted: Iterable[Mapping[str, str]]) -> List[Object]:
    """Objects of these kinds (``DaemonSet.apps``) and names (empty for all), as far as the cluster serves them."""
    every = {str(resource.group_kind): resource for resource in api.all()}
    found: List[Object] = []
    for entry in wanted:
        kind, name = every.get(entry["kind"]), entry["name"]
        query = {"fieldSelector": f"metadata.name={name}"} if name else None
        items = client.get(kind.path(), query).get("items") or [] if kind else []
        found += [_told(entry["kind"].partition(".")[0], item) for item in items]
    return found


def reach(client: Client, dra: bool) -> Tuple[Api, Dict[str, Any]]:
    """The APIs that the server has, and what :func:`info` returns of the server itself. Raises ClusterError."""
    release = client.get("/version")
    api = Api([client.get("/apis", accept=ACCEPT)])
    found = {"changed": False, "kubernetes": str(release["gitVersion"])}
    if dra:
        refuse_broken(release)
        found["api_version"] = f"{GROUP}/{negotiate(api.versions(GROUP), lambda: release)}"
    return api, found


def _administrator(client: Client) -> bool:
    try:
        return review.is_administrator(client)
    except ApiError as error:
        if error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            return False
        raise


def info(
    client: Client,
    dra: bool,
    sets: Sequence[Parent] = (),
    kinds: Sequence[str] = (),
    objects: Sequence[Mapping[str, str]] = (),
) -> Dict[str, Any]:
    """The result of the module ``cluster_info``; ``sets`` are those whose DaemonSets are told, ``kinds``
    (``NicClusterPolicy.mellanox.com``) those that may be served, ``objects`` what is
    listed of others (:func:`_objects`).

    The networks are those that the API server knows: a network plugin with ranges of its own does not write them into
    nodes, and before Kubernetes 1.33 those of services are not told. Raises ClusterError, with ``dra`` also where DRA
    drivers cannot work.
    """
    api, found = reach(client, dra)
    nodes = client.get("/api/v1/nodes").get("items") or []
    if dra:
        _refuse_kubelets(nodes)
    parents = _parents(client, sets)
    return {
        **found,
        "administrator": _administrator(client),
        "networks": _networks_of(client, api, nodes),
        "held": held(client, api),
        "daemon_sets": _daemon_sets(client, sets, parents),
        "kinds": [kind for kind in kinds if kind in {str(resource.group_kind) for resource in api.all()}],
        "objects": _objects(client, api, objects),
        "nodes": {metadata(node)["name"]: metadata(node).get("labels") or {} for node in nodes},
        "parents": [{"name": parent.name, "namespace": parent.namespace} for parent in parents],
        "others": _others(client, sets),
        "extended_resources": {metadata(node)["name"]: _extended_resources(node) for node in nodes},
        "allocatable": {metadata(node)["name"]: _allocatable(node) for node in nodes},
        "counted": [
            metadata(node)["name"] for node in nodes if ANNOTATION in (metadata(node).get("annotations") or {})
        ],
        "leaf_labelled": [metadata(node)["name"] for node in nodes if leaf_labels.owned(node)],
    }
