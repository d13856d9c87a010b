# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Restarts a container runtime and verifies that it is back. Whether to restart it is decided in ``run``."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import cri
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import Effective
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import (
    Daemon,
    configured,
    daemon,
)

# A loaded server takes seconds, a node that has to load hundreds of shims longer.
_DEADLINE = 120.0
_NRI_DEADLINE = 10.0
_INTERVAL = 0.2
_GRAVE = re.compile(r"level=(?:fatal|panic)|^containerd: |^panic: ")
_QUOTED = re.compile(r'(?:msg|error)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class UnitState:
    """A unit's state according to systemd."""

    active: str
    # Given up by systemd, or between two attempts.
    failed: bool

    @property
    def wanted(self) -> bool:
        """Whether it runs or should run; an administrator's ``stop`` leaves it inactive."""
        return self.active in ("active", "activating", "reloading", "failed")


class Service:
    """One runtime's unit on this machine."""

    def __init__(self, files: Files, layout: RuntimeLayout, run: Runner) -> None:
        self._files = files
        self._run = run
        self.layout = layout

    def daemon(self) -> Optional[Daemon]:
        return daemon(self._files, self.layout)

    def state(self) -> UnitState:
        """The state according to systemd; waits for a unit that is starting, for example after a boot."""
        end = time.monotonic() + _DEADLINE
        while True:
            done = self._run(["systemctl", "show", "--property=ActiveState,SubState", self.layout.unit])
            said = dict(line.split("=", 1) for line in must(done, "systemctl show").splitlines() if "=" in line)
            active, sub = said.get("ActiveState", ""), said.get("SubState", "")
            if not sub.startswith(("start", "reload")) or time.monotonic() > end:
                return UnitState(active, active == "failed" or sub == "auto-restart")
            time.sleep(_INTERVAL)

    def journal(self) -> str:
        """The unit's last log lines: fatal errors if there are any."""
        unit = f"--unit={self.layout.unit}"
        done = self._run(["journalctl", "--no-pager", "--output=cat", "--lines=100", unit])
        said = [line for line in done.out.splitlines() if line.strip()]
        grave = [line for line in said if _GRAVE.search(line)]
        return " | ".join(map(_short, grave[-1:] or said[-3:])) or "nothing in its journal"

    def restart(self) -> None:
        """:raises HostError: it does not start."""
        must(self._run(["systemctl", "daemon-reload"]), "systemctl daemon-reload")
        # After quick failures systemd would otherwise refuse to start it at all.
        self._run(["systemctl", "reset-failed", self.layout.unit])
        done = self._run(["systemctl", "restart", self.layout.unit], timeout=300)
        if done.rc != 0:
            raise HostError(f"{self.layout.unit} does not start: {self.journal()}")

    def await_ready(self, effective: Effective, deadline: float = _DEADLINE) -> str:
        """Wait until the CRI answers and, where NRI is on, its socket accepts; returns the runtime's own version.

        :raises HostError: it is not ready within ``deadline`` seconds.
        """
        end = time.monotonic() + deadline
        answered = False
        while True:
            reason = ""
            try:
                version = cri.version(configured(self.layout, self.daemon()).socket)
                # NRI starts before the CRI, so it is ready by now or never.
                end = end if answered else min(end, time.monotonic() + _NRI_DEADLINE)
                answered = True
            except HostError as error:
                reason = str(error)
            if not reason and effective.nri_enabled and not unix_socket.accepts(effective.nri_socket):
                reason = f"nothing accepts connections on {effective.nri_socket}"
            if not reason:
                return version
            if time.monotonic() > end:
                raise HostError(f"{self.layout.unit} was restarted but is not ready ({reason}): {self.journal()}")
            if self.state().active == "failed":
                raise HostError(f"{self.layout.unit} does not stay up: {self.journal()}")
            time.sleep(_INTERVAL)

    def await_plugins(self, effective: Effective, before: int, seconds: float) -> int:
        """Wait for the NRI plugins that were connected before; returns how many are missing after ``seconds``."""
        end = time.monotonic() + seconds
        while True:
            missing = before - unix_socket.connected(self._files, effective.nri_socket)
            if missing <= 0 or time.monotonic() > end:
                return max(missing, 0)
            time.sleep(_INTERVAL)


def _short(line: str) -> str:
    """Message and error of a containerd log line, without quoting."""
    parts = _QUOTED.findall(line)
    return ": ".join(parts).replace('\\"', "'") if parts else line
