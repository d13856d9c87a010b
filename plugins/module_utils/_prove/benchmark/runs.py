# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the logs of a pair to its runs, or to why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import threshold
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import log as benchmark_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import transport
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.plan import Pair
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    BenchmarkEnd,
    BenchmarkFault,
    BenchmarkRun,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.allocation import PodNode, claimed_devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model as slice_model

_BITS = 8
# How a target says that the initiator is to blame.
_OTHERS = ("the other end failed", "the initiator has gone", "no initiator came")

Found = List[Union[BenchmarkRun, BenchmarkFault]]


@dataclass
class BenchmarkNodes:
    """Facts by host, and what drivers published on each, by driver and device."""

    facts: Mapping[str, Facts]
    devices: Mapping[str, Mapping[Tuple[str, str], slice_model.SliceDevice]] = field(default_factory=dict)


def _allocated(request: Optional[PodRequest], result: Mapping[str, Any], nodes: BenchmarkNodes) -> Optional[List[str]]:
    """HCAs that a pod was given, ``None`` for one that asked for none."""
    if request is None:
        return None
    node = str(result["node"])
    if not request.template:
        return list(request.hosts.get(node, ()))
    known = PodNode(nodes.facts.get(node, Facts()), None, nodes.devices.get(node, {}))
    return [device.hca.name for device in claimed_devices(result, known) if device.hca]


def _given(request: Optional[PodRequest], allocated: Optional[Sequence[str]]) -> Optional[int]:
    """How many HCAs a pod has, of those that it was allowed."""
    # Only those nearest to the GPU that it got.
    if request is None or request.gpu_resource or not allocated:
        return None
    return min(request.number or len(allocated), len(allocated))


def _capacity(facts: Facts, devices: Sequence[str]) -> Optional[float]:
    """GB/s that these HCAs can carry together; ``None`` where one of them cannot tell."""
    hcas = [hca for hca in facts.hcas if hca.name in devices]
    shares = threshold.sharing([hca.pci.address if hca.pci else None for hca in hcas])
    found = 0.0
    for hca, share in zip(hcas, shares):
        ports = [threshold.capacity(hca, port, share) for port in hca.ports]
        known = [value for value in ports if value is not None]
        if not known:
            return None
        found += max(known)
    return found / _BITS if hcas else None


def _path(facts: Facts, gpu: Optional[str], devices: Sequence[str]) -> List[str]:
    paths = [entry.paths for entry in facts.affinity if entry.address == gpu]
    return sorted({path[device] for path in paths for device in devices if device in path})


def _end(place: benchmark_log.Place, node: str) -> BenchmarkEnd:
    return BenchmarkEnd(node, place.memory, place.gpu, place.pinned, place.nic_node if place.pinned else None)


def _trouble(target: Mapping[str, Any], initiator: Mapping[str, Any], found: benchmark_log.BenchmarkLog) -> str:
    """Why a pair did not come to its end, of the end that knows; empty if it did."""
    of_target = benchmark_log.read(target["output"]).error
    if of_target and not of_target.startswith(_OTHERS):
        return f"on {target['node']}: {of_target}"
    for node, said in (
        (initiator["node"], found.error),
        (target["node"], target["trouble"]),
        (initiator["node"], initiator["trouble"]),
    ):
        if said:
            return f"on {node}: {said}"
    return "" if found.cases else f"on {initiator['node']}: its log has no result"


@dataclass
class BenchmarkJudge:
    """``kind`` is that of the pair's template (``model.RDMA``); ``request`` how its pods ask, ``None`` for TCP.

    ``wanted`` are the operations and sizes that were asked for, empty where that is not known.
    """

    pair: Pair
    kind: str
    request: Optional[PodRequest]
    nodes: BenchmarkNodes
    wanted: Sequence[Tuple[str, int]] = ()

    def runs(self, target: Mapping[str, Any], initiator: Mapping[str, Any]) -> Found:
        """What the two pods measured. ``target`` and ``initiator`` are results of the module pod_probe."""
        found = benchmark_log.read(initiator["output"])
        trouble = _trouble(target, initiator, found)
        got = [_allocated(self.request, result, self.nodes) for result in (initiator, target)]
        result: Found = []
        for case in found.cases:
            try:
                used = transport.judge(case, found.tables, got[0])
            except transport.DishonestError as error:
                result.append(self.fault(str(error)))
                continue
            result.append(self._run(case, used, [str(initiator["node"]), str(target["node"])], got))
        return [*result, *map(self.fault, [trouble] if trouble else self._missing(found.cases))]

    def _missing(self, cases: Sequence[benchmark_log.Case]) -> List[str]:
        """What is not in a log that has no other trouble, such as one that was cut off where it became too long."""
        there = {(case.operation, case.bytes) for case in cases}
        return [
            f"its log has no result for {name} of {size} bytes"
            for name, size in self.wanted
            if (name, size) not in there
        ]

    def fault(self, text: str) -> BenchmarkFault:
        return BenchmarkFault(self.pair.group, self.pair.entry, self.pair.repetition, text, self.pair.alias)

    def _run(
        self,
        case: benchmark_log.Case,
        used: transport.Transport,
        hosts: Sequence[str],
        allocated: Sequence[Optional[List[str]]],
    ) -> BenchmarkRun:
        facts = [self.nodes.facts.get(host, Facts()) for host in hosts]
        limits = [_capacity(facts[0], used.devices), _capacity(facts[1], allocated[1] or [])]
        return BenchmarkRun(
            group=self.pair.group,
            template=self.pair.entry,
            request=self.pair.alias,
            kind=self.kind,
            repetition=self.pair.repetition,
            operation=case.operation,
            bytes=case.bytes,
            warmup=case.warmup,
            iterations=case.iterations,
            avg_gb_s=case.gbps,
            avg_seconds=case.avg_seconds,
            p50_seconds=case.p50_seconds,
            p95_seconds=case.p95_seconds,
            p99_seconds=case.p99_seconds,
            quantiles_seconds=case.quantiles,
            transport=used.config,
            devices=list(used.devices),
            path=_path(facts[0], case.initiator.gpu, used.devices),
            counted=used.counted,
            limit_gb_s=threshold.lower(*limits),
            initiator=_end(case.initiator, hosts[0]),
            target=_end(case.target, hosts[1]),
            given=_given(self.request, allocated[0]),
        )
