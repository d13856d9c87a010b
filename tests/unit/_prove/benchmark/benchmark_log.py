# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Logs of a benchmark, composed in the form of kv_benchmark.py with invented figures."""

from __future__ import annotations

import json
from typing import Any

GIB = 1 << 30


def log(config: str, seconds: float, gpu: str | None = None, counters: Any = None) -> str:
    """What an initiator says of 10 blocks of 1 GiB that all took the same time."""
    numa = {"pinned": True, "nic_node": 0}
    memory = "VRAM" if gpu else "DRAM"
    end: dict[str, Any] = {"node": "n2", "boot_id": "b", "devices": [], "memory": memory, "gpu": gpu, "numa": numa}
    times = {f"{name}_seconds": seconds for name in ("avg", "p50", "p95", "p99")}
    result = {
        "version": 1,
        "operation": "WRITE",
        "bytes": GIB,
        "warmup": 1,
        "iterations": 10,
        "quantiles_seconds": [seconds] * 21,
        "verified": True,
        "counters": counters or {},
        "tls": "rc",
        "initiator": end,
        "target": {**end, "node": "n1", "boot_id": "a"},
        **times,
    }
    lines = ["UCX | a inter-node cfg#1 |", "UCX | remote memory write by ucp_put* from host memory to host |"]
    return "\n".join([*lines, f"UCX | 0..inf | zero-copy | {config} |", f"RESULT {json.dumps(result)}", ""])
