# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From what pairs of pods have measured to the benchmark's document."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.document import BenchmarkSettings
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.plan import FLOOR as FLOOR_NAME
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.plan import Pair
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.runs import (
    BenchmarkJudge,
    BenchmarkNodes,
    Found,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    BASELINE,
    FLOOR,
    RDMA,
    BenchmarkDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest

Plain = Mapping[str, Any]


def _kind(pair: Pair, request: Optional[PodRequest]) -> str:
    if pair.alias == FLOOR_NAME:
        return FLOOR
    return BASELINE if request and request.align == BASELINE else RDMA


def judge(
    pairs: Sequence[Pair],
    results: Sequence[Plain],
    requests: Mapping[str, Sequence[PodRequest]],
    nodes: BenchmarkNodes,
    settings: BenchmarkSettings,
    collection: str,
    created: Optional[str] = None,
) -> BenchmarkDocument:
    """``results`` are those of the module pod_probe for each pair; one that failed has no pods, and says why.

    A transfer that did not go over the NICs that the pod was given is an error, not a result.
    """
    operations, sizes = (list(settings.parameters.get(name) or ()) for name in ("operations", "block_sizes"))
    wanted = [(name, int(size)) for name in operations for size in sizes]
    found: Found = []
    for pair, result in zip(pairs, results):
        mine = (request for request in requests[pair.group] if request.name == pair.alias and not request.claim)
        request = next(mine, None)
        judge_of = BenchmarkJudge(pair, _kind(pair, request), request, nodes, wanted)
        if "pods" in result:
            found += judge_of.runs(*result["pods"])
        else:
            found.append(judge_of.fault(str(result.get("msg") or "its pods could not be run")))
    return document.document(found, settings, collection, created)


def failure(found: BenchmarkDocument, path: str) -> List[str]:
    """Why the benchmark fails, in lines; none if it does not. ``path`` is where all figures are."""
    errors = [fault.text for fault in found.errors]
    slow = [f"{document.title(mean)}: {mean.text}" for mean in found.summary if mean.verdict == "fail"]
    head = f"Transfers failed or were too slow. All figures are in {path}"
    return [head, *errors, *slow] if errors or slow else []
