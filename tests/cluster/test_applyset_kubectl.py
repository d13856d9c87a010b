# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""kubectl apply --prune --applyset and this module on one set, in both directions."""

from __future__ import annotations

from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, actions, config_map

TOOLING = "applyset.kubernetes.io/tooling"


def kubectl_apply(cluster_set: ClusterSet, objects: List[Dict[str, Any]], check: bool = True) -> str:
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    flags = ["--server-side", "--prune", "--applyset=set", "-n", cluster_set.namespace]
    return cluster_set.kubectl("apply", *flags, "-f", "-", stdin=items, check=check)


def hand_over(cluster_set: ClusterSet, tooling: str) -> None:
    cluster_set.kubectl("annotate", "--overwrite", "-n", cluster_set.namespace, "secret", "set", f"{TOOLING}={tooling}")


def service_account(namespace: str) -> Dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": namespace}}


def test_a_set_of_kubectl_is_taken_over_when_it_is_handed_over(cluster_set: ClusterSet) -> None:
    first, second = (config_map(name, cluster_set.namespace) for name in ("first", "second"))
    kubectl_apply(cluster_set, [first, second, service_account(cluster_set.namespace)])
    before = cluster_set.versions()
    refused = cluster_set(objects=[first])
    assert "is the ApplySet of kubectl, not of zerocopy.rdma. To hand the set over: kubectl annotate" in refused["msg"]
    assert cluster_set.versions() == before
    hand_over(cluster_set, refused["msg"].rpartition(f"{TOOLING}=")[2])
    done = cluster_set(objects=[first])
    assert actions(done) == {
        f"ConfigMap {cluster_set.namespace}/first": "configured",
        f"ConfigMap {cluster_set.namespace}/second": "pruned",
        f"ServiceAccount {cluster_set.namespace}/robot": "pruned",
        f"Secret {cluster_set.namespace}/set": "configured",
    }
    assert cluster_set(objects=[first])["changed"] is False
    first["data"] = {"key": "changed"}
    assert ".data.key belongs to kubectl" in cluster_set(objects=[first])["msg"]
    assert cluster_set(objects=[first], force_conflicts="always")["changed"] is True
    assert cluster_set.get("configmap", "first")["data"] == {"key": "changed"}


def test_kubectl_takes_over_a_set_of_this_module_when_it_is_handed_over(cluster_set: ClusterSet) -> None:
    first, second = (config_map(name, cluster_set.namespace) for name in ("first", "second"))
    cluster_set(objects=[first, second, service_account(cluster_set.namespace)])
    refused = kubectl_apply(cluster_set, [first], check=False)
    assert 'already exists and is managed by tooling "zerocopy.rdma" instead of "kubectl"' in refused
    assert not cluster_set.absent("configmap", "second")
    hand_over(cluster_set, "kubectl/v1.36.0")
    done = kubectl_apply(cluster_set, [first])
    assert "configmap/second pruned" in done
    assert "serviceaccount/robot pruned" in done
    annotations = cluster_set.get("secret", "set")["metadata"]["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"
    assert annotations[TOOLING].startswith("kubectl/")
    # And back again: the parent's fields belong to another manager meanwhile.
    hand_over(cluster_set, "zerocopy.rdma/v1.0.0")
    assert set(actions(cluster_set(objects=[first])).values()) == {"unchanged"}
    assert set(actions(cluster_set(state="absent")).values()) == {"pruned"}
    assert cluster_set.absent("configmap", "first")


def test_both_find_the_same_members(cluster_set: ClusterSet) -> None:
    wanted = [config_map("first", cluster_set.namespace), service_account(cluster_set.namespace)]
    kubectl_apply(cluster_set, wanted)
    theirs = cluster_set.get("secret", "set")["metadata"]
    cluster_set.kubectl("delete", "secret", "set", "-n", cluster_set.namespace)
    cluster_set(objects=wanted)
    ours = cluster_set.get("secret", "set")["metadata"]
    assert ours["labels"] == theirs["labels"]
    del ours["annotations"][TOOLING], theirs["annotations"][TOOLING]
    assert ours["annotations"] == theirs["annotations"]
