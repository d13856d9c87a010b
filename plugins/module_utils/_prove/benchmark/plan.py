# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which pairs of pods are to be run: for each repetition each template of each group, and TCP as the floor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import pod_name, source_of, sources
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

# The name of pairs without a NIC, which use the pod network.
FLOOR = "tcp"
# `rc` with what sets it up: some versions of UCX need `ud` for that. Without these, transfers fail instead of
# being slow.
_RDMA_TLS, _FLOOR_TLS, _GPU_TLS = "rc,ud,self", "tcp", "cuda_copy"


@dataclass(frozen=True)
class BenchmarkTests:
    """``templates`` are names of the inventory; empty: all that there are. ``environment`` takes precedence."""

    templates: Sequence[str] = ()
    repetitions: int = 3
    floor: bool = True
    namespace: str = "default"
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Pair:
    """Two pods as the module pod_probe takes them, the target first."""

    group: str
    entry: str
    alias: str
    repetition: int
    pods: List[Dict[str, Any]]


@dataclass
class BenchmarkPlan:
    """``skipped`` lists requests without a pair, with reasons. If there are problems, no pair is run."""

    pairs: List[Pair] = field(default_factory=list)
    skipped: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)


def _entry(request: PodRequest) -> str:
    return request.entry or request.name


class _Planner:
    def __init__(self, objects: Sequence[Mapping[str, Any]], tests: BenchmarkTests) -> None:
        self.there, self.tests = sources(objects), tests
        self.found = BenchmarkPlan()

    def _nodes(self, request: PodRequest) -> List[str]:
        return sorted(request.hosts, key=natural_key)[:2]

    def _pod(self, request: PodRequest, role: str, node: str, source: Mapping[str, Any]) -> Dict[str, Any]:
        floor = request.name == FLOOR
        # One if a pod gets the NICs nearest to its GPUs, and none of them by its claim.
        gpus = 1 if request.gpu_resource and not request.gpus else 0
        own = {"ZEROCOPY_NODE": node, "UCX_TLS": _FLOOR_TLS if floor else _RDMA_TLS}
        if gpus or request.gpus:
            own["UCX_TLS"] += f",{_GPU_TLS}"
        if floor:
            own["ZEROCOPY_RDMA"] = "off"
        limits = {**request.limits, **({request.gpu_resource: gpus} if gpus else {})}
        return {
            "name": pod_name(f"rdma-benchmark-{role}", request.name, node),
            "node": node,
            "limits": limits,
            "annotations": dict(request.annotations),
            "capabilities": list(request.capabilities),
            "environment": {**request.environment, **own, **self.tests.environment},
            "host_network": request.host_network,
            "host_sys": not floor and not request.host_network,
            "server": role == "target",
            **source,
        }

    def _pair(self, group: str, request: PodRequest, repetition: int) -> Pair:
        target, initiator = self._nodes(request)
        claim, namespace, _measurable = source_of(request, self.there, self.tests.namespace)
        source = {**claim, "namespace": namespace}
        pods = [self._pod(request, "target", target, source), self._pod(request, "initiator", initiator, source)]
        pods[1]["peer"] = pods[0]["name"]
        return Pair(group, _entry(request), request.name, repetition, pods)

    def _wanted(self, requests: Mapping[str, Sequence[PodRequest]]) -> List[Tuple[str, PodRequest]]:
        """The requests that can be run on two nodes, by group."""
        found: List[Tuple[str, PodRequest]] = []
        for group in sorted(requests, key=natural_key):
            # A ResourceClaim is for one pod and its node.
            mine = [request for request in requests[group] if not request.claim]
            if self.tests.templates:
                mine = [request for request in mine if {_entry(request), request.name} & set(self.tests.templates)]
            able = [request for request in mine if len(self._nodes(request)) == 2]
            short = sorted({_entry(request) for request in mine if request not in able})
            if short:
                self.found.skipped.append(f"{group}: {', '.join(short)} is available on fewer than two of the nodes")
            if able and self.tests.floor:
                hosts = {host: () for request in able[:1] for host in request.hosts}
                able = [*able, PodRequest(FLOOR, hosts, capabilities=())]
            found += [(group, request) for request in able]
        return found

    def run(self, requests: Mapping[str, Sequence[PodRequest]]) -> BenchmarkPlan:
        names = {
            name for of_group in requests.values() for request in of_group for name in (_entry(request), request.name)
        }
        unknown = [name for name in self.tests.templates if name not in names]
        if unknown:
            there = ", ".join(sorted(names, key=natural_key)) or "none"
            self.found.problems.append(
                f"rdma_benchmark_templates has {', '.join(unknown)}, which no pod can request; pods can request {there}"
            )
            return self.found
        if FLOOR in names:
            self.found.problems.append(f"{FLOOR} is the name of pairs without a NIC, so no template can have it")
        if self.tests.repetitions < 1:
            self.found.problems.append(f"rdma_benchmark_repetitions is {self.tests.repetitions}, it must be at least 1")
        if self.found.problems:
            return self.found
        wanted = self._wanted(requests)
        if not wanted:
            self.found.problems.append(
                "; ".join(["nothing can be run: a pair needs two nodes of a group", *self.found.skipped])
            )
        for repetition in range(1, self.tests.repetitions + 1):
            self.found.pairs += [self._pair(group, request, repetition) for group, request in wanted]
        return self.found


def plan(
    objects: Sequence[Mapping[str, Any]], requests: Mapping[str, Sequence[PodRequest]], tests: BenchmarkTests
) -> BenchmarkPlan:
    """The pairs in the order in which they are run, one at a time.

    ``objects`` and ``requests`` are of all strategies.
    """
    return _Planner(objects, tests).run(requests)


def text(found: BenchmarkPlan) -> List[str]:
    """What would be run, and what not, in lines for people."""
    times: Dict[str, int] = {}
    for pair in found.pairs:
        target, initiator = (pod["node"] for pod in pair.pods)
        name = pair.entry if pair.entry == pair.alias else f"{pair.entry} ({pair.alias})"
        line = f"{pair.group}: {name}, from {initiator} to {target}"
        times[line] = times.get(line, 0) + 1
    return [*(f"{line}, {number} times" for line, number in times.items()), *found.skipped]
