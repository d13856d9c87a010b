# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The running daemon: what systemd says of it, what it says itself, and what the runtime's socket shows."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import NodeDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer

_STARTING_SECONDS = 300.0
_RELOAD_SECONDS = 10.0
_INTERVAL = 0.2
_PROPERTIES = ("ActiveState", "SubState", "MainPID", "FragmentPath")


@dataclass(frozen=True)
class DaemonState:
    """``active`` is systemd's word, ``running`` whether it is up. ``pid`` is 0 where there is no process.

    ``status`` is what this process last wrote, empty where it wrote nothing. ``registered_by`` says who says that it is
    registered: ``runtime``, which holds a connection with it, only ``plugin`` where the kernel does not show
    connections, or nobody. ``fragment`` is the file from which systemd has the unit, empty where there is none.
    """

    active: str
    pid: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)
    registered_by: str = ""
    fragment: str = ""

    @property
    def running(self) -> bool:
        return self.active in ("active", "reloading")

    def facts(self, reported: Sequence[str]) -> Dict[str, Any]:
        """What the module returns of it, with these keys of its status."""
        status = dict(self.status)
        return {
            "service": self.active,
            "registered": bool(self.registered_by),
            "registered_by": self.registered_by,
            **{name: status.get(name) for name in reported},
        }


def _status(text: Optional[str]) -> Dict[str, Any]:
    """The status file; one that is damaged says nothing."""
    try:
        found = json.loads(text or "null")
    except ValueError:
        return {}
    right = isinstance(found, dict) and found.get("version") == 1 and is_integer(found.get("pid"))
    return found if right and isinstance(found.get("registered"), bool) else {}


class DaemonService:
    """The unit on this machine; ``socket`` is that of the runtime."""

    def __init__(self, daemon: NodeDaemon, files: Files, socket: str, run: Runner) -> None:
        self._daemon, self._files, self._socket, self._run = daemon, files, socket, run

    def properties(self, names: Sequence[str]) -> Dict[str, str]:
        """What systemd says of the unit (``systemctl show``), by property. Raises HostError."""
        done = self._run(["systemctl", "show", f"--property={','.join(names)}", self._daemon.unit])
        return dict(line.split("=", 1) for line in must(done, "systemctl show").splitlines() if "=" in line)

    def state(self) -> DaemonState:
        """The state now; waits for a unit that is starting, for example after a boot."""
        end = time.monotonic() + _STARTING_SECONDS
        while True:
            said = self.properties(_PROPERTIES)
            if said.get("SubState") not in ("start", "start-pre", "start-post", "reload") or time.monotonic() > end:
                break
            time.sleep(_INTERVAL)
        pid = int(said["MainPID"]) if said.get("MainPID", "").isdigit() else 0
        status = _status(self._files.text(self._daemon.status)) if self._daemon.status else {}
        if not pid or status.get("pid") != pid:
            return DaemonState(said.get("ActiveState", ""), pid, fragment=said.get("FragmentPath", ""))
        seen = unix_socket.is_connected(pid, self._socket) if status["registered"] else False
        by = "runtime" if seen else "plugin" if seen is None else ""
        return DaemonState(said.get("ActiveState", ""), pid, status, by, said.get("FragmentPath", ""))

    def reload_units(self) -> None:
        must(self._run(["systemctl", "daemon-reload"]), "systemctl daemon-reload")

    def restart(self, seconds: float) -> DaemonState:
        """(Re)start it, and wait until it is registered with a runtime that listens, if it is to be.

        :raises HostError: it does not start, or is not registered within ``seconds``.
        """
        self._run(["systemctl", "reset-failed", self._daemon.unit])
        done = self._run(["systemctl", "restart", self._daemon.unit], timeout=_STARTING_SECONDS + 60)
        if done.rc != 0:
            raise HostError(f"{self._daemon.unit} does not start: {self._journal()}")
        if not self._daemon.status:
            return self.state()
        end = time.monotonic() + seconds
        while True:
            state = self.state()
            if state.registered_by or not unix_socket.listening(self._files, self._socket):
                return state
            if time.monotonic() > end:
                what = f"{self._daemon.unit} was not registered at {self._socket} within {seconds:g} s"
                raise HostError(f"{what}: {self._said(state)}")
            time.sleep(_INTERVAL)

    def reload(self) -> DaemonState:
        """Have it read its configuration again. Raises HostError if it does not take it."""
        before = self._files.text(self._daemon.status)
        must(self._run(["systemctl", "reload", self._daemon.unit]), f"systemctl reload {self._daemon.unit}")
        end = time.monotonic() + _RELOAD_SECONDS
        # It rewrites its status after it has read the file.
        while self._files.text(self._daemon.status) == before and time.monotonic() < end:
            time.sleep(_INTERVAL)
        state = self.state()
        if state.status.get("config_error"):
            raise HostError(f"{self._daemon.unit} keeps its old configuration: {state.status['config_error']}")
        return state

    def stop(self) -> None:
        done = self._run(["systemctl", "stop", self._daemon.unit], timeout=_STARTING_SECONDS)
        # Without its unit's file, systemd may not know it any more.
        if done.rc not in (0, 5):
            raise HostError(f"systemctl stop {self._daemon.unit}: {done.reason}")

    def _said(self, state: DaemonState) -> str:
        return str(state.status.get("config_error") or self._journal())

    def _journal(self) -> str:
        done = self._run(["journalctl", "--no-pager", "--output=cat", "--lines=5", f"--unit={self._daemon.unit}"])
        said = [line.strip() for line in done.out.splitlines() if line.strip()]
        return " | ".join(said[-3:]) or "nothing in its journal"
