# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Variables with one value for the fleet: what hosts disagree on is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.filter.claims import claims
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import strategy as dra
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems

CHECKOUT = Path(__file__).resolve().parents[3]
HOSTS = ["a100-01", "v100-01", "v100-02"]


def driver_problems(context: dict[str, Any], hostvars: dict[str, dict[str, Any]]) -> list[str]:
    """What the plan of DRANET says for a role on its own."""
    hosts = _strategy_inventory.hosts(context, HOSTS, hostvars)
    return dra.driver(hosts, ClusterState(), _inventory.options(context)).problems


def preflight(hostvars: dict[str, dict[str, Any]], **context: Any) -> list[str]:
    return prepare_problems(context, list(hostvars), hostvars)


def on_v100(**values: Any) -> dict[str, dict[str, Any]]:
    return {name: dict(values) if name.startswith("v100") else {} for name in HOSTS}


def everywhere(**values: Any) -> dict[str, dict[str, Any]]:
    return {name: dict(values) for name in HOSTS}


@pytest.mark.parametrize(
    ("variable", "value", "other"),
    [
        ("rdma_parent_namespace", "training", "'kube-system'"),
        ("rdma_claims_wait_timeout", 60, "120"),
        ("rdma_driver_namespace", "rdma", "'kube-system'"),
        ("rdma_driver_gpu_deploy", True, "False"),
        ("rdma_cluster", "none", "not set"),
        ("rdma_serial", 5, "not set"),
        ("rdma_kubeconfig", "/etc/kubernetes/admin.conf", "not set"),
        ("rdma_verify_image", "example.org/probe:1", "''"),
    ],
)
def test_hosts_that_disagree_are_refused(variable: str, value: Any, other: str) -> None:
    told = preflight(on_v100(**{variable: value}))
    text = f"is {other} on a100-01; {value!r} on v100-[01-02]: it must be the same on all hosts"
    assert told == [f"a100-01,v100-[01-02]: {variable} {text}"]
    assert preflight(everywhere(**{variable: value})) == []


def test_gpu_resources_have_a_domain() -> None:
    assert preflight(everywhere(rdma_gpu_resources=["example.org/gpu", "example.com/"])) == []
    (told,) = preflight(everywhere(rdma_gpu_resources=["example.org/gpu", "v100"]))
    assert "rdma_gpu_resources[1] is 'v100', it must be an extended resource, such as 'example.com/gpu'" in told
    (told,) = preflight(on_v100(rdma_gpu_resources=["example.org/gpu"]))
    assert "it must be the same on all hosts" in told


def test_to_say_what_is_the_default_is_no_disagreement() -> None:
    assert preflight(on_v100(rdma_driver_namespace="kube-system", rdma_parent_namespace="kube-system")) == []


def test_the_roles_refuse_it_without_the_playbooks() -> None:
    text = "is 'kube-system' on a100-01; 'mine' on v100-[01-02]: it must be the same on all hosts"
    problems = driver_problems({}, on_v100(rdma_driver_namespace="mine"))
    assert problems == [f"a100-01,v100-[01-02]: rdma_driver_namespace {text}"]
    # In a role its own defaults are in the context.
    context = {"inventory_hostname": "a100-01", "rdma_driver_namespace": "kube-system"}
    assert driver_problems(context, on_v100(rdma_driver_namespace="mine")) == problems


@pytest.mark.parametrize("name", ["rdma_driver_namespace", "rdma_parent_namespace", "rdma_shared_device_namespace"])
@pytest.mark.parametrize("value", ["RDMA", "rdma.system", "kube-system\n", "", "x" * 64])
def test_what_is_no_namespace_is_refused_before_nodes_get_labels(name: str, value: str) -> None:
    (found,) = preflight(everywhere(**{name: value}))
    assert found.startswith(f"a100-01,v100-[01-02]: {name} is ")
    assert "it must be the name of a namespace" in found
    # By the role, too.
    if name != "rdma_shared_device_namespace":
        assert driver_problems({}, everywhere(**{name: value})) == [found]


def set_of(rdma_hosts: str) -> str:
    """The value of ``rdma_set`` in the playbooks for these hosts."""
    loader = DataLoader()
    own = loader.load_from_file(str(CHECKOUT / "playbooks" / "vars" / "fleet.yml"), trusted_as_template=True)
    return str(Templar(loader=loader, variables={**own, "rdma_hosts": rdma_hosts}).template(own["rdma_set"]))


def test_each_pattern_of_hosts_has_sets_of_its_own() -> None:
    named = {"all": "zerocopy-rdma", "h100": "zerocopy-rdma-h100", "ib_a100": "zerocopy-rdma-ib-a100"}
    assert {hosts: set_of(hosts) for hosts in named} == named
    others = ["h100:&rack1", "h100:!rack1", "h100:rack1", "h100-rack1", "H100", "ib-a100", "h100*", "h100\n", "x" * 300]
    found = [set_of(hosts) for hosts in [*named, *others]]
    assert len(set(found)) == len(found)
    assert [name for name in found if not names.is_subdomain(f"{name}-shared-device")] == []
    assert set_of("h100:&rack1").startswith("zerocopy-rdma-h100-rack1-")


@pytest.mark.parametrize("own", ["Mine", "mine_1", "mine\n"])
def test_a_prefix_of_sets_that_no_secret_can_have_is_refused(own: str) -> None:
    (found,) = preflight(everywhere(), rdma_set=own)
    assert found.startswith(f"a100-01,v100-[01-02]: rdma_set is {own!r}, it must be the name of a Secret")
    # By the roles, too.
    assert driver_problems({"rdma_set": own}, everywhere()) == [found]
    assert claims({"rdma_set": own}, HOSTS, everywhere())["problems"] == [found]
    assert preflight(everywhere(), rdma_set="mine.1") == []
