# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""One run that has to plan (see ``converge``), and the decision whether the runtime is restarted."""

from __future__ import annotations

import copy
import os
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, Texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, find, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import exec_start, records
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import (
    Installation,
    RuntimeLayout,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import (
    DROPIN,
    SPEC,
    recorded,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.notes import fingerprint
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import (
    RuntimeOutcome,
    RuntimeRequest,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import configured, of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.service import Service
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import redact

# For the NRI plugins that were connected before a restart.
_RECONNECT_SECONDS = 30


class RuntimeRun:
    """One module call; ``execute`` runs the node's tools."""

    def __init__(
        self, request: RuntimeRequest, files: Files, layout: RuntimeLayout, ledger: Ledger, execute: Runner = run
    ) -> None:
        self._request = request
        self._files = files
        self._ledger = ledger
        self._execute = execute
        self._service = Service(files, layout, execute)
        self._default = layout
        self._look()
        self._parts = request.parts
        self._failed = False

    def _look(self) -> None:
        """Find the daemon, and the files and the binary that it has, or would have if it were started."""
        self._daemon = self._service.daemon() if self._files.live else None
        self._layout = configured(self._default, self._daemon)
        if self._files.live and self._daemon is None:
            self._layout = exec_start.configured(self._default, self._execute)
        self._layout = records.without_recovery(self._files, self._layout, self._default)
        self._service.layout = self._layout
        self._binary = self._find_binary() if self._files.live else ""

    def outcome(self) -> RuntimeOutcome:
        self.finish_recovery()
        plan = self._plan()
        changes = self._ledger.compare(plan.wanted)
        outcome = RuntimeOutcome(
            [change.change for change in changes if change.before != change.after],
            [redacted(change.texts) for change in changes if change.before != change.after],
            warnings=[*self._ledger.warnings, *plan.warnings],
        )
        for part in self._parts:
            outcome.facts.update(self._facts(plan, part))
        needed = self._files.live and self._restart_needed(plan, changes)
        now = needed and self._request.restart
        leaks = self._leaks(plan, outcome, now) if now or self._daemon else []
        if self._request.recover:
            outcome.changes += [Change("sandbox_record", str(leak), "left behind", "absent") for leak in leaks]
        elif leaks:
            outcome.facts["sandbox_records"] = [str(leak) for leak in leaks]
            outcome.warnings.append(records.danger(leaks))
        if now:
            outcome.changes.append(Change("service", self._layout.unit, "running", "restarted"))
        outcome.facts.update(restarted=now, restart_pending=needed and not now)
        if not self._request.check:
            self._apply(changes)
            if leaks and self._request.recover:
                records.remove(self._layout, leaks, self._execute)
                outcome.facts["sandbox_records_removed"] = [str(leak) for leak in leaks]
            if now:
                self._restart(plan, outcome)
            elif not needed:
                self._ledger.notes.pop("pending", None)
            self._remember(plan)
        return outcome

    def finish_recovery(self) -> None:
        """Complete a killed recovery, which leaves containerd without its CRI until its next normal start."""
        if not self._files.live or self._request.check:
            return
        if records.undo(self._files, self._layout, self._execute):
            # Whether it starts is checked afterwards.
            self._execute(["systemctl", "restart", self._layout.unit], timeout=300)
            self._look()

    def _find_binary(self) -> str:
        if self._daemon:
            try:
                path = os.readlink(f"/proc/{self._daemon.pid}/exe").replace(" (deleted)", "")
                if os.path.exists(path):
                    return path
            except OSError:
                pass
        runtime = of(self._layout)
        found = [path for path in self._layout.binaries if os.path.exists(path)]
        path = found[0] if found else find(runtime.process)
        if not path:
            raise HostError(f"runtime: {runtime.process} is not installed (looked for {self._layout.binaries[0]})")
        return path

    def _plan(self) -> RuntimePlan:
        installed = Installation(self._files, self._layout, self._binary, self._execute)
        return of(self._layout).plan(installed, self._parts, recorded(self._ledger))

    def _facts(self, plan: RuntimePlan, part: str) -> Dict[str, Any]:
        effective = plan.effective
        facts: Dict[str, Any] = {
            "runtime": self._layout.runtime,
            "unit": self._layout.unit,
            "config_version": effective.version or None,
        }
        if part == "nri":
            facts["nri"] = {
                "enabled": effective.nri_enabled,
                "socket": effective.nri_socket,
                "request_timeout": effective.get("nri", ("plugin_request_timeout",)),
                "registration_timeout": effective.get("nri", ("plugin_registration_timeout",)),
                "validator": bool(effective.get("nri", ("default_validator", "enable"))),
            }
        else:
            facts["handlers"] = plan.handlers
        return facts

    def _restart_needed(self, plan: RuntimePlan, changes: List[FileChange]) -> bool:
        """Whether the running daemon does not have what its files say."""
        state = self._service.state()
        self._failed = state.failed
        if not state.wanted:
            return False
        if plan.differs or any(_read_at_start_only(change.path) for change in changes):
            return True
        if state.failed:
            return True
        pending = self._ledger.notes.get("pending")
        if pending is not None:
            return self._daemon is None or self._daemon.identity == pending["daemon"]
        if self._daemon is None or not self._parts:
            return False
        if plan.effective.nri_enabled and not unix_socket.listening(self._files, plan.effective.nri_socket):
            return True
        return "seen" not in self._ledger.notes and self._newest(plan) > self._daemon.started

    def _newest(self, plan: RuntimePlan) -> float:
        times = [0.0]
        for path in plan.files:
            try:
                times.append(os.stat(path).st_mtime)
            except OSError:
                continue
        return max(times)

    def _leaks(self, plan: RuntimePlan, outcome: RuntimeOutcome, restart: bool) -> List[records.Leak]:
        """Records that would keep the runtime from starting, now or at the next boot.

        :raises HostError: the runtime has to be restarted but would not start.
        """
        if not of(self._layout).leaves_records:
            return []
        try:
            leaks = records.find(self._layout, plan.before)
        except HostError as error:
            if not restart:
                return []
            said = self._service.journal()
            if records.SYMPTOM in said:
                self._recover_stopped(plan, outcome)
                return []
            if "pending" not in self._ledger.notes:
                raise HostError(
                    f"{self._layout.unit} was already broken before any change ({error}): {said}"
                ) from error
            return []
        if restart and leaks and not self._request.recover:
            raise HostError(f"{self._layout.unit} is not restarted: {records.danger(leaks)}")
        return leaks

    def _recover_stopped(self, plan: RuntimePlan, outcome: RuntimeOutcome) -> None:
        if not self._request.recover:
            raise HostError(
                f"{self._layout.unit} cannot start: sandbox records left behind by failed NRI attaches share a name"
                f" (containerd issue 13609): {self._service.journal()}. Set rdma_runtime_recover_sandboxes"
                " to remove them; running pods are not affected"
            )
        if not self._request.check:
            gone = records.recover_stopped(self._files, self._layout, plan.before, self._execute)
            outcome.facts["sandbox_records_removed"] = [str(leak) for leak in gone]

    def _apply(self, changes: List[FileChange]) -> None:
        notes = self._ledger.notes
        former = copy.deepcopy(notes)
        if changes and self._files.live:
            self._forget_taken_over()
            pending = notes.setdefault(
                "pending", {"files": {}, "known": self._ledger.known, "parts": notes.get("parts", {})}
            )
            for change in changes:
                pending["files"].setdefault(change.path, _kept(change.before))
            pending["daemon"] = self._daemon.identity if self._daemon else ""
        notes["parts"] = self._parts
        notes.pop("seen", None)
        try:
            self._ledger.apply(sorted(changes, key=_order))
        except HostError:
            # Put back, so that there is nothing for which to restart.
            if all(self._files.stored(change.path) == change.before for change in changes):
                self._ledger.notes = former
                self._ledger.save()
            raise
        self._ledger.save()

    def _forget_taken_over(self) -> None:
        """Forget the files before those that the runtime has been started with since, by somebody else or at a boot."""
        pending = self._ledger.notes.get("pending")
        if pending and self._daemon and not self._failed and self._daemon.identity != pending["daemon"]:
            del self._ledger.notes["pending"]

    def _restart(self, plan: RuntimePlan, outcome: RuntimeOutcome) -> None:
        # The socket of the running configuration; the new one may have another.
        before = unix_socket.connected(self._files, plan.before.nri_socket)
        try:
            self._service.restart()
            outcome.facts["version"] = self._service.await_ready(plan.effective)
            if self._layout.generated and self._plan().differs:
                raise HostError(f"{self._layout.unit} was restarted but did not apply its template")
        except HostError as error:
            if self._parts or not self._failed:
                raise HostError(f"{error}. {self._roll_back(plan)}") from error
            # Without our changes it is as broken as it was with them.
            outcome.facts["restarted"] = False
            outcome.warnings.append(f"{error}. It had failed before as well; its files are restored")
            self._ledger.notes.pop("pending", None)
            return
        self._ledger.notes.pop("pending", None)
        self._ledger.save()
        missing = self._service.await_plugins(plan.effective, before, _RECONNECT_SECONDS) if before else 0
        outcome.facts["plugins_missing"] = missing
        if missing:
            outcome.warnings.append(
                f"{missing} of the NRI plugins that were connected before the restart of {self._layout.unit} ({before})"
                f" did not reconnect within {_RECONNECT_SECONDS} s; until then pods get no devices from them"
            )

    def _roll_back(self, plan: RuntimePlan) -> str:
        pending: Optional[Dict[str, Any]] = self._ledger.notes.get("pending")
        if pending is None:
            return "No file was changed, so there is nothing to restore"
        changes = [
            FileChange(path, self._files.stored(path), _unkept(kept), keep=path in pending["known"])
            for path, kept in sorted(pending["files"].items())
        ]
        self._ledger.apply(changes)
        self._ledger.notes["parts"] = pending["parts"]
        self._ledger.save()
        try:
            self._service.restart()
            self._service.await_ready(plan.before)
        except HostError as error:
            return f"The previous files were restored, but: {error}"
        self._ledger.notes.pop("pending", None)
        self._forget_if_empty()
        self._ledger.save()
        return f"The previous files were restored and {self._layout.unit} is running with them again"

    def _remember(self, plan: RuntimePlan) -> None:
        notes = self._ledger.notes
        if "pending" not in notes and self._parts:
            nri = plan.effective.nri_enabled and "nri" in self._parts
            notes["seen"] = {
                "unit": self._layout.unit,
                "files": sorted(set(plan.files)),
                "globs": plan.globs,
                "binary": self._binary,
                "nri_socket": plan.effective.nri_socket if nri else "",
                "arguments": list(self._daemon.arguments) if self._daemon else [],
                "digest": fingerprint(self._files, plan.files, plan.globs, self._binary),
                "facts": {part: self._facts(plan, part) for part in self._parts},
                "warnings": plan.warnings,
            }
        self._forget_if_empty()
        self._ledger.save()

    def _forget_if_empty(self) -> None:
        if not self._ledger.notes.get("parts") and "pending" not in self._ledger.notes:
            self._ledger.notes.clear()


def redacted(texts: Texts) -> Texts:
    """What ``--diff`` shows of a file, without credentials."""
    before, after = (None if side is None else redact.text(side) for side in (texts.before, texts.after))
    return Texts(texts.path, before, after)


def _kept(stored: Optional[Stored]) -> Optional[Dict[str, Any]]:
    if stored is None:
        return None
    content = stored.content.decode("utf-8", "surrogateescape")
    return {"content": content, "owner": [stored.mode, stored.uid, stored.gid]}


def _unkept(kept: Optional[Dict[str, Any]]) -> Optional[Stored]:
    return None if kept is None else Stored(kept["content"].encode("utf-8", "surrogateescape"), *kept["owner"])


def _order(change: FileChange) -> Tuple[bool, int]:
    """Files are written before those that refer to them and removed after them, so no reference is ever dangling."""
    name = os.path.basename(change.path)
    rank = 0 if name.startswith(SPEC) else 1 if name.startswith(DROPIN) else 2
    return (True, -rank) if change.after is None else (False, rank)


def _read_at_start_only(path: str) -> bool:
    """Files whose content is not part of ``config dump``."""
    name = os.path.basename(path)
    return name.startswith(SPEC) or name.endswith((".conf", ".tmpl"))
