# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Why a task has failed, from results as ansible-core 2.18 to 2.21 have them in ``rescue``."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.failure_reason import failure_reason

UNKNOWN = "Task failed: Action failed: Unknown error."
LOOP = "One or more items failed"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"failed": True, "msg": "no route to host"}, "no route to host"),
        # Retried in vain: 2.18 and 2.21, then 2.19 and 2.20.
        ({"failed": True, "attempts": 3}, ""),
        ({"failed": True, "attempts": 3, "msg": UNKNOWN}, ""),
        (
            {"failed": True, "msg": LOOP, "results": [{"msg": "fine"}, {"failed": True, "msg": "a"}]},
            "a",
        ),
        (
            {"failed": True, "msg": LOOP, "results": [{"failed": True, "msg": text} for text in ("b", "a", "b")]},
            "b; a",
        ),
        # Items without a message, and a loop that did not come to its first item.
        ({"failed": True, "msg": LOOP, "results": [{"failed": True}]}, LOOP),
        ({"failed": True, "msg": "items is undefined", "results": []}, "items is undefined"),
        ({"failed": False, "msg": "a check of the task"}, "a check of the task"),
    ],
)
def test_reasons(result: dict[str, Any], reason: str) -> None:
    assert failure_reason(result) == reason
