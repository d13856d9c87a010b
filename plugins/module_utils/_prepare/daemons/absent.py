# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A daemon that a node shall not have: its options, and what a run does where none has ever been.

A node has few of the daemons that there are, and has to compile in each call what it loads, so this is all that is
loaded of the others.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

SPEC: Dict[str, Dict[str, Any]] = {
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
_NOTES = {"pending": document.text}


def ledger_of(files: Files, concern: str) -> Ledger:
    """What the runs before have done with the daemon of this name."""
    return Ledger(files, concern, _NOTES)


def nothing_of(ledger: Ledger, check: bool) -> Optional[Dict[str, Any]]:
    """The module's result where no run has left anything that is to be removed, ``None`` where one has.

    :raises HostError: what a killed run has left cannot be removed.
    """
    if ledger.known or ledger.notes:
        return None
    if not check:
        ledger.clear()
    return {**as_result([], []), "warnings": ledger.unclaimed()}
