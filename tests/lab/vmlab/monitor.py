# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is asked of the QEMU of a guest that runs."""

from __future__ import annotations

import json
import socket
from typing import Any

from .paths import qmp_socket
from .progress import LabError


def command(node: str, line: str) -> None:
    """A command of QEMU's human monitor, which says something only when it fails (QMP reference). Raises LabError."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(qmp_socket(node)))
        except OSError as error:
            raise LabError(f"{node} does not run: {error}") from error
        with connection.makefile("rw") as lines:
            json.loads(lines.readline())
            _answer(lines, {"execute": "qmp_capabilities"})
            said = _answer(lines, {"execute": "human-monitor-command", "arguments": {"command-line": line}})
    if said:
        raise LabError(f"{node}: {line}: {said.strip()}")


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
