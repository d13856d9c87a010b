# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The processes that Ansible forks, one for each task and host."""

from __future__ import annotations

import gc

# Collections of the middle generation, each of which takes thousands of new objects.
_NEVER = 1_000_000


def share_memory() -> None:
    """Leave out full garbage collections, in this process and in those that are forked from it.

    A full collection writes to each object. In a worker, which lives for one task, this copies all that the controller
    knows of the fleet: with 2,000 hosts, workers took 3.5 GiB at times. Young objects are still collected.

    Source: ``gc.freeze`` and "copy-on-write" in Python's documentation; measured by tests/bench/fleet.py.
    """
    young, middle, _full = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
