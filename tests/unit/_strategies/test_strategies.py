# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What all strategies answer for a fleet, and how they keep out of each other's way."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.none import NoStrategy
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies, strategy, strategy_plan

Facts = Callable[..., dict[str, Any]]
TEMPLATES = {"rdma_claims_templates": [{"name": "one-nic", "nics": 1}]}
GROUP = "zerocopy.rdma.node-restriction.kubernetes.io/group"


def hostvars(facts_of: Facts, **groups: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Two recorded nodes of each group, with the group's variables."""
    return {
        host: {
            **own,
            "inventory_hostname": host,
            "group_names": [group],
            "ansible_facts": {"rdma": facts_of(host)},
        }
        for group, own in groups.items()
        for host in (f"{group}-01", f"{group}-02")
    }


def plan(hosts: dict[str, dict[str, Any]], name: str | None = None) -> dict[str, Any]:
    found = strategy_plan({}, list(hosts), hosts, name)
    assert found["problems"] == []
    return found


def objects(found: dict[str, Any], kind: str) -> list[str]:
    items = [item for one in found["sets"] for item in one["objects"]]
    return [item["metadata"]["name"] for item in items if item["kind"] == kind]


def test_all_answers_are_there_for_every_strategy(facts_of: Facts) -> None:
    for name, one in registry.STRATEGIES.items():
        assert one.names[0] == one.name == name
        given = {"rdma_strategy": name, "rdma_host_device_networks": ["10.90.0.0/24"]}
        found = plan(hostvars(facts_of, v100=given), name)
        assert {host for host, labels in found["labels"].items() if any(labels.values())} == (
            {"v100-01", "v100-02"} if one.label else set()
        )
        # What is not named is found nowhere when the strategy has gone.
        served = {resource for shown in found["status"].values() for resource in shown["resources"]}
        own = hostvars(facts_of, v100={"rdma_strategy": "none"})
        # What only counts is known by an annotation of the node.
        assert one.counts_only or served <= set(strategies({}, list(own), own)["resources"][name])
        # Where nothing says on which nodes a pod can ask and what it gets, nobody could try it.
        for ask in [ask for requests in found["requests"].values() for ask in requests]:
            assert set(ask["hosts"]) == {"v100-01", "v100-02"}
            assert ask["template"] or ask["claim"] or (ask["limits"] and all(ask["hosts"].values()))
    labels = [one.label for one in registry.STRATEGIES.values() if one.label]
    assert len(labels) == len(set(labels))


def test_groups_differ(facts_of: Facts) -> None:
    found = plan(hostvars(facts_of, v100=TEMPLATES, h100={**TEMPLATES, "rdma_strategy": "none"}))
    assert objects(found, "DaemonSet") == ["dranet-v100"]
    assert found["labels"]["v100-01"][GROUP] == "v100"
    assert found["labels"]["h100-01"][GROUP] is None
    assert set(found["requests"]) == {"v100"}
    assert {host: shown["drivers"] for host, shown in found["status"].items()} == {
        "v100-01": ("dra.net",),
        "v100-02": ("dra.net",),
    }


def test_a_group_that_leaves_takes_its_objects_along(facts_of: Facts) -> None:
    both = plan(hostvars(facts_of, v100=TEMPLATES, h100=TEMPLATES))
    left = plan(hostvars(facts_of, v100=TEMPLATES))
    assert set(objects(both, "DaemonSet")) - set(objects(left, "DaemonSet")) == {"dranet-h100"}
    assert [(one["name"], one["namespace"]) for one in both["sets"]] == [
        ("zerocopy-rdma-driver", "kube-system"),
        ("zerocopy-rdma-claims", "kube-system"),
        ("zerocopy-rdma-shared-device", "kube-system"),
        ("zerocopy-rdma-host-device", "kube-system"),
    ]


def test_without_a_group_of_the_strategy_there_is_no_object(facts_of: Facts) -> None:
    found = plan(hostvars(facts_of, v100={**TEMPLATES, "rdma_strategy": "none"}))
    assert [item for one in found["sets"] for item in one["objects"]] == []
    assert found["status"] == found["requests"] == {}


def test_how_a_pod_asks_dra(facts_of: Facts) -> None:
    found = plan(hostvars(facts_of, v100=TEMPLATES))
    assert [ask["template"] for ask in found["requests"]["v100"]] == ["one-nic"]
    assert found["requests"]["v100"][0]["capabilities"] == ("IPC_LOCK",)
    assert found["requests"]["v100"][0]["hosts"] == {"v100-01": (), "v100-02": ()}
    assert "one-nic" in objects(found, "ResourceClaimTemplate")


def test_how_a_pod_asks_dra_by_its_limits(facts_of: Facts) -> None:
    own = {**TEMPLATES, "rdma_claims_extended_resources": [{"name": "rdma/hca"}]}
    _template, ask = plan(hostvars(facts_of, v100=own, a100=TEMPLATES))["requests"]["v100"]
    assert (ask["limits"], ask["number"], ask["template"], ask["moves"]) == ({"rdma/hca": 1}, 1, "", True)
    assert ask["hosts"] == {"v100-01": ["mlx5_0", "mlx5_1"], "v100-02": ["mlx5_0", "mlx5_1"]}


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({}, "registry.k8s.io/networking/dranet:v1.4.0"),
        ({"rdma_driver_image": "mirror.example/dranet"}, "mirror.example/dranet:v1.4.0"),
        ({"rdma_driver_enabled": False}, None),
        ({"rdma_strategy": "none"}, None),
    ],
)
def test_images_of_a_node(facts_of: Facts, own: dict[str, Any], name: str | None) -> None:
    found = strategy({"inventory_hostname": "v100-01"}, hostvars(facts_of, v100=own)["v100-01"])
    assert [image["name"] for image in found["images"]] == ([name] if name else [])


