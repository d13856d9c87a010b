# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What workloads of a group can be rewritten to request."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import requests
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


def test_requests_have_the_names_of_the_cluster(facts_of: Callable[..., dict[str, Any]]) -> None:
    templates = [{"name": "one-nic", "nics": 1}, {"name": "pair", "gpus": 2, "nics": 2}]
    own = {"rdma_claims_templates": templates, "rdma_claims_namespaces": ["llm", "batch"]}
    host = {**own, "inventory_hostname": "v100-01", "group_names": ["v100"]}
    hosts = {"v100-01": {**host, "ansible_facts": {"rdma": facts_of("v100-01")}}}
    plan = _strategy_inventory.planned({}, _strategy_inventory.hosts({}, list(hosts), hosts), registry.plan)
    found = requests.named([item for each in plan.sets for item in each.objects], plan.asks["v100"])
    assert [(one["name"], one["gpus"], one["nics"]) for one in found] == [("one-nic", 0, 1), ("pair", 2, 2)]
    assert set(found[0]["templates"]) == {"llm", "batch"}
    assert found[0]["templates"]["llm"] == found[0]["templates"]["batch"]
    assert found[0]["templates"]["llm"].startswith("one-nic-")
