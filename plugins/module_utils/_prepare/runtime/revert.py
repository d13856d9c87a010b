# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The way back of the concern ``runtime``: by the runtime whose files the ledger has, or by the ledger alone.

A runtime that is gone, that another one has replaced or that is broken is no reason to leave our files on the node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import ownership
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import (
    RuntimeOutcome,
    RuntimeRequest,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.run import RuntimeRun, redacted


def revert(request: RuntimeRequest, files: Files, ledger: Ledger) -> RuntimeOutcome:
    """Restore what earlier runs changed, and restart the runtime if it can be.

    :raises HostError: a file cannot be restored, or the runtime, which ran before, does not start with its own files;
        it then has ours again.
    """
    if request.check:
        return ledger.steady(lambda: _revert(request, files, ledger))
    with ledger.locked():
        return _revert(request, files, ledger)


def _revert(request: RuntimeRequest, files: Files, ledger: Ledger) -> RuntimeOutcome:
    if not ledger.known and not ledger.notes:
        # Another run was faster.
        return RuntimeOutcome(facts={"restarted": False, "restart_pending": False})
    try:
        run, predicted = _tried(request, files, ledger)
    except HostError as error:
        return _by_ledger(request, ledger, str(error))
    return predicted if request.check else run.outcome()


def _tried(request: RuntimeRequest, files: Files, ledger: Ledger) -> Tuple[RuntimeRun, RuntimeOutcome]:
    """The run, and what it will do; it will go through, as far as that can be told without changing anything.

    :raises HostError: there is no such runtime any more, or it is broken.
    """
    owner = registry.owner(ledger.known) if request.runtime != registry.NONE else None
    if owner is not None and not registry.present(files, owner):
        raise HostError(f"{registry.RUNTIMES[owner].title} is not installed any more")
    layout = registry.detect(files, owner or request.runtime)
    run = RuntimeRun(request, files, layout, ledger)
    run.finish_recovery()
    return run, RuntimeRun(replace(request, check=True), files, layout, ledger).outcome()


def _by_ledger(request: RuntimeRequest, ledger: Ledger, reason: str) -> RuntimeOutcome:
    changes = ledger.compare(_released(ledger))
    outcome = RuntimeOutcome(
        [change.change for change in changes if change.before != change.after],
        [redacted(change.texts) for change in changes if change.before != change.after],
        {"restarted": False, "restart_pending": False},
        list(ledger.warnings),
    )
    outcome.warnings.append(
        f"The files of the container runtime are restored without asking it, and it is not restarted: {reason}"
    )
    if not request.check:
        ledger.apply(changes)
        ledger.notes.clear()
        ledger.save()
    return outcome


def _released(ledger: Ledger) -> List[File]:
    """Files that others have edited since, without our lines."""
    own, found = ownership.recorded(ledger), []
    for path in own:
        text = None if ownership.named(path) or ledger.as_written(path) else ledger.files.text(path)
        stripped = None if text is None else ownership.cleaned(text, path, own)
        if stripped != text:
            found.append(File(path, stripped, release=True))
    return found
