# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What kv_benchmark.py writes to a pod's log, checked: a pod may write anything."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.ucx import CALLS, ProtoTable, tables

VERSION = 1
# How rdma-env.sh begins the line in which it refuses.
_REFUSED = "rdma-env: not started: "
_QUANTILES = 21
# Seconds. A pod may write anything, and what is beyond these cannot be drawn.
_SHORTEST, _LONGEST = 1e-9, 1e6
_TIMES = ("avg_seconds", "p50_seconds", "p95_seconds", "p99_seconds")


class BenchmarkLogError(ValueError):
    """A line of the log is not what the program writes."""


@dataclass(frozen=True)
class Place:
    """One end. ``memory`` is DRAM or VRAM, ``gpu`` the PCI address of the latter.

    ``pinned`` is whether the process was on the CPUs near its first NIC, whose NUMA node is ``nic_node``.
    """

    node: str
    boot_id: str
    memory: str
    gpu: Optional[str] = None
    pinned: bool = False
    nic_node: Optional[int] = None
    devices: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """The transfers of one operation (READ, WRITE) and size. Times are in seconds.

    ``quantiles`` are those of 0, 5, ..., 100 percent, ``counters`` what ports counted, by device, port and name.
    """

    operation: str
    bytes: int
    warmup: int
    iterations: int
    avg_seconds: float
    p50_seconds: float
    p95_seconds: float
    p99_seconds: float
    quantiles: List[float]
    tls: str
    initiator: Place
    target: Place
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def gbps(self) -> float:
        """GB/s (10^9 bytes)."""
        return self.bytes / self.avg_seconds / 1e9


@dataclass
class BenchmarkLog:
    """``error`` is why there is nothing further, empty where the program came to its end."""

    cases: List[Case] = field(default_factory=list)
    tables: List[ProtoTable] = field(default_factory=list)
    error: str = ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 300:
        raise BenchmarkLogError("a text is missing or too long")
    return value


def _count(value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
        raise BenchmarkLogError("a number is missing or out of range")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _SHORTEST <= value <= _LONGEST:
        raise BenchmarkLogError("a time is missing or out of range")
    return float(value)


def _place(value: Any) -> Place:
    numa = value["numa"]
    if value["memory"] not in ("DRAM", "VRAM"):
        raise BenchmarkLogError("memory is neither DRAM nor VRAM")
    return Place(
        node=_text(value["node"]),
        boot_id=_text(value["boot_id"]),
        memory=value["memory"],
        gpu=None if value["gpu"] is None else _text(value["gpu"]),
        pinned=numa["pinned"] is True,
        nic_node=None if numa["nic_node"] is None else _count(numa["nic_node"]),
        devices=[_text(device) for device in value["devices"]],
    )


def _case(value: Dict[str, Any]) -> Case:
    if value["version"] != VERSION or value["operation"] not in CALLS or value["verified"] is not True:
        raise BenchmarkLogError("it is of another version, of an unknown operation, or not verified")
    times = {name: _seconds(value[name]) for name in _TIMES}
    quantiles = [_seconds(quantile) for quantile in value["quantiles_seconds"]]
    if len(quantiles) != _QUANTILES or quantiles != sorted(quantiles):
        raise BenchmarkLogError("its quantiles are not in order")
    return Case(
        operation=value["operation"],
        bytes=_count(value["bytes"], 1),
        warmup=_count(value["warmup"]),
        iterations=_count(value["iterations"], 1),
        quantiles=quantiles,
        tls=_text(value["tls"]),
        initiator=_place(value["initiator"]),
        target=_place(value["target"]),
        counters={_text(name): _count(number) for name, number in value["counters"].items()},
        **times,
    )


def read(output: str) -> BenchmarkLog:
    """A pod's log. A line RESULT that is damaged ends what is taken from it."""
    found = BenchmarkLog()
    lines: List[str] = []
    for line in output.splitlines():
        word, _space, rest = line.partition(" ")
        if word == "UCX":
            lines.append(rest)
        elif line.startswith(_REFUSED):
            found.error = line[len(_REFUSED) :]
        elif word in ("RESULT", "ERROR") and not found.error:
            try:
                value = json.loads(rest)
                if word == "RESULT":
                    found.cases.append(_case(value))
                else:
                    found.error = ": ".join(filter(None, (_text(value["reason"]), value.get("ucx"))))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                found.error = f"a line {word} of its log is damaged: {error}"
    found.tables = tables(lines)
    return found
