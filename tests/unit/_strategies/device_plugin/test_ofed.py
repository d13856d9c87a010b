# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The OFED driver of the Network Operator: what is asked of the operator, on which nodes, and what is in the way."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.waves import RAMP
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _fleet, _ofed
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SHARED_DEVICE,
    Facts,
    Hosts,
    objects,
)
from ansible_collections.zerocopy.rdma.tests.unit.action_options import play
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies, strategy_plan

LABEL, TRIAL = SHARED_DEVICE.label, "zerocopy.rdma.node-restriction.kubernetes.io/ofed"
DRAIN = "kubernetes.core.k8s_drain"
NFD = "feature.node.kubernetes.io/"
OWN = {
    "rdma_shared_device_provider": "network_operator",
    "rdma_ofed_deploy": True,
    "rdma_ofed_version": "doca3.5.0-26.07-0.7.0.0-0",
}
PROBE = {"free": {"/": 100.0}, "modules": {"ib_core": 9, "mlx5_core": 1, "nvidia_peermem": 0}, "unlimited": False}


def fleet(facts_of: Facts, *names: str, **own: Any) -> Hosts:
    return SHARED_DEVICE.recorded(facts_of, *(names or ("v100-01", "v100-02")), group="v100", **{**OWN, **own})


def labels(facts: dict[str, Any], value: str = "v100.operator", **own: str) -> dict[str, str]:
    """What Node Feature Discovery and provision have set."""
    kernel = facts["system"]["kernel"]
    found = {"pci-15b3.present": "true", "kernel-version.full": kernel}
    found.update({"system-os_release.ID": "ubuntu", "system-os_release.VERSION_ID": "24.04"})
    return {**{NFD + name: text for name, text in found.items()}, LABEL: value, **own}


def use(hosts: Hosts, name: str, value: str = "v100.operator", **own: Any) -> dict[str, Any]:
    """A node as ``node_move_info`` has it."""
    node = {"name": name, "labels": labels(hosts[name]["ansible_facts"]["rdma"], value), "unschedulable": False}
    return {**node, "mark": None, "resources": {}, "users": [], "plugins": [], "counters": {}, "broken": [], **own}


def user(name: str) -> dict[str, str]:
    return {"namespace": "training", "name": name, "uid": name, "why": "", "owner": "", "owner_kind": ""}


