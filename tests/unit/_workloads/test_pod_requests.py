# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What workloads of a group can be rewritten to request."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.pod_requests import pod_requests
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_plan import strategy_plan


def test_requests_have_the_names_of_the_cluster(facts_of: Callable[..., dict[str, Any]]) -> None:
    templates = [{"name": "one-nic", "nics": 1}, {"name": "pair", "gpus": 2, "nics": 2}]
    own = {"rdma_claims_templates": templates, "rdma_claims_namespaces": ["llm", "batch"]}
    host = {**own, "inventory_hostname": "v100-01", "group_names": ["v100"]}
    hosts = {"v100-01": {**host, "ansible_facts": {"rdma": facts_of("v100-01")}}}
    found = pod_requests(strategy_plan({}, list(hosts), hosts))
    assert [(one["name"], one["gpus"], one["nics"]) for one in found] == [("one-nic", 0, 1), ("pair", 2, 2)]
    assert set(found[0]["templates"]) == {"llm", "batch"}
    assert found[0]["templates"]["llm"] == found[0]["templates"]["batch"]
    assert found[0]["templates"]["llm"].startswith("one-nic-")
    with pytest.raises(Exception, match=r"group h100 has no way to request RDMA; groups whose pods can .*: v100"):
        pod_requests(strategy_plan({}, list(hosts), hosts), "h100")
    hosts["a100-01"] = {**hosts["v100-01"], "inventory_hostname": "a100-01", "group_names": ["a100"]}
    with pytest.raises(Exception, match=r"no group is given \(rdma_migrate_group\); groups .*: v100, a100"):
        pod_requests(strategy_plan({}, list(hosts), hosts))
