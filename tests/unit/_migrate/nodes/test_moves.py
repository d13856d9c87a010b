# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How far nodes are that change their strategy, which is read from nothing but the cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Callable

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import IN_POD, Excluded, Reason
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import components
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import moves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.moves import MoveOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import Mark, NodeUse, User
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState

Facts = Callable[..., dict[str, Any]]
GROUP, SHARED = (
    "zerocopy.rdma.node-restriction.kubernetes.io/group",
    "zerocopy.rdma.node-restriction.kubernetes.io/shared-device",
)
DRA, PLUGIN = registry.STRATEGIES["dra"], registry.STRATEGIES["shared_device"]
POD = User("llm", "decode-0", "u1", "rdma/hca", "StatefulSet llm/decode", "StatefulSet")
OLD = NodeUse("n1", {SHARED: "h100"}, resources={"rdma/hca": 63}, users=[POD])
MARK = Mark("dra", False, {SHARED: "h100", GROUP: None}, {"rdma.io/hca": 100}, "shared")


def host(name: str = "n1", strategy: str = "dra") -> InventoryHost:
    return InventoryHost(name, "h100", {"rdma_strategy": strategy})


def test_the_state_of_a_node_is_what_the_cluster_shows() -> None:
    cordoned = replace(OLD, mark=MARK, unschedulable=True)
    left = replace(cordoned, labels={}, users=[], resources={})
    switched = replace(left, labels={GROUP: "h100"})
    on_its_way = [OLD, cordoned, replace(cordoned, users=[]), left, switched, replace(switched, mark=None)]
    states = [moves.TODO, moves.CORDONED, moves.DRAINED, moves.LEFT, moves.SWITCHED, moves.DONE]
    assert [moves.state(node, DRA) for node in on_its_way] == states
    # Somebody uncordoned it meanwhile.
    assert moves.state(replace(cordoned, unschedulable=False), DRA) == moves.TODO
    # The inventory was changed back: the same nodes go the other way from where they are.
    back = [moves.DONE, moves.SWITCHED, moves.SWITCHED, moves.LEFT, moves.DRAINED, moves.TODO]
    assert [moves.state(node, PLUGIN) for node in on_its_way] == back
    assert moves.state(left, registry.STRATEGIES["none"]) == moves.SWITCHED


def test_what_was_begun_comes_first() -> None:
    names = [f"n{number}" for number in range(1, 5)]
    uses = {name: replace(OLD, name=name) for name in names}
    uses["n3"] = replace(uses["n3"], mark=MARK, unschedulable=True)
    uses["n4"] = NodeUse("n4", {GROUP: "h100"})
    found = moves.plan([host(name) for name in names], uses, names, MoveOptions(ramp=[1, 2]))
    assert found.waves == [["n3"], ["n1", "n2"]]
    assert (found.problems, found.rest) == ([], [])
    text = moves.text(found)
    assert "  n3: shared_device to dra (begun: cordoned)" in text
    assert "    end pod llm/decode-0 (StatefulSet llm/decode): rdma/hca" in text
    assert "Nothing to do: n4" in text
    part = moves.plan([host(name) for name in names], uses, ["n1"], MoveOptions())
    assert (part.waves, part.rest) == ([["n1"]], ["n2", "n3"])


@pytest.mark.parametrize(
    ("user", "evict", "said"),
    [
        (replace(POD, owner="", owner_kind=""), "managed", "no controller would recreate it elsewhere"),
        (replace(POD, owner="", owner_kind=""), "all", ""),
        (replace(POD, owner="", owner_kind=""), "none", ""),
        (replace(POD, owner_kind="DaemonSet"), "all", "pods of this kind come back at once"),
        (replace(POD, owner_kind="Node"), "none", "pods of this kind come back at once"),
    ],
)
def test_pods_that_stop_a_move(user: User, evict: str, said: str) -> None:
    found = moves.plan([host()], {"n1": replace(OLD, users=[user])}, ["n1"], MoveOptions(evict))
    assert [said in problem for problem in found.problems] == ([True] if said else [])