@pytest.mark.parametrize("mode", ["shared", "exclusive", ""])
def test_dra_leaves_the_netns_mode_to_the_user(facts_of: Facts, mode: str) -> None:
    own = {"rdma_kernel_netns_mode": mode} if mode else {}
    assert strategy({}, hostvars(facts_of, v100=own)["v100-01"])["netns_mode"] == mode


HELD = {"dra.net": {"v100-01": ["train/a", "train/b"], "h100-01": [f"train/{number}" for number in range(6)]}}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"rdma_strategy": "none"}, "v100-01: rdma_strategy is 'none', but pods hold devices of dra.net on this node"),
        # Preflight of a switch to another strategy tells of both.
        ({"rdma_strategy": "shared_device"}, "v100-01: rdma_strategy is 'shared_device', but pods hold devices of"),
        ({"rdma_driver_enabled": "no"}, "v100-01: rdma_driver_enabled is 'no', but pods hold devices of dra.net on"),
        ({"rdma_driver_enabled": "yes"}, ""),
        ({}, ""),
    ],
)
def test_a_driver_stays_while_pods_hold_its_devices(facts_of: Facts, variables: dict[str, Any], said: str) -> None:
    hosts = hostvars(facts_of, v100=variables, h100={})
    served = {host: {GROUP: host.partition("-")[0]} for host in hosts}
    found = [line for line in strategies({}, list(hosts), hosts, served, HELD)["problems"] if "hold" in line]
    assert [line.startswith(said) for line in found] == ([True] if said else [])
    assert all(line.endswith("(train/a, train/b): delete these pods first") for line in found)
    # Nobody holds any, or it is another inventory's driver that they hold.
    for labels, held in (
        (served, {"dra.net": {"v100-01": []}}),
        (served, {"gpu.nvidia.com": HELD["dra.net"]}),
        ({}, HELD),
    ):
        problems = strategies({}, list(hosts), hosts, labels, held)["problems"]
        assert [line for line in problems if "hold" in line] == []


def test_many_pods_are_not_all_named(facts_of: Facts) -> None:
    hosts = hostvars(facts_of, h100={"rdma_strategy": "none"})
    for number, shown in ((6, "and 2 more"), (5, "and 1 more"), (4, "")):
        held = {"dra.net": {"h100-01": HELD["dra.net"]["h100-01"][:number]}}
        (line,) = strategies({}, list(hosts), hosts, {"h100-01": {GROUP: "h100"}}, held)["problems"]
        assert f"({f'train/0, train/1, train/2, train/3 {shown}'.strip()})" in line


def daemon_set(selector: dict[str, str]) -> dict[str, Any]:
    name = "-".join(["rdma", *selector.values()])
    return {
        "metadata": {"namespace": "kube-system", "name": name},
        "spec": {"template": {"spec": {"nodeSelector": selector}}},
    }


DAEMON_SETS = [daemon_set({GROUP: "h100"}), daemon_set({GROUP: "v100"}), daemon_set({})]


