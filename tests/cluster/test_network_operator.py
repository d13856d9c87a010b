# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Groups whose device plugins NVIDIA's Network Operator runs, on a real API server that knows its kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.modules import cluster_apply
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, actions, pod_spec, workload
from ansible_collections.zerocopy.rdma.tests.cluster.network_operator import definitions
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

SHARED, NICS = "Apply the objects (shared_device)", "Apply the objects (host_device)"
POLICY = "nic-cluster-policy"
# The groups that the operator serves, and a node that it does not.
FLEET = ("v100-01", "v100-02", "a100-01", "a100-02", "h100-01")
IDENTITY: Object = {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "metadata": {"name": POLICY}}
# What a site has in its policy: a component that is none of ours, beside one that is.
PLUGINS = {"image": "plugins", "repository": "example.org/site", "version": "v1.5.0"}
SITES = {"secondaryNetwork": {"cniPlugins": PLUGINS}}
MULTUS = {"image": "multus-cni", "repository": "example.org/ours", "version": "v4.2.2"}

Install = Callable[[bool], None]


@pytest.fixture(name="install")
def make_install(cluster_set: ClusterSet, tmp_path: Path) -> Iterator[Install]:
    """Defines the operator's kinds, with NicNodePolicy or without, until the end of the test."""
    name = "operator"

    def install(node_policies: bool) -> None:
        done = cluster_set(name=name, objects=definitions(tmp_path, node_policies))
        assert set(actions(done).values()) == {"created"}

    yield install
    if there(cluster_set, "crd") >= {"customresourcedefinition.apiextensions.k8s.io/nicclusterpolicies.mellanox.com"}:
        cluster_set.kubectl("delete", "nicclusterpolicies", "--all")
    gone = cluster_set(name=name, state="absent", wait=True)
    assert set(actions(gone).values()) == {"pruned"}


def groups(namespace: str, **own: Any) -> Dict[str, Any]:
    """Two strategies in one fleet, both by the operator."""
    return {
        "v100": {
            "rdma_strategy": "shared_device",
            "rdma_shared_device_provider": "network_operator",
            "rdma_claims_templates": [],
            **own,
        },
        "a100": {
            "rdma_strategy": "host_device",
            "rdma_claims_templates": [],
            "rdma_host_device_networks": ["10.110.0.0/24"],
            "rdma_host_device_namespaces": [namespace],
            "rdma_host_device_prefix": "nvidia.com",
            **own,
        },
    }


def policy(cluster_set: ClusterSet) -> Object:
    """What the policy has, without a default of newer releases of the operator."""
    text = json.dumps(cluster_set.get("nicclusterpolicies", POLICY).get("spec", {}))
    spec: Object = json.loads(text.replace('"imagePullSecrets": [], ', ""))
    return spec


def there(cluster_set: ClusterSet, *kinds: str) -> set[str]:
    return set(cluster_set.kubectl("get", ",".join(kinds), "-o", "name").split())


@pytest.fixture(name="fields")
def make_fields(
    cluster_set: ClusterSet, run_module: Callable[..., Object], control_plane: Any
) -> Callable[..., Object]:
    """Carries out a step for fields of the policy, or without a ``spec`` takes them back."""

    def call(spec: Object | None, manager: str = "ours", without: Sequence[str] = (), **options: Any) -> Object:
        wanted = {**IDENTITY, **({} if spec is None else {"spec": spec})}
        step = {"kind": "fields", "title": "Fields", "part": "driver", "object": wanted, "manager": manager}
        steps = [{**step, "without": list(without)}]
        done = run_module(cluster_apply, kubeconfig=str(control_plane.kubeconfig), steps=steps, **options)
        return {**done.get("steps", [{}])[0], **done}

    return call


