# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The strategy inject: how pods ask, what nodes show, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import PluginGroup
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import planned
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    Facts,
    Hosts,
    PluginFleet,
    unplug,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies, strategy, strategy_plan

INJECT = PluginFleet("inject", "zerocopy.rdma.node-restriction.kubernetes.io/inject", {})
recorded, right = INJECT.recorded, INJECT.right
ANNOTATIONS = {"rdma.zerocopy.io/nics": "nearest", "required-plugins.noderesource.dev": '["zerocopy-rdma"]'}
SHARED = "zerocopy.rdma.node-restriction.kubernetes.io/shared-device"


def ask_of(found: dict[str, Any], group: str = "ib") -> dict[str, Any]:
    (ask,) = found["requests"][group]
    return dict(ask)


def test_a_recorded_group(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02")
    found = right(hosts)
    assert found["sets"] == []
    assert found["labels"] == {host: {INJECT.label: "ib"} for host in hosts}
    ask = ask_of(found)
    near = {name for one in facts_of("v100-01")["affinity"] for name in one["nearest"]}
    assert near
    assert {host: set(hcas) for host, hcas in ask["hosts"].items()} == dict.fromkeys(hosts, near)
    assert ask["annotations"] == ANNOTATIONS
    assert ask["limits"] == {"rdma.io/hca": 1}
    # The plugin raises the limit of locked memory, so pods need no capability.
    assert ask["capabilities"] == ()
    assert (ask["gpu_resource"], ask["host_network"], ask["moves"]) == ("nvidia.com/gpu", False, False)
    assert found["status"]["v100-02"]["resources"] == {"rdma.io/hca": 100}
    assert found["counters"] == {host: {"rdma.io/hca": 100} for host in hosts}
    assert found["warnings"] == []
    assert strategy({}, hosts["v100-01"]) == {"name": "inject", "netns_mode": "shared", "images": []}


def test_memory_that_the_plugin_leaves_is_for_the_pod_to_lock(facts_of: Facts) -> None:
    assert ask_of(right(recorded(facts_of, "v100-01", rdma_inject_memlock="0")))["capabilities"] == ("IPC_LOCK",)


@pytest.mark.parametrize("own", [{"rdma_inject_resource": ""}, {"rdma_inject_count": 0}])
def test_nothing_is_counted_if_nobody_wants_it(facts_of: Facts, own: dict[str, Any]) -> None:
    found = right(recorded(facts_of, "v100-01", **own))
    assert ask_of(found)["limits"] == {}
    assert found["counters"] == {"v100-01": {}}
    assert found["status"]["v100-01"]["resources"] == {}


def test_roce_needs_the_host_network_and_says_so(facts_of: Facts) -> None:
    found = right(recorded(facts_of, "case-h100-roce", group="roce"))
    assert ask_of(found, "roce")["host_network"] is True
    (said,) = [text for text in found["warnings"] if "hostNetwork" in text]
    assert said.startswith("group roce: its NICs are RoCE, so only pods on the host network")


def test_an_hca_that_is_excluded_or_down_is_not_promised(facts_of: Facts) -> None:
    facts = facts_of("h100-01")
    every = ask_of(right(INJECT.hosts_of({"h100-01": facts})))["hosts"]["h100-01"]
    assert len(every) > 2
    first, second = every[:2]
    address = next(hca["pci"]["address"] for hca in facts["hcas"] if hca["name"] == second)
    own = right(INJECT.hosts_of({"h100-01": facts}, rdma_inject_exclude=[first, address.upper()]))
    assert ask_of(own)["hosts"]["h100-01"] == every[2:]
    # What no strategy hands out.
    own = right(INJECT.hosts_of({"h100-01": facts}, rdma_driver_exclude=[address]))
    assert second not in ask_of(own)["hosts"]["h100-01"]
    down = copy.deepcopy(facts)
    for entry in [entry for entry in down["usable"] if entry["hca"] == first]:
        unplug(down, entry)
    assert first not in ask_of(right(INJECT.hosts_of({"h100-01": down})))["hosts"]["h100-01"]


def test_a_node_without_gpus_is_left_out_and_a_group_of_them_refused(facts_of: Facts) -> None:
    bare = {**facts_of("v100-02"), "gpus": [], "affinity": []}
    found = right(INJECT.hosts_of({"v100-01": facts_of("v100-01"), "v100-02": bare}))
    assert found["labels"]["v100-02"] == {INJECT.label: None}
    assert found["counters"]["v100-02"] == {}
    assert "v100-02" not in ask_of(found)["hosts"]
    assert (
        "v100-02: no GPU, and NICs are injected only next to GPUs, so containers get no NIC there" in found["warnings"]
    )
    (said,) = INJECT.plan(INJECT.hosts_of({"v100-02": bare}))["problems"]
    assert said.startswith("v100-02: rdma_strategy is inject, but no node of the group has an NVIDIA GPU")


def test_gpus_that_the_plugin_does_not_recognise_in_containers_are_none(facts_of: Facts) -> None:
    hosts = {"v100-01": facts_of("v100-01"), "case-mi300x": facts_of("case-mi300x")}
    found = right(INJECT.hosts_of(hosts))
    assert found["labels"]["case-mi300x"] == {INJECT.label: None}
    text = "case-mi300x: only AMD GPUs, which the plugin does not recognise in containers"
    assert f"{text}, so containers get no NIC there" in found["warnings"]
    (said,) = INJECT.plan(INJECT.hosts_of({"case-mi300x": hosts["case-mi300x"]}))["problems"]
    assert "no node of the group has an NVIDIA GPU" in said


def test_a_node_without_facts_keeps_what_it_has(facts_of: Facts) -> None:
    found = right(INJECT.hosts_of({"v100-01": facts_of("v100-01"), "v100-02": None}))
    assert "v100-02" not in found["labels"]
    assert "v100-02" not in found["counters"]


def test_nodes_of_other_groups_lose_label_and_counter(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01")
    hosts.update(recorded(facts_of, "a100-01", group="other", rdma_strategy="none"))
    found = right(hosts)
    assert found["labels"]["a100-01"] == {INJECT.label: None}
    assert found["counters"]["a100-01"] == {}


def test_groups_may_have_the_same_resource_but_not_another_strategys(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", group="v100")
    hosts.update(recorded(facts_of, "a100-01", group="a100"))
    assert same_resources(hosts) == []
    # Pods that request it would be given a device on one node and be counted on the other.
    shared = {"rdma_shared_device_prefix": "rdma.io", "rdma_shared_device_resource": "hca"}
    hosts.update(recorded(facts_of, "h100-01", group="h100", rdma_strategy="shared_device", **shared))
    assert len(same_resources(hosts)) == 1


def same_resources(hosts: Hosts) -> list[str]:
    found = prepare_problems({}, list(hosts), hosts)
    return [text for text in found if "which group" in text and "has as well" in text]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            {"rdma_inject_policy": "everyone"},
            "rdma_inject_policy is 'everyone', it must be annotated or gpu_containers",
        ),
        ({"rdma_inject_missing": "ignore"}, "rdma_inject_missing is 'ignore', it must be"),
        ({"rdma_inject_namespaces": "training"}, "rdma_inject_namespaces is 'training', it must be a list"),
        ({"rdma_inject_namespaces": ["Training"]}, "rdma_inject_namespaces[0] is 'Training', it must be the name of a"),
        (
            {"rdma_inject_namespaces": ["llm"], "rdma_inject_policy": "gpu_containers"},
            "rdma_inject_namespaces is ['llm'], but with rdma_inject_policy gpu_containers",
        ),
        ({"rdma_inject_exclude": ["mlx5 0"]}, "rdma_inject_exclude[0] is 'mlx5 0', it must be the name of an HCA"),
        ({"rdma_inject_exclude": ["3b:00"]}, "rdma_inject_exclude[0] is '3b:00'"),
        ({"rdma_driver_exclude": ["mlx5_0"]}, "rdma_driver_exclude is 'mlx5_0'"),
        ({"rdma_inject_memlock": "64G"}, "rdma_inject_memlock is '64G', it must be unlimited or a number of bytes"),
        ({"rdma_inject_memlock": "4096"}, "rdma_inject_memlock is '4096', it must be unlimited or a number of bytes"),
        ({"rdma_inject_metrics": "/var/lib/metrics/rdma"}, "it must end with .prom"),
        ({"rdma_inject_metrics": "rdma.prom"}, "rdma_inject_metrics is 'rdma.prom'"),
        ({"rdma_inject_resource": "hca"}, "rdma_inject_resource is 'hca', it must be an extended resource"),
        ({"rdma_inject_resource": "kubernetes.io/hca"}, "rdma_inject_resource is 'kubernetes.io/hca'"),
        ({"rdma_inject_resource": "nvidia.com/gpu"}, "but so is rdma_workloads_gpu_resource: choose another name"),
        ({"rdma_inject_count": -1}, "rdma_inject_count is -1, it must be 0 to 10000"),
        ({"rdma_inject_count": "many"}, "rdma_inject_count is 'many', it must be a whole number"),
        ({"rdma_workloads_gpu_resource": "gpu"}, "rdma_workloads_gpu_resource is 'gpu', it must be the GPUs'"),
        ({"rdma_inject_umad": "maybe"}, "rdma_inject_umad is 'maybe', it must be true or false"),
        ({"rdma_claims_templates": [{"name": "one", "nics": 1}]}, "but rdma_strategy is inject, whose pods do not use"),
        ({"rdma_driver_exclude": ["0000:3f:00.0", "0000:8a:00.0"]}, "no node of the group has an NVIDIA GPU with an"),
    ],
)
def test_what_is_refused(facts_of: Facts, own: dict[str, Any], said: str) -> None:
    hosts = recorded(facts_of, "v100-01", **own)
    (problem,) = INJECT.plan(hosts)["problems"]
    assert problem.startswith("v100-01: ")
    assert said in problem
    assert (INJECT.plan(hosts)["requests"], INJECT.plan(hosts)["counters"]) == ({}, {})


