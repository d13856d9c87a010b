# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The JSON schemas in docs/, made of the library's dataclasses; as a program, it writes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Dict

_CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_CHECKOUT / "build" / "collections"))

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark, verify
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.schema import schema, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import document as health


def files() -> Dict[Path, str]:
    """The texts of the schemas by their paths."""
    made = {
        "verify-report": schema(verify.VerifyDocument, "zerocopy.rdma verify report", verify.VERSION, verify.NAMES),
        "health": schema(health.HealthDocument, "zerocopy.rdma health", health.VERSION),
        "benchmark": schema(benchmark.BenchmarkDocument, "zerocopy.rdma benchmark", benchmark.VERSION),
    }
    return {_CHECKOUT / "docs" / f"{name}.schema.json": text(found) + "\n" for name, found in made.items()}


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
