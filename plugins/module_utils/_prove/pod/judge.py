# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The pod ring: which verdicts there are on pods that verify has run, and on the logs of running ones.

What each of them says is in ``verdicts.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    Measurement,
    RingResult,
    guarded,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import nccl, transfers, verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import report as pod_report
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.allocation import PodNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.bandwidth import PodMeter
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import PlannedPod
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodReport
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

Plain = Mapping[str, Any]

# What a node demands of bandwidth: a fraction of what the ports can carry or, if any, Gb/s.
Demand = Tuple[float, Optional[float]]
_DEMAND: Demand = (0.9, None)


@dataclass(frozen=True)
class PodEvidence:
    """``before`` and ``after`` are facts of each node before and after the pods, ``in_use`` is what pods had there.
    ``after`` is ``None`` where nobody looked again, and lacks nodes whose facts then were none, or of no use.

    ``slices`` are those of the cluster before the pods, ``demands`` has the nodes that demand something of their own,
    ``partitions`` by node the P_Keys of which ports must be full members.
    """

    before: Mapping[str, Facts]
    after: Optional[Mapping[str, Facts]] = None
    slices: Sequence[Plain] = ()
    in_use: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    demands: Mapping[str, Demand] = field(default_factory=dict)
    partitions: Mapping[str, Sequence[str]] = field(default_factory=dict)


def in_use(waves: Iterable[Mapping[str, Sequence[Mapping[str, str]]]]) -> Dict[str, List[Mapping[str, str]]]:
    """What was in use on each node before any of the waves."""
    found: Dict[str, List[Mapping[str, str]]] = {}
    for wave in waves:
        for node, entries in wave.items():
            found[node] = [entry for entry in found.get(node, []) if entry not in entries] + list(entries)
    return found


def judge(
    pods: Sequence[PlannedPod],
    results: Sequence[Plain],
    objects: Sequence[Plain],
    requests: Mapping[str, Sequence[PodRequest]],
    evidence: PodEvidence,
) -> RingResult:
    """``results`` are those of the module pod_probe for these pods, ``objects`` and ``requests`` of the plan."""
    published = model.by_node(model.devices(evidence.slices))
    known = {pod.name: pod for pod in pods}
    reports: Dict[str, PodReport] = {}

    def read(result: Plain) -> Iterable[Any]:
        reports[result["name"]] = pod_report.report(result["output"])
        return ()

    def of_pod(result: Plain) -> Iterator[Any]:
        pod, report = known[result["name"]], reports[result["name"]]
        node = PodNode(
            evidence.before.get(pod.node, Facts()),
            None if evidence.after is None else evidence.after.get(pod.node),
            published.get(pod.node, {}),
            evidence.in_use.get(pod.node, ()),
            evidence.partitions.get(pod.node, ()),
            evidence.after is not None,
        )
        request = pod_plan.request_of(pod, requests.get(pod.group, []))
        if request is None:
            yield from verdicts.of_nothing(pod, result, report, node)
            return
        yield from verdicts.checks(pod, request, pod_plan.claimed(pod, objects), result, report, node)
        meter = PodMeter(pod, report, evidence.before, *evidence.demands.get(pod.node, _DEMAND))
        yield from meter.untried() + meter.loopback()
        if pod.peer and report.complete:
            yield from meter.between(known[pod.peer], reports.get(pod.peer, PodReport()))

    def unjudged(pod: PlannedPod, why: str) -> Check:
        text = f"what the pod {pod.alias} says cannot be judged: {why}"
        return Check("pod", "pod.answers", pod.node, pod.group, pod.alias, "fail", text)

    def judged(made: Callable[[Plain], Iterable[Any]], of: Iterable[Plain]) -> List[Any]:
        return [
            entry for result in of for entry in guarded(partial(made, result), partial(unjudged, known[result["name"]]))
        ]

    found = judged(read, results)
    found += judged(of_pod, [result for result in results if result["name"] in reports])
    checks = [entry for entry in found if isinstance(entry, Check)]
    return RingResult(checks, [entry for entry in found if isinstance(entry, Measurement)])


def judge_logs(results: Sequence[Plain], groups: Mapping[str, str]) -> RingResult:
    """``results`` are those of k8s_log, with the pod as second entry of ``item``; ``groups`` those of hosts."""
    checks: List[Check] = []
    for result in results:
        _selected, pod = result["item"]
        node = str((pod.get("spec") or {}).get("nodeName"))
        host, group = (node if node in groups else None), groups.get(node)
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        checks.append(transfers.check(name, host, group, result.get("log"), str(result.get("msg", "")).strip()))
        network = nccl.check(name, host, group, result.get("log"))
        checks += [network] if network else []
    return RingResult(checks)