def test_a_plugin_of_somebody_else_stops_a_move_unless_labels_keep_it_away() -> None:
    node = NodeUse("n1", plugins=["kube-system/rdma-shared-dp"])
    (said,) = moves.plan([host()], {"n1": node}, ["n1"], MoveOptions()).problems
    assert said.startswith(
        "n1: DaemonSet kube-system/rdma-shared-dp, which somebody else has deployed, hands out NICs here"
    )
    found = moves.plan([host()], {"n1": node}, ["n1"], MoveOptions(off={"example.org/rdma": None}))
    assert found.problems == []
    assert found.nodes[0].off == {
        SHARED: None,
        "zerocopy.rdma.node-restriction.kubernetes.io/host-device": None,
        "zerocopy.rdma.node-restriction.kubernetes.io/inject": None,
        "example.org/rdma": None,
    }
    assert moves.plan([host()], {}, ["n1"], MoveOptions()).problems == [
        "n1: the cluster has no node of this name: join the node to the cluster, give host and node the same name, or"
        " remove the host from its group"
    ]


def test_a_resource_of_an_unknown_plugin_stops_a_move_before_it_begins() -> None:
    """It would be noticed otherwise when the pods have been evicted, and nothing that a move does takes it away."""
    node = NodeUse("n1", resources={"rdma/a": 63, "rdma/left": 0, "rdma.io/hca": 100}, counters={"rdma.io/hca": 100})
    (said,) = moves.plan([host()], {"n1": node}, ["n1"], MoveOptions()).problems
    assert said.startswith("n1: the node advertises rdma/a, but runs no known device plugin: remove whatever")
    assert moves.plan([host()], {"n1": node}, ["n1"], MoveOptions(off={"example.org/rdma": None})).problems == []
    # Of a node with a plugin of ours it may be that plugin's, and one whose move has begun goes on, or back.
    for other in (OLD, replace(node, mark=MARK, unschedulable=True)):
        assert moves.plan([host()], {"n1": other}, ["n1"], MoveOptions()).problems == []


