# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Directories of nodes."""

from __future__ import annotations

import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

_PARTS = re.compile("(?:/+[A-Za-z0-9_.+@-]+)+/*")


def below_root(text: str) -> str:
    """A normal absolute path, other than ``/`` and without anything to quote. Raises RefusedError."""
    parts = [part for part in text.split("/") if part]
    if not _PARTS.fullmatch(text) or "." in parts or ".." in parts:
        raise RefusedError("it must be an absolute path below /, of letters, digits and . _ + @ -")
    return "/" + "/".join(parts)
