# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The steps in which a cluster gets what a fleet needs: which there are, and in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import cluster_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    CLAIMS,
    DRIVER,
    CountersStep,
    FieldsStep,
    HeldCheck,
    LabelsStep,
    LeftoversStep,
    ObjectsStep,
    RestartStep,
    Step,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory
from ansible_collections.zerocopy.rdma.tests.unit.fleet.cluster_fleet import (
    EMPTY,
    NEEDED,
    Facts,
    fleet,
    host,
    provisioned,
    shape,
)

KNOWN = _inventory.options({})
GROUP, SHARED, HOST_DEVICE = (
    "zerocopy.rdma.node-restriction.kubernetes.io/group",
    "zerocopy.rdma.node-restriction.kubernetes.io/shared-device",
    "zerocopy.rdma.node-restriction.kubernetes.io/host-device",
)
INJECT = "zerocopy.rdma.node-restriction.kubernetes.io/inject"
LABELS = {"dra": GROUP, "shared_device": SHARED, "host_device": HOST_DEVICE, "inject": INJECT}
POLICY = "NicClusterPolicy.mellanox.com"
UNKNOWN = ClusterState(kubernetes=(1, 36))

# By strategy the steps in a cluster that has nothing of ours, and those of the removal afterwards.
STEPS = {
    "dra": (["restart dra", "labels dra", "objects dra", "objects dra"], ["objects dra", "objects dra", "labels dra"]),
    "shared_device": (
        ["labels shared_device", "objects shared_device"],
        ["held", "objects shared_device", "labels shared_device"],
    ),
    "host_device": (
        ["labels host_device", "objects host_device"],
        ["held", "objects host_device", "labels host_device"],
    ),
    "inject": (["counters inject", "labels inject"], ["counters inject", "labels inject"]),
}
DEVICE_PLUGINS = ("shared_device", "host_device")


def plan(hosts: list[InventoryHost], cluster: ClusterState = EMPTY, **own: Any) -> cluster_plan.ClusterPlan:
    found = cluster_plan.cluster_plan(hosts, cluster, KNOWN, **own)
    assert found.problems == []
    return found


def removal(hosts: list[InventoryHost], cluster: ClusterState, *only: str) -> cluster_plan.ClusterPlan:
    return cluster_plan.removal(hosts, cluster, KNOWN, only)


def of_kind(steps: list[Step], kind: type[Step]) -> list[Any]:
    return [step for step in steps if step.kind == kind.kind]


