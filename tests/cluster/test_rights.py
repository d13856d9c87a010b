# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The roles of docs/rights.md on a real API server: each is enough, all that it allows is asked for, and the plan tells
what is missing if any rule of it is left out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible import constants
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.action import cluster_apply as apply_action
from ansible_collections.zerocopy.rdma.plugins.action import plan as plan_action
from ansible_collections.zerocopy.rdma.plugins.modules import workload_audit_info
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.kubelets import HOST_DEVICE, PLUGIN, Kubelets
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.cluster.rights import (
    Atom,
    asked_by,
    atoms,
    documented,
    idle,
    only,
    users,
    without,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices
from ansible_collections.zerocopy.rdma.tests.unit.action_options import acted

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

NODE, USER = "v100-01", "rights-all"
PLUGINS = {PLUGIN: "rdma/rdma_v100", HOST_DEVICE: "nvidia.com/hostdev_v100"}
# Needed only to say why a pod does not become ready, and where pods have had addresses.
TROUBLE = {
    Atom("list", "", "pods", "kube-system"),
    Atom("delete", "whereabouts.cni.cncf.io", "ippools", "kube-system"),
}
STRATEGIES = ("dra", "shared_device", "host_device", "inject")


class Run:
    """What the playbooks do in the cluster, by their actions in this process: a node, and its group."""

    def __init__(self, ask: Callable[..., Object], facts: Object, strategy: str, namespace: str, **more: Any) -> None:
        self._ask = ask
        own: Object = {
            "rdma_strategy": strategy,
            "rdma_claims_namespaces": [namespace],
            "rdma_claims_wait_timeout": 30,
            "rdma_host_device_networks": ["10.110.0.0/24"],
            "rdma_host_device_namespaces": [namespace],
            "rdma_claims_templates": [{"name": "one", "nics": 1}] if strategy == "dra" else [],
            **more,
        }
        host = {"inventory_hostname": NODE, "group_names": ["v100"], "ansible_facts": {"rdma": facts}, **own}
        self._variables: Object = {
            "hostvars": {NODE: host},
            "ansible_play_hosts_all": [NODE],
            "inventory_hostname": NODE,
            "ansible_check_mode": False,
        }

    def _acted(self, action: Any, user: str, **arguments: Any) -> Object:
        return acted(action, self._variables, self._ask, impersonate_user=user, **arguments)

    def compared(self, user: str) -> Object:
        """What verify finds where nothing differs, so that nothing is tried."""
        plan = self._acted(plan_action, user, parts=["cluster"], published=True)
        return plan if plan.get("failed") else self._acted(apply_action, user, plan=plan["directory"])

    def planned(self, user: str, **options: Any) -> Object:
        """The plan; it fails as the playbook would."""
        plan = self._acted(plan_action, user, parts=["cluster"], rights=["driver", "claims"], **options)
        if plan.get("problems"):
            return {"failed": True, "msg": "\n".join(plan["problems"])}
        return plan

    def __call__(self, user: str, state: str = "present") -> Object:
        """The plan and what it says, carried out, and once more where claims are late."""
        for wait in (False, True):
            plan = self.planned(user, state=state, wait=wait)
            if plan.get("failed"):
                return plan
            done = self._acted(apply_action, user, plan=plan["directory"])
            if done.get("failed") or not done["late"]:
                return done
        return done


@pytest.fixture
def run_as(
    run_module: Callable[..., Object], control_plane: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Object]:
    """Runs a module by its name, as an action does."""
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))

    def ask(name: str, module_args: Object, task_vars: Any = None) -> Object:
        place = "ansible_collections.zerocopy.rdma.plugins.modules"
        module = importlib.import_module(f"{place}.{name.rpartition('.')[2]}")
        return run_module(module, kubeconfig=str(control_plane.kubeconfig), **module_args)

    return ask


@pytest.fixture
def kubelets(cluster: dynamic.DynamicClient, facts_of: Facts, cluster_set: ClusterSet) -> Iterator[None]:
    cluster_set.kubectl("delete", "pods", "--all", "--namespace=kube-system", "--force", "--grace-period=0")

    def slices(node: str) -> list[Object]:
        return resource_slices(placed_on(published(facts_of(node)), node))

    with Kubelets(cluster, [NODE], PLUGINS, slices):
        yield
    cluster_set.kubectl("delete", "resourceslices", "--all")