def rollout(
    hosts: Hosts,
    nodes: list[dict[str, Any]],
    probe: dict[str, Any] | None = None,
    failed: Sequence[str] = (),
    of: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The plan, and of its document the labels. ``of`` is by host what it alone answers otherwise."""
    probes = {name: {**PROBE, **(probe or {}), **(of or {}).get(name, {})} for name in hosts}
    probed = {name: {**own, "__rdma_ofed_probe": probes[name]} for name, own in hosts.items()}
    variables = play(probed, ansible_play_hosts=[name for name in hosts if name not in failed])
    answer = {"nodes": {node["name"]: node for node in nodes}}
    found = _ofed.rollout(_fleet.fleet(variables), RAMP, lambda _module, _question: answer)
    return {**found.result, "labels": found.document["labels"]}


def policies(found: dict[str, Any]) -> dict[str, Any]:
    assert found["problems"] == []
    return {item["spec"]["nodeSelector"][LABEL]: item["spec"] for item in objects(found, "NicNodePolicy").values()}


def plan(hosts: Hosts, nodes: dict[str, str], kinds: Any = None) -> dict[str, Any]:
    of_nodes = {name: {LABEL: value} for name, value in nodes.items()}
    return strategy_plan({}, list(hosts), hosts, "shared_device", kinds=kinds, nodes=of_nodes)


def test_nobody_has_the_driver_who_does_not_ask(facts_of: Facts) -> None:
    found = plan(fleet(facts_of, rdma_ofed_deploy=False), {})
    assert [set(spec) for spec in policies(found).values()] == [
        {"nodeSelector", "tolerations", "rdmaSharedDevicePlugin"}
    ]
    assert (found["warnings"], found["policy"]["without"]) == ([], ["spec.rdmaSharedDevicePlugin"])


def test_provision_leaves_the_driver_where_it_is(facts_of: Facts) -> None:
    hosts = fleet(facts_of, rdma_ofed_pull_secrets=["nvcr"], rdma_ofed_env={"HTTP_PROXY": "http://proxy:3128"})
    before = plan(hosts, {})
    # The operator calls a policy that selects no node never ready.
    assert set(policies(before)) == {"v100.operator"}
    assert before["warnings"] == ["v100-[01-02]: no OFED driver yet: zerocopy.rdma.ofed deploys it"]
    assert before["policy"]["without"] == ["spec.rdmaSharedDevicePlugin", "spec.ofedDriver"]
    found = plan(hosts, {"v100-01": "v100.ofed", "v100-02": "v100.operator"})
    assert {host: own[LABEL] for host, own in found["labels"].items()} == {
        "v100-01": "v100.ofed",
        "v100-02": "v100.operator",
    }
    with_driver, without = policies(found)["v100.ofed"], policies(found)["v100.operator"]
    assert with_driver["ofedDriver"] == {
        "image": "doca-driver",
        "repository": "nvcr.io/nvidia/mellanox",
        "version": "doca3.5.0-26.07-0.7.0.0-0",
        "imagePullSecrets": ["nvcr"],
        "env": [
            {"name": "HTTP_PROXY", "value": "http://proxy:3128"},
            {"name": "RESTORE_DRIVER_ON_POD_TERMINATION", "value": "true"},
            {"name": "SKIP_PREFLIGHT_CHECKS", "value": "false"},
        ],
    }
    assert "ofedDriver" not in without
    assert with_driver["rdmaSharedDevicePlugin"] == without["rdmaSharedDevicePlugin"]
    names = set(objects(found, "NicNodePolicy"))
    assert names == {"rdma-shared-v100", "rdma-shared-v100-ofed"}
    assert found["status"] == before["status"]
    assert set(policies(plan(hosts, dict.fromkeys(hosts, "v100.ofed")))) == {"v100.ofed"}
    # Teardown asks for them.
    assert strategies({}, list(hosts), hosts, found["labels"])["ofed"] == ["v100-01"]


def test_a_driver_is_not_loaded_again_because_ports_have_changed(facts_of: Facts) -> None:
    found = plan(fleet(facts_of), {"v100-01": "v100-12345678.ofed"})
    assert len(found["problems"]) == 1
    assert f"through the label {LABEL}=v100-12345678.ofed, and v100.ofed would load" in found["problems"][0]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"rdma_ofed_version": ""}, "rdma_ofed_version is not set, but rdma_ofed_deploy is true"),
        ({"rdma_ofed_version": "latest"}, "rdma_ofed_version is 'latest', it must be a version like doca3.5.0"),
        ({"rdma_ofed_version": "25.01/0"}, "it must be a version like doca3.5.0"),
        ({"rdma_ofed_image": "nvcr.io/nvidia/doca-driver:25.01"}, "rdma_ofed_image is"),
        ({"rdma_ofed_image": "doca-driver"}, "rdma_ofed_image is 'doca-driver', but the policies of network_operator"),
        ({"rdma_ofed_env": {"RESTORE_DRIVER_ON_POD_TERMINATION": "false"}}, "so that the driver can be removed again"),
        ({"rdma_ofed_env": {"A": 1}}, "rdma_ofed_env.A is 1, it must be a string: quote it"),
        ({"rdma_ofed_messages": 0}, "rdma_ofed_messages is 0, it must be 1 to 1000000"),
        ({"rdma_ofed_watch": -1}, "rdma_ofed_watch is -1, it must be 0 to 86400"),
        ({"rdma_ofed_deploy": "perhaps"}, "rdma_ofed_deploy is 'perhaps', it must be true or false"),
    ],
)
def test_wrong_variables_are_refused(facts_of: Facts, own: dict[str, Any], message: str) -> None:
    found = plan(fleet(facts_of, **own), {})["problems"]
    assert len(found) == 1
    assert message in found[0]


def test_all_hosts_of_a_group_ask_for_the_same(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    hosts["v100-02"]["rdma_ofed_deploy"] = False
    (problem,) = plan(hosts, {})["problems"]
    assert "rdma_ofed_deploy is False, but True on v100-01: it must be the same on all hosts of a group" in problem


@pytest.mark.parametrize(
    "own", [{"rdma_shared_device_provider": "plugin"}, {"rdma_strategy": "dra"}, {"rdma_strategy": "none"}]
)
def test_who_cannot_have_it(facts_of: Facts, own: dict[str, Any]) -> None:
    hosts = fleet(facts_of, "v100-01", **own)
    found = [one for one in prepare_problems({}, list(hosts), hosts) if "rdma_ofed_deploy" in one]
    assert len(found) == 1
    assert "but only groups whose shared device plugin the Network Operator runs can have the OFED driver" in found[0]


def test_without_node_policies_no_node_can_be_first(facts_of: Facts) -> None:
    found = plan(fleet(facts_of), {}, ["NicClusterPolicy.mellanox.com", "HostDeviceNetwork.mellanox.com"])["problems"]
    assert any("rdma_ofed_deploy is True, but the cluster has no NicNodePolicy" in one for one in found)


@pytest.mark.parametrize(
    ("own", "policy", "message"),
    [
        ({}, "doca3.5.0-26.07-0.7.0.0-0", None),
        ({}, "25.01-0.6.0.0-0", "rdma_ofed_version is 'doca3.5.0-26.07-0.7.0.0-0', but this node has 25.01-0.6.0.0-0"),
        ({"rdma_ofed_deploy": False}, "", "rdma_ofed_deploy is not true, but this node has the OFED driver"),
        ({"rdma_ofed_deploy": False, "rdma_strategy": "none"}, "", "run zerocopy.rdma.ofed, which removes it node"),
    ],
)
def test_provision_takes_it_from_nobody(facts_of: Facts, own: dict[str, Any], policy: str, message: Any) -> None:
    hosts = fleet(facts_of, "v100-01", **own)
    spec = {"nodeSelector": {LABEL: "v100.ofed"}, "ofedDriver": {"version": policy}}
    nodes = {"v100-01": {LABEL: "v100.ofed"}}
    found = strategies({}, list(hosts), hosts, nodes, objects=[{"kind": "NicNodePolicy", "spec": spec}])
    assert len(found["problems"]) == (1 if message else 0)
    assert not message or message in found["problems"][0]
    wanted = [] if "rdma_strategy" in own else [{"kind": "NicNodePolicy.mellanox.com", "name": ""}]
    assert found["objects"] == wanted


def test_one_node_of_each_group_goes_alone(facts_of: Facts) -> None:
    hosts = {
        **fleet(facts_of),
        **SHARED_DEVICE.recorded(facts_of, "h100-01", "h100-02", group="h100", **OWN),
        **SHARED_DEVICE.recorded(facts_of, "lab-01", group="lab", rdma_strategy="dra"),
    }
    nodes = [use(hosts, name) for name in hosts]
    found = rollout(hosts, nodes)
    assert found["problems"] == []
    assert found["waves"] == [["v100-01"], ["h100-01"], ["v100-02"], ["h100-02"]]
    assert found["nodes"]["v100-01"] == {
        "name": "v100-01",
        "deploy": True,
        "to": "v100.ofed",
        "was": "v100.operator",
        "loaded": False,
    }
    assert {name: own.get(LABEL) for name, own in found["labels"].items()} == {
        **dict.fromkeys(["v100-01", "v100-02", "h100-01", "h100-02"], "v100.ofed"),
        "lab-01": "v100.operator",
    }
    assert "Wave 1:\n  v100-01: gets the OFED driver" in found["text"]
    # Whose group has proven it needs no canary, and what was stopped in the middle is done again.
    nodes[0] = use(hosts, "v100-01", "v100.ofed")
    nodes[1] = use(hosts, "v100-02", "v100.ofed", unschedulable=True)
    nodes[1]["labels"][TRIAL] = "trial"
    found = rollout(hosts, nodes)
    assert found["waves"] == [["h100-01"], ["v100-02"], ["h100-02"]]
    assert found["text"].endswith("\nNodes that already have the OFED driver: v100-01")
    assert (found["nodes"]["v100-02"]["was"], found["nodes"]["v100-02"]["loaded"]) == ("v100.operator", True)


def test_a_node_with_something_in_the_way_is_left_out_alone(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    found = rollout(hosts, [use(hosts, "v100-01", unschedulable=True), use(hosts, "v100-02")])
    assert (found["problems"], list(found["refused"]), found["waves"]) == ([], ["v100-01"], [["v100-02"]])
    assert "v100-01: rdma_ofed_deploy is true, but this node is cordoned" in found["refused"]["v100-01"][0]
    assert found["labels"]["v100-01"][LABEL] == "v100.operator"


def test_a_node_that_failed_before_is_left_out(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    # Its facts may be those of an earlier run, and there is no probe of it.
    found = rollout(hosts, [use(hosts, name) for name in hosts], failed=["v100-01"])
    assert (found["problems"], found["refused"], found["waves"]) == ([], {}, [["v100-02"]])
    assert found["text"].endswith("\nv100-01 is left out, because it failed before")


def test_the_way_back_is_taken_node_by_node(facts_of: Facts) -> None:
    hosts = fleet(facts_of, rdma_ofed_deploy=False)
    # Nothing is in its way, not even a full disk.
    found = rollout(hosts, [use(hosts, name, "v100.ofed") for name in hosts], {"free": {"/": 0.1}})
    assert (found["problems"], found["waves"]) == ([], [["v100-01"], ["v100-02"]])
    assert found["nodes"]["v100-01"] == {
        "name": "v100-01",
        "deploy": False,
        "to": "v100.operator",
        "was": "v100.operator",
        "loaded": True,
    }
    found = rollout(hosts, [use(hosts, name) for name in hosts])
    assert (found["waves"], found["text"]) == (
        [],
        "Nothing to do: rdma_ofed_deploy is true for no host, and no node has the OFED driver.",
    )


def test_nodes_whose_nics_are_in_use_are_left_out(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    nodes = [use(hosts, "v100-01", users=[user(f"worker-{number}") for number in range(4)]), use(hosts, "v100-02")]
    found = rollout(hosts, nodes)
    shown = "training/worker-0, training/worker-1, training/worker-2 and 1 more"
    assert found["text"].endswith(f"\nv100-01 is left out, because pods use its NICs: {shown}")
    assert (found["problems"], found["waves"]) == ([], [["v100-02"]])
    nodes[1]["users"] = [user("other")]
    assert len(rollout(hosts, nodes)["problems"]) == 1
    assert "pods use the NICs of every node of group v100" in rollout(hosts, nodes)["problems"][0]
    # The other node has what it is to have, or something else is wrong with it.
    for other in (use(hosts, "v100-02", "v100.ofed"), use(hosts, "v100-02", unschedulable=True)):
        assert "every node of group" not in " ".join(rollout(hosts, [nodes[0], other])["problems"])


def test_the_way_back_does_not_wait_for_the_last_node_of_a_group(facts_of: Facts) -> None:
    """The node that is left has pods; those of other groups need not wait for these."""
    hosts = {
        **fleet(facts_of, rdma_ofed_deploy=False),
        **SHARED_DEVICE.recorded(facts_of, "h100-01", group="h100", **{**OWN, "rdma_ofed_deploy": False}),
    }
    last = use(hosts, "v100-02", "v100.ofed", users=[user("worker")])
    found = rollout(hosts, [use(hosts, "v100-01"), last, use(hosts, "h100-01", "h100.ofed")])
    assert (found["problems"], found["waves"]) == ([], [["h100-01"]])
    assert found["text"].endswith("\nv100-02 is left out, because pods use its NICs: training/worker")


def test_policies_are_those_for_the_labels_that_nodes_have_or_get(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    # Somebody else's strategy would be in the way of provision, but not of these.
    nodes = {
        name: {LABEL: "v100.operator", "zerocopy.rdma.node-restriction.kubernetes.io/group": "x"} for name in hosts
    }
    first = {"hosts": list(hosts), "labels": {name: {LABEL: "v100.ofed"} for name in hosts}}
    answer: dict[str, Any] = {"kubernetes": "v1.36.3", "administrator": False, "networks": {}, "nodes": nodes}
    answer.update(
        daemon_sets=[], objects=[], parents=[], others=[], held={}, extended_resources={}, counted=[], leaf_labelled=[]
    )
    answer["kinds"] = [f"{kind}.mellanox.com" for kind in ("NicClusterPolicy", "NicNodePolicy")]
    asked: list[dict[str, Any]] = []

    def ask(module: str, question: Mapping[str, Any]) -> dict[str, Any]:
        asked.append({"module": module, **question})
        return answer

    for planned, value in ((True, "v100.ofed"), (False, "v100.operator")):
        # Of the play that carries it out.
        found = _ofed.policies(play({"v100-01": {}, **hosts}, ansible_play_hosts_all=["v100-01"]), first, planned, ask)
        assert set(policies(found)) == {value}
        assert found["unknown"] == []
    assert {each["module"] for each in asked} == {"zerocopy.rdma.cluster_info"}
    # DRA is of no concern.
    assert not any(each["resource_api"] or "published" in each for each in asked)


def of_facts(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    return lambda facts, _node: change(facts)


@pytest.mark.parametrize(
    ("change", "probe", "said"),
    [
        (of_facts(lambda facts: facts["system"]["versions"].update(mlx5_core="24.10")), {}, "OFED driver of its own"),
        (
            of_facts(lambda facts: [hca.update(driver="bnxt_en") for hca in facts["hcas"]]),
            {},
            "this node has no NVIDIA NIC",
        ),
        (lambda _facts, node: node["labels"].pop(NFD + "pci-15b3.present"), {}, "has not set .*pci-15b3.present"),
        (lambda _facts, node: node["labels"].update({NFD + "pci-15b3.present": "false"}), {}, "no pod of the driver"),
        (lambda _facts, node: node["labels"].update({NFD + "kernel-version.full": "5.4"}), {}, "its label .* is 5.4"),
        (
            lambda _facts, node: node.update(unschedulable=True),
            {},
            "this node is cordoned, so somebody may be working on it",
        ),
        (lambda _facts, node: node["labels"].pop(LABEL), {}, "run zerocopy.rdma.provision first"),
        (lambda _facts, node: node["labels"].update({LABEL: "v100"}), {}, "run zerocopy.rdma.provision first"),
        (None, {"free": {"/": 100.0, "/var": 3.5}}, "/var has 3.5 GiB of free space, less than 20"),
        (None, {"unlimited": True}, "rsyslog writes kernel messages without a limit"),
        (None, {"modules": {"nvme_rdma": 2, "siw": 0}}, "modules nvme_rdma, siw use the RDMA modules"),
        (None, {"modules": {"nvidia_peermem": 1}}, "module nvidia_peermem is in use"),
    ],
)
def test_what_is_in_the_way(facts_of: Facts, change: Any, probe: dict[str, Any], said: str) -> None:
    hosts = fleet(facts_of, "v100-01")
    hosts["v100-01"]["ansible_facts"] = copy.deepcopy(hosts["v100-01"]["ansible_facts"])
    node = use(hosts, "v100-01")
    if change:
        change(hosts["v100-01"]["ansible_facts"]["rdma"], node)
    found = rollout(hosts, [node], probe)
    assert (len(found["problems"]), found["waves"]) == (1, [])
    assert found["problems"][0].startswith("v100-01: rdma_ofed_deploy is true, but ")
    assert re.search(said, found["problems"][0])


def test_the_default_route_is_in_the_way(facts_of: Facts) -> None:
    """The bond of the nodes of which the first report of such a container is that it took them down."""
    hosts = SHARED_DEVICE.recorded(facts_of, "a100-01", group="a100", **OWN)
    (found,) = rollout(hosts, [use(hosts, "a100-01", "a100.operator")])["problems"]
    assert "mlx5_bond_0 would lose its driver for a while, and with it this node its network: bond0 carries" in found


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"free": {"/": "much"}}, "free['/'] is 'much', it must be a number: GiB by path"),
        ({"free": {"/": float("nan")}}, "free['/'] is nan, it must be a number: GiB by path"),
        ({"free": ["/"]}, "free is ['/'], it must be GiB by path"),
        ({"free": None}, "free is None, it must be GiB by path"),
        ({"modules": ["nvme_rdma"]}, "modules is ['nvme_rdma'], it must be users by module"),
        ({"modules": {"nvidia_peermem": {}}}, "modules['nvidia_peermem'] is {}, it must be a number: users by module"),
        ({"unlimited": "{{ x }}"}, "unlimited is '{ { x }}', it must be true or false"),
    ],
)
def test_a_node_whose_answer_is_none_fails_alone(facts_of: Facts, wrong: dict[str, Any], said: str) -> None:
    """Whoever is root on it can answer anything."""
    hosts = fleet(facts_of)
    last = sorted(hosts)[-1]
    found = rollout(hosts, [use(hosts, name) for name in hosts], of={last: wrong})
    assert found["problems"] == []
    text = f"{last}: rdma_ofed_deploy is true, but its answer cannot be used: {said}"
    assert found["refused"] == {last: [text]}
    assert sorted(name for wave in found["waves"] for name in wave) == sorted({*hosts} - {last})


def test_what_the_container_itself_unloads_is_not_in_the_way(facts_of: Facts) -> None:
    hosts = fleet(facts_of, "v100-01", rdma_ofed_env={"UNLOAD_STORAGE_MODULES": "true"})
    assert rollout(hosts, [use(hosts, "v100-01")], {"modules": {"nvme_rdma": 0}})["problems"] == []


def test_a_host_that_is_no_node(facts_of: Facts) -> None:
    assert "the cluster has no node of this name" in rollout(fleet(facts_of, "v100-01"), [])["problems"][0]


def test_a_node_gets_its_driver_back_if_another_one_of_its_wave_fails() -> None:
    """It comes to ``rescue`` then without a failed task of its own."""
    tasks = yaml.safe_load((variables.ROLES / "rdma_ofed" / "tasks" / "main.yml").read_text())
    (why,) = [one for task in tasks for one in task.get("rescue", []) if one["name"] == "Record why"]
    said = NativeEnvironment().from_string(why["ansible.builtin.set_fact"]["__rdma_ofed_why"])
    assert said.render(__own="") == "another node of its wave failed"
    assert said.render(__own="no driver", ansible_failed_task={"name": "Watch the node"}) == "no driver"


def test_nothing_is_taken_from_a_node_that_accepts_pods() -> None:
    """What fails after the uncordon is not rescued, and the mark goes last, so that the next run finds the node."""
    block, *after = yaml.safe_load((variables.ROLES / "rdma_ofed" / "tasks" / "main.yml").read_text("utf-8"))
    cordons = [task[DRAIN]["state"] for task in block["block"] if DRAIN in task]
    assert cordons == ["cordon"]
    assert [task["name"] for task in after] == ["Uncordon the node", "Remove the mark"]


@pytest.mark.parametrize(("name", "key"), [("main", "block"), ("back", "")])
def test_nothing_keeps_rdma_cm_loaded_when_the_driver_changes(name: str, key: str) -> None:
    tasks = yaml.safe_load((variables.ROLES / "rdma_ofed" / "tasks" / f"{name}.yml").read_text("utf-8"))
    tasks = tasks[0][key] if key else tasks
    (remove,) = [place for place, task in enumerate(tasks) if "ansible.builtin.command" in task]
    looks = [task["register"] for task in tasks[:remove] if "zerocopy.rdma.driver_watch" in task]
    labels = [place for place, task in enumerate(tasks) if "zerocopy.rdma.node_labels" in task]
    # The mark comes first, or last.
    assert labels[1 if key else 0] == remove + 1
    found: Any = NativeEnvironment().from_string(tasks[remove]["loop"]).render({looks[0]: {"made": ["/a"]}})
    assert (found, tasks[remove]["ansible.builtin.command"]["argv"]) == (["/a"], ["rmdir", "{{ item }}"])


@pytest.mark.parametrize(
    ("deploy", "loaded", "changed", "taken"),
    [
        (True, False, True, True),
        # Nothing has changed there, and the node is uncordoned.
        (True, False, False, True),
        # Of a run that was stopped: watched again in vain, or with pods that came before this run cordoned it.
        (True, True, True, True),
        (True, True, False, False),
        (False, True, True, False),
    ],
)
def test_a_driver_of_an_earlier_run_is_taken_only_after_a_look_at_the_pods(
    deploy: bool, loaded: bool, changed: bool, taken: bool
) -> None:
    block = yaml.safe_load((variables.ROLES / "rdma_ofed" / "tasks" / "main.yml").read_text("utf-8"))[0]
    names = [task.get("register") for task in block["block"]]
    assert names.index("__rdma_ofed_uses") < names.index("__rdma_ofed_changed") < names.index("__rdma_ofed_watched")
    (back,) = [task for task in block["rescue"] if task["name"] == "Take the driver back"]
    assert back["when"] == "__taken"
    decide = NativeEnvironment(autoescape=False).compile_expression(back["vars"]["__taken"][3:-3])
    known: dict[str, Any] = {"__rdma_ofed_changed": {}} if changed else {}
    assert decide(__rdma_ofed_node={"deploy": deploy, "loaded": loaded}, **known) is taken