def test_a_configuration_may_differ_on_hosts_only_where_it_is_the_hosts_own(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02")
    hosts["v100-02"]["rdma_inject_exclude"] = ["mlx5_9"]
    right(hosts)
    hosts["v100-02"]["rdma_inject_policy"] = "gpu_containers"
    (problem,) = INJECT.plan(hosts)["problems"]
    assert "it must be the same on all hosts of a group" in problem


def test_a_nic_that_another_driver_moved_into_a_pod_is_in_the_way(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    entry = facts["usable"].pop()
    facts["excluded"].append({**entry, "reasons": [{"code": "in_pod", "text": "away", "fields": {"netdev": "ibp1"}}]})
    (problem,) = INJECT.plan(INJECT.hosts_of({"v100-01": facts}))["problems"]
    moved = f"rdma_strategy is inject, but another driver has moved {entry['hca']} into a pod: delete that pod"
    assert moved in problem


def test_a_nic_of_a_storage_network_is_not_promised(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-b200"))
    of_gpus = [f"mlx5_{number}" for number in (4, 7, 8, 9, 10, 13, 14, 15)]
    storage = next(entry["hca"] for entry in facts["usable"] if entry["hca"] not in of_gpus)
    # Beside a GPU, as on machines with a switch for both.
    facts["affinity"][0]["nearest"].append(storage)
    hosts = {"case-b200": facts}
    assert storage in ask_of(right(INJECT.hosts_of(hosts)))["hosts"]["case-b200"]
    found = right(INJECT.hosts_of(hosts, rdma_discover_expect_link_layer="InfiniBand"))
    assert ask_of(found)["hosts"]["case-b200"] == of_gpus


def test_a_nic_in_a_pod_that_no_container_would_get_is_not_in_the_way(facts_of: Facts) -> None:
    """Such as one that the site has excluded, or a VF that somebody else gives to pods."""
    facts = copy.deepcopy(facts_of("v100-01"))
    entry = facts["usable"].pop()
    away = {"code": "in_pod", "text": "away", "fields": {"netdev": "ibp1"}}
    facts["excluded"].append({**entry, "reasons": [away]})
    assert right(INJECT.hosts_of({"v100-01": facts}, rdma_inject_exclude=[entry["hca"]]))
    vf = {"code": "vf", "text": "a VF", "fields": {"pf_address": "0000:3f:00.0"}}
    of_others = copy.deepcopy(facts)
    of_others["excluded"][-1]["reasons"].append(vf)
    assert right(INJECT.hosts_of({"v100-01": of_others}))


def test_nics_of_two_ports_are_told_once() -> None:
    group = PluginGroup("v100", "v100", {"rdma_strategy": "inject"})
    assert "has moved mlx5_0 into a pod: delete that pod" in group.taken(["mlx5_0", "mlx5_0"]).text
    assert "has moved mlx5_0, mlx5_1 into pods: delete those pods" in group.taken(["mlx5_0", "mlx5_1"]).text


def test_another_strategy_has_to_leave_first(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01")
    (said,) = strategies({}, list(hosts), hosts, nodes={"v100-01": {SHARED: "ib"}})["problems"]
    assert said.endswith(
        "run zerocopy.rdma.provision with rdma_strategy none, which removes its objects, and then with inject"
    )
    assert "move it with zerocopy.rdma.migrate (rdma_migrate_move=ib)" in said
    other = recorded(facts_of, "v100-01", rdma_strategy="shared_device")
    (said,) = strategies({}, list(other), other, nodes={"v100-01": {INJECT.label: "ib"}})["problems"]
    assert "inject still serves this node" in said
    assert "move it with zerocopy.rdma.migrate (rdma_migrate_move=ib)" in said


def test_test_pods_have_a_gpu_and_ask(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "case-h100-roce", group="roce")
    whole = strategy_plan({}, list(hosts), hosts)
    (wave,) = planned(whole, sample=1, bandwidth=False, loopback=False, namespace="default")
    pod, bare, without_gpu = (one["pod"] for one in wave)
    assert pod["limits"] == {"rdma.io/hca": 1, "nvidia.com/gpu": 1}
    assert pod["annotations"] == ANNOTATIONS
    assert pod["host_network"] is True
    assert (bare["limits"], bare["annotations"], bare["host_network"]) == ({}, {}, False)
    # It asks as well, and has no GPU for which anything is the nearest.
    assert (without_gpu["limits"], without_gpu["annotations"]) == ({}, ANNOTATIONS)
    assert len({pod["name"], bare["name"], without_gpu["name"]}) == 3