def test_plugins_of_others_are_named_with_what_removes_them() -> None:
    image = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"

    def daemon_set(
        name: str, image: str = image, selector: Any = None, affinity: Any = None, **meta: Any
    ) -> dict[str, Any]:
        template = {"spec": {"containers": [{"name": "c", "image": image}], "nodeSelector": selector or {}}}
        if affinity:
            terms = {"nodeSelectorTerms": [{"matchExpressions": affinity}]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            template["spec"]["affinity"] = {"nodeAffinity": required}
        status = {"desiredNumberScheduled": 2}
        return {
            "metadata": {"namespace": "net", "name": name, **meta},
            "spec": {"template": template},
            "status": status,
        }

    helm = {"meta.helm.sh/release-name": "rdma", "meta.helm.sh/release-namespace": "net"}
    policy = {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "name": "nic", "controller": True}
    argo = {"argocd.argoproj.io/tracking-id": "fabric:apps/DaemonSet:net/c"}
    items = [
        daemon_set("a", annotations=helm),
        daemon_set("b", ownerReferences=[policy]),
        daemon_set("c", annotations={**helm, **argo}),
        daemon_set("d"),
        daemon_set("ours", selector={SHARED: "h100"}),
        # Where ours is not.
        daemon_set("e", affinity=[{"key": SHARED, "operator": "DoesNotExist"}]),
        daemon_set("ours-too", affinity=[{"key": SHARED, "operator": "Exists"}]),
        daemon_set("other", "registry.example.org/agent:v1"),
    ]
    found = list(components.plugins(items, [SHARED]))
    assert {one.daemon_set: one.remove for one in found} == {
        "net/a": "helm uninstall rdma --namespace net",
        "net/b": "take it out of NicClusterPolicy nic (kubectl edit nicclusterpolicy nic)",
        "net/c": "take it out of Argo CD application fabric",
        "net/d": "kubectl delete daemonset d --namespace net",
        "net/e": "kubectl delete daemonset e --namespace net",
    }
    text = moves.text(moves.plan([host()], {"n1": OLD}, ["n1"], MoveOptions()), found[:1])
    assert text.splitlines()[-2:] == [
        "Device plugins that others have deployed are never removed. Remove them when no node needs them any more:",
        "  DaemonSet net/a (k8s-rdma-shared-dev-plugin, on 2 nodes): helm uninstall rdma --namespace net",
    ]


@pytest.mark.parametrize(
    "written",
    [
        *("", "[]", "{}", "[" * 100000, '{"to": "dra", "unschedulable": 1, "labels": {}, "counters": {}}'),
        *('{"to": "dra", "labels": {"a": 1}}', '{"to": "dra", "unschedulable": false, "labels": {}, "counters": []}'),
        '{"to": "dra", "unschedulable": false, "labels": {}, "counters": {}, "netns_mode": "Y"}',
    ],
)
@pytest.mark.parametrize("signed", [False, True])
def test_an_annotation_of_somebody_else_is_refused(written: str, signed: bool) -> None:
    meta = {"name": "n1", "annotations": {node_use.ANNOTATION: written}}
    # Whether it has the label of the digest or not, and be it the right one.
    meta["labels"] = {node_use.DIGEST: node_use.digest(written)} if signed else {}
    found = node_use.of_node({"metadata": meta}, [], {}, [])
    (said,) = found.broken
    assert (found.mark, len(said) < 700) == (None, True)
    assert said.startswith(f"n1: annotation zerocopy.rdma/move is '{written[:10]}")
    label = node_use.DIGEST
    assert said.endswith(
        f"it must be JSON that a move has written, with its digest in the label {label}: remove both if no run is"
        f" moving the node (kubectl annotate node n1 zerocopy.rdma/move- && kubectl label node n1 {label}-)"
    )


def test_each_annotation_that_cannot_be_read_is_named() -> None:
    meta: dict[str, Any] = {"name": "n1", **MARK.metadata()}
    meta["annotations"][counters.ANNOTATION] = "100"
    found = node_use.of_node({"metadata": meta}, [], {}, [])
    assert (found.mark, found.counters) == (MARK, {})
    assert found.broken == [
        "n1: annotation zerocopy.rdma/counters is '100', it must be JSON with the number of each resource that this"
        " collection has written to the node: remove it (kubectl annotate node n1 zerocopy.rdma/counters-)"
    ]
    meta["annotations"] = {node_use.ANNOTATION: "", counters.ANNOTATION: "[]"}
    assert len(node_use.of_node({"metadata": meta}, [], {}, []).broken) == 2


def test_an_annotation_that_cannot_be_read_stops_the_move_of_its_own_node_only() -> None:
    names, broken = ["n1", "n2"], replace(OLD, name="n2", broken=["n2: annotation"])
    uses = {"n1": replace(OLD, name="n1"), "n2": broken}
    found = moves.plan([host(name) for name in names], uses, ["n1"], MoveOptions())
    assert (found.waves, found.rest, found.broken, found.problems) == ([["n1"]], [], ["n2: annotation"], [])
    # Its old strategy may be what it has to go back to.
    assert moves.text(found).splitlines()[-2:] == [
        "The progress of these nodes cannot be determined, so the objects of the old strategy stay:",
        "  n2: annotation",
    ]
    found = moves.plan([host(name) for name in names], uses, names, MoveOptions())
    assert (found.waves, found.refused, found.problems) == ([["n1"]], {"n2": ["n2: annotation"]}, [])
    assert moves.text(found).splitlines()[-1] == "  n2: annotation"
    # A node that is not in the inventory is nobody's.
    assert moves.plan([host("n1")], uses, ["n1"], MoveOptions()).broken == []


def test_a_mark_comes_back_as_it_was_written() -> None:
    assert node_use.mark("n1", **MARK.metadata()) == MARK
    assert node_use.mark("n1", {}, {}) is None
    node = replace(OLD, mark=MARK, plugins=[], counters={"rdma.io/hca": 100}, broken=["n1: annotation"])
    assert node_use.read(json.loads(json.dumps(node_use.written(node)))) == node


def pod(name: str, owner: str = "ReplicaSet", image: str = "vllm", **spec: Any) -> dict[str, Any]:
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": name, "controller": True}] if owner else []
    container = {"name": "c", "image": image, **spec.pop("container", {})}
    meta = {"namespace": "llm", "name": name, "uid": name, "ownerReferences": owners}
    return {"metadata": meta, "spec": {"containers": [container], **spec}, "status": {"phase": "Running"}}


def test_which_pods_use_the_nics_of_a_node() -> None:
    limits = {"resources": {"limits": {"rdma/hca": "1"}}}
    devices: dict[str, Any] = {
        "container": {"volumeMounts": [{"name": "devs", "mountPath": "/dev/infiniband"}]},
        "volumes": [{"name": "devs", "hostPath": {"path": "/dev/infiniband"}}],
    }
    items = [
        pod("asks", container=limits),
        {**pod("ended", container=limits), "status": {"phase": "Succeeded"}},
        pod("claims", resourceClaims=[{"name": "nic"}]),
        pod("other"),
        pod("agent", "DaemonSet", hostNetwork=True),
        pod("ours", "DaemonSet", nodeSelector={SHARED: "h100"}, **devices),
        # They find their nodes by the same label, but what asks for NICs does not hand them out.
        pod("every-node", "DaemonSet", nodeSelector={SHARED: "h100"}, container=limits),
        pod("claims-too", "DaemonSet", nodeSelector={SHARED: "h100"}, resourceClaims=[{"name": "nic"}]),
        # Their label is no DaemonSet's.
        pod("picky", nodeSelector={SHARED: "h100"}, container=limits),
        pod("theirs", "DaemonSet", "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"),
        pod("alone", "", container=limits),
        pod("checked", image="registry.example.org/llm/healthcheck:v1", container=limits),
    ]
    held = {"llm/claims": "dra.net", "llm/claims-too": "dra.net"}
    found, plugins = node_use.users(items, held, [SHARED, GROUP])
    assert {user.name: user.why for user in found} == {
        "asks": "rdma/hca",
        "claims": "holds devices of dra.net",
        "every-node": "rdma/hca",
        "claims-too": "holds devices of dra.net",
        "picky": "rdma/hca",
        "alone": "rdma/hca",
        "checked": "rdma/hca",
    }
    assert [user.owner for user in found if user.name in ("asks", "alone")] == ["ReplicaSet llm/asks", ""]
    assert plugins == ["llm/theirs"]


def test_pods_that_get_devices_by_an_annotation_use_the_nics() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    items = [pod("asks", container=limits), pod("other", container=limits)]
    items[0]["metadata"]["annotations"] = {"rdma.zerocopy.io/nics": "nearest"}
    items[1]["metadata"]["annotations"] = {"rdma.zerocopy.io/nics": "none"}
    found, _plugins = node_use.users(items, {}, [SHARED, GROUP])
    assert [(user.name, user.why) for user in found] == [("asks", "devices by an annotation")]


def test_to_and_from_injection() -> None:
    inject, label = registry.STRATEGIES["inject"], "zerocopy.rdma.node-restriction.kubernetes.io/inject"
    assert moves.state(OLD, inject) == moves.TODO
    had = NodeUse("n1", {label: "h100"}, counters={"rdma.io/hca": 100})
    assert moves.state(had, inject) == moves.DONE
    found = moves.plan([host()], {"n1": had}, ["n1"], MoveOptions())
    (node,) = found.nodes
    assert (found.problems, node.was, node.away, node.off[label]) == ([], "inject", "inject", None)
    left = replace(had, labels={}, mark=Mark("dra", False, {label: "h100"}), unschedulable=True)
    (node,) = moves.plan([host()], {"n1": left}, ["n1"], MoveOptions()).nodes
    assert (node.state, node.was) == (moves.LEFT, "inject")


def test_what_a_node_shows_with_injection(facts_of: Facts) -> None:
    facts = read.facts(facts_of("v100-01"))
    hosts = [InventoryHost("n1", "v100", {"rdma_strategy": "inject"}, facts)]
    found = moves.objects(hosts, {"n1": OLD}, ["n1"], ClusterState(), variables.options_of())
    assert (found.problems, found.sets) == ([], [])
    assert found.labels == {"n1": {"zerocopy.rdma.node-restriction.kubernetes.io/inject": "v100"}}
    assert found.counters == {"n1": {"rdma.io/hca": 100}}
    assert {group: [(one.name, *one.hosts) for one in requests] for group, requests in found.requests.items()} == {
        "v100": [("nearest", "n1")]
    }
    more = [*hosts, replace(hosts[0], name="n2")]
    only = moves.objects(more, {"n1": OLD, "n2": OLD}, ["n1"], ClusterState(), variables.options_of())
    assert [list(one.hosts) for one in only.requests["v100"]] == [["n1"]]
    # A program of the node does it, and no pod.
    assert found.status == {"n1": {"pods": False, "drivers": [], "resources": {"rdma.io/hca": 100}}}
    other = [InventoryHost("n1", "v100", {"rdma_strategy": "shared_device"}, facts)]
    found = moves.objects(other, {"n1": OLD}, ["n1"], ClusterState(), variables.options_of())
    assert (found.counters, found.status["n1"]["pods"]) == ({"n1": {}}, True)


def test_nics_in_pods_tell_a_device_plugin_nothing(facts_of: Facts) -> None:
    """Synthesised: one port of a recorded node is in a pod."""
    facts = read.facts(facts_of("v100-01"))
    entry = facts.usable.pop()
    facts.excluded.append(Excluded(entry.hca, entry.port, [Reason(IN_POD, "")]))
    hosts = [InventoryHost("n1", "v100", {"rdma_strategy": "shared_device"}, facts)]
    uses = {"n1": NodeUse("n1", {GROUP: "v100"})}
    assert moves.plannable(hosts, uses) == []
    assert moves.plannable(hosts, uses, ["n1"]) == hosts
    dra = [InventoryHost("n1", "v100", {"rdma_strategy": "dra"}, facts)]
    assert moves.plannable(dra, {"n1": NodeUse("n1", {SHARED: "v100"})}) == dra


@pytest.mark.parametrize("left", [{}, {"rest": ["n2"]}, {"broken": ["n2: annotation"]}, {"refused": {"n2": ["n2: x"]}}])
def test_when_the_objects_of_the_old_strategy_go(left: dict[str, Any]) -> None:
    assert moves.MovePlan(**left).last is not bool(left)


_SET = {"changed": True, "netns_mode": "exclusive"}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        # It failed before anything was prepared.
        ({"__rdma_migrate_netns": "shared", "__rdma_migrate_begun": False}, False),
        ({"__rdma_migrate_netns": "shared", "__rdma_migrate_begun": False, "rdma_kernel_result": _SET}, True),
        # The run that was killed changed it.
        ({"__rdma_migrate_netns": "shared", "__rdma_migrate_begun": True}, True),
        ({"__rdma_migrate_netns": "shared", "rdma_kernel_result": {**_SET, "changed": False}}, True),
        ({"__rdma_migrate_netns": "", "__rdma_migrate_begun": True, "rdma_kernel_result": _SET}, False),
    ],
)
def test_when_the_netns_mode_is_put_back(known: dict[str, Any], expected: bool) -> None:
    put_back, stop, *_rest = yaml.safe_load((variables.ROLES / "rdma_migrate" / "tasks" / "move_back.yml").read_text())
    environment = NativeEnvironment()
    environment.filters["bool"] = bool
    assert all(environment.compile_expression(one)(**known) for one in put_back["when"]) is expected
    # Another option may need a reboot as well, which is no reason to keep the node.
    reboots = environment.compile_expression(stop["when"])
    for now, stops in (("shared", False), ("exclusive", True), (None, False)):
        result = {"reboot_required": True, "netns_mode": now}
        assert reboots(**{**known, "__rdma_migrate_netns": "shared", "rdma_kernel_result": result}) is stops


def test_a_wave_in_which_another_node_fails() -> None:
    """All of its nodes come to ``rescue``, without a failed task of their own, and may have moved already."""
    (block,) = yaml.safe_load((variables.ROLES / "rdma_migrate" / "tasks" / "move.yml").read_text())
    (done,) = [task for task in block["block"] if task.get("register")]
    assert done["zerocopy.rdma.node_move"]["step"] == "done"
    back, stop = block["rescue"]
    environment = NativeEnvironment()
    environment.filters["bool"], environment.tests["failed"] = bool, lambda result: result["failed"]
    for result, stays in (({}, False), ({"failed": True}, False), ({"failed": False}, True)):
        known = {done["register"]: result} if result else {}
        for conditions in (back["when"], [stop["when"]]):
            assert all(environment.compile_expression(one)(**known) for one in conditions) is not stays
    why = environment.from_string(stop["vars"]["__why"])
    assert why.render(__own="") == "Another node of its wave failed."
    assert why.render(__own="'Verify' failed.", ansible_failed_task={"name": "Verify"}) == "'Verify' failed."
