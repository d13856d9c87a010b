# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Error counters that grow while verify runs, on recorded (synthesised) nodes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import judge
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _verify_inventory
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts, changed

AT, SECONDS = 1_700_000_000.0, 30.0


def judged(
    facts_of: Facts, before: dict[str, int], after: dict[str, int] | None, name: str = "lab-01"
) -> list[dict[str, Any]]:
    """Checks of the counters; ``after`` is ``None`` where the facts could not be gathered again."""
    first = changed(facts_of(name), error_counters=before)
    now = first if after is None else changed(first, error_counters=after)
    variables: dict[str, Any] = {
        "inventory_hostname": name,
        "group_names": ["lab"],
        "ansible_facts": {"rdma": now},
        "__rdma_verify_first": {"at": str(AT), "facts": first},
        "__rdma_verify_again": {"failed": False} if after is None else {"ansible_facts": {"rdma": now}},
        **LAB,
    }
    nodes = _verify_inventory.nodes({}, [name], {name: variables})
    found = judge.judge(nodes, {}, now=AT + SECONDS).as_dict()
    return [check for check in found["checks"] if check["id"] == "host.link_errors"]


@pytest.mark.parametrize(
    ("before", "after", "verdict", "text"),
    [
        # Far more than is normal since boot is no fault of this run.
        ({"link_downed": 1}, {"link_downed": 1}, "pass", "no error counter of 1 port grew"),
        ({"link_downed": 0}, {"link_downed": 1}, "fail", "mlx5_0/1 counted 1 link_downed in 30 s, while verify ran"),
        ({"symbol_error": 5}, {"symbol_error": 305}, "pass", "no error counter of 1 port grew"),
        (
            {"symbol_error": 5},
            {"symbol_error": 306},
            "warn",
            "mlx5_0/1 counted 301 symbol_error in 30 s, while verify ran (300 would be normal)",
        ),
        # Reset by a driver that was loaded again.
        ({"symbol_error": 900}, {"symbol_error": 0}, "pass", "no error counter of 1 port grew"),
    ],
)
def test_growth(facts_of: Facts, before: dict[str, int], after: dict[str, int], verdict: str, text: str) -> None:
    (check,) = judged(facts_of, before, after)
    assert (check["verdict"], check["text"][: len(text)]) == (verdict, text)
    assert bool(check["remedy"]) == (verdict != "pass")


def test_without_a_second_reading(facts_of: Facts) -> None:
    assert [check["verdict"] for check in judged(facts_of, {"link_downed": 0}, None)] == ["impossible"]


def test_a_software_device_has_no_cable(facts_of: Facts) -> None:
    assert judged(facts_of, {"link_downed": 0}, {"link_downed": 9}, "case-soft-roce") == []
