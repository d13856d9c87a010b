# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Summarises the runs of each request, compared with the unaligned template and with what ports can carry.

With these means, how long it takes to move the KV caches of models.
"""

from __future__ import annotations

from statistics import mean
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    BASELINE,
    RDMA,
    BenchmarkLine,
    BenchmarkRun,
    KvLine,
    KvTime,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

# Bytes of a number.
DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8": 1, "int8": 1}


def size(layers: int, tokens: int, kv_heads: int, head_dim: int, dtype: str) -> int:
    """Bytes of keys and values of a prompt, for attention with grouped query heads."""
    return 2 * layers * tokens * kv_heads * head_dim * DTYPES[dtype]


def table(models: Sequence[Mapping[str, Any]], lines: Sequence[BenchmarkLine]) -> List[KvLine]:
    """A line for each model and prompt length, with the time by each request that was measured.

    The bandwidth is that of the largest blocks that were written. A model has ``name``, ``layers``, ``kv_heads``,
    ``head_dim``, ``dtype`` and ``prompt_tokens``.
    """
    written = [line for line in lines if line.operation == "WRITE"]
    largest = {(line.group, line.template, line.request): line for line in sorted(written, key=lambda line: line.bytes)}
    found = []
    for model in models:
        for tokens in model["prompt_tokens"]:
            content = size(model["layers"], tokens, model["kv_heads"], model["head_dim"], model["dtype"])
            times = [
                KvTime(line.group, line.template, content / (line.mean_gb_s * 1e9), line.request)
                for _key, line in sorted(largest.items())
            ]
            found.append(KvLine(model["name"], tokens, content, times))
    return found


_UNKNOWN = "what the ports carry is unknown, or they are software devices"
_Key = Tuple[str, str, str, str, int]


def _of_ends(run: BenchmarkRun, values: Sequence[str]) -> str:
    return values[0] if values[0] == values[1] else " to ".join(values)


def _memory(run: BenchmarkRun) -> str:
    return _of_ends(run, [run.initiator.memory, run.target.memory])


def _pinned(run: BenchmarkRun) -> str:
    ends = (run.initiator, run.target)
    nodes = ["not pinned" if not end.pinned else f"NUMA {'?' if end.numa is None else end.numa}" for end in ends]
    return _of_ends(run, nodes)


def _one(texts: Sequence[str]) -> str:
    return ", ".join(sorted(set(texts), key=natural_key))


def _line(key: _Key, runs: Sequence[BenchmarkRun]) -> BenchmarkLine:
    values = [run.avg_gb_s for run in runs]
    middle = mean(values)
    limits = [(run.avg_gb_s, run.limit_gb_s) for run in runs if run.limit_gb_s is not None]
    return BenchmarkLine(
        group=key[0],
        template=key[1],
        kind=runs[0].kind,
        request=key[2],
        operation=key[3],
        bytes=key[4],
        runs=len(runs),
        memory=_one([_memory(run) for run in runs]),
        pinned=_one([_pinned(run) for run in runs]),
        mean_gb_s=middle,
        min_gb_s=min(values),
        max_gb_s=max(values),
        spread=(max(values) - min(values)) / middle,
        avg_seconds=mean(run.avg_seconds for run in runs),
        p50_seconds=mean(run.p50_seconds for run in runs),
        p99_seconds=mean(run.p99_seconds for run in runs),
        limit_gb_s=min((limit for _value, limit in limits), default=None),
        # The pods of each run may have another NIC, and a slow one is not to vanish in the mean.
        fraction=min((value / limit for value, limit in limits), default=None),
    )


def _over(runs: Sequence[BenchmarkRun]) -> str:
    """How many of its NICs the pod of each run used, if one did not use all: only these can carry what is demanded."""
    numbers = [(len(run.devices), run.given) for run in runs if run.given is not None]
    if all(used == given for used, given in numbers):
        return ""
    return f", over {_one([f'{used} of {given} NICs' for used, given in numbers])}"


def _judge(line: BenchmarkLine, largest: bool, fraction: float, runs: Sequence[BenchmarkRun]) -> None:
    """Only the largest blocks have to reach what ports carry, of templates that are not there for comparison."""
    unknown = sum(run.limit_gb_s is None for run in runs)
    if line.kind != RDMA:
        line.text = "for comparison"
    elif not largest:
        line.text = "only the largest blocks are judged"
    elif line.fraction is None:
        line.text = f"not judged: {_UNKNOWN}"
    else:
        line.verdict = "pass" if line.fraction >= fraction else "fail"
        slowest = ", in the slowest run" if line.runs - unknown > 1 else ""
        carried = f"{line.fraction:.0%} of what port and PCIe can carry{_over(runs)}{slowest}"
        line.text = f"{carried}, {fraction:.0%} is required"
        if unknown:
            line.text += f"; {unknown} of {line.runs} runs not judged: {_UNKNOWN}"


def lines(runs: Sequence[BenchmarkRun], fraction: float) -> List[BenchmarkLine]:
    """The summary by group, template, request, operation and size.

    ``fraction`` is what is demanded of what ports carry.
    """
    by_key: Dict[_Key, List[BenchmarkRun]] = {}
    for run in runs:
        by_key.setdefault((run.group, run.template, run.request, run.operation, run.bytes), []).append(run)
    made = [(_line(key, mine), mine) for key, mine in by_key.items()]
    largest = max((line.bytes for line, _runs in made), default=0)
    for line, mine in made:
        _judge(line, line.bytes == largest, fraction, mine)
    found = sorted((line for line, _runs in made), key=_order)
    for line in found:
        base = _baseline(line, found)
        if base:
            line.ratio = line.mean_gb_s / _mean([(each.mean_gb_s, each.runs) for each in base])
            line.latency_change = line.avg_seconds / _mean([(each.avg_seconds, each.runs) for each in base]) - 1
    return found


def _order(line: BenchmarkLine) -> Any:
    return (*map(natural_key, (line.group, line.template, line.request)), line.operation, line.bytes)


def _mean(values: Sequence[Tuple[float, int]]) -> float:
    """Of all runs, from means of some runs with their number."""
    return sum(value * runs for value, runs in values) / sum(runs for _value, runs in values)


def _baseline(line: BenchmarkLine, found: Sequence[BenchmarkLine]) -> List[BenchmarkLine]:
    """The requests of the group's unaligned template with the same operation and size, in the same memory.

    Nothing where the line is of it, and where there are several templates, since which is meant is not known.
    """
    same = [
        other
        for other in found
        if (other.group, other.operation, other.bytes, other.memory)
        == (line.group, line.operation, line.bytes, line.memory)
        and other.kind == BASELINE
    ]
    return same if line.kind == RDMA and len({other.template for other in same}) == 1 else []
