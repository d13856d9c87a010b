# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How large a KV cache is, and how long it takes to move it."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    BenchmarkLine,
    KvLine,
    KvTime,
)

# Bytes of a number.
DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8": 1, "int8": 1}


def size(layers: int, tokens: int, kv_heads: int, head_dim: int, dtype: str) -> int:
    """Bytes of keys and values of a prompt, for attention with grouped query heads."""
    return 2 * layers * tokens * kv_heads * head_dim * DTYPES[dtype]


def table(models: Sequence[Mapping[str, Any]], lines: Sequence[BenchmarkLine]) -> List[KvLine]:
    """A line for each model and prompt length, with the time by each template that was measured.

    The bandwidth is that of the largest blocks that were written. A model has ``name``, ``layers``, ``kv_heads``,
    ``head_dim``, ``dtype`` and ``prompt_tokens``.
    """
    written = [line for line in lines if line.operation == "WRITE"]
    largest = {(line.group, line.template): line for line in sorted(written, key=lambda line: line.bytes)}
    found = []
    for model in models:
        for tokens in model["prompt_tokens"]:
            content = size(model["layers"], tokens, model["kv_heads"], model["head_dim"], model["dtype"])
            times = [KvTime(*key, content / (line.mean_gb_s * 1e9)) for key, line in sorted(largest.items())]
            found.append(KvLine(model["name"], tokens, content, times))
    return found
