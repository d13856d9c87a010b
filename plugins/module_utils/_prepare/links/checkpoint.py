# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The checkpoint of the last call: closed by a confirmation or the next run, or rolled back by NetworkManager."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile, live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import (
    ACTIVE_ACTIVATED,
    NetworkManager,
    Snapshot,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import adopt_rolled_back
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# How long NetworkManager may take to create a checkpoint, in milliseconds.
_CREATION = 60_000


def now() -> int:
    """By the clock of checkpoints: milliseconds since the boot."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)


def _open_checkpoint(ledger: Ledger, snapshot: Snapshot) -> Optional[str]:
    """Ours, if NetworkManager still has it.

    Paths are counted from 1 again after a restart, so another tool's may have this path: netdevs and time decide.
    """
    note = ledger.notes.get("checkpoint")
    if not note:
        return None
    # A run that was killed may have noted neither path nor end.
    since = note.get("since", 0)
    until = note.get("until", since + _CREATION)
    for path, entry in snapshot.checkpoints.items():
        is_named = note["path"] in (None, path) and entry.devices and set(entry.devices) <= set(note["devices"])
        if is_named and since <= entry.created <= until:
            return path
    return None


def finish_earlier(ledger: Ledger, run: Runner) -> None:
    """A run that was not confirmed: we reached the node again, which is all that a confirmation says."""
    manager = NetworkManager(run)
    path = _open_checkpoint(ledger, manager.snapshot())
    if path:
        manager.keep(path)
    else:
        adopt_rolled_back(ledger)
    ledger.notes.pop("checkpoint", None)
    ledger.save()


def _as_changed(ledger: Ledger, note: Mapping[str, Any]) -> bool:
    """Whether the profiles of the last call are still as that call left them, and not as before."""
    return all(
        ledger.files.exists(path) == (path in ledger.known) and (path not in ledger.known or ledger.as_written(path))
        for path in note.get("profiles", {})
    )


def _put_sysctls_back(ledger: Ledger, note: Mapping[str, Any]) -> List[str]:
    """NetworkManager does not roll them back. Returns what is said of those that stay. Raises HostError."""
    if "sysctl" not in note:
        return []
    now, text = ledger.files.stored(keyfile.SYSCTL_PATH), note.get("sysctl_file")
    before = None if text is None or now is None else replace(now, content=text.encode())
    if now is not None and now != before:
        ledger.apply([FileChange(keyfile.SYSCTL_PATH, now, before, keep=before is not None, lines=True)])
    given = note.get("sysctl_given", {})
    kept = []
    for key, former in note["sysctl"].items():
        # Earlier versions did not note what they had set.
        kept.append(live.put_sysctl_back(key, given.get(key) or keyfile.sysctl_given(key) or former, former))
    return [text for text in kept if text]


def confirm(ledger: Ledger, run: Runner, checkpoint: str) -> None:
    """Keep what the last call changed; nothing to do where NetworkManager has lost the checkpoint, and not the links.

    :raises HostError: it is not the one of the last call, or NetworkManager has rolled it back.
    """
    note = ledger.notes.get("checkpoint")
    if note is None or note["path"] != checkpoint:
        raise HostError(f"confirm: {checkpoint!r} is not the checkpoint of the last call, or is already confirmed")
    manager = NetworkManager(run)
    snapshot = manager.snapshot()
    kept = _open_checkpoint(ledger, snapshot) is not None
    # Before waiting for whoever else changes the node at the moment: NetworkManager does not wait.
    if kept:
        manager.keep(checkpoint)
    active = {entry.uuid for entry in snapshot.actives.values() if entry.state <= ACTIVE_ACTIVATED}
    down = [uuid for uuid in note.get("up", []) if uuid not in active]
    kept_sysctls: List[str] = []
    with ledger.locked():
        rolled_back = not kept and not _as_changed(ledger, note)
        if rolled_back:
            adopt_rolled_back(ledger)
            kept_sysctls = _put_sysctls_back(ledger, note)
        ledger.notes.pop("checkpoint", None)
        ledger.save()
    if rolled_back:
        said = "; ".join(["raise rollback_seconds if the node answers that slowly", *kept_sysctls])
        raise HostError(
            f"confirm: {checkpoint} is gone: NetworkManager has rolled the links back, because this was not confirmed "
            f"within {note['seconds']} s; {said}"
        )
    if not kept and down:
        raise HostError(
            f"confirm: {checkpoint} is gone, and not all links are up: NetworkManager was restarted, or somebody has "
            "closed or rolled back the checkpoint; repeat the run"
        )
