# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Durations and limits as the runtimes write them."""

from __future__ import annotations

from typing import Any, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import memlock
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.duration import nanoseconds, of_nri
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED


def duration(option: str, text: str) -> str:
    """The duration as given.

    :raises HostError: the runtime cannot give an NRI plugin as long.
    """
    checked(option, text, of_nri)
    return text


def same(value: Any, other: Any) -> bool:
    """Whether two values mean the same to the runtime."""
    first = nanoseconds(value)
    return value == other if first is None else first == nanoseconds(other)


def limit(value: str) -> int:
    """Bytes; ``unlimited`` is ``UNLIMITED``.

    :raises HostError: it is neither ``unlimited`` nor a number of bytes.
    """
    return checked("memlock", value, lambda value: memlock.limit(str(value).strip()))


def process_limit(text: Optional[str]) -> Optional[int]:
    """The soft limit of locked memory in ``/proc/PID/limits``, in bytes."""
    for line in (text or "").splitlines():
        if line.startswith("Max locked memory"):
            soft = line.split()[3]
            return UNLIMITED if soft == "unlimited" else int(soft)
    return None
