# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The concern ``inject``: the NRI plugin that gives containers RDMA devices, as a systemd unit of the node.

The ledger's note ``pending`` says from before the first write what has still to be done with the running plugin, so
that the next run completes one that was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from contextlib import nullcontext
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.inject import unit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.inject.options import InjectRequest, request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.inject.plugin import Plugin, PluginState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import shape
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.report import Change, Texts, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import nri_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import output

CONCERN = "inject"
_NOTES = {"pending": shape.text}
_RESTART, _RELOAD = "restart", "reload"
# A change of these is not taken over by a running plugin.
_AT_START = ("socket", "metrics")


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options of ``inject_plugin`` (read as ``options.SPEC`` says), or report the differences.

    Returns the module's result.

    :raises HostError: an option is wrong (nothing was changed then), or the plugin does not work.
    """
    return carry_out(Files(options["root"]), request(options), check, runner)


def carry_out(files: Files, wanted: Optional[InjectRequest], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """The same for what is wanted of the node below ``files``, ``None`` for nothing."""
    ledger = Ledger(files, CONCERN, _NOTES)
    if wanted is None and not ledger.known and not ledger.notes:
        if not check:
            ledger.clear()
        return {**as_result([], []), "warnings": []}
    with nullcontext() if check else ledger.locked():
        return _InjectRun(files, wanted, ledger, runner).outcome(check)


class _InjectRun:
    def __init__(self, files: Files, wanted: Optional[InjectRequest], ledger: Ledger, runner: Runner) -> None:
        self.files, self.wanted, self.ledger = files, wanted, ledger
        self._check_metrics()
        self.changes = ledger.compare(wanted.files(files) if wanted else [])
        self.plugin = Plugin(files, wanted.socket if wanted else nri_socket.DEFAULT, runner)
        self.state = self.plugin.state() if files.live else PluginState("")

    def _check_metrics(self) -> None:
        """:raises HostError: the metrics would replace a file of somebody else."""
        path = str(self.wanted.config["metrics"]) if self.wanted else ""
        if path and not output.is_ours(self.files.text(path) or ""):
            right = "but this file has something other than the plugin's metrics: remove it, or set another path"
            raise HostError(f"metrics is {path!r}, {right}")

    def outcome(self, check: bool) -> Dict[str, Any]:
        action = self._action()
        told = [change.change for change in self.changes] + self._enabling() + _service(self.state, action)
        texts = [self._readable(change) for change in self.changes]
        warnings = list(self.ledger.warnings)
        if not check:
            self._act(action)
        if self.wanted and self.files.live and not nri_socket.listening(self.files, self.wanted.socket):
            text = f"nobody listens at {self.wanted.socket}: until NRI is enabled, no container gets devices"
            warnings.append(text)
        facts = self.state.facts() if self.wanted and self.files.live else {}
        return {**as_result(told, texts), **facts, "warnings": warnings}

    def _readable(self, change: FileChange) -> Texts:
        """The program is compressed, and may be known by its digest only, which therefore stands for it."""
        if change.path != unit.PROGRAM:
            return change.texts
        before = hashlib.sha256(change.before.content).hexdigest() if change.before else None
        after = self.wanted.digest if self.wanted else None
        return Texts(change.path, *(f"sha256 {digest}\n" if digest else None for digest in (before, after)))

    def _action(self) -> str:
        """What has to be done with the plugin (``restart``, ``reload`` or ``stop``), empty for nothing."""
        if not self.files.live:
            return ""
        if self.wanted is None:
            return "stop" if self.state.active not in ("inactive", "") else ""
        pending = self.ledger.notes.get("pending")
        changed = {change.path: change for change in self.changes}
        if not self.state.running or pending == _RESTART or {unit.PROGRAM, unit.PATH} & changed.keys():
            return _RESTART
        if unit.CONFIG in changed:
            return _RELOAD if self._reloadable(changed[unit.CONFIG]) else _RESTART
        return _RELOAD if pending else ""

    def _reloadable(self, change: FileChange) -> bool:
        before, after = _config(change.before), _config(change.after)
        return before is not None and after is not None and all(before.get(key) == after.get(key) for key in _AT_START)

    def _link(self) -> str:
        """Where the link is that enables the unit; its directory followed, but not the link itself."""
        directory, name = os.path.split(unit.ENABLED)
        return os.path.join(self.files.full(directory), name)

    def _enabling(self) -> List[Change]:
        is_there = os.path.islink(self._link())
        if is_there == (self.wanted is not None):
            return []
        words = ("enabled", "disabled") if is_there else ("disabled", "enabled")
        return [Change("unit", unit.NAME, *words)]

    def _enable(self) -> None:
        link = self._link()
        try:
            if self.wanted is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(link)
                self.files.remove_empty_directory(os.path.dirname(unit.ENABLED))
            else:
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink(unit.PATH, link)
        except OSError as error:
            raise HostError(f"{unit.ENABLED}: {error.strerror}") from error

    def _act(self, action: str) -> None:
        if self.wanted and self.wanted.program is None and any(change.path == unit.PROGRAM for change in self.changes):
            raise HostError("program is missing: the action plugin of this module has to add it")
        # A run that was killed may have written the unit and no more.
        killed = self.ledger.notes.get("pending") == _RESTART
        if action in (_RESTART, _RELOAD) and not killed:
            self.ledger.notes = {"pending": action}
        if action == "stop":
            self.plugin.stop()
        enabling = bool(self._enabling())
        if enabling and self.wanted is None:
            self._enable()
        self.ledger.apply(self.changes)
        if enabling and self.wanted is not None:
            self._enable()
        if self.files.live and (enabling or killed or any(change.path == unit.PATH for change in self.changes)):
            self.plugin.reload_units()
        self._run(action)
        self.ledger.notes = {}
        self.ledger.save()

    def _run(self, action: str) -> None:
        if action == _RESTART and self.wanted is not None:
            self.state = self.plugin.restart(self.wanted.seconds)
        elif action == _RELOAD:
            self.state = self.plugin.reload()


def _config(stored: Optional[Stored]) -> Optional[Dict[str, Any]]:
    try:
        found = json.loads(stored.content) if stored else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _service(state: PluginState, action: str) -> List[Change]:
    after = {_RELOAD: "reloaded", "stop": "stopped", _RESTART: "restarted" if state.running else "started"}
    return [Change("service", unit.NAME, "running" if state.running else "stopped", after[action])] if action else []