@pytest.mark.parametrize(
    ("h100", "said"),
    [
        # No host of the group is left, or none that has the driver. With one, the DaemonSet stays on all its nodes.
        (None, True),
        ({"rdma_strategy": "none"}, True),
        ({"rdma_driver_enabled": False}, True),
        ({}, False),
    ],
)
def test_a_driver_stays_on_nodes_that_left_the_inventory(
    facts_of: Facts, h100: dict[str, Any] | None, said: bool
) -> None:
    hosts = hostvars(facts_of, v100={}, **({} if h100 is None else {"h100": h100}))
    labels = {node: {GROUP: node.partition("-")[0]} for node in ("v100-01", "h100-01", "h100-03", "h100-04")}
    held = {"dra.net": {"v100-01": ["train/a"], "h100-03": ["train/a", "train/b"], "h100-04": []}}
    found = strategies({}, list(hosts), hosts, labels, held, DAEMON_SETS)["problems"]
    assert (
        found
        == [
            f"h100-03: {GROUP} is 'h100', but no host of the run has the driver of this group any more, and"
            " pods hold devices of dra.net on this node (train/a, train/b): delete these pods first, or add the node to"
            " the inventory"
        ]
        * said
    )
    # The DaemonSet is another set's, they hold devices of another driver, or nobody said that it is our node.
    for at, holding, daemon_sets in (
        (labels, held, DAEMON_SETS[1:]),
        (labels, {"gpu.nvidia.com": held["dra.net"]}, DAEMON_SETS),
        ({}, held, DAEMON_SETS),
    ):
        assert strategies({}, list(hosts), hosts, at, holding, daemon_sets)["problems"] == []


def test_a_host_that_moves_to_another_group_keeps_a_driver(facts_of: Facts) -> None:
    hosts = hostvars(facts_of, v100={})
    labels = {"v100-01": {GROUP: "h100"}}
    assert strategies({}, list(hosts), hosts, labels, HELD, DAEMON_SETS)["problems"] == []


def test_teardown_asks_for_pods_that_need_a_driver(facts_of: Facts) -> None:
    hosts = hostvars(facts_of, v100={}, h100={})
    # Of which the last one has left the inventory.
    labels = {node: {GROUP: node.partition("-")[0]} for node in ("v100-01", "h100-01", "h100-03")}
    held = {"dra.net": {"v100-01": [], "h100-01": ["train/a"], "h100-03": ["train/b"]}}
    held["gpu.nvidia.com"] = {"v100-01": ["train/c"], "else": ["other/d"]}
    found = strategies({}, list(hosts), hosts, labels, held, DAEMON_SETS)["needed"]
    assert found == [
        f"h100-0{number}: {GROUP} is 'h100', and pods hold devices of dra.net on this node (train/{pod}):"
        " delete these pods first"
        for number, pod in ((1, "a"), (3, "b"))
    ]
    # The DaemonSet is another set's, or nobody said that it is our node.
    assert strategies({}, list(hosts), hosts, labels, held, DAEMON_SETS[1:])["needed"] == []
    assert strategies({}, list(hosts), hosts, {}, held, DAEMON_SETS)["needed"] == []
    # Helm removes the driver of GPUs from all nodes.
    hosts = hostvars(facts_of, v100={"rdma_driver_gpu_deploy": "true"}, h100={"rdma_driver_gpu_deploy": True})
    found = strategies({}, list(hosts), hosts, {}, held, DAEMON_SETS)["needed"]
    assert found == [
        f"{node}: rdma_driver_gpu_deploy is True, and pods hold devices of gpu.nvidia.com on this node ({pod}): delete"
        " these pods first"
        for node, pod in (("else", "other/d"), ("v100-01", "train/c"))
    ]


def test_a_plugin_that_leaves_a_node(facts_of: Facts) -> None:
    """Preflight asks whether pods hold its devices."""
    plugin = {"rdma_strategy": "shared_device", "rdma_shared_device_resource": "hca"}
    hosts = hostvars(facts_of, v100=plugin, h100={**plugin, "rdma_strategy": "none"})
    labels = {
        node: {"zerocopy.rdma.node-restriction.kubernetes.io/shared-device": node.partition("-")[0]}
        for node in ("v100-01", "h100-01", "else")
    }
    found = strategies({}, list(hosts), hosts, labels)["leaving"]
    assert found == {"h100-01": ["rdma/hca"]}
    # Not where it never was, or where nothing was allocated.
    assert strategies({}, list(hosts), hosts)["leaving"] == {}
    served = {"h100-01": {"zerocopy.rdma.node-restriction.kubernetes.io/inject": "h100", GROUP: "h100"}}
    assert strategies({}, list(hosts), hosts, served)["leaving"] == {}


