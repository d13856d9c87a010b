# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Extended resources that a device plugin has left behind in the status of nodes.

When a plugin goes, the kubelet sets what is allocatable of its resources to 0, and the capacity stays as it was
(``setNodeStatusMachineInfo`` of pkg/kubelet/nodestatus). Nobody removes either.
"""

from __future__ import annotations

import time
from typing import Any, Collection, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, again_on_conflict
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.nodes import diff
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.daemon_sets import is_lost
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

_NODES = "/api/v1/nodes"
_LISTS = ("capacity", "allocatable")

# By name of a node the resources that are to go.
Wanted = Mapping[str, Sequence[str]]


class Leftover(NamedTuple):
    """A resource in the status of a node, with its quantities as they stand there, empty where there is none.

    It is ``ours`` where the plugin is, or was, that is to go. Of a ``lost`` node, no kubelet writes it again.
    """

    node: str
    resource: str
    capacity: str
    allocatable: str
    ours: bool = True
    lost: bool = False

    @property
    def advertised(self) -> bool:
        """Whether a device plugin still has devices to give; what is no quantity counts as such."""
        return self.allocatable != "" and quantity(self.allocatable) != 0

    @property
    def kept(self) -> bool:
        """Whether the kubelet would write it again.

        It does so for five minutes after the plugin has ended, with nothing allocatable. Then it sets the capacity to
        0, once (``endpointStopGracePeriod`` and ``GetCapacity`` in ``pkg/kubelet/cm/devicemanager``, Kubernetes 1.36).
        """
        return self.allocatable != "" and not self.advertised and quantity(self.capacity or "0") != 0


def found(nodes: Sequence[Object], wanted: Wanted, label: str = "", gone: bool = False) -> List[Leftover]:
    """The resources that are to go where they are in the status of these nodes.

    With ``label``, the nodes with this label are those of the plugin, and what is advertised on others is no leftover.
    With ``gone``, the plugin has gone from all of them before, and what is advertised on any is no leftover.
    """
    leftovers = []
    for node in nodes:
        name = metadata(node)["name"]
        status = node.get("status") or {}
        ours = not gone and (not label or label in (metadata(node).get("labels") or {}))
        for resource in wanted.get(name, ()):
            capacity, allocatable = (str((status.get(key) or {}).get(resource, "")) for key in _LISTS)
            entry = Leftover(name, resource, capacity, allocatable, ours, is_lost(node))
            if (capacity or allocatable) and (ours or not entry.advertised):
                leftovers.append(entry)
    return leftovers


def holders(pods: Sequence[Object], leftovers: Sequence[Leftover]) -> Dict[str, List[Leftover]]:
    """Pods that hold such a resource on its node, as ``namespace/name``, each with what it holds."""
    there: Dict[Tuple[Any, str], Leftover] = {(entry.node, entry.resource): entry for entry in leftovers}
    result: Dict[str, List[Leftover]] = {}
    for pod in pods:
        node = (pod.get("spec") or {}).get("nodeName")
        held = [there[node, name] for name in dict.fromkeys(requested(pod)) if (node, name) in there]
        if held:
            result[f"{metadata(pod)['namespace']}/{metadata(pod)['name']}"] = held
    return result


def in_the_way(pods: Mapping[str, Sequence[Leftover]]) -> str:
    """What is wrong where pods hold what is to go."""
    held = [entry for entries in pods.values() for entry in entries]
    resources, nodes = dict.fromkeys(entry.resource for entry in held), fold(entry.node for entry in held)
    return f"pods hold {', '.join(resources)} on {nodes} ({joined(sorted(pods), 10)}): delete these pods first"


def unfinished(client: Client) -> List[Object]:
    """All pods of the cluster that have not ended. Raises ClusterError."""
    active = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
    items: List[Object] = client.get("/api/v1/pods", active)["items"]
    return items


def requested(pod: Mapping[str, Any]) -> Iterator[str]:
    """The resources for which the containers of a pod ask."""
    spec = pod.get("spec") or {}
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        # The API server sets requests of extended resources to their limits.
        yield from ((container.get("resources") or {}).get("limits") or {})


def remove(
    client: Client,
    wanted: Wanted,
    timeout: float,
    check: bool,
    keep_used: bool = False,
    label: str = "",
    awaited: Optional[Collection[str]] = None,
    gone: bool = False,
) -> Dict[str, Any]:
    """Remove resources from capacity and allocatable; ``changed``, ``nodes``, ``warnings`` and ``diff``.

    Waits up to ``timeout`` seconds for device plugins that are on their way out, and for kubelets to let go, but not
    for a plugin that comes back meanwhile; with ``awaited``, only on these nodes. Nodes that are not in the cluster,
    and resources that are not on a node, are as they should be. On a node that is down, what is advertised stays, with
    a warning. Raises ClusterError, before anything is changed where a pod holds one or a plugin still has devices to
    give; in check mode the plugin may be about to go, and is not asked for. With ``keep_used``, that is a warning, and
    those resources stay; so are pods with ``label`` on the nodes that do not have it, and with ``gone``: what is
    advertised there is no leftover (:func:`found`).
    """
    leftovers = _left(client, wanted, 0 if check else timeout, label, awaited, gone)
    silent = [entry for entry in leftovers if entry.lost and entry.advertised]
    leftovers = [entry for entry in leftovers if entry not in silent]
    pods = unfinished(client) if leftovers else []
    refused, _used = _in_use(pods, [entry for entry in leftovers if entry.ours and not keep_used], check)
    if refused:
        raise ClusterError("; ".join(refused))
    problems, used = _in_use(pods, [entry for entry in leftovers if keep_used or not entry.ours], check)
    leftovers = [entry for entry in leftovers if entry not in used]
    for resource, names in _by_resource(silent).items():
        problems.append(f"{resource} is left on {fold(names)}, where no kubelet answers: run this again when it does")
    # Check mode has not waited for them.
    kept = [] if check else [entry for entry in leftovers if entry.kept]
    for resource, names in _by_resource(kept).items():
        problems.append(
            f"{resource} on {fold(names)} is written again by the kubelet until its device plugin has been gone for"
            " five minutes: run this again then"
        )
    back: List[Leftover] = []
    if not check:
        by_node = _by_node(leftovers)
        for entries in client.all(lambda name: _write(client, by_node[name]), list(by_node)):
            back += entries
    told = [
        f"{entry.resource} of {entry.node} is advertised again: its device plugin has come back"
        for entry in back
        if entry.ours
    ]
    if told and not keep_used:
        raise ClusterError("; ".join(told))
    returned = set(back)
    leftovers = [entry for entry in leftovers if entry not in returned]
    removed = {node: [entry.resource for entry in entries] for node, entries in _by_node(leftovers).items()}
    return {"changed": bool(removed), "nodes": removed, "warnings": problems + told, "diff": _diff(leftovers)}


def _by_node(leftovers: Sequence[Leftover]) -> Dict[str, List[Leftover]]:
    found: Dict[str, List[Leftover]] = {}
    for entry in leftovers:
        found.setdefault(entry.node, []).append(entry)
    return found


def _by_resource(leftovers: Iterable[Leftover]) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for entry in leftovers:
        found.setdefault(entry.resource, []).append(entry.node)
    return found


def _in_use(pods: Sequence[Object], leftovers: Sequence[Leftover], check: bool) -> Tuple[List[str], Set[Leftover]]:
    """What is in the way of removing which of them."""
    problems = []
    used = {entry for entry in leftovers if entry.advertised and not check}
    for resource, names in _by_resource(entry for entry in leftovers if entry in used).items():
        problems.append(f"{resource} is still advertised on {fold(names)}: remove its device plugin first")
    held = holders(pods, leftovers)
    if held:
        problems.append(in_the_way(held))
    return problems, used.union(*held.values())


def _left(
    client: Client, wanted: Wanted, timeout: float, label: str, awaited: Optional[Collection[str]], gone: bool
) -> List[Leftover]:
    """What is left when no plugin is on its way out any more and no kubelet keeps it, or when the time is over."""
    deadline = time.monotonic() + timeout
    idle: Set[Tuple[str, str]] = set()
    while True:
        nodes = client.get(_NODES)
        leftovers = found(nodes["items"], wanted, label, gone)
        idle.update((entry.node, entry.resource) for entry in leftovers if not entry.advertised)
        # A resource whose plugin has come back is no longer a leftover.
        ours = [entry for entry in leftovers if not entry.lost and (awaited is None or entry.node in awaited)]
        leaving = [entry for entry in ours if entry.advertised and (entry.node, entry.resource) not in idle]
        left = deadline - time.monotonic()
        if left <= 0 or not (leaving or any(entry.kept for entry in ours)):
            return leftovers
        version = metadata(nodes).get("resourceVersion", "")
        for event in client.watch(_NODES, {"resourceVersion": version}, left):
            if metadata(event.get("object") or {}).get("name") in wanted:
                break


def _write(client: Client, entries: Sequence[Leftover]) -> List[Leftover]:
    """Remove these resources of one node, except those whose plugin has come back, which are returned."""
    name = entries[0].node
    path = f"{_NODES}/{name}"

    def attempt() -> List[Leftover]:
        node = client.find(path)
        now = found([node] if node else [], {name: [entry.resource for entry in entries]})
        again = {entry.resource for entry in now if entry.advertised}
        back = [entry for entry in entries if entry.resource in again]
        gone = [entry for entry in now if not entry.advertised]
        if not node or not gone:
            return back
        status = {
            key: {entry.resource: None for entry in gone if getattr(entry, key)}
            for key in _LISTS
            if any(getattr(entry, key) for entry in gone)
        }
        # With the version, what the kubelet writes at the same moment is not lost on us.
        meta = {"uid": metadata(node)["uid"], "resourceVersion": metadata(node)["resourceVersion"]}
        client.merge(f"{path}/status", {"metadata": meta, "status": status}, {})
        return back

    return again_on_conflict(attempt)


def _diff(leftovers: Sequence[Leftover]) -> List[Dict[str, str]]:
    lines = [
        f"{entry.node} {key} {entry.resource}: {getattr(entry, key)}\n"
        for entry in leftovers
        for key in _LISTS
        if getattr(entry, key)
    ]
    return diff("extended resources of nodes", "".join(lines), "")
