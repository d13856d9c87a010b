# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every mistake of ``tests/fleet/refusals.yml`` is refused in one clear message; the inventory without it is not."""

from __future__ import annotations

from typing import Any, Callable

import mistakes
import pytest

from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems

INVENTORY, CASES = mistakes.read()
Facts = Callable[..., dict[str, Any]]


def problems(inventory: dict[str, Any], facts_of: Facts | None = None) -> list[str]:
    hostvars = dict(mistakes.variables(inventory))
    if facts_of is not None:
        for host, variables in hostvars.items():
            variables["ansible_facts"] = {"rdma": facts_of(host)}
    return prepare_problems({}, list(hostvars), hostvars, facts=facts_of is not None)


def test_the_inventory_without_mistakes_is_right(facts_of: Facts) -> None:
    assert problems(INVENTORY) == []
    assert problems(INVENTORY, facts_of) == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_mistake_is_refused_in_one_message(facts_of: Facts, case: mistakes.Case) -> None:
    wrong = mistakes.mutated(INVENTORY, case)
    if case.facts:
        assert problems(wrong) == [], "variables alone show it: the case needs no facts"
    assert mistakes.complaint(INVENTORY, case, problems(wrong, facts_of if case.facts else None)) == ""
    # The second preflight of a run says the same thing again, not more.
    assert mistakes.complaint(INVENTORY, case, problems(wrong, facts_of)) == ""
