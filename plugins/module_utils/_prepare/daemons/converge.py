# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Installs, changes and removes a daemon: its program, configuration and systemd unit.

The ledger's note ``pending`` says from before the first write what has still to be done with the running daemon, so
that the next run completes one that was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import Any, Dict, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import absent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import DaemonRequest, NodeDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.service import DaemonService, DaemonState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, Texts, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.writing import make_directories

_RESTART, _RELOAD = "restart", "reload"


def carry_out(
    daemon: NodeDaemon, files: Files, wanted: Optional[DaemonRequest], check: bool, runner: Runner
) -> Dict[str, Any]:
    """Bring the daemon of the node below ``files`` to what is wanted, ``None`` for nothing, or report the differences.

    Returns the module's result.

    :raises HostError: the daemon does not work, or a file cannot be written.
    """
    ledger = absent.ledger_of(files, daemon.concern)
    found = absent.nothing_of(ledger, check) if wanted is None else None
    if found is not None:
        return found
    if check:
        return ledger.steady(lambda: _DaemonRun(daemon, files, wanted, ledger, runner).outcome(check))
    with ledger.locked():
        return _DaemonRun(daemon, files, wanted, ledger, runner).outcome(check)


class _DaemonRun:
    def __init__(
        self, daemon: NodeDaemon, files: Files, wanted: Optional[DaemonRequest], ledger: Ledger, runner: Runner
    ) -> None:
        self.daemon, self.files, self.wanted, self.ledger = daemon, files, wanted, ledger
        self.changes = ledger.compare(wanted.files(files) if wanted else [])
        self.service = DaemonService(daemon, files, wanted.socket if wanted else unix_socket.NRI_SOCKET, runner)
        self.state = self.service.state() if files.live else DaemonState("")
        self.theirs = self._theirs() if wanted is None else ""
        if self.theirs:
            # What it needs to go on, also after the next boot.
            text = files.text(self.theirs) or ""
            self.changes = [change for change in self.changes if change.path not in text]

    def _theirs(self) -> str:
        """The path of the unit if it is not, or no more, the one that we wrote."""
        path, fragment = self.daemon.unit_path, self.state.fragment
        if self.files.exists(path) and not self.ledger.is_ours(path):
            return path
        # Some directories come before ours, and others count when ours was removed by hand (systemd.unit(5)).
        return fragment if fragment and self.files.full(fragment) != self.files.full(path) else ""

    def outcome(self, check: bool) -> Dict[str, Any]:
        action = self._action()
        told = [change.change for change in self.changes] + self._enabling() + self._acting(action)
        texts = [self._readable(change) for change in self.changes]
        warnings = [*self.ledger.warnings, *self._left()]
        if not check:
            self._act(action)
        socket = self.wanted.socket if self.wanted else ""
        if socket and self.files.live and not unix_socket.listening(self.files, socket):
            text = f"nothing listens on {socket}: until NRI is enabled, no container gets devices"
            warnings.append(text)
        live = self.wanted and self.files.live
        return {**as_result(told, texts), **(self._facts() if live else {}), "warnings": warnings}

    def _left(self) -> List[str]:
        """What is said of a service that is somebody else's by now."""
        if not self.theirs:
            return []
        state = f" ({self.state.active})" if self.state.active else ""
        return [
            f"{self.daemon.unit} is left as it is{state}, with the files that it needs: {self.theirs} "
            "is not the unit that this collection wrote. If nobody needs it, disable and stop it, remove that file, "
            "and repeat the run"
        ]

    def _facts(self) -> Dict[str, Any]:
        own = self.state.facts(self.daemon.reported) if self.daemon.status else {"service": self.state.active}
        return {"unit": self.daemon.unit, **own}

    def _readable(self, change: FileChange) -> Texts:
        """The program is compressed, and may be known by its digest only, which therefore stands for it."""
        if change.path != self.daemon.program:
            return change.texts
        before = hashlib.sha256(change.before.content).hexdigest() if change.before else None
        after = self.wanted.digest if self.wanted else None
        return Texts(change.path, *(f"sha256 {digest}\n" if digest else None for digest in (before, after)))

    def _action(self) -> str:
        """What has to be done with the plugin (``restart``, ``reload`` or ``stop``), empty for nothing."""
        if not self.files.live:
            return ""
        if self.wanted is None:
            return "stop" if self.state.active not in ("inactive", "") and not self.theirs else ""
        pending = self.ledger.notes.get("pending")
        changed = {change.path: change for change in self.changes}
        if (
            not self.state.running
            or pending == _RESTART
            or {self.daemon.program, self.daemon.unit_path} & changed.keys()
        ):
            return _RESTART
        if self.daemon.config in changed and not self.daemon.rereads:
            return _RELOAD if self._reloadable(changed[self.daemon.config]) else _RESTART
        return _RELOAD if pending else ""

    def _reloadable(self, change: FileChange) -> bool:
        before, after = _config(change.before), _config(change.after)
        return (
            before is not None
            and after is not None
            and all(before.get(key) == after.get(key) for key in self.daemon.at_start)
        )

    def _acting(self, action: str) -> List[Change]:
        running = self.state.running
        after = {_RELOAD: "reloaded", "stop": "stopped", _RESTART: "restarted" if running else "started"}
        before = "running" if running else "stopped"
        return [Change("service", self.daemon.unit, before, after[action])] if action else []

    def _link(self) -> str:
        """Where the link is that enables the unit; its directory followed, but not the link itself."""
        directory, name = os.path.split(self.daemon.enabled)
        return os.path.join(self.files.full(directory), name)

    def _enabling(self) -> List[Change]:
        is_there = os.path.islink(self._link())
        if self.theirs or is_there == (self.wanted is not None):
            return []
        words = ("enabled", "disabled") if is_there else ("disabled", "enabled")
        return [Change("unit", self.daemon.unit, *words)]

    def _enable(self) -> None:
        link = self._link()
        try:
            if self.wanted is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(link)
                self.files.remove_empty_directory(os.path.dirname(self.daemon.enabled))
            else:
                make_directories(os.path.dirname(link))
                os.symlink(self.daemon.unit_path, link)
        except OSError as error:
            raise HostError(f"{self.daemon.enabled}: {error.strerror}") from error

    def _act(self, action: str) -> None:
        if (
            self.wanted
            and self.wanted.program is None
            and any(change.path == self.daemon.program for change in self.changes)
        ):
            raise HostError("program is missing: the action plugin of this module has to add it")
        # A run that was killed may have written the unit and no more.
        killed = self.ledger.notes.get("pending") == _RESTART
        if action in (_RESTART, _RELOAD) and not killed:
            self.ledger.notes = {"pending": action}
        if action == "stop":
            self.service.stop()
        enabling = bool(self._enabling())
        if self.wanted is None and not self.theirs:
            # Also without a link: a run that was killed may have made its directory only.
            self._enable()
        self.ledger.apply(self.changes)
        if enabling and self.wanted is not None:
            self._enable()
        if self.files.live and (
            enabling or killed or any(change.path == self.daemon.unit_path for change in self.changes)
        ):
            self.service.reload_units()
        self._run(action)
        self.ledger.notes = {}
        self.ledger.save()

    def _run(self, action: str) -> None:
        if action == _RESTART and self.wanted is not None:
            self.state = self.service.restart(self.wanted.seconds)
        elif action == _RELOAD:
            self.state = self.service.reload()


def _config(stored: Optional[Stored]) -> Optional[Dict[str, Any]]:
    try:
        found = json.loads(stored.content) if stored else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
