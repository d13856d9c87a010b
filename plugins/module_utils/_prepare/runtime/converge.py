# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The concern ``runtime`` of a node: plan, write, restart at most once, put back what does not work.

Two modules share it, so the ledger's notes hold what each of them wants (``parts``), what was looked at when nothing
was left to do (``seen``), and, from before the first write until a restart has worked, how the files were
(``pending``).
"""

from __future__ import annotations

import glob
import hashlib
import os
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.report import Change, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import nri_socket, records
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.flavour import Layout, daemon, detect

CONCERN = "runtime"
# A plan made by an older version of this collection is made again.
_PLANNER = 1


@dataclass(frozen=True)
class Request:
    """What one module call wants, by part (``nri``, ``memlock``): its options, ``None`` to take it back."""

    parts: Dict[str, Optional[Dict[str, Any]]]
    runtime: str = "auto"
    restart: bool = True
    recover: bool = False
    await_plugins: float = 30
    check: bool = False


@dataclass
class Outcome:
    """What was or would be done."""

    changes: List[Change] = field(default_factory=list)
    texts: List[Any] = field(default_factory=list)
    facts: Dict[str, Any] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)

    def result(self) -> Dict[str, Any]:
        return {**as_result(self.changes, self.texts), **self.facts, "warnings": self.warnings}


def converge(request: Request, files: Files) -> Outcome:
    """Bring the node to what is requested, or in check mode say what that would take.

    :raises HostError: it cannot be done; nothing is changed then, or what was changed is put back.
    """
    ledger = Ledger(files, CONCERN)
    if not any(request.parts.values()) and not ledger.notes and not ledger.known:
        return Outcome(facts={"restarted": False, "restart_pending": False})
    layout = detect(files, request.runtime)
    settled = _settled(request, files, layout, ledger)
    if settled is not None:
        return settled
    with nullcontext() if request.check else ledger.locked():
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.run import Run

        # Another module may have changed the ledger while this one waited for the lock.
        return Run(request, files, layout, Ledger(files, CONCERN)).outcome()


def _settled(request: Request, files: Files, layout: Layout, ledger: Ledger) -> Optional[Outcome]:
    """The answer without running anything, when nothing that was looked at last time is different now."""
    seen = ledger.notes.get("seen")
    if not seen or not any(request.parts.values()) or "pending" in ledger.notes or seen["unit"] != layout.unit:
        return None
    parts = ledger.notes.get("parts", {})
    if any(parts.get(part) != options for part, options in request.parts.items()):
        return None
    if seen["digest"] != digest(files, seen["files"], seen["globs"], seen["binary"]):
        return None
    socket = seen["nri_socket"]
    if files.live and (daemon(files, layout) is None or (socket and not nri_socket.listening(files, socket))):
        return None
    outcome = Outcome(facts={"restarted": False, "restart_pending": False})
    for part in request.parts:
        outcome.facts.update(seen["facts"].get(part, {}))
        outcome.warnings += seen["warnings"].get(part, [])
    if files.live and not _clean(layout, outcome.facts.get("config_version")):
        return None
    outcome.facts.update(running(request, files))
    return outcome


def _clean(layout: Layout, config_version: Optional[int]) -> bool:
    """Whether no failed attach has left anything behind, as far as can be told at once."""
    if layout.flavour == "crio":
        return True
    try:
        return not records.now(layout.socket, config_version or 0)
    except HostError:
        return False


def running(request: Request, files: Files) -> Dict[str, Any]:
    """What only the running node knows and no file tells."""
    options = request.parts.get("memlock")
    if not options or not files.live:
        return {}
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import pods

    return {"running_pods_keep_old_limit": pods.with_lower_limit(int(options["limit"]))}


def digest(files: Files, paths: Sequence[str], globs: Sequence[str], binary: str) -> str:
    """A fingerprint of everything that decides what the runtime's configuration means."""
    found = set(paths)
    for pattern in globs:
        found.update(_globbed(files, pattern))
    made = hashlib.sha256(str(_PLANNER).encode())
    for path in sorted(found):
        stored = files.stored(path)
        content = b"" if stored is None else hashlib.sha256(stored.content).digest()
        made.update(path.encode("utf-8", "surrogateescape") + b"\0" + content + b"\0")
    if binary and files.live:
        try:
            status = os.stat(binary)
            made.update(f"{status.st_size} {status.st_mtime_ns} {status.st_ino}".encode())
        except OSError:
            made.update(b"gone")
    return made.hexdigest()


def _globbed(files: Files, pattern: str) -> List[str]:
    root = files.root.rstrip("/")
    return [path[len(root) :] for path in glob.glob(root + pattern)]
