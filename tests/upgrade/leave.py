# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Writes what needs hardware, a runtime or pods to come about, with a commit's own code: ``leave.py TREE DIRECTORY``.

The values are made up, their form is that of the commit. Code has moved between commits, hence several names.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

_UTILS = "ansible_collections.zerocopy.rdma.plugins.module_utils."


def _module(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(f"{_UTILS}{name}")
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {', '.join(names)} is in this tree")


def main() -> None:
    tree, target = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(tree / "build/collections"))
    status = _module("_strategies.inject.daemon.status", "_inject.status").Status(
        registered=True, since="2026-01-31T12:00:00.000000Z", loaded="2026-01-31T12:00:00.000000Z"
    )
    (target / "status.json").write_text(json.dumps({**status.document(), "pid": 4711}, indent=1) + "\n")
    (target / "inject.prom").write_text(status.metrics())
    mark = _module("_migrate.nodes.use", "_plan.migrate.node_use").Mark(
        to="dra", labels={"example.com/pool": "rdma"}, counters={"rdma/nic": 64}, netns_mode="shared"
    )
    metadata = mark.metadata() if hasattr(mark, "metadata") else {"annotations": {"zerocopy.rdma/move": mark.written()}}
    (target / "move.json").write_text(json.dumps(metadata, indent=1) + "\n")
    transfers = importlib.import_module("ansible_collections.zerocopy.rdma.tests.report.transfers").transfers()
    # The first run of each template and its line: the form, not the figures, is what is recorded.
    transfers.runs, transfers.summary = transfers.runs[:1], transfers.summary[:1]
    kept = _module("_prove.document.benchmark", "_prove.benchmark.stored").plain(transfers)
    (target / "benchmark.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