def test_fields_of_others_are_left_alone(
    cluster_set: ClusterSet, install: Install, fields: Callable[..., Object]
) -> None:
    assert not fields(None)["changed"]
    install(False)
    ours, both = ({"secondaryNetwork": {**site, "multus": MULTUS}} for site in ({}, {"cniPlugins": PLUGINS}))
    assert not fields(None)["changed"]
    predicted = fields(ours, _ansible_check_mode=True, _ansible_diff=True)
    assert there(cluster_set, "nicclusterpolicies") == set()
    done = fields(ours, _ansible_diff=True)
    assert (actions(done), done["diff"]) == (actions(predicted), predicted["diff"])
    assert policy(cluster_set) == ours
    cluster_set.patch("nicclusterpolicies", POLICY, {"spec": SITES})
    assert not fields(ours)["changed"]
    # Of the same manager, what is not given any more goes; nothing else does.
    other = {"rdmaSharedDevicePlugin": {**MULTUS, "config": "{}"}}
    assert fields(other)["changed"]
    assert policy(cluster_set) == {**SITES, **other}
    said = fields({"rdmaSharedDevicePlugin": {**MULTUS, "config": "[]"}}, "another")["msg"]
    assert ".spec.rdmaSharedDevicePlugin.config belongs to ours; it was not changed" in said
    said = fields(ours, without=["spec.secondaryNetwork.cniPlugins"])["msg"]
    assert "spec.secondaryNetwork.cniPlugins belongs to somebody; the object was not changed" in said
    assert policy(cluster_set) == {**SITES, **other}
    assert fields(ours, "another")["changed"]
    assert actions(fields(None)) == {f"NicClusterPolicy {POLICY}": "configured"}
    assert policy(cluster_set) == both
    said = fields({"unknown": 1})["msg"]
    assert ".spec.unknown: field not declared in schema" in said
    assert fields(None, "another")["changed"]
    assert policy(cluster_set) == SITES
    assert not fields(None, "another")["changed"]


def test_a_policy_of_which_nobody_has_anything_goes(
    cluster_set: ClusterSet, install: Install, fields: Callable[..., Object]
) -> None:
    install(False)
    for manager, name in (("one", "rdmaSharedDevicePlugin"), ("two", "sriovDevicePlugin")):
        assert fields({name: {**MULTUS, "config": "{}"}}, manager)["changed"]
    # Of its controller, whose status goes with it.
    cluster_set.patch("nicclusterpolicies", POLICY, {"status": {"state": "ready"}}, "operator", "status")
    assert fields(None, "one")["changed"]
    assert set(policy(cluster_set)) == {"sriovDevicePlugin"}
    assert actions(fields(None, "two", _ansible_check_mode=True)) == {f"NicClusterPolicy {POLICY}": "pruned"}
    assert there(cluster_set, "nicclusterpolicies") != set()
    fields(None, "two")
    assert there(cluster_set, "nicclusterpolicies") == set()


