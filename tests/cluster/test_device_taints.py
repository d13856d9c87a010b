# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""DeviceTaintRules of sick NICs on a real API server, and what the real scheduler makes of them.

Needs Kubernetes 1.37 or newer (``ZEROCOPY_KUBERNETES``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import EFFECTS, Policy
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.taints import NicState, NodeState
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import live_parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import DRANET, SliceDevice
from ansible_collections.zerocopy.rdma.plugins.modules import device_taints
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, from_template, placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.rights import asked_by, documented, idle, users, without
from ansible_collections.zerocopy.rdma.tests.cluster.test_applyset_concurrent import before_write
from ansible_collections.zerocopy.rdma.tests.cluster.test_applyset_prune import Killed, Killing
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, published

SET = "zerocopy-rdma-health"
NOSCHEDULE = Policy(effect="NoSchedule", confirm=1)
CLASS: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "health-nic"},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRANET}'"}}]},
}
TEMPLATE: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "nic"},
    "spec": {
        "spec": {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "health-nic", "count": 1}}]}}
    },
}


@dataclass
class Nics:
    """A fleet of equal nodes, and what the module is told of it."""

    call: Callable[..., Object]
    rules: Callable[[], list[Object]]
    devices: dict[str, list[SliceDevice]]
    policy: Policy = NOSCHEDULE
    sick: dict[tuple[str, str], NicState] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def falls_sick(self, node: str, *numbers: int) -> None:
        for number in numbers:
            pci = str(self.devices[node][number].pci)
            self.sick[node, pci] = NicState(node, pci, f"mlx5_{number}", (pci,), "sick", 1, "port_state")

    def __call__(self, **more: Any) -> Object:
        nodes = {
            name: asdict(NodeState("h100", len(own), self.policy, DRANET))
            | {"well": self._well(name), "functions": {str(device.pci): [str(device.pci)] for device in own}}
            for name, own in self.devices.items()
        }
        return self.call(nodes=nodes, nics=[asdict(nic) for nic in self.sick.values()], **{**self.options, **more})

    def _well(self, name: str) -> list[str]:
        return [str(device.pci) for device in self.devices[name] if (name, device.pci) not in self.sick]

    def effects(self) -> list[str]:
        """Of all rules, the strongest first."""
        return sorted((rule["spec"]["taint"]["effect"] for rule in self.rules()), key=EFFECTS.index, reverse=True)


@pytest.fixture(name="make_nics")
def make_of_nodes(
    fleet: Fleet, facts_of: Facts, control_plane: Any, run_module: Callable[..., Any], cluster_set: ClusterSet
) -> Iterator[Callable[[Sequence[str]], Nics]]:
    """Makes nodes with eight NICs each; the rules are removed at the end."""

    def call(**options: Any) -> Object:
        own = {"name": SET, "namespace": fleet.namespace, "kubeconfig": str(control_plane.kubeconfig)}
        found: Object = run_module(device_taints, **{**own, **options})
        return found

    def rules() -> list[Object]:
        found: list[Object] = json.loads(cluster_set.kubectl("get", "devicetaintrules", "-o", "json"))["items"]
        return found

    def make(names: Sequence[str]) -> Nics:
        nics = [device for device in published(facts_of("h100-01")) if device.is_rdma_nic]
        devices = {name: placed_on(nics, name) for name in names}
        fleet.nodes([device for own in devices.values() for device in own])
        fleet.create([CLASS, TEMPLATE])
        return Nics(call, rules, devices)

    yield make
    call(state="absent")


def test_the_next_claim_goes_to_another_nic_until_the_rule_is_pruned(
    fleet: Fleet, make_nics: Callable[..., Nics]
) -> None:
    nics = make_nics(["n1"])
    every = [device.name for device in nics.devices["n1"]]
    nics.policy = Policy(effect="NoSchedule", confirm=1, budget="100%", keep=1)
    nics.falls_sick("n1", *range(len(every) - 1))
    done = nics()
    assert done["changed"] is True
    assert {each["outcome"] for each in done["outcomes"]} == {"tainted"}
    assert nics()["changed"] is False
    placed = fleet.pods([from_template("first", "nic"), from_template("second", "nic")], waits=1)
    names = [name for pod in placed.values() for name in pod.devices.get("nic", [])]
    assert names == every[-1:]
    nics.sick.clear()
    assert nics()["changed"] is True
    assert nics.rules() == []
    # The one that had to wait gets one of those that are well again, like all that follow.
    fleet.pods([from_template("third", "nic")])


def test_forty_nics_at_once_and_the_budget_holds_per_group_and_per_node(make_nics: Callable[..., Nics]) -> None:
    names = [f"h100-{number:02}" for number in range(1, 21)]
    nics = make_nics(names)
    nics.policy = Policy(effect="NoSchedule", confirm=1, budget="10%")
    nics.falls_sick(names[0], 0)
    assert nics()["problems"] == []
    for name in names:
        nics.falls_sick(name, 2, 3)
    done = nics()
    (problem,) = done["problems"]
    assert problem == (
        "h100: 40 NICs more would be kept from new pods (h100-[01-20]), 1 of 160 already is, and rdma_health_budget is "
        "10%, which is 16: nothing new is tainted in this group"
    )
    assert nics.effects() == ["NoSchedule", *["None"] * 40]
    # Within the budget of the group, a node keeps its last NIC.
    nics.policy = Policy(effect="NoSchedule", confirm=1, budget="50%")
    nics.falls_sick(names[1], *range(8))
    (problem,) = nics()["problems"]
    assert problem.startswith(f"{names[1]}: mlx5_0, mlx5_1, mlx5_2, mlx5_3 and 4 more would be kept from new pods")
    assert problem.endswith("and rdma_health_keep is 1: nothing new is tainted on this node")
    barred = [rule for rule in nics.rules() if rule["spec"]["taint"]["effect"] == "NoSchedule"]
    assert len(barred) == 1 + 40 - 2
    assert names[1] not in {rule["spec"]["deviceSelector"]["pool"] for rule in barred}