@pytest.mark.parametrize("strategy", NEEDED)
def test_a_fleet_of_one_strategy(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", strategy), host(facts_of, "n2", strategy, node="v100-02")]
    found = plan(hosts)
    assert shape(found.steps) == STEPS[strategy][0]
    assert {step.part for step in found.steps if "claims" not in step.title} == {DRIVER}
    (labels,) = of_kind(found.steps, LabelsStep)
    assert {node: list(own) for node, own in labels.nodes.items()} == {
        "n1": [LABELS[strategy]],
        "n2": [LABELS[strategy]],
    }
    assert None not in [value for own in labels.nodes.values() for value in own.values()]
    for step in of_kind(found.steps, ObjectsStep):
        assert step.objects
        assert (step.prune, step.first, step.namespace) == (True, False, "kube-system")
    # Once more, the same: steps say what is wanted, not how far the cluster is.
    assert plan(hosts, provisioned(found)).steps == found.steps


def test_all_strategies_at_once(facts_of: Facts) -> None:
    found = plan(fleet(facts_of))
    drivers = [step for strategy in NEEDED for step in STEPS[strategy][0]]
    # What pods claim comes last: it is planned for all drivers.
    drivers.remove("objects dra")
    assert shape(found.steps) == [*drivers, "objects dra"]
    assert [step.part for step in found.steps] == [DRIVER] * len(drivers) + [CLAIMS]
    assert [step.name for step in of_kind(found.steps, ObjectsStep)] == [
        "zerocopy-rdma-driver",
        "zerocopy-rdma-shared-device",
        "zerocopy-rdma-host-device",
        "zerocopy-rdma-claims",
    ]
    # Every node has one label, and loses those of the other strategies.
    for step in of_kind(found.steps, LabelsStep):
        assert sum(value is not None for own in step.nodes.values() for value in own.values()) == 1
        assert set(step.nodes) == {"node-0", "node-1", "node-2", "node-3"}


@pytest.mark.parametrize("strategy", NEEDED)
def test_only_some_strategies(facts_of: Facts, strategy: str) -> None:
    assert shape(plan(fleet(facts_of), only=[strategy]).steps) == STEPS[strategy][0]


@pytest.mark.parametrize("strategy", NEEDED)
def test_nothing_where_no_group_has_a_strategy_and_the_cluster_has_nothing(facts_of: Facts, strategy: str) -> None:
    others = [name for name in NEEDED if name != strategy]
    assert plan([host(facts_of, "n1", "none")], only=[strategy]).steps == []
    found = plan([host(facts_of, "n1", others[0])])
    assert not [each for each in shape(found.steps) if each.endswith(f" {strategy}")]


def test_what_nobody_has_told_is_looked_for(facts_of: Facts) -> None:
    """A cluster of which nothing but its version is known."""
    found = plan([host(facts_of, "n1", "none")], UNKNOWN)
    assert shape(found.steps) == [
        "restart dra",
        "objects dra",
        "objects shared_device",
        "leftovers shared_device",
        "objects host_device",
        "leftovers host_device",
        "counters inject",
        "objects dra",
    ]
    assert [list(step.objects) for step in of_kind(found.steps, ObjectsStep)] == [[]] * 4
    gone = removal([host(facts_of, "n1", "none")], UNKNOWN)
    assert shape(gone.steps) == [
        "objects dra",
        "counters inject",
        "objects host_device",
        "leftovers host_device",
        "objects shared_device",
        "leftovers shared_device",
        "objects dra",
    ]


@pytest.mark.parametrize(
    ("strategy", "cluster", "expected"),
    [
        ("dra", {"parents": [("kube-system", "zerocopy-rdma-driver")]}, ["restart dra", "objects dra"]),
        ("dra", {"parents": [("kube-system", "zerocopy-rdma-claims")]}, ["objects dra"]),
        ("dra", {"labels": {"n1": {GROUP: "x"}}}, ["labels dra"]),
        ("shared_device", {"parents": [("kube-system", "zerocopy-rdma-shared-device")]}, ["objects shared_device"]),
        # The set of another run of ours.
        ("shared_device", {"parents": [("rdma", "zerocopy-rdma-shared-device")]}, []),
        ("shared_device", {"labels": {"n1": {HOST_DEVICE: "x"}, "n2": {SHARED: "x"}}}, []),
        ("shared_device", {"extended_resources": {"n1": ["rdma/rdma_gone"]}}, ["leftovers shared_device"]),
        ("shared_device", {"extended_resources": {"n1": ["nvidia.com/gpu"], "n2": ["rdma/rdma_gone"]}}, []),
        ("host_device", {"parents": [("kube-system", "zerocopy-rdma-host-device")]}, ["objects host_device"]),
        ("inject", {"counted": ["n1"]}, ["counters inject"]),
        ("inject", {"counted": ["n2"]}, []),
        ("inject", {"labels": {"n1": {INJECT: "x"}}}, ["labels inject"]),
    ],
)
def test_what_is_left_of_a_strategy_that_no_group_has(
    facts_of: Facts, strategy: str, cluster: dict[str, Any], expected: list[str]
) -> None:
    found = plan([host(facts_of, "n1", "none", group="gone")], replace(EMPTY, **cluster), only=[strategy])
    assert [each for each in shape(found.steps) if each != "held"] == expected
    for step in found.steps:
        assert not getattr(step, "objects", ())
        nodes = getattr(step, "nodes", {}) if not isinstance(step, (LeftoversStep, HeldCheck, RestartStep)) else {}
        assert not [value for own in nodes.values() for value in own.values() if value is not None]


@pytest.mark.parametrize("strategy", ["dra", *DEVICE_PLUGINS])
def test_a_driver_or_plugin_is_updated_before_nodes_join_it(facts_of: Facts, strategy: str) -> None:
    """Its pods start with the labels, and a configuration of before may offer NICs that a new node needs itself."""
    old = [host(facts_of, "n1", strategy), host(facts_of, "n3", strategy)]
    before = provisioned(plan(old))
    before = replace(before, labels={**before.labels, "n2": {}})
    joins = host(facts_of, "n2", strategy)
    own = [old[0], joins, host(facts_of, "n3", "none", group="other")]
    found = plan(own, before).steps
    steps = [step for step in found if step.part == DRIVER and not isinstance(step, (RestartStep, HeldCheck))]
    leave, *first, label, last = steps
    assert isinstance(leave, LabelsStep)
    assert isinstance(label, LabelsStep)
    assert isinstance(last, ObjectsStep)
    assert (leave.first, label.first) == (True, False)
    # The new configuration no longer fits the nodes that leave.
    assert leave.nodes == {"n3": {LABELS[strategy]: None}}
    (update,) = first
    # The same objects, without the wait for pods of nodes that have no label yet.
    assert isinstance(update, ObjectsStep)
    assert update == replace(last, title=update.title, first=True, prune=False, wait=False, kept=(), pools="")
    assert update.first
    assert not last.first
    assert last.prune
    assert label.nodes["n2"][LABELS[strategy]]


@pytest.mark.parametrize("strategy", NEEDED)
def test_nothing_comes_first_where_no_node_joins(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", strategy)]
    found = plan(hosts, provisioned(plan(hosts)))
    assert not [step for step in found.steps if getattr(step, "first", False)]


def test_pods_are_counted_before_nodes_get_their_labels(facts_of: Facts) -> None:
    """So that nothing changes on a node whose annotation cannot be read."""
    hosts = [host(facts_of, "n1", "inject"), host(facts_of, "n2", "none")]
    counters, labels = plan(hosts, replace(EMPTY, counted=["n2"])).steps
    assert isinstance(counters, CountersStep)
    assert isinstance(labels, LabelsStep)
    assert counters.nodes == {"n1": {"rdma.io/hca": 100}, "n2": {}}
    assert labels.after_counters
    # Pods may have it on nodes that leave, until they end.
    assert counters.keep_used
    for strategy in ("dra", *DEVICE_PLUGINS):
        assert not any(
            step.after_counters for step in of_kind(plan([host(facts_of, "n1", strategy)]).steps, LabelsStep)
        )


@pytest.mark.parametrize("strategy", DEVICE_PLUGINS)
def test_pods_that_hold_what_a_node_loses_are_looked_for_first(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", strategy), host(facts_of, "n2", strategy)]
    before = provisioned(plan(hosts))
    moved = [host(facts_of, "n1", "none", group=hosts[0].group), hosts[1]]
    first, *rest = plan(moved, before).steps
    assert isinstance(first, HeldCheck)
    assert list(first.nodes) == ["n1"]
    assert first.nodes["n1"]
    assert not of_kind(rest, HeldCheck)
    assert not of_kind(plan(hosts, before).steps, HeldCheck)


@pytest.mark.parametrize("strategy", DEVICE_PLUGINS)
def test_a_host_that_failed_loses_no_device(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", strategy), host(facts_of, "n2", strategy)]
    before = provisioned(plan(hosts))
    moved = [host(facts_of, "n1", "none", group=hosts[0].group), hosts[1]]
    assert list(plan(moved, before).leaving) == ["n1"]
    found = plan(moved, before, failed=["n1"])
    assert (found.leaving, of_kind(found.steps, HeldCheck)) == ({}, [])


@pytest.mark.parametrize("strategy", DEVICE_PLUGINS)
def test_the_fields_of_an_operator_come_between_labels_and_objects(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", strategy)]
    found = plan(hosts, replace(EMPTY, kinds=(POLICY,)), only=[strategy]).steps
    assert shape(found) == [f"{kind} {strategy}" for kind in ("labels", "fields", "objects")]
    (fields,) = of_kind(found, FieldsStep)
    assert fields.manager == f"zerocopy.rdma/kube-system/zerocopy-rdma-{strategy.replace('_', '-')}"
    assert fields.object["kind"] == "NicClusterPolicy"
    # Our own plugin needs no field of it, so that those of earlier runs are taken back.
    assert "spec" not in fields.object
    gone = removal(hosts, replace(EMPTY, kinds=(POLICY,)), strategy).steps
    assert shape(gone) == [f"fields {strategy}"]
    # Without its fields, but it has to be found.
    assert of_kind(gone, FieldsStep)[0].object == fields.object


def test_resources_that_were_left_behind(facts_of: Facts) -> None:
    cluster = replace(EMPTY, extended_resources={"n1": ["rdma/rdma_b"], "n2": ["rdma/rdma_b", "rdma/rdma_a"]})
    hosts = [host(facts_of, "n1", "shared_device", "a"), host(facts_of, "n2", "shared_device", "b")]
    found = plan(hosts, cluster).steps
    assert shape(found)[-1] == "leftovers shared_device"
    (step,) = of_kind(found, LeftoversStep)
    # What its own group has stays.
    assert (step.nodes, step.label, step.keep_used, step.served) == (
        {"n1": ["rdma/rdma_b"], "n2": ["rdma/rdma_a"]},
        SHARED,
        True,
        [],
    )
    (step,) = of_kind(plan(hosts, replace(cluster, labels={"n2": {SHARED: "b"}})).steps, LeftoversStep)
    assert step.served == ["n2"]
    # The same resources on other nodes are of other plugins: its nodes are known by their label until the end.
    gone, labels = removal(hosts, replace(cluster, labels={"n1": {SHARED: "a"}})).steps[-2:]
    assert isinstance(gone, LeftoversStep)
    assert (gone.nodes, gone.label, gone.keep_used) == (
        {"n1": ["rdma/rdma_b"], "n2": ["rdma/rdma_a", "rdma/rdma_b"]},
        SHARED,
        False,
    )
    assert isinstance(labels, LabelsStep)


@pytest.mark.parametrize("strategy", NEEDED)
def test_with_a_problem_nothing_is_done(facts_of: Facts, strategy: str) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "dra": {"rdma_driver_dranet_version": "1.3.0"},
        "shared_device": {"rdma_shared_device_prefix": "RDMA"},
        "host_device": {"rdma_host_device_networks": ["10.90.0.0"]},
        "inject": {"rdma_inject_resource": "hca"},
    }
    hosts = [*fleet(facts_of), host(facts_of, "n1", strategy, f"{strategy}-2".replace("_", "-"), **wrong[strategy])]
    found = cluster_plan.cluster_plan(hosts, EMPTY, KNOWN)
    assert found.problems
    assert (found.steps, found.manifests) == ([], [])


def test_claims_that_are_wrong_keep_drivers_away_as_well(facts_of: Facts) -> None:
    own: dict[str, Any] = {"rdma_claims_templates": [{"name": "one", "nics": "many"}]}
    found = cluster_plan.cluster_plan([host(facts_of, "n1", "dra", **own)], EMPTY, KNOWN)
    assert "rdma_claims_templates[0]" in found.problems[0]
    assert (found.steps, found.manifests) == ([], [])


@pytest.mark.parametrize("strategy", ["dra", *DEVICE_PLUGINS])
def test_nothing_is_pruned_as_long_as_a_host_is_unknown(facts_of: Facts, strategy: str) -> None:
    silent = replace(host(facts_of, "n2", strategy), facts=None)
    hosts = [host(facts_of, "n1", strategy)]
    sets = of_kind(plan([*hosts, silent], provisioned(plan(hosts)), only=[strategy]).steps, ObjectsStep)
    assert [step.prune for step in sets if step.part == DRIVER and not step.first] == [False]


def test_a_driver_starts_anew_where_the_kernel_was_changed(facts_of: Facts) -> None:
    hosts = [host(facts_of, "n1", "dra"), host(facts_of, "n2", "dra")]
    first, *_rest = plan(hosts, restarted=["n2"]).steps
    assert first == RestartStep(
        "Restart pods of the driver (dra)", DRIVER, "kube-system", "app.kubernetes.io/name=dranet", ["n2"], True
    )
    own: dict[str, Any] = {"rdma_wait": False, "rdma_driver_namespace": "rdma"}
    first, *_rest = plan([host(facts_of, "n1", "dra", **own)]).steps
    assert isinstance(first, RestartStep)
    assert (first.namespace, first.nodes, first.wait) == ("rdma", (), False)


def test_what_pods_use_stays(facts_of: Facts) -> None:
    sets = {step.name: step for step in of_kind(plan(fleet(facts_of)).steps, ObjectsStep)}
    assert "NetworkAttachmentDefinition" in sets["zerocopy-rdma-host-device"].kept
    assert sets["zerocopy-rdma-host-device"].rejectable == ("SriovNetworkNodePolicy",)
    gone = {step.name: step for step in of_kind(removal(fleet(facts_of), UNKNOWN).steps, ObjectsStep)}
    assert {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate"} <= set(gone["zerocopy-rdma-claims"].kept)
    assert "NetworkAttachmentDefinition" in gone["zerocopy-rdma-host-device"].kept
    assert {step.wait for step in gone.values()} == {True}


def test_pools_of_addresses(facts_of: Facts) -> None:
    """With a whereabouts of the site, the pools may be those of others; the removal takes those of its namespace."""
    own = {"rdma_host_device_namespace": "rdma"}
    for deploy in (True, False):
        hosts = [host(facts_of, "n1", "host_device", rdma_host_device_whereabouts_deploy=deploy, **own)]
        (step,) = of_kind(plan(hosts).steps, ObjectsStep)
        assert step.pools == ("rdma" if deploy else "")
        (step,) = of_kind(removal(hosts, UNKNOWN, "host_device").steps, ObjectsStep)
        assert step.pools == "rdma"
    assert {step.pools for step in of_kind(removal(hosts, UNKNOWN, "dra").steps, ObjectsStep)} == {""}


@pytest.mark.parametrize("strategy", NEEDED)
def test_the_removal_of_one_strategy(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", strategy)]
    state = provisioned(plan(hosts))
    found = removal(hosts, state)
    assert found.problems == []
    assert shape(found.steps) == STEPS[strategy][1]
    # The next run finds the nodes by this label.
    last = found.steps[-1]
    assert isinstance(last, LabelsStep)
    assert last.nodes == {"n1": {LABELS[strategy]: None}}
    assert removal(hosts, EMPTY).steps == []
    assert [list(step.objects) for step in of_kind(found.steps, ObjectsStep)] == [[]] * shape(found.steps).count(
        f"objects {strategy}"
    )


def test_everything_is_removed_in_the_opposite_order(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    state = provisioned(plan(hosts))
    found = removal(hosts, state).steps
    assert shape(found) == [
        "held",
        "objects dra",
        "counters inject",
        "labels inject",
        "objects host_device",
        "labels host_device",
        "objects shared_device",
        "labels shared_device",
        "objects dra",
        "labels dra",
    ]
    # What pods claim goes before the drivers.
    assert [step.part for step in found] == [DRIVER, CLAIMS, *[DRIVER] * 8]
    (held,) = of_kind(found, HeldCheck)
    assert set(held.nodes) == {"node-1", "node-2"}
    # No pod may have the resource any more, and every annotation has to be readable.
    (counters,) = of_kind(found, CountersStep)
    assert (counters.nodes, counters.keep_used) == ({"node-3": {}}, False)
    assert shape(removal(hosts, state, "dra").steps) == STEPS["dra"][1]


def test_no_driver_is_removed_whose_devices_pods_hold(facts_of: Facts) -> None:
    hosts = [host(facts_of, "n1", "dra")]
    state = replace(provisioned(plan(hosts)), held={"dra.net": {"n1": ["llm/prefill"]}})
    (problem,) = removal(hosts, state).problems
    assert problem.startswith(
        "n1: zerocopy.rdma.node-restriction.kubernetes.io/group is 'dra', and pods hold devices of dra.net on this node"
    )
    assert "llm/prefill" in problem


def test_manifests(facts_of: Facts) -> None:
    found = {each.name: each for each in plan(fleet(facts_of)).manifests}
    assert list(found) == [
        "node-labels.yml",
        "10-driver.yml",
        "node-labels-shared-device.yml",
        "10-shared-device.yml",
        "node-labels-host-device.yml",
        "10-host-device.yml",
        "node-labels-inject.yml",
        "20-claims.yml",
    ]
    for name, each in found.items():
        assert each.objects
        assert each.comment == (cluster_plan.LABELS_COMMENT if name.startswith("node-labels") else "")
    assert all(line.startswith("# ") for line in cluster_plan.LABELS_COMMENT.splitlines())
    # Those of earlier runs are removed.
    gone = plan([host(facts_of, "n1", "none")]).manifests
    assert [each.name for each in gone] == list(found)
    assert not [each.name for each in gone if each.objects]


def test_what_pods_can_claim_is_told(facts_of: Facts) -> None:
    found = plan([host(facts_of, "n1", "dra")])
    assert "one" in found.text
    assert (found.unmet, found.unprepared) == ({}, {})
    assert plan([host(facts_of, "n1", "inject")]).text == ""


def test_a_host_that_is_not_prepared_keeps_its_label_and_the_others_go_on(facts_of: Facts) -> None:
    hosts = [host(facts_of, name, "dra") for name in ("n1", "n2")]
    failed = plan(hosts, failed=["n1"])
    assert [list(step.nodes) for step in of_kind(failed.steps, LabelsStep)] == [["n2"]]
    assert hosts[0].facts is not None
    hosts[0].facts.system.nri = False
    labels = {"n1": {GROUP: "other"}, "n2": {GROUP: "other"}}
    for prepared, nodes in ((True, ["n2"]), (False, ["n1", "n2"])):
        found = plan(hosts, replace(EMPTY, labels=labels), prepared=prepared)
        assert [sorted(step.nodes) for step in of_kind(found.steps, LabelsStep)] == [nodes]
        manifest = next(each for each in found.manifests if each.name == "node-labels.yml")
        assert [item["metadata"]["name"] for item in manifest.objects] == nodes
        assert list(found.unprepared) == ["n1"]
        assert any(text.startswith("n1: left as it is") for text in found.warnings) is prepared


@pytest.mark.parametrize("strategy", NEEDED)
def test_a_host_that_failed_keeps_what_it_has_of_another_strategy(facts_of: Facts, strategy: str) -> None:
    hosts = [host(facts_of, "n1", "none"), host(facts_of, "n2", "none")]
    labels = {name: {LABELS[strategy]: "a"} for name in ("n1", "n2")}
    cluster = replace(provisioned(plan([host(facts_of, "n1", strategy)])), labels=labels)
    found = plan(hosts, cluster, only=[strategy], failed=["n1"])
    assert [list(step.nodes) for step in of_kind(found.steps, LabelsStep)] == [["n2"]]
    assert not any("n1" in step.nodes for step in found.steps if hasattr(step, "nodes"))
    # Its driver or plugin stays with its label.
    own = [step for step in of_kind(found.steps, ObjectsStep) if step.part == DRIVER]
    assert [step.prune for step in own] == [False] * len(own)


@pytest.mark.parametrize(
    ("strategy", "own"),
    [("dra", {"prepared": True}), *((strategy, {"failed": ["n1"]}) for strategy in ("dra", *DEVICE_PLUGINS))],
)
def test_a_host_that_stays_keeps_what_its_label_selects(facts_of: Facts, strategy: str, own: dict[str, Any]) -> None:
    """It would go to another group of the same strategy, but has failed, or is not prepared."""
    before = [host(facts_of, "n1", strategy, group="h100"), host(facts_of, "n2", strategy, group="v100")]
    cluster = provisioned(plan(before))
    after = [host(facts_of, "n1", strategy, group="v100"), before[1]]
    assert after[0].facts is not None
    after[0].facts.system.nri = strategy != "dra"
    for options, prune in ((own, False), ({}, True)):
        steps = of_kind(plan(after, cluster, **options).steps, ObjectsStep)
        assert {step.prune for step in steps if step.part == DRIVER and not step.first} == {prune}


def test_an_operators_plugin_on_a_node_outside_the_inventory_is_in_use(facts_of: Facts) -> None:
    """No DaemonSet of ours has it."""
    kinds = replace(EMPTY, kinds=(POLICY, "NicNodePolicy.mellanox.com"))
    own = {"rdma_shared_device_provider": "network_operator"}
    before = [host(facts_of, name, "shared_device", group=name, **own) for name in ("gone", "n2")]
    cluster = provisioned(plan(before, kinds), kinds)
    assert list(plan(before[1:], cluster).leaving) == ["gone"]
    (held,) = of_kind(removal(before[1:], cluster, "shared_device").steps, HeldCheck)
    assert sorted(held.nodes) == ["gone", "n2"]


def test_removal_takes_the_labels_of_nodes_that_left_the_inventory(facts_of: Facts) -> None:
    cluster = replace(EMPTY, labels={"n1": {SHARED: "a"}, "gone": {SHARED: "b"}, "other": {}})
    (labels,) = of_kind(removal(fleet(facts_of), cluster, "shared_device").steps, LabelsStep)
    assert labels.nodes["gone"] == {SHARED: None}
    assert "other" not in labels.nodes


def test_labels_from_before_the_first_release_go_last(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    old = "zerocopy.rdma/"
    labels = {
        "node-0": {f"{old}group": "dra", f"{old}other": "x"},
        "node-1": {GROUP: "x"},
        "away": {f"{old}inject": "x"},
    }
    cluster = replace(EMPTY, labels=labels)
    last = plan(hosts, cluster).steps[-1]
    assert isinstance(last, LabelsStep)
    # A node that is not in the inventory is left alone until everything goes.
    assert last.nodes == {"node-0": {f"{old}group": None}}
    assert plan(hosts, cluster, failed=["node-0"]).steps[-1] != last
    gone = removal(hosts, cluster).steps[-1]
    assert isinstance(gone, LabelsStep)
    assert gone.nodes == {"node-0": {f"{old}group": None}, "away": {f"{old}inject": None}}
    assert [step.title for step in plan(hosts).steps if "earlier" in step.title] == []
