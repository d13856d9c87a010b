# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""What the concern ``runtime`` keeps in its ledger besides files."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.shape import (
    by_name,
    listed,
    maybe,
    number,
    record,
    text,
)

_anything = record({}, {})
_KEPT = record({"content": text, "owner": listed(number)}, {})
# ``parts`` are the options of each part as they were last set. ``pending`` takes a change back of which the runtime has
# not been restarted yet. ``seen`` tells whether anything has changed since nothing was to be done.
NOTES = {
    "parts": by_name(_anything),
    "pending": record(
        {"files": by_name(maybe(_KEPT)), "known": listed(text), "parts": by_name(_anything), "daemon": text}, {}
    ),
    "seen": record(
        {
            "unit": text,
            "files": listed(text),
            "globs": listed(text),
            "binary": text,
            "nri_socket": text,
            "digest": text,
            "facts": by_name(_anything),
            "warnings": listed(text),
        },
        {"arguments": listed(text)},
    ),
}
