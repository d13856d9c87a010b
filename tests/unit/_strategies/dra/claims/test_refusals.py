# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every mistake of ``tests/fleet/refusals_claims.yml`` is refused in one clear message; without it there is none."""

from __future__ import annotations

from typing import Any, Callable

import mistakes
import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.filter.claims import claims

DOCUMENT = yaml.safe_load(mistakes.FILE.with_name("refusals_claims.yml").read_text("utf-8"))
INVENTORY, CASES = DOCUMENT["inventory"], [mistakes.Case(**case) for case in DOCUMENT["cases"]]
Facts = Callable[..., dict[str, Any]]


def plan(inventory: dict[str, Any], facts_of: Facts) -> dict[str, Any]:
    hostvars = dict(mistakes.variables(inventory))
    for host, variables in hostvars.items():
        variables["ansible_facts"] = {"rdma": facts_of(host)}
    return claims({}, list(hostvars), hostvars)


def test_the_inventory_without_mistakes_is_right(facts_of: Facts) -> None:
    found = plan(INVENTORY, facts_of)
    assert found["problems"] == []
    assert len(found["objects"]) > len(found["names"])


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_mistake_is_refused_in_one_message(facts_of: Facts, case: mistakes.Case) -> None:
    found = plan(mistakes.mutated(INVENTORY, case), facts_of)
    assert mistakes.complaint(INVENTORY, case, found["problems"]) == ""
    # Nothing is half applied.
    assert found["objects"] == []
