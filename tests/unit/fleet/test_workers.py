# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is loaded before Ansible forks workers."""

from __future__ import annotations

import gc
from typing import List

from ansible_collections.zerocopy.rdma.plugins.filter.fleet import fleet


def _collected() -> List[int]:
    """How often each generation was collected, the youngest first."""
    return [each["collections"] for each in gc.get_stats()]


def test_workers_collect_nothing_that_they_share() -> None:
    """Python collects everything once what is new is a quarter of what there is."""
    before = gc.get_threshold()
    try:
        gc.collect()
        fleet([], {})
        _young, middle, full = _collected()
        kept = [[number] for number in range(len(gc.get_objects()))]
        assert _collected()[2] == full
        assert _collected()[1] > middle
        gc.set_threshold(*before)
        kept += [[number] for number in range(len(kept))]
        assert _collected()[2] > full
    finally:
        gc.set_threshold(*before)