def rules(roles: list[Object], strategy: str) -> Iterator[tuple[int, int, str]]:
    """The places of rules, and a user for each who lacks it; those of all strategies are left out once."""
    for place, role in enumerate(roles):
        if strategy != STRATEGIES[0] and role["metadata"]["name"] == "zerocopy-provision":
            continue
        for number in range(len(role["rules"])):
            yield place, number, f"rights-{place}-{number}"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_roles_of_provision_and_teardown(
    cluster_set: ClusterSet, run_as: Callable[..., Object], facts_of: Facts, kubelets: None, strategy: str
) -> None:
    run = Run(run_as, facts_of(NODE), strategy, cluster_set.namespace)
    ending = strategy.replace("_", "-")
    provision = documented(cluster_set.namespace, "zerocopy-provision", f"zerocopy-provision-{ending}")
    teardown = [*provision, *documented(cluster_set.namespace, f"zerocopy-teardown-{ending}")]
    lacking = {
        user: [without(role, number) if each == place else role for each, role in enumerate(provision)]
        for place, number, user in rules(provision, strategy)
    }
    reading = [only(role, "get", "list") for role in provision]
    if strategy == "host_device":
        tried = {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["patch"]}
        reading.append({**provision[0], "rules": [tried]})
    own = {USER: provision, "rights-verify": reading, "rights-teardown": teardown}
    with users(cluster_set, {**own, **lacking}):
        # Of what is not there yet, nothing can be left out.
        for place, number, user in rules(provision, strategy):
            said = run.planned(user)
            wanted = set(provision[place]["rules"][number]["resources"])
            assert said.get("failed"), (provision[place]["rules"][number], said)
            assert any(resource in said["msg"] for resource in wanted), (wanted, said["msg"])
        with asked_by(cluster_set, USER) as asked:
            done = run(USER)
            assert not done.get("failed"), done
            assert done["changed"]
            assert run(USER)["changed"] is False
        assert set(idle(provision, asked)) <= TROUBLE
        compared = run.compared("rights-verify")
        assert compared.get("changed") is False, compared
        refused = run(USER, state="absent")
        assert "this user has no right to " in refused["msg"]
        with asked_by(cluster_set, "rights-teardown") as asked:
            gone = run("rights-teardown", state="absent")
            assert not gone.get("failed"), gone
        assert set(idle(teardown[len(provision) :], asked)) <= TROUBLE


def test_the_role_of_audit(cluster_set: ClusterSet, run_module: Callable[..., Object], control_plane: Any) -> None:
    (role,) = documented(cluster_set.namespace, "zerocopy-audit")

    def audit(user: str) -> Object:
        return run_module(workload_audit_info, kubeconfig=str(control_plane.kubeconfig), impersonate_user=user)

    with users(cluster_set, {USER: [role], **{f"rights-{n}": [without(role, n)] for n in range(len(role["rules"]))}}):
        whole = audit(USER)
        assert whole["unseen"] == []
        for number in range(len(role["rules"])):
            less = audit(f"rights-{number}")
            assert (less["unseen"], less["kubernetes"]) != (whole["unseen"], whole["kubernetes"])


def test_all_missing_rights_are_told_at_once_before_anything_is_changed(
    cluster_set: ClusterSet, playbook: Playbook
) -> None:
    provision = documented(cluster_set.namespace, "zerocopy-provision", "zerocopy-provision-dra")
    few = [{**role, "rules": [rule for rule in role["rules"] if "patch" not in rule["verbs"]]} for role in provision]
    fleet = playbook.of("h100-01", "h100-02")
    fleet._environment["K8S_AUTH_IMPERSONATE_USER"] = USER
    with users(cluster_set, {USER: [role for role in few if atoms(role)]}):
        said = fleet.refused(rdma_claims_namespaces=[cluster_set.namespace])
    assert said.splitlines()[0] == "Nothing was changed. Fix this first:"
    assert "this user has no right to list and patch nodes" in said
    assert "this user has no right to list and create deviceclasses.resource.k8s.io" in said
    templates = f"resourceclaimtemplates.resource.k8s.io in namespace {cluster_set.namespace}"
    assert f"this user has no right to create, patch and list {templates}" in said
    assert "this user has no right to create daemonsets.apps in namespace kube-system" in said
    sets = cluster_set.kubectl("get", "secrets", "-n", "kube-system", "-l", "applyset.kubernetes.io/id", "-o", "name")
    assert sets == ""
