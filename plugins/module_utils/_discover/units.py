# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Processes of systemd's system units, by their control groups."""

from __future__ import annotations

from typing import Dict, Iterator, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree, is_number

# Control groups version 2, then version 1.
_HIERARCHIES = ("sys/fs/cgroup", "sys/fs/cgroup/systemd")


def _slices(tree: Tree, group: str) -> Iterator[str]:
    yield group
    for name in tree.names(group):
        # Pods are no units of the system, and there may be hundreds of them.
        if name.endswith(".slice") and not name.endswith("kubepods.slice"):
            yield from _slices(tree, f"{group}/{name}")


def processes(tree: Tree, units: Sequence[str]) -> Dict[str, List[int]]:
    """Those of each of the units that runs, whatever slice it is in (``Slice=``, systemd.resource-control(5))."""
    found: Dict[str, List[int]] = {}
    for group in (group for hierarchy in _HIERARCHIES for group in _slices(tree, hierarchy)):
        for unit in units:
            words = (tree.text(f"{group}/{unit}/cgroup.procs") or "").split()
            if words:
                found.setdefault(unit, [int(word) for word in words if is_number(word)])
    return found
