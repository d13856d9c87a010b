# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a running vLLM logs about the KV caches that it fetched from other pods.

The lines are those of ``KVConnectorLogging.log`` in vllm/distributed/kv_transfer/kv_connector/v1/metrics.py, one for
each interval with transfers, with the names of ``NixlKVConnectorStats.reduce``. The hit rate is in the line of the
engine's statistics (vllm/v1/metrics/loggers.py). Only the pod that fetches has them.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Dict, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check

_LINE = re.compile(r"KV Transfer metrics: ([^\r\n]{1,2000})")
_VALUE = re.compile(r"([A-Z][A-Za-z0-9 ()/]{0,60})=([0-9]{1,15}(?:\.[0-9]{1,15})?)(?![0-9.])")
_HIT_RATE = re.compile(r"External prefix cache hit rate: ([0-9]{1,3}(?:\.[0-9]{1,15})?)%")
_NUMBER, _TIME, _THROUGHPUT = "Num successful transfers", "Avg xfer time (ms)", "Throughput (MB/s)"
_REMEDY = "Send a request through the gateway, so that decode has to fetch a KV cache, and verify again."
_UNUSED = (
    "Check that the gateway sends requests through prefill, and that prefill and decode have the same model and block "
    "size."
)


@dataclass(frozen=True)
class Transfers:
    """Means over all transfers of the log, in ms and MB/s; ``hit_rate`` is the newest, in percent.

    ``number`` is that of the transfers, or of the intervals in a log of a vLLM that does not count them.
    """

    number: int
    milliseconds: Optional[float]
    throughput: Optional[float]
    hit_rate: Optional[float]

    @property
    def text(self) -> str:
        parts = [
            f"{self.number} KV transfers",
            *([] if self.milliseconds is None else [f"{self.milliseconds:.1f} ms each on average"]),
            *([] if self.throughput is None else [f"{self.throughput:.1f} MB/s"]),
            *([] if self.hit_rate is None else [f"external prefix cache hit rate {self.hit_rate:g} %"]),
        ]
        return ", ".join(parts)


def _mean(values: Dict[str, List[float]], name: str) -> Optional[float]:
    """Each interval counts by its transfers."""
    numbers, found = values[_NUMBER], values[name]
    return sum(number * value for number, value in zip(numbers, found)) / sum(numbers) if found else None


def read(log: str) -> Transfers:
    """What the log says; nothing of it is a number of 0 transfers."""
    values: Dict[str, List[float]] = {_NUMBER: [], _TIME: [], _THROUGHPUT: []}
    for line in _LINE.finditer(log):
        own = {name: float(value) for name, value in _VALUE.findall(line[1])}
        if not (own.get(_NUMBER, 1) and own.get(_TIME) is not None and own.get(_THROUGHPUT) is not None):
            continue
        values[_NUMBER].append(own.get(_NUMBER, 1))
        values[_TIME].append(own[_TIME])
        values[_THROUGHPUT].append(own[_THROUGHPUT])
    rates = _HIT_RATE.findall(log)
    number = int(sum(values[_NUMBER]))
    hit_rate = float(rates[-1]) if rates else None
    return Transfers(number, _mean(values, _TIME), _mean(values, _THROUGHPUT), hit_rate)


def check(pod: str, host: Optional[str], group: Optional[str], log: Optional[str], trouble: str = "") -> Check:
    """The check of one pod (namespace/name). ``trouble`` is why there is no log."""

    def made(verdict: str, text: str, remedy: str = "", found: Optional[Transfers] = None) -> Check:
        evidence = asdict(found) if found else {}
        return Check("pod", "pod.transfers", host, group, pod, verdict, f"{pod}: {text}", evidence, remedy)

    if log is None:
        return made("impossible", f"its log cannot be read: {trouble}", "Check that the pod and its containers run.")
    found = read(log)
    if not found.number:
        return made("impossible", "its log has no KV transfer", _REMEDY, found)
    if found.hit_rate == 0:
        return made("warn", f"{found.text}: the latest requests used no KV cache that was fetched", _UNUSED, found)
    return made("pass", found.text, "", found)
