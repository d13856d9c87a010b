# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What kv_benchmark.py writes to a pod's log, checked: a pod may write anything.

In it are UCX's tables of protocols (UCX_PROTO_INFO=y): over what each size of a transfer goes. A table is logged when
the first transfer of its kind is made to an endpoint, for all sizes. Its form is that of ucp_proto_select_info in
src/ucp/proto/proto_debug.c; logs of UCX 1.23 (NIXL 1.5.1) are in tests/unit/fixtures/nixl. Older versions write peer
and transfer side by side, in one line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

_CELLS = re.compile(r"\|([^|]{1,300})\|([^|]{1,300})\|([^|]{1,1000})\|\s*")
_TITLES = re.compile(r"\|[^|]{1,300}\|(?:[^|]{1,300}\|)?\s*")
_PEER = re.compile(r"\S{1,200} (self|intra-node|inter-node) cfg#[0-9]{1,6}")
_RANGE = re.compile(r"([0-9]{1,15}[KMGT]?)(?:\.\.([0-9]{1,15}[KMGT]?|inf))?")
# Ports with several paths (those of 400 Gb/s have two) have the number of one behind them.
_LANE = re.compile(r"([a-z][a-z0-9_]{0,30})/([^/]{1,60})(?:/path[0-9]{1,3})?")
_SHARE = re.compile(r"(?<!\S)([0-9]{1,3})% on(?!\S)")
# UCP_PROTO_CONFIG_STR_MAX of src/ucp/proto/proto.h, without the zero at the end.
_LONGEST_CELL = 127
# Names of UCX's protocols (src/ucp/proto/proto_common.h).
_EMULATION = "software emulation"
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
# Of NIXL's operations, how UCX calls what moves the data.
CALLS = {"WRITE": "ucp_put", "READ": "ucp_get"}


@dataclass(frozen=True)
class ProtoRow:
    """Sizes in bytes, ``last`` included, ``None`` without an end. ``lanes`` are transports and devices.

    What has no form of a lane is one without a transport. ``cut`` says that there are more lanes than UCX wrote,
    ``emulated`` that the processors of both ends move the data, over whatever transport.
    """

    first: int
    last: Optional[int]
    config: str
    lanes: Tuple[Tuple[str, str], ...]
    cut: bool = False
    emulated: bool = False

    def holds(self, size: int) -> bool:
        return self.first <= size and (self.last is None or size <= self.last)


@dataclass
class ProtoTable:
    """``peer`` is ``self``, ``intra-node`` or ``inter-node``; ``what`` the transfer in UCX's words."""

    peer: str
    what: str
    rows: List[ProtoRow] = field(default_factory=list)


def _bytes(text: str) -> int:
    unit = text[-1] if text[-1] in _UNITS else ""
    return int(text[: len(text) - len(unit)]) << _UNITS[unit]


def _row(cells: Sequence[str]) -> Optional[ProtoRow]:
    match = _RANGE.fullmatch(cells[0])
    if not match:
        return None
    first = _bytes(match[1])
    last = first if match[2] is None else None if match[2] == "inf" else _bytes(match[2])
    return ProtoRow(first, last, cells[2], tuple(_lanes(cells[2])), _cut(cells[2]), _EMULATION in cells[1])


def _lanes(config: str) -> Iterator[Tuple[str, str]]:
    for word in config.replace(",", " ").split():
        if "/" in word:
            match = _LANE.fullmatch(word)
            yield (match[1], match[2]) if match else ("", word)


def _cut(config: str) -> bool:
    """Each share is rounded down, so that all of them may be less than 100 by less than 1 each."""
    shares = [int(share) for share in _SHARE.findall(config)]
    return len(config) >= _LONGEST_CELL or (bool(shares) and sum(shares) <= 100 - len(shares))


def tables(lines: Sequence[str]) -> List[ProtoTable]:
    """The tables in these lines of UCX's log; what is none is left out."""
    found: List[ProtoTable] = []
    peer = ""
    for line in lines:
        text = line[line.find("|") :] if "|" in line else ""
        cells = _CELLS.fullmatch(text)
        for title in text.split("|")[1:-1] if _TITLES.fullmatch(text) else ():
            head = _PEER.fullmatch(title.strip())
            if head:
                peer = head[1]
            elif peer:
                found.append(ProtoTable(peer, title.strip()))
                peer = ""
        if cells and found:
            row = _row([cell.strip() for cell in cells.groups()])
            if row:
                found[-1].rows.append(row)
    return found


def payload(found: Sequence[ProtoTable], operation: str, size: int) -> List[Tuple[str, ProtoRow]]:
    """Peer and row of each table by which a block of ``size`` bytes may have gone to the other end.

    The endpoint that a process has to itself carries none of it.
    """
    mine = [table for table in found if table.peer != "self" and CALLS[operation] in table.what]
    return [(table.peer, row) for table in mine for row in table.rows if row.holds(size)]


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