PLUGINS = [("shared_device", "rdma/rdma_"), ("host_device", "rdma/hostdev_"), ("sriov", "rdma/sriov_")]


def plugged(value: str) -> dict[str, str]:
    """The labels of a node that any of the plugins serves."""
    return {
        "zerocopy.rdma.node-restriction.kubernetes.io/shared-device": value,
        "zerocopy.rdma.node-restriction.kubernetes.io/host-device": value,
    }


@pytest.mark.parametrize(("word", "start"), PLUGINS)
def test_a_host_that_moves_to_another_group_loses_its_resources(facts_of: Facts, word: str, start: str) -> None:
    """The plugin of its new group does not offer those of the old one, of which preflight asks."""
    hosts = hostvars(facts_of, v100={"rdma_strategy": word}, h100={"rdma_strategy": word})
    # By the shape of its ports, and with an operator, a node is of its group as well.
    stays = {"v100-02": plugged("v100"), "h100-01": plugged("h100-0123abcd"), "h100-02": plugged("h100.ofed")}
    label = registry.of_host({"rdma_strategy": word}).label  # type: ignore[union-attr]  # there is one
    labels = {node: {label: own[label]} for node, own in {**stays, "v100-01": plugged("h100")}.items()}
    found = strategies({}, list(hosts), hosts, labels)["leaving"]
    assert list(found) == ["v100-01"]
    assert f"{start}h100" in found["v100-01"]
    assert f"{start}v100" not in found["v100-01"]


@pytest.mark.parametrize(("word", "start"), PLUGINS)
def test_a_group_that_has_another_name(facts_of: Facts, word: str, start: str) -> None:
    hosts = hostvars(facts_of, v100={"rdma_strategy": word})
    for value, names in (("old", ["old"]), ("old-0123abcd", ["old_0123abcd", "old"])):
        found = strategies({}, list(hosts), hosts, {"v100-01": plugged(value)})["leaving"]
        assert set(found["v100-01"]) >= {f"{start}{name}" for name in names}
    # What is set for all groups was set for the old one, too.
    hosts = hostvars(facts_of, v100={"rdma_strategy": "shared_device", "rdma_shared_device_prefix": "example.org"})
    found = strategies(
        {}, list(hosts), hosts, {"v100-01": {"zerocopy.rdma.node-restriction.kubernetes.io/shared-device": "old"}}
    )["leaving"]
    assert found == {"v100-01": ["rdma/rdma_old", "example.org/rdma_old"]}


SHARED = [daemon_set({"zerocopy.rdma.node-restriction.kubernetes.io/shared-device": name}) for name in ("h100", "v100")]


@pytest.mark.parametrize(
    ("h100", "said"),
    [
        # No host of the group is left, or none that has the plugin. With one, the DaemonSet stays on all its nodes.
        (None, True),
        ({"rdma_strategy": "none"}, True),
        ({"rdma_strategy": "shared_device"}, False),
    ],
)
def test_a_plugin_of_nodes_that_left_the_inventory(facts_of: Facts, h100: dict[str, Any] | None, said: bool) -> None:
    groups = {"v100": {"rdma_strategy": "shared_device"}, **({} if h100 is None else {"h100": h100})}
    hosts = hostvars(facts_of, **groups)
    labels = {
        node: {"zerocopy.rdma.node-restriction.kubernetes.io/shared-device": node.partition("-")[0]}
        for node in ("v100-01", "h100-03")
    }
    found = strategies({}, list(hosts), hosts, labels, {}, SHARED)["leaving"]
    assert list(found) == ["h100-03"] * said
    assert all("rdma/rdma_h100" in names for names in found.values())
    # The DaemonSet is another set's.
    assert strategies({}, list(hosts), hosts, labels, {}, SHARED[1:])["leaving"] == {}


