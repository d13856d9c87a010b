# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Limits of locked memory."""

from __future__ import annotations

import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

# "No limit" in the OCI specification's unsigned 64 bit, which is RLIM_INFINITY to Linux.
UNLIMITED = 2**64 - 1
# 64 KiB is what a kernel without any setting allows.
_LEAST = 65536


def limit(text: str, unit: int = 1) -> int:
    """Bytes; ``unlimited`` is ``UNLIMITED``. A number counts units of so many bytes. Raises RefusedError."""
    if text == "unlimited":
        return UNLIMITED
    if re.fullmatch("[0-9]{1,20}", text) and _LEAST <= int(text) * unit < UNLIMITED:
        return int(text) * unit
    units = {1: "bytes", 1024: "KiB"}[unit]
    raise RefusedError(f"it must be unlimited or a number of {units} from {_LEAST // unit}, in quotes")
