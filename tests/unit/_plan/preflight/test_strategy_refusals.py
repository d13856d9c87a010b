# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every mistake of ``tests/fleet/refusals_strategies.yml`` is refused by preflight in one clear message."""

from __future__ import annotations

from typing import Any, Callable

import mistakes
import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import strategies
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

DOCUMENT = yaml.safe_load(mistakes.FILE.with_name("refusals_strategies.yml").read_text("utf-8"))
INVENTORY, CASES = DOCUMENT["inventory"], [mistakes.Case(**case) for case in DOCUMENT["cases"]]
Facts = Callable[..., dict[str, Any]]


def preflight(inventory: dict[str, Any], facts_of: Facts) -> list[str]:
    """What both parts of playbooks/preflight.yml say, which looks at the cluster's where the nodes' are right."""
    hostvars = dict(mistakes.variables(inventory))
    for host, variables in hostvars.items():
        variables.update(ansible_facts={"rdma": facts_of(host)}, inventory_hostname=host)
    found = prepare_problems({}, list(hostvars), hostvars, facts=True)
    return found or strategy_plan({}, list(hostvars), hostvars)["problems"]


def test_the_inventory_without_mistakes_is_right(facts_of: Facts) -> None:
    assert preflight(INVENTORY, facts_of) == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_mistake_is_refused_in_one_message(facts_of: Facts, case: mistakes.Case) -> None:
    assert mistakes.complaint(INVENTORY, case, preflight(mistakes.mutated(INVENTORY, case), facts_of)) == ""


@pytest.mark.parametrize(
    ("strategy", "refused"),
    [("shared_device", True), ("sriov", True), ("inject", True), ("dra", False), ("none", False)],
)
def test_claims_that_no_pod_can_use_are_refused_without_facts(strategy: str, refused: bool) -> None:
    claims = {"rdma_claims_templates": [{"name": "one", "nics": 1}]}
    hostvars = {"n1": {"rdma_strategy": strategy, "group_names": ["lab"], "inventory_hostname": "n1", **claims}}
    found = [line for line in prepare_problems({}, ["n1"], hostvars) if line.startswith("n1: rdma_claims_templates")]
    said = f"is set, but rdma_strategy is {strategy}, whose pods do not use claims: leave it out"
    assert found == ([f"n1: rdma_claims_templates {said}"] if refused else [])


def test_one_resource_of_two_strategies(facts_of: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(type(registry.STRATEGIES["none"])):  # type: ignore[misc]  # a base class found at run time
        name = "other"

        def resources(self, hosts: Any, known: Any) -> list[str]:
            return ["rdma/rdma_v100"]

    monkeypatch.setitem(registry.STRATEGIES, "other", Other())
    values = [("v100-01", "v100", {"rdma_strategy": "shared_device"}), ("x1", "x", {"rdma_strategy": "other"})]
    ((host, problem),) = strategies.problems(values)
    assert (host, problem.variable) == ("x1", "rdma_strategy")
    assert problem.text.startswith("is other with the resource rdma/rdma_v100, which group v100 has as well")
