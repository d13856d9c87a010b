# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What workloads of a group can be rewritten to request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import requests
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory


def named(host: dict[str, Any]) -> list[dict[str, Any]]:
    hosts = _strategy_inventory.hosts({}, ["v100-01"], {"v100-01": host})
    plan = _strategy_inventory.planned({}, hosts, registry.plan)
    return requests.named([item for each in plan.sets for item in each.objects], plan.requests["v100"], hosts)


def test_requests_have_the_names_of_the_cluster(facts_of: Callable[..., dict[str, Any]]) -> None:
    templates = [{"name": "one-nic", "nics": 1}, {"name": "pair", "gpus": 2, "nics": 2}]
    own = {"rdma_claims_templates": templates, "rdma_claims_namespaces": ["llm", "batch"]}
    host = {**own, "inventory_hostname": "v100-01", "group_names": ["v100"]}
    found = named({**host, "ansible_facts": {"rdma": facts_of("v100-01")}})
    assert [(one["name"], one["gpus"], one["nics"]) for one in found] == [("one-nic", 0, 1), ("pair", 2, 2)]
    assert set(found[0]["templates"]) == {"llm", "batch"}
    assert found[0]["templates"]["llm"] == found[0]["templates"]["batch"]
    assert found[0]["templates"]["llm"].startswith("one-nic-")


def test_requests_say_how_many_nics_they_have_and_on_what_nodes(facts_of: Callable[..., dict[str, Any]]) -> None:
    host = {"inventory_hostname": "v100-01", "group_names": ["v100"], "rdma_workloads_gpu_resource": "example.org/gpu"}
    with_facts = {**host, "ansible_facts": {"rdma": facts_of("v100-01")}}
    templates = [{"name": "every", "nics": "all"}, {"name": "gpu", "gpus": 1}]
    bridge = {"rdma_claims_templates": templates, "rdma_claims_extended_resources": [{"name": "rdma/one"}]}
    found = named({**with_facts, **bridge})
    assert [(one["name"], one["nics"], one["gpus_only"]) for one in found] == [
        ("every", 0, False),
        ("gpu", 0, True),
        ("rdma/one", 1, False),
    ]
    (shared,) = named({**with_facts, "rdma_strategy": "shared_device"})
    assert shared["nics"] == 0
    for one in (*found, shared):
        assert (one["gpu_vendors"], one["gpu_models"]) == (["nvidia"], ["Tesla V100-SXM2-16GB"])
        assert (one["gpu_resources"], one["node_gpus"], one["node_nics"]) == (["example.org/gpu"], 4, 2)


def test_nothing_is_said_of_nodes_without_facts() -> None:
    host = InventoryHost("n1", facts=Facts())
    for hosts in ([], [host], [replace(host, facts=None)]):
        (found,) = requests.named([], [PodRequest("rdma/ib", {"n1": ()}, limits={"rdma/ib": 1})], hosts)
        assert (found["gpu_vendors"], found["gpu_models"], found["gpu_resources"]) == ([], [], [])
        assert (found["node_gpus"], found["node_nics"]) == (0, 0)
