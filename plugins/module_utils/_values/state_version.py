# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The version of what a run leaves behind for later runs: ledgers, annotations, sets of objects, documents.

Each kind has a number of its own, which grows only if a reader of the older one would be wrong. A field that is added
is no reason: readers ignore what they do not know. Whoever reads a kind reads all versions that there ever were, and
refuses those that are still to come, because what it would write back might lose what it does not know.
``docs/upgrading.md`` lists all kinds.
"""

from __future__ import annotations

import re
from typing import Any, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer

# Of what was written before its kind had a version.
FIRST = 1
_RELEASE = re.compile(r"v?(0|[1-9][0-9]{0,8})(?:[.].*)?")


class VersionError(ValueError):
    """It states something that is no version. The message completes "<what was read> ..."."""


class NewerVersionError(ValueError):
    """A newer version of the collection wrote it. The message completes "<what was read> ..."."""


def known(stated: Any, newest: int, unstated: Optional[int] = None) -> int:
    """The version that something states, at most ``newest``.

    ``unstated`` is the version to assume where none is stated; ``None`` if one must be stated. Raises VersionError,
    NewerVersionError.
    """
    found: Any = unstated if stated is None else stated
    if not is_integer(found) or found < FIRST:
        raise VersionError("states no version")
    if found > newest:
        raise NewerVersionError(
            f"has version {found}, which a newer version of this collection wrote; this one reads versions up to "
            f"{newest}: update the collection"
        )
    return int(found)


def major(release: str) -> Optional[int]:
    """The version that the first number of ``v1.2.3`` stands for; ``None`` for what is no release.

    Before the first release, that number was 0.
    """
    match = _RELEASE.fullmatch(release)
    return max(int(match[1]), FIRST) if match else None
