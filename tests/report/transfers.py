# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A benchmark's document for the report's examples: its figures are invented, its summary is worked out from them."""

from __future__ import annotations

import random
from typing import Iterator

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    BASELINE,
    FLOOR,
    RDMA,
    BenchmarkDocument,
    BenchmarkEnd,
    BenchmarkFault,
    BenchmarkRun,
)

SIZES = (1 << 20, 1 << 24, 1 << 28, 1 << 30)
_MODELS = [
    {
        "name": "example-70b",
        "layers": 80,
        "kv_heads": 8,
        "head_dim": 128,
        "dtype": "bfloat16",
        "prompt_tokens": [4096, 32768],
    }
]
# group, template, kind, GB/s of large blocks, seconds before the first byte, GB/s of the port, path, memory.
_TEMPLATES = (
    ("h100", "h100-1gpu-1nic", RDMA, 43.1, 9e-6, 50.0, "PIX", "VRAM"),
    ("h100", "h100-4gpu-4nic-numa-aligned", RDMA, 41.7, 11e-6, 50.0, "PXB", "VRAM"),
    ("h100", "h100-4gpu-4nic-unaligned", BASELINE, 27.9, 14e-6, 50.0, "SYS", "VRAM"),
    ("h100", "tcp", FLOOR, 2.9, 90e-6, None, "", "VRAM"),
    ("v100", "rdma/rdma_v100", RDMA, 7.4, 12e-6, 12.5, "", "DRAM"),
    ("v100", "tcp", FLOOR, 1.1, 95e-6, None, "", "DRAM"),
)


def _runs() -> Iterator[BenchmarkRun]:
    dice = random.Random(21)
    for group, template, kind, speed, start, limit, path, memory in _TEMPLATES:
        for operation, number, repetition in (
            (operation, number, repetition)
            for operation in ("WRITE", "READ")
            for number in SIZES
            for repetition in (1, 2, 3)
        ):
            own = speed * dice.uniform(0.96, 1.02) * (0.94 if operation == "READ" else 1)
            least = start + number / (own * 1e9)
            times = sorted(least * (1 + dice.expovariate(28)) for _transfer in range(21))
            average = sum(times) / len(times)
            ends = [
                BenchmarkEnd(f"{group}-0{node}", memory, "0000:1a:00.0" if memory == "VRAM" else None, True, 0)
                for node in (2, 1)
            ]
            yield BenchmarkRun(
                group=group,
                template=template,
                request=template,
                kind=kind,
                repetition=repetition,
                operation=operation,
                bytes=number,
                warmup=20,
                iterations=100,
                avg_gb_s=number / average / 1e9,
                avg_seconds=average,
                p50_seconds=times[10],
                p95_seconds=times[19],
                p99_seconds=times[19] + 0.8 * (times[20] - times[19]),
                quantiles_seconds=times,
                transport="tcp/eth0" if kind == FLOOR else "rc_mlx5/mlx5_0:1",
                devices=[] if kind == FLOOR else ["mlx5_0"],
                path=[path] if path else [],
                counted=None if kind == FLOOR else 101 * number,
                limit_gb_s=limit,
                initiator=ends[0],
                target=ends[1],
            )


def transfers() -> BenchmarkDocument:
    """Two groups; one run of one template went astray."""
    split = "50% on rc_mlx5/mlx5_0:1 and 50% on tcp/eth0"
    fault = BenchmarkFault(
        "v100", "rdma/rdma_v100", 3, f"WRITE of 1073741824 bytes: TCP was allowed: its data went over {split}"
    )
    runs = [
        run for run in _runs() if (run.group, run.kind, run.operation, run.repetition) != ("v100", RDMA, "WRITE", 3)
    ]
    settings = document.BenchmarkSettings(
        {"repetitions": 3},
        0.7,
        _MODELS,
        ["a100: a100-2gpu is available on fewer than two of the nodes"],
    )
    return document.document([*runs, fault], settings, "0.1.0 (synthesised example)", "2026-11-20T09:00:00Z")
