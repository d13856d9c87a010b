# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Guests as they were at a moment, memory and disk: kept by their QEMU, and gone with it."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from . import network
from .lifecycle import running
from .paths import qmp_socket
from .progress import LabError, step
from .topology import NODES, Node

_TAG = "saved"


def save() -> None:
    """Keep every guest as it is now, instead of what was kept before. Raises LabError."""
    for node in NODES:
        with step(f"{node.name}: saving memory and disk"):
            _monitor(node, f"savevm {_TAG}")


def restore() -> None:
    """Bring every guest back to where it was saved, with the time of now. Raises LabError."""
    for node in NODES:
        with step(f"{node.name}: back to where it was saved"):
            _monitor(node, f"loadvm {_TAG}")
            done = network.ssh(node.name, f"date --set=@{time.time():.3f}")
        if done.returncode:
            raise LabError(f"{node.name} does not answer after that: {done.stderr}")


def _monitor(node: Node, command: str) -> None:
    """A command of QEMU's human monitor, which says something only when it fails (QMP reference)."""
    if not running(node):
        raise LabError(f"{node.name} does not run")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(qmp_socket(node.name)))
        with connection.makefile("rw") as lines:
            json.loads(lines.readline())
            _answer(lines, {"execute": "qmp_capabilities"})
            said = _answer(lines, {"execute": "human-monitor-command", "arguments": {"command-line": command}})
    if said:
        raise LabError(f"{node.name}: {command}: {said.strip()}")


def _answer(lines: Any, request: dict[str, Any]) -> Any:
    lines.write(json.dumps(request) + "\n")
    lines.flush()
    for line in lines:
        answer = json.loads(line)
        # Events come in between.
        if "error" in answer:
            raise LabError(f"QEMU refuses {request}: {answer['error']['desc']}")
        if "return" in answer:
            return answer["return"]
    raise LabError(f"QEMU ended at {request}")
