# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A runtime's side of NRI: the Go package that containerd and CRI-O have (tests/lab/nri_runtime), as a process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from . import tools
from .progress import LabError

_TOOL = tools.Tool("nri-runtime", "nri_runtime", ".")


def program() -> Path:
    """The program, built if it is not cached."""
    return tools.build(_TOOL)


class NriRuntime:
    """One at a time on its socket. Raises LabError where it has ended."""

    def __init__(self, executable: Path, socket: Path) -> None:
        command = [str(executable), str(socket)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.await_event("listening")

    def await_event(self, event: str) -> dict[str, Any]:
        """What it says with the next event of this name."""
        assert self._process.stdout
        for line in self._process.stdout:
            found: dict[str, Any] = json.loads(line)
            if found["event"] == event:
                return found
        raise LabError(f"nri-runtime ended without: {event}")

    def create(self, pod: dict[str, Any], container: dict[str, Any]) -> dict[str, Any]:
        """Have a container created, and what came of that."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"pod": pod, "container": container}) + "\n")
        self._process.stdin.flush()
        return self.await_event("created")

    def stop(self, seconds: float) -> None:
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(seconds)

    def kill(self) -> None:
        self._process.kill()
