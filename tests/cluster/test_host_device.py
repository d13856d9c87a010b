# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A group whose pods get NICs by Multus, on a real API server, and which leaves without leaving anything behind."""

from __future__ import annotations

import json
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, actions, patched
from ansible_collections.zerocopy.rdma.tests.cluster.host_devices import labels, offer, pod, there, verdicts
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

# The group that the tests are about, and a node of another one.
FLEET = ("v100-01", "v100-02", "h100-01")
APPLIED, RESOURCE = "Apply the objects (host_device)", "rdma/hostdev_v100"
PROGRAMS = {f"daemonset.apps/{name}" for name in ("rdma-nics-v100", "rdma-multus", "rdma-whereabouts")}
DEFINITIONS = {
    f"customresourcedefinition.apiextensions.k8s.io/{name}"
    for name in (
        "ippools.whereabouts.cni.cncf.io",
        "network-attachment-definitions.k8s.cni.cncf.io",
        "overlappingrangeipreservations.whereabouts.cni.cncf.io",
    )
}


def group(strategy: str, namespace: str) -> Dict[str, Any]:
    own = {
        "rdma_strategy": strategy,
        "rdma_claims_templates": [],
        "rdma_host_device_networks": ["10.110.0.0/24"],
        "rdma_host_device_namespaces": [namespace],
    }
    return {"v100": own}


def pool(held: bool) -> Object:
    """What whereabouts makes for the first pod, and keeps after the last one."""
    allocations = {"1": {"id": "0123", "podref": "other/training", "ifname": "net1"}} if held else {}
    return {
        "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
        "kind": "IPPool",
        "metadata": {"name": "10.110.0.0-24", "namespace": "kube-system"},
        "spec": {"range": "10.110.0.0/24", "allocations": allocations},
    }


