# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""Processes of running pods."""

from __future__ import annotations

import os
from typing import List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED

# The kernel keeps 15 characters of "containerd-shim-runc-v2"; conmon is CRI-O's.
_SHIMS = ("containerd-shim", "conmon")


def with_lower_limit(wanted: int, proc: str = "/proc") -> int:
    """How many running pods (CRI-O: containers) have a process that may lock less than ``wanted`` bytes.

    containerd has one shim per pod; the children of a shim are what its containers started with. Costs one small file
    for every process of the node.
    """
    shims = set()
    children: List[Tuple[str, str]] = []
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        before, _close, after = _text(f"{proc}/{name}/stat").rpartition(")")
        words = after.split(None, 2)
        if before.partition("(")[2].startswith(_SHIMS):
            shims.add(name)
        elif len(words) > 1:
            children.append((name, words[1]))
    low = set()
    for name, parent in children:
        if parent in shims:
            limit = _limit(_text(f"{proc}/{name}/limits"))
            if limit is not None and limit < wanted:
                low.add(parent)
    return len(low)


def _limit(text: str) -> Optional[int]:
    """The soft limit of locked memory in ``/proc/PID/limits``, in bytes."""
    for line in text.splitlines():
        if line.startswith("Max locked memory"):
            soft = line.split()[3]
            return UNLIMITED if soft == "unlimited" else int(soft)
    return None


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return os.read(descriptor, 8192).decode("ascii", "replace")
        finally:
            os.close(descriptor)
    except OSError:
        return ""