def test_teardown_asks_for_pods_that_hold_resources(facts_of: Facts) -> None:
    plugin = {"rdma_strategy": "shared_device"}
    hosts = hostvars(facts_of, v100=plugin, h100=plugin)
    # Of which the last one has left the inventory.
    labels = {
        node: {"zerocopy.rdma.node-restriction.kubernetes.io/shared-device": node.partition("-")[0]}
        for node in ("v100-01", "h100-03")
    }
    every = ["rdma/rdma_v100", "rdma/rdma_h100"]
    found = strategies({}, list(hosts), hosts, labels, {}, SHARED)["offered"]
    assert found.pop("shared_device") == {"v100-01": every, "h100-03": every}
    assert not any(found.values())
    found = strategies({}, list(hosts), hosts, labels, {}, SHARED[1:])["offered"]
    assert found["shared_device"] == {"v100-01": every}


def test_sets_that_have_a_driver_or_a_plugin(facts_of: Facts) -> None:
    hosts = hostvars(facts_of, v100={"rdma_parent_namespace": "rdma", "rdma_strategy": "none"})
    # Of a run for one group, which prunes nothing of the other groups' set.
    found = strategies({"rdma_set": "zerocopy-rdma-v100"}, list(hosts), hosts)["driver_sets"]
    assert found == [
        {"name": "zerocopy-rdma-v100-driver", "namespace": "rdma"},
        {"name": "zerocopy-rdma-v100-shared-device", "namespace": "rdma"},
        {"name": "zerocopy-rdma-v100-host-device", "namespace": "rdma"},
    ]


def test_a_strategy_may_serve_several_words(facts_of: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(NoStrategy):
        name, also, label = "other", ("more",), "example.org/other"

    one = Other()
    monkeypatch.setitem(registry.STRATEGIES, "other", one)
    assert registry.words()[-2:] == ["other", "more"]
    hosts = hostvars(facts_of, v100={"rdma_strategy": "more"}, h100={"rdma_strategy": "other"})
    assert [registry.of_host(own) for own in hosts.values()] == [one] * 4
    assert strategy({}, hosts["v100-01"])["name"] == "other"
    # Between its words nothing has to go first, from another strategy to it something has.
    served = {host: {"example.org/other": "it"} for host in hosts}
    assert strategies({}, list(hosts), hosts, served)["problems"] == []
    served["v100-01"] = {GROUP: "v100"}
    (line,) = strategies({}, list(hosts), hosts, served)["problems"]
    assert line.startswith("v100-01: rdma_strategy is 'more', but dra still serves this node")
    assert line.endswith("and then with more")
    hosts = hostvars(facts_of, v100={})
    (line,) = strategies({}, list(hosts), hosts, {"v100-02": {"example.org/other": "it"}})["problems"]
    assert "but other or more still serves this node" in line


def test_a_node_that_another_strategy_serves_is_refused(facts_of: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(NoStrategy):
        name, label = "other", "example.org/other"

    monkeypatch.setitem(registry.STRATEGIES, "other", Other())
    hosts = hostvars(facts_of, v100={"rdma_strategy": "other"}, h100={})
    served = {host: {GROUP: host.partition("-")[0]} for host in hosts}
    found = strategies({}, list(hosts), hosts, served)
    assert found["problems"] == [
        f"v100-[01-02]: rdma_strategy is 'other', but dra still serves this node (label {GROUP}=v100): move"
        " it with zerocopy.rdma.migrate (rdma_migrate_move=v100), or run zerocopy.rdma.provision with rdma_strategy"
        " none, which removes its objects, and then with other"
    ]
    assert strategies({}, list(hosts), hosts, {host: {} for host in hosts})["problems"] == []
    # The way out is never refused.
    hosts = hostvars(facts_of, v100={"rdma_strategy": "none"})
    assert strategies({}, list(hosts), hosts, served)["problems"] == []


def test_only_dra_needs_the_api_of_resources(facts_of: Facts) -> None:
    for name, one in registry.STRATEGIES.items():
        hosts = hostvars(facts_of, v100={"rdma_strategy": name})
        assert strategies({}, list(hosts), hosts)["slices"] == one.slices == (name == "dra")


def test_all_labels_of_nodes_are_in_a_domain_that_a_node_may_not_write() -> None:
    """NodeRestriction of the API server refuses it labels in ``*.node-restriction.kubernetes.io``."""
    every = [strategy.label for strategy in registry.STRATEGIES.values() if strategy.label]
    for label in (*every, ofed.TRIAL, node_use.DIGEST):
        domain, _slash, name = label.partition("/")
        assert domain == "zerocopy.rdma.node-restriction.kubernetes.io"
        assert 0 < len(name) <= 63
    assert len(every) == 4