def test_a_nic_in_a_pod_only_informs_unless_it_is_asked_for(fleet: Fleet, make_nics: Callable[..., Nics]) -> None:
    nics = make_nics(["n1"])
    placed = fleet.pods([from_template("holder", "nic")])
    (name,) = placed["holder"].devices["nic"]
    number = [device.name for device in nics.devices["n1"]].index(name)
    nics.falls_sick("n1", number)
    assert [each["outcome"] for each in nics()["outcomes"]] == ["held"]
    assert nics.effects() == ["None"]
    nics.policy = Policy(effect="NoSchedule", confirm=1, held=True)
    assert [each["outcome"] for each in nics()["outcomes"]] == ["tainted"]
    assert nics.effects() == ["NoSchedule"]


def test_rules_of_others_stay_and_count(cluster_set: ClusterSet, make_nics: Callable[..., Nics]) -> None:
    nics = make_nics(["n1"])
    selector = {"driver": DRANET, "pool": "n1", "device": nics.devices["n1"][0].name}
    foreign = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "maintenance"},
        "spec": {
            "deviceSelector": selector,
            "taint": {"key": "example.com/work", "value": "", "effect": "NoSchedule"},
        },
    }
    cluster_set.kubectl("create", "-f", "-", stdin=foreign)
    try:
        before = cluster_set.get("devicetaintrule", "maintenance")
        nics.policy = Policy(effect="NoSchedule", confirm=1, budget="1")
        nics.falls_sick("n1", 1)
        (problem,) = nics()["problems"]
        assert "1 of 8 already is" in problem
        nics.sick.clear()
        nics.falls_sick("n1", 0)
        # No new pod gets it anyway.
        assert nics()["problems"] == []
        nics.sick.clear()
        nics()
        assert nics.call(state="absent")["changed"] is False
        assert cluster_set.get("devicetaintrule", "maintenance") == before
    finally:
        cluster_set.kubectl("delete", "devicetaintrule", "maintenance")


def test_two_controllers_at_once_stay_within_the_budget(
    make_nics: Callable[..., Nics], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sees another NIC as sick; both together would be one too many."""
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    nics = make_nics(["n1", "n2"])
    nics.policy = Policy(effect="NoSchedule", confirm=1, budget="1")
    other = Nics(nics.call, nics.rules, nics.devices, nics.policy)
    nics.falls_sick("n1", 0)
    other.falls_sick("n2", 0)
    # Neither knows for long enough that the NIC of the other one is well.
    (mine,), (theirs,) = nics.sick.values(), other.sick.values()
    for fleet, nic in ((nics, theirs), (other, mine)):
        fleet.sick[nic.host, nic.key] = replace(nic, state="settling", bad=0)
    said: list[Object] = []
    before_write(monkeypatch, "secrets", lambda _client: said.append(other()))
    done = nics()
    assert said[0]["problems"] == []
    assert "msg" not in done
    assert len(done["problems"]) == 1
    assert nics.effects() == ["NoSchedule", "None"]


@pytest.mark.parametrize("answered", [False, True], ids=["before the request", "before its answer"])
def test_killed_anywhere_the_next_run_completes(
    make_nics: Callable[..., Nics], monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    nics = make_nics(["n1"])
    writes, survived = 0, False
    while not survived:
        nics.sick.clear()
        nics.falls_sick("n1", 0)
        nics()
        nics.sick.clear()
        nics.policy = Policy(effect="NoSchedule", confirm=1, budget="100%")
        nics.falls_sick("n1", 1, 2)
        with monkeypatch.context() as patch:
            patch.setattr(Client, "_send", Killing(writes, answered).method())
            try:
                nics()
                survived = True
            except Killed:
                writes += 1
        nics()
        assert nics()["changed"] is False
        assert [rule["spec"]["deviceSelector"]["device"] for rule in nics.rules()] == sorted(
            device.name for device in nics.devices["n1"][1:3]
        )
    # The parent twice, two that enter, one that leaves.
    assert writes == 5


def test_the_role_of_health(cluster_set: ClusterSet, make_nics: Callable[..., Nics]) -> None:
    nics = make_nics(["n1"])
    nics.options = {"namespace": "kube-system"}
    roles = documented("kube-system", "zerocopy-health")
    places = [(place, number) for place, role in enumerate(roles) for number in range(len(role["rules"]))]
    lacking = {
        f"lacks-{place}-{number}": [without(role, number) if each == place else role for each, role in enumerate(roles)]
        for place, number in places
    }
    with users(cluster_set, {"health": roles, **lacking}):
        # Teardown goes on by this.
        assert nics.call(state="absent", namespace="kube-system", impersonate_user="nobody")["status"] == 403
        nics.falls_sick("n1", 0)
        for user in lacking:
            assert "is forbidden" in nics(impersonate_user=user)["msg"], user
        with asked_by(cluster_set, "health") as asked:
            assert nics(impersonate_user="health")["changed"] is True
            nics.policy = Policy(effect="NoExecute", confirm=1)
            assert nics(impersonate_user="health")["changed"] is True
            nics.sick.clear()
            assert nics(impersonate_user="health")["changed"] is True
        assert idle(roles, asked) == []
    assert nics.rules() == []
