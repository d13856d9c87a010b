# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The processes of a systemd unit, by its control group in whichever slice that is (systemd.resource-control(5))."""

from __future__ import annotations

from typing import Iterator, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree, is_number

# Control groups version 2, then version 1.
_BASES = ("sys/fs/cgroup", "sys/fs/cgroup/systemd")
_USUAL = "system.slice"
# These hold many slices, and no services of the node.
_OTHERS = ("kubepods.slice", "machine.slice", "user.slice")


def _slices(tree: Tree, base: str) -> Iterator[str]:
    yield f"{base}/{_USUAL}"
    pending = [base]
    while pending:
        parent = pending.pop()
        names = [name for name in tree.names(parent) if name.endswith(".slice") and name not in _OTHERS]
        pending += [f"{parent}/{name}" for name in names]
        yield from (f"{parent}/{name}" for name in names)


def processes(tree: Tree, unit: str) -> List[int]:
    """Their numbers; empty where the unit does not run."""
    for base in _BASES:
        for directory in _slices(tree, base):
            words = (tree.text(f"{directory}/{unit}/cgroup.procs") or "").split()
            if words:
                return [int(word) for word in words if is_number(word)]
    return []