def test_a_group_gets_nics_and_leaves(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    wanted, gone = group("host_device", namespace), group("none", namespace)
    predicted = playbook("--check", "--diff", groups=wanted, **own)
    # Validated by the API server, strictly, and kept by nobody.
    assert there(cluster_set) == set()
    done = playbook("--diff", groups=wanted, **own)
    assert actions(done[APPLIED]) == actions(predicted[APPLIED])
    assert there(cluster_set) == {
        *PROGRAMS,
        *DEFINITIONS,
        "clusterrole.rbac.authorization.k8s.io/rdma-multus",
        "clusterrole.rbac.authorization.k8s.io/rdma-whereabouts",
        "configmap/rdma-nics-v100",
        "configmap/rdma-whereabouts",
        "secret/zerocopy-rdma-host-device",
    }
    network = cluster_set.get("network-attachment-definitions", "rdma-v100")
    assert json.loads(network["spec"]["config"])["ipam"]["range"] == "10.110.0.0/24"
    assert {name for name, value in labels(cluster_set).items() if value == "v100"} == {"v100-01", "v100-02"}
    again = playbook(groups=wanted, **own)
    assert not again[APPLIED]["changed"]
    assert not again["Label the nodes (host_device)"]["changed"]

    cluster_set.kubectl("create", "-f", "-", stdin=pod(namespace, "rdma-v100"))
    before = there(cluster_set)
    said = playbook.refused(groups=gone, **own)
    assert f"requested by Pod {namespace}/training" in said
    assert there(cluster_set) == before
    assert set(labels(cluster_set).values()) == {"", "v100"}

    cluster_set.kubectl("delete", "pod", "training", "-n", namespace, "--force")
    cluster_set.kubectl("create", "-f", "-", stdin=pool(held=False))
    pruned = playbook(groups=gone, **own)
    assert set(actions(pruned[APPLIED]).values()) == {"pruned"}
    assert there(cluster_set) == set()
    assert set(labels(cluster_set).values()) == {""}
    assert APPLIED not in playbook(groups=gone, **own)


def test_a_plugin_is_updated_before_a_node_joins_it(cluster_set: ClusterSet, playbook: Playbook) -> None:
    namespace = cluster_set.namespace
    has = {**group("host_device", namespace)["v100"], "rdma_group": "gpu"}
    leaves = group("none", namespace)["v100"]
    own: Dict[str, Any] = {"rdma_claims_namespaces": []}
    playbook.of("a100-01", "v100-01")(groups={"a100": has, "v100": has}, **own)
    assert {name: labels(cluster_set)[name] for name in ("a100-01", "v100-01")} == {"a100-01": "gpu", "v100-01": "gpu"}

    whole = playbook.of("a100-01", "v100-01", "v100-02")
    with cluster_set.requests() as asked:
        whole(groups={"a100": leaves, "v100": has}, **own)
    told = ("a100-01", "rdma-nics-gpu", "v100-02")
    # The ConfigMap and the DaemonSet have one name.
    assert [name for name in patched(asked) if name in told][:4] == [told[0], told[1], told[1], told[2]]
    assert {name for name, value in labels(cluster_set).items() if value == "gpu"} == {"v100-01", "v100-02"}


def test_teardown_removes_nothing_as_long_as_pods_have_nics(cluster_set: ClusterSet, playbook: Playbook) -> None:
    """Be it that they name a network, or that they only hold the resource."""
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    wanted = group("host_device", namespace)
    playbook(groups=wanted, **own)
    before, labelled = there(cluster_set), labels(cluster_set)
    teardown: Dict[str, Any] = {"name": "teardown.yml", "groups": wanted, **own}

    cluster_set.kubectl("create", "-f", "-", stdin=pod(namespace, "rdma-v100"))
    said = playbook.refused("--tags=driver", **teardown)
    assert f"requested by Pod {namespace}/training" in said
    cluster_set.kubectl("delete", "pod", "training", "-n", namespace, "--force")

    offer(cluster_set, "v100-01", RESOURCE, "2")
    bare = pod(namespace, "rdma-v100")
    bare["metadata"]["annotations"] = {}
    bare["spec"]["nodeName"] = "v100-01"
    bare["spec"]["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}
    cluster_set.kubectl("create", "-f", "-", stdin=bare)
    said = playbook.refused("--tags=driver", **teardown)
    assert said == f"pods hold {RESOURCE} on v100-01 ({namespace}/training): delete these pods first"
    assert playbook.refused(groups=group("none", namespace), **own) == said
    assert (there(cluster_set), labels(cluster_set)) == (before, labelled)

    cluster_set.kubectl("delete", "pod", "training", "-n", namespace, "--force")
    offer(cluster_set, "v100-01", RESOURCE, "0")
    # Without a kubelet the plugin's pods never end, for which teardown would wait.
    playbook(groups=group("none", namespace), **own)
    assert there(cluster_set) == set()


def test_addresses_that_are_in_use_are_not_forgotten(cluster_set: ClusterSet, playbook: Playbook) -> None:
    """Of a pool that somebody still has an address of, the definition stays."""
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    playbook(groups=group("host_device", namespace))
    cluster_set.kubectl("create", "-f", "-", stdin=pool(held=True))
    left = playbook(groups=group("none", namespace))
    kept = {name for name, action in actions(left[APPLIED]).items() if action == "kept"}
    assert kept == {"CustomResourceDefinition ippools.whereabouts.cni.cncf.io"}
    cluster_set.kubectl("delete", "ippools", "10.110.0.0-24", "-n", "kube-system")
    playbook(groups=group("none", namespace))
    assert there(cluster_set) == set()


def test_verify_looks_at_programs_and_resources(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook, namespace = playbook.of(*FLEET), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    wanted = group("host_device", namespace)
    playbook(groups=wanted, **own)
    offer(cluster_set, "v100-01", RESOURCE, "2")
    # Bonds and the like, as a plugin of somebody else counts them.
    offer(cluster_set, "v100-02", RESOURCE, "4")
    _said, report = playbook.verified("--tags=cluster", groups=wanted, **own)
    assert verdicts(report, "cluster.resources") == [("v100-01", RESOURCE, "pass"), ("v100-02", RESOURCE, "fail")]
    # No kubelet starts their pods.
    assert verdicts(report, "cluster.plugin") == [
        ("", f"kube-system/{name}", "fail") for name in ("rdma-multus", "rdma-nics-v100", "rdma-whereabouts")
    ]
    assert ("", "zerocopy-rdma-host-device", "pass") in verdicts(report, "cluster.objects")
