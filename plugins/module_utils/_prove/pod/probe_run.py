# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Runs probes: creates them, waits for their end, reads their results, and deletes them.

What a pod has to say it writes to its log, so nothing is executed in it, and nobody needs more rights than to make
pods and to read their logs.

Whoever may make pods in the namespace can give theirs our label and our names. So a pod is ours if this run has created
it, which its UID says: others are neither waited for, nor read, nor changed. One of a run that was killed is deleted
only if it has ended, has the name of a probe of this run, and nobody else has written any of it.

A driver has to publish the devices of pods that have ended as it did before. DRANET looks at its node again some time
after a NIC is back (``--inventory-min-poll-interval``). Until then a pod that is given the NIC starts without it, and
nobody says so.
"""

from __future__ import annotations

import time
from datetime import datetime
from http import HTTPStatus
from typing import Any, Collection, Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import (
    IN_USE,
    LABEL,
    PodProbe,
    PodProbeResult,
    Recipe,
    claim_of,
    manifest,
    over,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Resource
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.dra_version import GROUP
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    GroupKind,
    Object,
    ObjectKey,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import FIELD_MANAGER, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import foreign
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.extended_resources import (
    requested,
    unfinished,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.wait import (
    Readiness,
    gone,
    pod_trouble,
    until,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.wait import until as until_slices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# Driver, pool and name of a device.
_Key = Tuple[str, str, str]
# The names of the attributes of each device.
Published = Dict[_Key, FrozenSet[str]]


def _of_node(node: str) -> Dict[str, str]:
    return {"fieldSelector": f"spec.nodeName={node}"}


def _read(node: str, slices: Iterable[Object]) -> Published:
    try:
        return {
            (device.driver, device.pool, device.name): frozenset(device.attributes) for device in model.devices(slices)
        }
    except ValueError as error:
        raise ClusterError(f"a ResourceSlice of {node} cannot be read: {error}") from error


def published(client: Client, path: str, nodes: Iterable[str]) -> Dict[str, Published]:
    """What each of these nodes publishes; ``path`` is that of the ResourceSlices. Raises ClusterError."""
    return {node: _read(node, client.get(path, _of_node(node)).get("items") or []) for node in sorted(nodes)}


def until_returned(
    client: Client,
    path: str,
    before: Mapping[str, Published],
    results: Collection[Mapping[str, Any]],
    seconds: float,
) -> None:
    """Wait until the devices of ``results`` (of allocations) have the attributes again that they had ``before``.

    Returns after ``seconds`` without progress in any case: whoever compares the nodes with their facts reports what has
    not come back. Raises ClusterError.
    """
    keys = {(str(result["driver"]), str(result["pool"]), str(result["device"])) for result in results}
    deadline = time.monotonic() + seconds
    for node, own in before.items():
        wanted = {key: own[key] for key in own.keys() & keys}

        def returned(slices: Iterable[Object], node: str = node, wanted: Published = wanted) -> Set[_Key]:
            now = _read(node, slices)
            return {key for key, attributes in wanted.items() if attributes <= now.get(key, frozenset())}

        if wanted:
            until_slices(client, path, _of_node(node), wanted.keys(), returned, deadline - time.monotonic())


_PODS = Resource("", "v1", "Pod", "pods", True, frozenset())
_POD = GroupKind("", "Pod")
_OURS = {"labelSelector": LABEL}
_PAUSE_SECONDS = 0.5
# Longer than the pod's own deadline, so that the kubelet is the one that ends it.
_GRACE_SECONDS = 15
_MOST_LOG_BYTES = 1 << 20
_GONE_SECONDS = 60
# More than the longest interval between two looks of DRANET at its node, which is a minute by default.
_RETURN_SECONDS = 180


class _PodProbeRun:
    """``live`` are by the names of probes the pods that this run has created, whose names may be longer."""

    def __init__(self, client: Client, recipe: Recipe, claims: str) -> None:
        self.client, self.recipe, self.claims = client, recipe, claims
        self.live: Dict[str, Object] = {}
        self.found: Dict[str, PodProbeResult] = {}

    def make(self, probe: PodProbe, peer: str = "") -> None:
        self.found[probe.name] = PodProbeResult(probe.name, probe.node)
        users = self._users(probe)
        if users:
            self.found[probe.name].phase = IN_USE
            self.found[probe.name].trouble = f"claim {probe.claim} is in use by {users}"
            return
        try:
            self.live[probe.name] = self._created(manifest(probe, self.recipe, peer))
        except ApiError as error:
            self.found[probe.name].phase, self.found[probe.name].trouble = "Refused", str(error)

    def _created(self, pod: Object) -> Object:
        """The new pod, with a longer name where somebody else's pod has its own. Raises ApiError, ClusterError."""
        path, query = _PODS.path(metadata(pod)["namespace"]), {"fieldManager": FIELD_MANAGER}
        try:
            return self.client.create(path, pod, query).body
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        meta = {name: value for name, value in metadata(pod).items() if name != "name"}
        meta["generateName"] = f"{metadata(pod)['name']}-"
        return self.client.create(path, {**pod, "metadata": meta}, query).body

    def _users(self, probe: PodProbe) -> str:
        """Who uses the claim that the probe would share, and take the NIC from."""
        path = f"{self.claims}/namespaces/{probe.namespace}/resourceclaims/{probe.claim}"
        claim = self.client.find(path) if probe.claim else None
        users = ((claim or {}).get("status") or {}).get("reservedFor") or []
        return ", ".join(f"{user.get('resource')} {user.get('name')}" for user in users)

    def follow(self, probes: Sequence[PodProbe]) -> None:
        """Make the peers of servers as soon as these have an address, and wait until all came to their end."""
        by_name = {probe.name: probe for probe in probes}
        waiting = [probe for probe in probes if probe.peer]
        deadline = time.monotonic() + self.recipe.timeout + _GRACE_SECONDS
        while time.monotonic() < deadline:
            self._look([by_name[name] for name in self.live])
            for probe in list(waiting):
                server = self.live.get(str(probe.peer)) or {}
                address = (server.get("status") or {}).get("podIP")
                if address and not over(server):
                    self.make(probe, str(address))
                elif over(server) or str(probe.peer) not in self.live:
                    self.found[probe.name] = PodProbeResult(
                        probe.name, probe.node, trouble=f"its peer {probe.peer} did not run"
                    )
                else:
                    continue
                waiting.remove(probe)
                deadline = time.monotonic() + self.recipe.timeout + _GRACE_SECONDS
            if not waiting and all(over(pod) for pod in self.live.values()):
                return
            time.sleep(_PAUSE_SECONDS)
        for probe in waiting:
            self.found[probe.name] = PodProbeResult(
                probe.name, probe.node, trouble=f"its peer {probe.peer} did not run"
            )

    def _look(self, probes: Sequence[PodProbe]) -> None:
        for namespace in sorted({probe.namespace for probe in probes}):
            by_uid = {metadata(self.live[probe.name])["uid"]: probe.name for probe in probes}
            for pod in self.client.get(_PODS.path(namespace), _OURS).get("items") or []:
                name = by_uid.get(metadata(pod)["uid"])
                if name is not None:
                    self.live[name] = pod
                    self._allocation(pod, self.found[name])

    def _allocation(self, pod: Object, result: PodProbeResult) -> None:
        """What the claim got; read as soon as the pod has a node, since the claim goes when the pod has ended."""
        result.claim = result.claim or claim_of(pod)
        if result.allocation or not result.claim or not pod["spec"].get("nodeName"):
            return
        claim = self.client.find(f"{self.claims}/namespaces/{metadata(pod)['namespace']}/resourceclaims/{result.claim}")
        allocation = ((claim or {}).get("status") or {}).get("allocation") or {}
        names = ("request", "driver", "pool", "device")
        results = (allocation.get("devices") or {}).get("results") or []
        result.allocation = [{name: device.get(name) for name in names} for device in results]

    def collect(self, probe: PodProbe) -> None:
        """What the pod got and said; while it is there."""
        result, pod = self.found[probe.name], self.live.get(probe.name)
        if pod is None:
            return
        status = pod.get("status") or {}
        result.phase = status.get("phase") or "Pending"
        result.seconds = _seconds(pod)
        if result.phase != "Succeeded":
            result.trouble = self._trouble(probe, pod)
        if result.seconds is not None:
            result.output = self._log(probe)

    def _log(self, probe: PodProbe) -> str:
        try:
            query = {"limitBytes": _MOST_LOG_BYTES}
            return self.client.text(f"{_path(self.live[probe.name])}/log", query)
        except ClusterError as error:
            self.found[probe.name].trouble = self.found[probe.name].trouble or f"its log cannot be read: {error}"
            return ""

    def _trouble(self, probe: PodProbe, pod: Object) -> str:
        """Why it did not succeed: what its status says, else the newest warning about it."""
        said = pod_trouble(pod)
        if said:
            return said
        query = {"fieldSelector": f"involvedObject.uid={metadata(pod)['uid']},type=Warning"}
        # Who may make pods may not be allowed to see them.
        events = self.client.items_if_allowed(f"/api/v1/namespaces/{probe.namespace}/events", query) or []
        newest = max(
            events, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""), default=None
        )
        status = pod.get("status") or {}
        ended = str(status.get("message") or status.get("reason") or "")
        if newest is not None:
            return f"{newest.get('reason')}: {newest.get('message')}"
        return ended or ("failed" if over(pod) else "did not start in time")

    def remove(self, probes: Sequence[PodProbe]) -> None:
        """Delete the pods and wait until they are gone, because only then their NICs are free. Raises ClusterError."""
        there = [self.live[probe.name] for probe in probes if probe.name in self.live]
        self.client.all(lambda pod: _delete(self.client, pod), there)
        uids = {_key(pod): metadata(pod)["uid"] for pod in there}

        def judge(key: ObjectKey, live: Optional[Object]) -> Readiness:
            # Somebody else may have taken its name.
            return gone(key, live if live and metadata(live)["uid"] == uids[key] else None)

        until(self.client, [(key, _PODS) for key in uids], _GONE_SECONDS, judge)


