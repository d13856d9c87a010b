# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the concern ``runtime`` keeps in its ledger besides files, with the fingerprint of a steady state.

The fingerprint is of everything that determines a runtime's effective configuration.
"""

from __future__ import annotations

import glob
import hashlib
import os
from typing import List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.document import (
    by_name,
    listed,
    maybe,
    number,
    record,
    text,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import UnreadableError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

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
CACHES = ("seen",)

# Increased when a new version of this collection plans differently.
_PLANNER = 3


def fingerprint(files: Files, paths: Sequence[str], globs: Sequence[str], binary: str) -> str:
    """The fingerprint of ``paths``, files matching ``globs`` and, on a live node, the runtime's binary."""
    found = set(paths)
    for pattern in globs:
        found.update(_globbed(files, pattern))
    made = hashlib.sha256(str(_PLANNER).encode())
    for path in sorted(found):
        try:
            stored = files.stored(path)
            content = b"" if stored is None else hashlib.sha256(stored.content).digest()
        except UnreadableError:
            # A FIFO, for example, which systemd passes over as well; where it matters, planning refuses it.
            content = b"unreadable"
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
    directory, name = os.path.split(root + pattern)
    # Python passes over hidden names, the runtimes do not.
    paths = glob.glob(root + pattern) + glob.glob(os.path.join(directory, f".{name}"))
    return [path[len(root) :] for path in paths if not os.path.isdir(path)]
