# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the daemon tells about itself: a status file for verify, metrics for node_exporter, and its log."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import LEVELS
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import Hardware
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.output import (
    COUNTER,
    FIRST,
    PREFIX,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.session import Runtime
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible

VERSION = 1
# Kinds of what becomes of a container that asked.
INJECTED, REFUSED, WITHOUT, LATE = "injected", "refused", "without", "late"
KINDS = (INJECTED, REFUSED, WITHOUT, LATE)


def stamp() -> str:
    """The time in UTC, ISO 8601."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06}Z"


@dataclass
class Status:
    """``loaded`` is when the configuration was read last, also if it was wrong. ``counts`` are of this process."""

    runtime: Optional[Runtime] = None
    registered: bool = False
    since: str = ""
    loaded: str = ""
    config_error: Optional[str] = None
    hardware: Hardware = field(default_factory=Hardware)
    counts: Dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    last_refusal: Optional[str] = None

    def document(self) -> Dict[str, Any]:
        """The status file; format 1."""
        runtime = {"name": self.runtime.name, "version": self.runtime.version} if self.runtime else None
        users: Dict[str, List[Any]] = {name: [] for name in self.hardware.hcas}
        for gpu in self.hardware.gpus:
            for name in gpu.nearest:
                users.setdefault(name, []).append(gpu.index)
        hcas = {
            name: {"state": "ACTIVE" if hca.ports else "DOWN", "gpus": users[name]}
            for name, hca in self.hardware.hcas.items()
        }
        return {
            "version": VERSION,
            "pid": os.getpid(),
            "registered": self.registered,
            "runtime": runtime,
            "since": self.since,
            "loaded": self.loaded,
            "config_error": self.config_error,
            "hcas": hcas,
            **self.counts,
            "last_refusal": self.last_refusal,
        }

    def metrics(self) -> str:
        """For node_exporter's textfile collector (Prometheus' text format, version 0.0.4)."""
        lines = [
            f"{FIRST}Containers that asked for RDMA devices, by what became of them.",
            f"# TYPE {COUNTER} counter",
            *(f'{COUNTER}{{result="{kind}"}} {count}' for kind, count in self.counts.items()),
            f"# HELP {PREFIX}_registered Whether the plugin is registered with a container runtime.",
            f"# TYPE {PREFIX}_registered gauge",
            f"{PREFIX}_registered {int(self.registered)}",
        ]
        return "\n".join(lines) + "\n"


def log(wanted: str, level: str, message: str, **fields: Any) -> None:
    """One line of JSON on standard error, which systemd stores, unless ``wanted`` asks for more important ones only."""
    if LEVELS.index(level) >= LEVELS.index(wanted):
        line = {"time": stamp(), "level": level, "message": message, **fields}
        # Errors may have words of the runtime and of pods in them.
        sys.stderr.write(visible(json.dumps(line, ensure_ascii=False)) + "\n")
        sys.stderr.flush()
