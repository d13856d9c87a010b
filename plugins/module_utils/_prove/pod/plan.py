# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which pods to run to test a strategy on real nodes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import PodProbe
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

# The alias of pods that ask for nothing, and must see no device.
NOTHING = "nothing"
# The alias of pods without a GPU that request the nearest NICs, and must not see any device either.
WITHOUT_GPU = "without-gpu"
# It tells the script in the pod to measure each port to itself.
_LOOPBACK = "ZEROCOPY_LOOPBACK"
_LONGEST = 40
_KINDS = {"ResourceClaimTemplate": "template", "ResourceClaim": "claim"}

# Objects by kind (``template``, ``claim``) and alias.
Sources = Dict[Tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class PlannedPod(PodProbe):
    """A probe with the reason for it.

    ``alias`` is the name of the request (:class:`PodRequest`), and ``entry`` what the inventory calls it. The names of
    ``template`` and ``claim`` have the hash of their content.
    """

    group: str = ""
    entry: str = ""
    alias: str = ""


_OF_PLAN = ("group", "entry", "alias")


@dataclass(frozen=True)
class PodTests:
    """``sample`` nodes of each group are taken (0: all); of two neighbours the second measures against the first, with
    ``bandwidth``, and each port to itself, with ``loopback``. ``namespace`` is for pods that may be in any.
    """

    sample: int = 2
    bandwidth: bool = True
    loopback: bool = True
    namespace: str = "default"


def plain(pod: PlannedPod) -> Dict[str, Any]:
    """The pod as a dictionary, in which ``pod`` is what the module pod_probe takes."""
    found = asdict(pod)
    options = {name: value for name, value in found.items() if name not in _OF_PLAN and value is not None}
    return {"pod": options, **_about(found)}


def pod_of(value: Mapping[str, Any]) -> PlannedPod:
    """The opposite."""
    return PlannedPod(**value["pod"], **_about(value))


def _about(value: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value[name] for name in _OF_PLAN}


def request_of(pod: PlannedPod, requests: Sequence[PodRequest]) -> Optional[PodRequest]:
    """The one of the group's requests that the pod makes, ``None`` for one that asks for nothing."""
    same = (request for request in requests if request.name == pod.alias and bool(request.claim) == bool(pod.claim))
    return next(same, None)


def claimed(pod: PlannedPod, objects: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the pod claims (``ResourceClaimSpec``), empty for one without a claim; ``objects`` are of the plan."""
    for manifest in objects:
        kind = _KINDS.get(manifest["kind"])
        if kind and getattr(pod, kind) and manifest["metadata"]["name"] == pod.alias:
            return _spec(kind, manifest)
    return {}


def _spec(kind: str, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = manifest["spec"]["spec"] if kind == "template" else manifest["spec"]
    return spec


def pod_name(prefix: str, alias: str, node: str) -> str:
    digest = hashlib.sha256(f"{alias}/{node}".encode()).hexdigest()[:8]
    text = re.sub("[^a-z0-9]+", "-", alias.lower())[:_LONGEST].strip("-")
    return f"{prefix}-{text}-{digest}"


def _name(alias: str, node: str) -> str:
    return pod_name("rdma-verify", alias, node)


def _pairs(nodes: Sequence[str], measured: bool) -> Dict[str, str]:
    """The server of each node that measures."""
    return dict(zip(nodes[1::2], nodes[::2])) if measured else {}


def _measurable(spec: Mapping[str, Any]) -> bool:
    """Whether a claim asks for anything that can be measured."""
    return any(request["name"].startswith("nic") for request in spec["devices"]["requests"])


def sources(objects: Sequence[Mapping[str, Any]]) -> Sources:
    """What pods can claim, of the objects of the plan."""
    found: Sources = {}
    for manifest in objects:
        kind = _KINDS.get(manifest["kind"])
        if kind:
            found.setdefault((kind, manifest["metadata"]["name"]), manifest)
    return found


def source_of(request: PodRequest, there: Sources, namespace: str) -> Tuple[Dict[str, str], str, bool]:
    """What a pod claims (``template`` or ``claim``), its namespace, and whether it has anything that can be measured.

    ``namespace`` is for pods that may be in any.
    """
    for kind, alias in (("template", request.template), ("claim", request.claim)):
        if alias:
            manifest = there[kind, alias]
            name = hashed(alias, manifest["spec"])
            return {kind: name}, manifest["metadata"]["namespace"], _measurable(_spec(kind, manifest))
    return {}, request.namespace or namespace, True


class _PodPlan:
    def __init__(self, objects: Sequence[Mapping[str, Any]], tests: PodTests) -> None:
        self.tests = tests
        self.there = sources(objects)

    def nodes(self, hosts: Sequence[str]) -> List[str]:
        ordered = sorted(hosts, key=natural_key)
        return ordered[: self.tests.sample] if self.tests.sample else ordered

    def pods(self, group: str, request: PodRequest, nodes: Sequence[str]) -> List[PlannedPod]:
        """A pod on each of these nodes, pairs of which measure."""
        source, namespace, measured = source_of(request, self.there, self.tests.namespace)
        servers = _pairs(nodes, self.tests.bandwidth and measured)
        prefix = "claim-" if request.claim else ""
        names = {node: _name(f"{prefix}{request.name}", node) for node in nodes}
        environment = dict(request.environment)
        if self.tests.loopback and measured:
            environment[_LOOPBACK] = "1"
        return [
            PlannedPod(
                name=names[node],
                namespace=namespace,
                node=node,
                template=source.get("template"),
                claim=source.get("claim"),
                server=node in servers.values(),
                peer=names[servers[node]] if node in servers else None,
                limits={**request.limits, **({request.gpu_resource: 1} if request.gpu_resource else {})},
                annotations=request.annotations,
                capabilities=list(request.capabilities),
                environment=environment,
                host_network=request.host_network,
                group=group,
                entry=request.entry or request.name,
                alias=request.name,
            )
            for node in nodes
        ]

    def bare(self, group: str, requests: Sequence[PodRequest]) -> List[PlannedPod]:
        """Pods that ask for nothing, on the nodes of those that ask, and such that ask beside a GPU and have none."""
        namespace = next((request.namespace for request in requests if request.namespace), self.tests.namespace)
        hosts = list(dict.fromkeys(host for request in requests for host in request.hosts))
        kinds: Dict[str, Mapping[str, str]] = {NOTHING: {}}
        for request in requests:
            if request.gpu_resource:
                kinds[WITHOUT_GPU] = request.annotations
        return [
            PlannedPod(
                _name(f"{kind}-{group}", node),
                namespace,
                node,
                annotations=annotations,
                group=group,
                entry=kind,
                alias=kind,
            )
            for node in self.nodes(hosts)
            for kind, annotations in kinds.items()
        ]


def waves(
    objects: Sequence[Mapping[str, Any]], requests: Mapping[str, Sequence[PodRequest]], tests: PodTests
) -> List[List[PlannedPod]]:
    """The pods, those of a wave at the same time: in each wave a node has one pod that asks for RDMA.

    ``objects`` and ``requests`` are of the plan of all strategies. In the first wave there is a pod that asks for
    nothing as well. Of each group nodes are taken in their natural order.
    """
    whole = _PodPlan(objects, tests)
    used: Dict[str, int] = {}
    result: List[List[PlannedPod]] = []
    for group in sorted(requests, key=natural_key):
        for request in requests[group]:
            nodes = whole.nodes(list(request.hosts))
            # After all that these nodes have had before.
            wave = max((used.get(node, 0) for node in nodes), default=0)
            result += [[] for _more in range(wave + 1 - len(result))]
            result[wave] += whole.pods(group, request, nodes)
            used.update(dict.fromkeys(nodes, wave + 1))
    for group in sorted(requests, key=natural_key) if result else ():
        result[0] += whole.bare(group, requests[group])
    return result
