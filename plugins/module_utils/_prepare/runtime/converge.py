# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The concern ``runtime``: prepares a node's container runtime to attach RDMA NICs to pods.

The ledger's notes hold the configured options (``parts``), a fingerprint of the steady state (``seen``) and, from
before the first write until a restart has succeeded, the previous files (``pending``).
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.notes import CACHES, NOTES, fingerprint
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import (
    RuntimeOutcome,
    RuntimeRequest,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import daemon, detect, of

CONCERN = "runtime"


def converge(request: RuntimeRequest, files: Files) -> RuntimeOutcome:
    """Bring the node to the requested state, or in check mode report the differences.

    :raises HostError: it cannot be done; nothing is changed then, or the changes are rolled back.
    """
    ledger = Ledger(files, CONCERN, NOTES, CACHES)
    if not request.parts and not ledger.notes and not ledger.known:
        if not request.check:
            ledger.clear()
        return RuntimeOutcome(facts={"restarted": False, "restart_pending": False}, warnings=ledger.unclaimed())
    if not request.parts:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.revert import revert

        return revert(request, files, ledger)
    layout = detect(files, request.runtime)
    outcome = _settled(request, files, layout, ledger)
    if outcome is None:
        # Modules sent to a node are compiled there in each call, so modules that only changes need are imported here.
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.run import RuntimeRun

        def run() -> RuntimeOutcome:
            return RuntimeRun(request, files, layout, ledger).outcome()

        if request.check:
            outcome = ledger.steady(run)
        else:
            with ledger.locked():
                outcome = run()
    elif not request.check:
        ledger.clear()
    outcome.facts.update(_running(request, files))
    return outcome


def _settled(request: RuntimeRequest, files: Files, layout: RuntimeLayout, ledger: Ledger) -> Optional[RuntimeOutcome]:
    """The outcome without running anything, if nothing has changed since the last run."""
    last = ledger.notes.get("seen")
    if not last or "pending" in ledger.notes or last["unit"] != layout.unit:
        return None
    if ledger.notes.get("parts", {}) != request.parts:
        return None
    if last["digest"] != fingerprint(files, last["files"], last["globs"], last["binary"]):
        return None
    socket = last["nri_socket"]
    if files.live:
        running = daemon(files, layout)
        # Other arguments may name other files.
        if running is None or list(running.arguments) != last.get("arguments"):
            return None
        if socket and not unix_socket.listening(files, socket):
            return None
    outcome = RuntimeOutcome(facts={"restarted": False, "restart_pending": False}, warnings=list(last["warnings"]))
    for part in request.parts:
        outcome.facts.update(last["facts"].get(part, {}))
    if files.live and not _clean(layout, outcome.facts.get("config_version")):
        return None
    return outcome


def _clean(layout: RuntimeLayout, config_version: Optional[int]) -> bool:
    """Whether there are no leftovers of failed attaches, without waiting."""
    if not of(layout).leaves_records:
        return True
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import records

    try:
        return not records.now(layout.socket, config_version or 0)
    except HostError:
        return False


def _running(request: RuntimeRequest, files: Files) -> Dict[str, Any]:
    """Facts that only the running node can tell."""
    options = request.parts.get("memlock")
    if not options or not files.live:
        return {}
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import pods

    return {"running_pods_keep_old_limit": pods.with_lower_limit(int(options["limit"]))}
