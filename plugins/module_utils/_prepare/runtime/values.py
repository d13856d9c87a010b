# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Durations and limits as the runtimes write them."""

from __future__ import annotations

import re
from typing import Any, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError

# "No limit" in the OCI specification's unsigned 64 bit, which is RLIM_INFINITY to Linux.
UNLIMITED = 2**64 - 1
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ns|us|\u00b5s|ms|s|m|h)")
_NANOSECONDS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def nanoseconds(text: Any) -> Optional[int]:
    """A Go duration such as ``1m30s``; ``None`` when it is none."""
    if not isinstance(text, str) or not text or _PARTS.sub("", text):
        return None
    return round(sum(float(number) * _NANOSECONDS[unit] for number, unit in _PARTS.findall(text)))


def duration(option: str, text: str) -> str:
    """The duration as given.

    :raises HostError: it is no Go duration, or below one second, which no plugin that moves a NIC can meet.
    """
    value = nanoseconds(text)
    if value is None or value < 10**9:
        raise HostError(f"{option}: {text!r} must be a duration of at least one second such as '30s' or '1m30s'")
    return text


def same(one: Any, other: Any) -> bool:
    """Whether two values mean the same to the runtime."""
    first = nanoseconds(one)
    return one == other if first is None else first == nanoseconds(other)


def limit(value: str, option: str = "memlock") -> int:
    """Bytes; ``unlimited`` is ``UNLIMITED``.

    :raises HostError: it is neither ``unlimited`` nor a number of bytes.
    """
    text = str(value).strip()
    if text == "unlimited":
        return UNLIMITED
    if not text.isdigit() or not 65536 <= int(text) < UNLIMITED:
        raise HostError(f"{option}: {value!r} must be 'unlimited' or a number of bytes from 65536, quoted")
    return int(text)


def process_limit(text: Optional[str]) -> Optional[int]:
    """The soft limit of locked memory in ``/proc/PID/limits``, in bytes."""
    for line in (text or "").splitlines():
        if line.startswith("Max locked memory"):
            soft = line.split()[3]
            return UNLIMITED if soft == "unlimited" else int(soft)
    return None