def test_two_strategies_share_an_operator_and_leave(
    cluster_set: ClusterSet, install: Install, playbook: Playbook
) -> None:
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace], "rdma_host_device_provider": "network_operator"}
    wanted = groups(namespace)
    install(True)
    cluster_set.kubectl("create", "-f", "-", stdin={**IDENTITY, "spec": SITES})
    predicted = playbook("--check", "--diff", groups=wanted, **own)
    assert policy(cluster_set) == SITES
    done = playbook("--diff", groups=wanted, **own)
    for task in (SHARED, NICS):
        assert actions(done[task]) == actions(predicted[task])
    assert there(cluster_set, "hostdevicenetworks") == {"hostdevicenetwork.mellanox.com/rdma-a100"}
    # Which port is up differs between the nodes of a100.
    names = sorted(name.partition("/")[2] for name in there(cluster_set, "nicnodepolicies"))
    assert [name[:15] for name in names] == ["rdma-nics-a100-", "rdma-nics-a100-", "rdma-shared-v10"]
    assert policy(cluster_set) == {
        "secondaryNetwork": {
            "cniPlugins": PLUGINS,
            "multus": {"image": "multus-cni", "repository": "ghcr.io/k8snetworkplumbingwg", "version": "v4.2.2"},
        }
    }
    spec = cluster_set.get("nicnodepolicies", "rdma-shared-v100")["spec"]
    ((label, value),) = spec["nodeSelector"].items()
    selected = cluster_set.kubectl("get", "nodes", "-l", f"{label}={value}", "-o", "name").split()
    assert selected == ["node/v100-01", "node/v100-02"]
    (entry,) = json.loads(spec["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert (entry["resourceName"], entry["rdmaHcaMax"]) == ("rdma_v100", 63)
    again = playbook(groups=wanted, **own)
    assert not [task for task, result in again.items() if result.get("changed")]

    gone = playbook(groups=groups(namespace, rdma_strategy="none"), **own)
    assert set(actions(gone[SHARED]).values()) == {"pruned"}
    assert there(cluster_set, "nicnodepolicies", "hostdevicenetworks") == set()
    assert policy(cluster_set) == SITES


def test_a_node_that_cannot_be_reached_keeps_its_policy(
    cluster_set: ClusterSet, install: Install, playbook: Playbook
) -> None:
    install(True)
    v100 = groups(cluster_set.namespace)["v100"]
    own: Dict[str, Any] = {"rdma_claims_namespaces": [], "rdma_group": "gpu", "groups": {"a100": v100, "v100": v100}}

    def policies() -> Dict[str, Object]:
        items = json.loads(cluster_set.kubectl("get", "nicnodepolicies", "-o", "json"))["items"]
        return {item["metadata"]["name"]: item["spec"] for item in items}

    playbook.of("a100-01")(**own)
    first, both = policies(), playbook.of("a100-01", "v100-01")
    assert set(first) == {"rdma-shared-gpu"}
    said, _results = both.without("a100-01").partly(**own)
    assert said == {"a100-01": ""}
    found = policies()
    assert found["rdma-shared-gpu"] == first["rdma-shared-gpu"]
    (other,) = set(found) - set(first)
    ((label, value),) = found[other]["nodeSelector"].items()
    assert cluster_set.kubectl("get", "nodes", "-l", f"{label}={value}", "-o", "name").split() == ["node/v100-01"]
    assert not both.without("a100-01").partly(**own)[1][SHARED]["changed"]
    both(**own)
    assert set(policies()) == {"rdma-shared-gpu"}
    assert policies() != first
    # Before their kind goes.
    cluster_set.kubectl("delete", "nicnodepolicies", "--all")


def test_a_policy_of_somebody_else_is_not_taken_over(
    cluster_set: ClusterSet, install: Install, playbook: Playbook
) -> None:
    """Without NicNodePolicies the component is in the one policy."""
    install(False)
    playbook, namespace = playbook.of("v100-01", "v100-02", "h100-01"), cluster_set.namespace
    wanted = {"v100": groups(namespace)["v100"]}
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    theirs = {"rdmaSharedDevicePlugin": {**MULTUS, "config": "{}"}}
    cluster_set.kubectl("create", "-f", "-", stdin={**IDENTITY, "spec": theirs})
    said = playbook.refused(groups=wanted, **own)
    assert ".spec.rdmaSharedDevicePlugin.config belongs to kubectl-create" in said
    assert policy(cluster_set) == theirs
    labels = cluster_set.kubectl(
        "get", "nodes", "-l", "zerocopy.rdma.node-restriction.kubernetes.io/shared-device", "-o", "name"
    )
    assert labels == ""
    cluster_set.kubectl("delete", "nicclusterpolicies", POLICY)
    playbook(groups=wanted, **own)
    (entry,) = json.loads(policy(cluster_set)["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert entry["resourceName"] == "rdma_v100"


def test_nodes_that_keep_a_policy_from_being_ready(cluster_set: ClusterSet, install: Install) -> None:
    """The operator itself does not run here: the test says what it would say, and makes what it would make."""
    install(True)
    place, label = cluster_set.namespace, "test.zerocopy.rdma/policy"
    plugin = {**MULTUS, "config": "{}"}
    wanted = [
        {
            "apiVersion": "mellanox.com/v1alpha1",
            "kind": "NicNodePolicy",
            "metadata": {"name": name},
            "spec": {"nodeSelector": {label: name}, "rdmaSharedDevicePlugin": plugin},
        }
        for name in ("here", "nowhere")
    ]
    waiting: Dict[str, Any] = {"objects": wanted, "wait": True, "wait_timeout": 5, "unready_nodes": "report"}
    cluster_set.kubectl("label", "node", "v100-01", f"{label}=here")
    lines = cluster_set(**waiting)["msg"].splitlines()
    assert lines[1:] == ["NicNodePolicy here: not seen by the Network Operator yet"]

    cluster_set.patch("nicnodepolicies", "here", {"status": {"state": "notReady"}}, "operator", "status")
    owner = {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicNodePolicy", "name": "here"}
    owner["uid"] = cluster_set.get("nicnodepolicies", "here")["metadata"]["uid"]
    made = workload("DaemonSet", "plugin", place, {**pod_spec(), "nodeSelector": {label: "here", "nic": "true"}})
    made["metadata"]["ownerReferences"] = [owner]
    cluster_set.kubectl("create", "-f", "-", stdin=made)
    lacking = f"DaemonSet {place}/plugin has no pod there, because the node lacks the label nic=true"
    for trouble in (lacking, "its pod is Pending, and not ready"):
        found = cluster_set(**waiting)
        assert found["unready"] == {"v100-01": [f"NicNodePolicy here: {trouble}"]}
        cluster_set.kubectl("label", "node", "v100-01", "nic=true", "--overwrite")
    assert set(actions(cluster_set(state="absent")).values()) == {"pruned"}
