# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How much memory users may lock: our lines in a file of /etc/security/limits.d (limits.conf(5), pam_limits(8))."""

from __future__ import annotations

import re
from typing import List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import errors
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import memlock

_HEADING = "# Written by zerocopy.rdma.kernel_modules, which overwrites it; state absent restores it.\n"
# A wildcard does not apply to root (limits.conf(5)).
_LINES = "* - memlock {0}\nroot - memlock {0}\n"
# Before the file was in the ledger, the role rdma_kernel wrote these lines with ansible.builtin.blockinfile.
_BLOCK = re.compile(
    r"^# BEGIN ANSIBLE MANAGED BLOCK\n\* - memlock (\S+)\nroot - memlock \1\n# END ANSIBLE MANAGED BLOCK(?:\n|\Z)", re.M
)


def checked(limit: Optional[str]) -> Optional[str]:
    """The limit in KiB or ``unlimited``; ``None`` where it is left alone.

    :raises HostError: it is neither, or less than a kernel without any setting allows.
    """
    if not limit:
        return None
    errors.checked("user_memlock", limit, lambda text: memlock.limit(text, 1024))
    return limit


def wanted(ledger: Ledger, path: str, limit: Optional[str]) -> List[File]:
    """The file with the limit, below the lines that somebody else has in it; none without a limit."""
    _recognise_block(ledger, path)
    if limit is None:
        return []
    theirs = ledger.original_text(path) or ""
    if theirs and not theirs.endswith("\n"):
        theirs += "\n"
    return [File(path, theirs + _HEADING + _LINES.format(limit))]


def _recognise_block(ledger: Ledger, path: str) -> None:
    text = ledger.files.text(path)
    block = None if text is None or path in ledger.known else _BLOCK.search(text)
    if text is not None and block is not None:
        ledger.adopt(path, text[: block.start()] + text[block.end() :] or None)