def _key(pod: Object) -> ObjectKey:
    return ObjectKey(*_POD, metadata(pod)["namespace"], metadata(pod)["name"])


def _path(pod: Object) -> str:
    return _PODS.path(metadata(pod)["namespace"], metadata(pod)["name"])


def _delete(client: Client, pod: Object) -> None:
    """Delete this pod, and no other one of its name. Raises ApiError, ClusterError."""
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata(pod)["uid"]}}
    try:
        client.delete(_path(pod), options)
    except ApiError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise


def _seconds(pod: Object) -> Optional[float]:
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        state: Mapping[str, Any] = container.get("state") or {}
        began = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if began:
            # By the clocks of the node and of the API server, which may differ.
            return max(0.0, (_time(began) - _time(metadata(pod)["creationTimestamp"])).total_seconds())
    return None


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")


def _api(version: str) -> str:
    return f"/apis/{GROUP}/{version}"


def in_use(client: Client, probes: Sequence[PodProbe], version: str) -> Dict[str, List[Dict[str, str]]]:
    """What others hold at the moment of what these probes ask for, by node. Raises ClusterError.

    Of claims it is the devices, of extended resources their name and the pod. ``version`` is that of resource.k8s.io,
    empty where none of the probes has a claim.
    """
    found = _claimed(client, _api(version)) if version else {}
    resources = {resource for probe in probes for resource in probe.limits}
    nodes = {probe.node for probe in probes}
    for pod in unfinished(client) if resources else ():
        node = (pod.get("spec") or {}).get("nodeName")
        for resource in dict.fromkeys(requested(pod)):
            if node in nodes and resource in resources:
                name = f"{metadata(pod)['namespace']}/{metadata(pod)['name']}"
                found.setdefault(node, []).append({"resource": resource, "pod": name})
    return found


