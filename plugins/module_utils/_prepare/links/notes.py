# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""What the concern ``links`` keeps in its ledger besides files."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.shape import (
    by_name,
    listed,
    maybe,
    number,
    record,
    text,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile

_LINK = record(
    {"selector": text, "kind": maybe(text), "mac": text, "netdev": maybe(text)}, {"pci": text, "guids": listed(text)}
)
_CHECKPOINT = record(
    {"path": maybe(text), "devices": listed(text), "seconds": number}, {"profiles": by_name(listed(text))}
)
# ``unmanaged`` are the kinds of selectors by their values.
# ``profiles`` of a checkpoint are the uuids that each file may have after a rollback; ``prior`` is what was active.
NOTES = {
    "links": by_name(_LINK),
    "unmanaged": by_name(text),
    "sysctl": by_name(text),
    "prior": by_name(maybe(record({"uuid": text, "id": text}, {}))),
    "mtu": by_name(number),
    "vfs": by_name(number),
    "pending": by_name(maybe(text)),
    "checkpoint": _CHECKPOINT,
}


def adopt_rolled_back(ledger: Ledger) -> None:
    """Know the profiles again that NetworkManager wrote anew when it rolled back an unconfirmed change.

    It leaves out comments and defaults, so they are not what we wrote, but they have our mark and uuid.
    """
    for path, uuids in ledger.notes.get("checkpoint", {}).get("profiles", {}).items():
        found = ledger.files.text(path)
        if found is not None and keyfile.is_ours(found) and keyfile.uuid_in(found) in uuids:
            ledger.adopt(path)
