# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the strategy ``dra`` says that pods can request, which has to be what its objects offer."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState, StrategyPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.strategy import Dra

KNOWN = variables.options_of()
Facts = Callable[..., dict[str, Any]]


def plan(facts: dict[str, dict[str, Any]], **of_host: dict[str, Any]) -> StrategyPlan:
    """The plan of hosts, each in a group of its own, with these variables."""
    values = {**variables.defaults(KNOWN), variables.STRATEGY: "dra"}
    found = Dra().plan(
        [
            InventoryHost(name, f"group-{name}", {**values, **of_host.get(name, {})}, read.facts(own))
            for name, own in facts.items()
        ],
        ClusterState(),
        KNOWN,
    )
    assert found.problems == []
    return found


def offered(found: StrategyPlan) -> dict[str, list[tuple[str, list[str]]]]:
    """By group the names of what pods can request, and where."""
    return {group: [(each.name, list(each.hosts)) for each in several] for group, several in found.requests.items()}


def made(found: StrategyPlan, kind: str) -> list[str]:
    return [item["metadata"]["name"] for each in found.sets for item in each.objects if item["kind"] == kind]


def test_a_claim_is_offered_where_its_nic_is_whoever_has_it(facts_of: Facts) -> None:
    facts = {"n1": facts_of("lab-01"), "n2": facts_of("lab-01")}
    claims = [{"name": "far", "host": "n2", "hca": "mlx5_0"}, {"name": "near", "host": "n1", "hca": "mlx5_0"}]
    found = plan(facts, n1={"rdma_claims_claims": claims}, n2={"rdma_claims_nic_class": "other-nic"})
    assert sorted(made(found, "ResourceClaim")) == ["far", "near"]
    assert offered(found) == {"group-n1": [("near", ["n1"])], "group-n2": [("far", ["n2"])]}
    assert all(each.claim == each.name for several in found.requests.values() for each in several)
    # The claim is of the class of the host that it is for.
    assert sorted(made(found, "DeviceClass")) == ["other-nic", "zerocopy-rdma-nic"]
    # Who has it as well makes no difference.
    both = plan(facts, n1={"rdma_claims_claims": claims}, n2={"rdma_claims_claims": claims})
    assert offered(both) == offered(found)


@pytest.mark.parametrize("of_template", [True, False])
def test_what_is_kept_while_pods_have_the_nics_is_not_offered_anew(facts_of: Facts, of_template: bool) -> None:
    """No object of the plan says what its name is now."""
    facts = copy.deepcopy(facts_of("v100-01"))
    entry = {"gpus": 2, "nics": 1, "align": "numa"} if of_template else {"hca": facts["hcas"][0]["name"]}
    own = {f"rdma_claims_{'templates' if of_template else 'claims'}": [{"name": "entry", **entry}]}
    names = ["entry-numa0", "entry-numa1"] if of_template else ["entry"]
    assert offered(plan({"n1": facts}, n1=own)) == {"group-n1": [(name, ["n1"]) for name in names]}
    for hca in facts["hcas"]:
        hca["ports"][0]["netdev"] = None
        hca["pci"] = None if of_template else hca["pci"]
    reason = {"code": "in_pod", "text": "netdev ens1 is in another network namespace (a pod's)"}
    facts["usable"] = []
    facts["excluded"] = [{"hca": hca["name"], "port": 1, "reasons": [reason]} for hca in facts["hcas"]]
    found = plan({"n1": facts}, n1=own)
    assert found.unknown == ["n1"]
    assert offered(found) == {}