def _claimed(client: Client, claims: str) -> Dict[str, List[Dict[str, str]]]:
    found: Dict[str, List[Dict[str, str]]] = {}
    for claim in client.get(f"{claims}/resourceclaims").get("items") or []:
        allocation = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
        for device in allocation.get("results") or []:
            found.setdefault(device["pool"], []).append({"driver": device["driver"], "device": device["device"]})
    return found


def _left_over(pod: Object) -> bool:
    """Whether it looks like one that a run has left: it has ended, and nobody else has written any of it."""
    entries = metadata(pod).get("managedFields") or []
    return over(pod) and not foreign.managers(pod) and any(entry.get("manager") == FIELD_MANAGER for entry in entries)


def clear(client: Client, probes: Sequence[PodProbe]) -> List[str]:
    """Take away what a run that was killed has left under the names of these probes, and warn of other pods.

    Raises ClusterError.
    """
    names = {(probe.namespace, probe.name) for probe in probes}
    busy = []
    for namespace in sorted({probe.namespace for probe in probes}):
        for pod in client.get(_PODS.path(namespace), _OURS).get("items") or []:
            place = (metadata(pod)["namespace"], metadata(pod)["name"])
            if place in names and _left_over(pod):
                _delete(client, pod)
            elif not over(pod):
                busy.append("/".join(place))
    if not busy:
        return []
    text = f"there are pods with the label {LABEL} that do not belong to this run: {joined(busy)}"
    return [f"{text}. If they belong to another run, either run may find NICs in use by the other"]


def run(client: Client, probes: Sequence[PodProbe], recipe: Recipe, version: str) -> List[PodProbeResult]:
    """What became of each probe, in their order; none is left behind. ``version`` as for :func:`in_use`.

    Returns when the devices of the pods are published as before, so that the next pods find them. Raises ClusterError
    when nothing can be said, or a pod cannot be taken away.
    """
    whole = _PodProbeRun(client, recipe, _api(version))
    slices = f"{_api(version)}/resourceslices"
    before = published(client, slices, {probe.node for probe in probes if probe.claims})
    try:
        client.all(whole.make, [probe for probe in probes if not probe.peer])
        whole.follow(probes)
        client.all(whole.collect, probes)
    finally:
        whole.remove(probes)
    held = [device for result in whole.found.values() for device in result.allocation]
    until_returned(client, slices, before, held, min(recipe.timeout, _RETURN_SECONDS))
    return [whole.found[probe.name] for probe in probes]
