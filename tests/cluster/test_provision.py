# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What playbooks/provision.yml makes of the example inventory on a real API server."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Dict

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import objects as drivers
from ansible_collections.zerocopy.rdma.tests.cluster import accounts
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import (
    DEFINITION,
    ClusterSet,
    Object,
    actions,
    hold,
    pod_spec,
    reasons,
    workload,
)
from ansible_collections.zerocopy.rdma.tests.cluster.kubelets import DRIVER
from ansible_collections.zerocopy.rdma.tests.cluster.provision import (
    DIFF,
    HOSTS,
    STEP,
    Playbook,
    Results,
    make_set_of_inventory,
)

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

# One of v100-01.
NIC = "0000:3f:00.0"
# All that the playbook could touch.
KINDS = (
    "nodes,secrets,serviceaccounts,daemonsets,clusterroles,clusterrolebindings,"
    "deviceclasses,resourceclaims,resourceclaimtemplates"
)


def versions(cluster_set: ClusterSet) -> Dict[str, str]:
    """resourceVersion of everything, but for what controllers write and remove by themselves."""
    namespaces = ("default", "kube-system", cluster_set.namespace)
    for namespace in namespaces:
        cluster_set.settle(namespace)
    items = json.loads(cluster_set.kubectl("get", KINDS, "-A", "-o", "json"))["items"]
    # Namespaces of other tests are on their way out, and roles that are made of others are written after the start.
    own = [item["metadata"] for item in items if "aggregationRule" not in item]
    return {meta["uid"]: meta["resourceVersion"] for meta in own if meta.get("namespace") in (None, *namespaces)}


def ours(results: Results) -> Dict[str, Object]:
    """What the steps in the cluster said about what they did, and all differences."""
    said = ("changed", "objects", "names", "nodes", "diff")
    return {
        task: {key: result[key] for key in said if key in result}
        for task, result in results.items()
        if result["action"] in (STEP, DIFF) and not result.get("skipped")
    }


def templates_of(cluster_set: ClusterSet) -> Dict[str, str]:
    """Names of the templates in the namespace, by alias."""
    listed = cluster_set.kubectl("get", "resourceclaimtemplates", "-n", cluster_set.namespace, "-o", "json")
    items = [item["metadata"] for item in json.loads(listed)["items"]]
    return {item["labels"]["zerocopy.rdma/alias"]: item["name"] for item in items}


def test_check_mode_the_run_and_the_runs_after_it(cluster_set: ClusterSet, playbook: Playbook) -> None:
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    before = versions(cluster_set)
    with cluster_set.requests() as requests:
        predicted = ours(playbook("--check", "--diff", **own))
    assert versions(cluster_set) == before
    assert {verb for verb, path in requests if "dryRun=All" not in path} == {"get", "list"}

    done = ours(playbook("--diff", **own))
    assert predicted == done
    # The other strategies have no group, so that there is nothing of them to apply or to remove.
    changed = [task for task, result in done.items() if result.get("changed")]
    assert changed == ["Label the nodes (dra)", "Apply the objects (dra)", "Apply the claims (dra)"]
    labels = json.loads(cluster_set.kubectl("get", "nodes", "-o", "json"))["items"]
    groups = {
        item["metadata"]["name"]: item["metadata"]["labels"].get("zerocopy.rdma.node-restriction.kubernetes.io/group")
        for item in labels
    }
    assert {name: groups[name] for name in HOSTS} == {name: name.partition("-")[0] for name in HOSTS}
    sets = cluster_set.kubectl("get", "daemonsets", "-n", "kube-system", "-o", "name").split()
    assert sets == [f"daemonset.apps/dranet-{group}" for group in ("a100", "h100", "lab", "v100")]
    assert set(templates_of(cluster_set)) == {
        "a100-1nic",
        "a100-8gpu-1nic",
        "h100-1gpu-1nic-numa0",
        "h100-1gpu-1nic-numa1",
        "h100-1nic",
        # On h100-03 four NICs are those of both NUMA nodes, so it is two and two on all of them.
        "h100-4gpu-4nic",
        "v100-1nic",
        "v100-2gpu-1nic",
    }

    with cluster_set.requests() as requests:
        again = ours(playbook("--diff", **own))
    assert set(again) == set(done)
    assert {result.get("changed", False) for result in again.values()} == {False}
    assert again[DIFF]["diff"] == []
    assert {verb for verb, _path in requests} == {"get", "list"}
    # What is not in a limited run would be pruned, so it leaves all of it alone.
    with cluster_set.requests() as requests:
        assert set(ours(playbook("--limit", "h100", **own))) == {DIFF}
    assert requests == []


def test_site_asks_the_cluster_before_it_reads_nodes(cluster_set: ClusterSet, playbook: Playbook) -> None:
    own: Dict[str, Any] = {"name": "site.yml", "rdma_claims_namespaces": [cluster_set.namespace]}
    fleet = playbook.of("h100-01", "h100-02")
    tasks = list(fleet("--check", **own))
    asked = "Ask the API server whether it can be used"
    assert tasks.index(asked) < tasks.index("Gather RDMA facts") < tasks.index("Plan")
    said = fleet.refused(rdma_context="elsewhere", **own)
    assert said.startswith("Nothing was changed. "), said
    assert "rdma_context" in said


def trainer(cluster_set: ClusterSet, template: str) -> None:
    """Make a pod of this name that claims by the template."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trainer", "namespace": cluster_set.namespace}}
    spec = pod_spec(resourceClaimTemplateName=template)
    cluster_set.kubectl("create", "-f", "-", stdin={**pod, "spec": spec})


def test_teardown_removes_no_claim_as_long_as_one_is_in_use(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of("v100-01", "v100-02", "a100-01", "h100-01")
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    templates = templates_of(cluster_set)
    trainer(cluster_set, templates["v100-1nic"])

    for options in ((), ("--check",)):
        said = playbook.refused("--tags=claims", *options, name="teardown.yml", **own)
        assert said.startswith("Delete the pods and workloads that use these objects first: ")
        assert f"ResourceClaimTemplate {cluster_set.namespace}/{templates['v100-1nic']} named by Pod trainer" in said
    assert templates_of(cluster_set) == templates
    cluster_set.kubectl("delete", "pod", "trainer", "-n", cluster_set.namespace, "--force")
    # The claim that was made for it goes a moment later.
    gone = ("--for=delete", "resourceclaims", "--all", "-n", cluster_set.namespace, "--timeout=60s")
    cluster_set.kubectl("wait", *gone)
    playbook("--tags=claims", name="teardown.yml", **own)
    assert templates_of(cluster_set) == {}


def test_a_template_that_is_dropped(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of("v100-01", "v100-02", "a100-01", "h100-01")
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    before = templates_of(cluster_set)
    trainer(cluster_set, before["v100-1nic"])

    left = {"v100": [{"name": "v100-2gpu-1nic", "gpus": 2, "nics": 1}], "a100": []}
    name, gone = before["v100-1nic"], [before["a100-1nic"], before["a100-8gpu-1nic"]]
    kept = ours(playbook(templates=left, **own))["Apply the claims (dra)"]
    assert reasons(kept) == {name: "named by Pod trainer"}
    assert {one["name"] for one in kept["objects"] if one["action"] == "pruned"} == set(gone)
    assert templates_of(cluster_set) == {alias: one for alias, one in before.items() if one not in gone}
    with cluster_set.requests() as requests:
        assert reasons(ours(playbook(templates=left, **own))["Apply the claims (dra)"]) == {
            name: "named by Pod trainer"
        }
    assert {verb for verb, _path in requests} == {"get", "list"}

    cluster_set.kubectl("delete", "pod", "trainer", "-n", cluster_set.namespace, "--grace-period=0")
    after = ours(playbook(templates=left, **own))["Apply the claims (dra)"]
    assert actions(after)[f"ResourceClaimTemplate {cluster_set.namespace}/{name}"] == "pruned"
    assert templates_of(cluster_set) == {alias: one for alias, one in before.items() if one not in [name, *gone]}


def test_manifests_are_what_would_be_applied(cluster_set: ClusterSet, playbook: Playbook, tmp_path: Path) -> None:
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    directory = tmp_path / "manifests"
    before = versions(cluster_set)
    assert set(ours(playbook(rdma_cluster="none", rdma_manifests=str(directory), **own))) == {DIFF}
    files = sorted(directory.iterdir())
    assert [path.name for path in files] == ["10-driver.yml", "20-claims.yml", "node-labels.yml"]
    items = [item for path in files for item in yaml.safe_load_all(path.read_text())]
    for path in files:
        apply = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--field-manager=gitops"]
        cluster_set.kubectl(*apply, "-f", str(path))
    assert versions(cluster_set) == before
    # Under the names that the module gives them.
    playbook(**own)
    names = {item["metadata"]["name"] for item in items if item["kind"] == "ResourceClaimTemplate"}
    assert names == set(templates_of(cluster_set).values())
    misspelt = [item for item in items if item["kind"] == "ResourceClaimTemplate"][:1]
    misspelt[0]["spec"]["spec"]["device"] = {}
    said = cluster_set.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=misspelt[0], check=False)
    assert "unknown field" in said or "field not declared" in said


def test_nodes_get_no_labels_where_the_driver_would_be_refused(cluster_set: ClusterSet, playbook: Playbook) -> None:
    before = versions(cluster_set)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    said = playbook.refused(**own, rdma_parent_namespace="nobody-made-it")
    assert "the namespace nobody-made-it for the parent of the set does not exist" in said
    assert versions(cluster_set) == before


def test_a_second_value_of_rdma_hosts_is_refused_by_name(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of("v100-01", "h100-01")
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    before = versions(cluster_set)
    for name, right in (
        ("provision.yml", "use the value of these sets, or run teardown with it first"),
        ("teardown.yml", "Run teardown with the value of these sets"),
    ):
        said = playbook.refused(name=name, **own, rdma_hosts="v100")
        assert "rdma_hosts is 'v100', but the cluster has sets of objects from runs with another value" in said
        assert "kube-system/zerocopy-rdma-driver" in said
        assert right in said
        assert versions(cluster_set) == before


def test_the_driver_of_a_group_without_hosts(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of("v100-01", "v100-02", "h100-01")
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    # A node of the group that was in the inventory once.
    gone = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "v100-09", "labels": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "v100"}},
    }
    cluster_set.kubectl("create", "-f", "-", stdin=gone)
    free = hold(cluster_set, "v100-09")
    # The group has hosts, so its DaemonSet stays on all nodes with its label.
    playbook(**own)
    leaving: Dict[str, Any] = {"groups": {"v100": {"rdma_strategy": "none", "rdma_claims_templates": []}}, **own}
    said = playbook.refused(**leaving)
    free()
    playbook(**leaving)
    left = cluster_set.kubectl("get", "node", "v100-09", "--output=jsonpath={.metadata.labels}")
    cluster_set.kubectl("delete", "node", "v100-09")
    assert "Nothing was changed" in said
    label = "zerocopy.rdma.node-restriction.kubernetes.io/group is 'v100'"
    assert f"v100-09: {label}, but no host of the run has the driver of this group" in said
    assert "(default/worker-0): delete these pods first, or add the node to the inventory" in said
    assert "zerocopy.rdma.node-restriction.kubernetes.io/group" in left


def test_a_dranet_of_somebody_else_is_found_before_anything_changes(
    cluster_set: ClusterSet, playbook: Playbook
) -> None:
    pod = {"containers": [{"name": "nics", "image": "mirror.example.org/dranet:v1.3.0"}]}
    cluster_set.kubectl("create", "-f", "-", stdin=workload("DaemonSet", "nics", cluster_set.namespace, pod))
    before = versions(cluster_set)
    said = playbook.of("v100-01").refused(rdma_claims_namespaces=[cluster_set.namespace])
    assert f"DaemonSet {cluster_set.namespace}/nics, which is not of this inventory, runs DRANET on this node" in said
    assert "rdma_driver_enabled" in said
    after = versions(cluster_set)
    cluster_set.kubectl("delete", "daemonset", "nics", "-n", cluster_set.namespace)
    assert after == before


def test_what_a_dranet_of_somebody_else_has_is_not_ours(cluster_set: ClusterSet, playbook: Playbook) -> None:
    """By its DaemonSet nobody knows that one; account, role and binding have its usual names, and the same content.

    As members of our set, they would go with it, and leave the other DRANET without rights.
    """
    theirs = [item for item in drivers.objects("kube-system", []) if item["kind"] != "Namespace"]
    assert [item["kind"] for item in theirs] == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]
    pod = {"serviceAccountName": "dranet", "containers": [{"name": "nics", "image": "mirror.example.org/nics:v1"}]}
    theirs.append(workload("DaemonSet", "nics", "kube-system", pod))
    items = {"apiVersion": "v1", "kind": "List", "items": theirs}
    cluster_set.kubectl("apply", "--server-side", "--field-manager=helm", "--validate=false", "-f", "-", stdin=items)
    try:
        before = versions(cluster_set)
        said = playbook.of("v100-01").refused(rdma_claims_namespaces=[cluster_set.namespace])
        after = versions(cluster_set)
    finally:
        for item in theirs:
            where = ("-n", "kube-system") if "namespace" in item["metadata"] else ()
            cluster_set.kubectl("delete", item["kind"], item["metadata"]["name"], *where)
    # Of an object that is no more than its name the API server keeps no manager.
    assert "ServiceAccount kube-system/dranet: exists already, managed by somebody else: " in said
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        assert f"{kind} dranet: exists already, managed by helm: " in said
    # The DaemonSet controller writes the status of its own.
    assert {uid: version for uid, version in after.items() if before.get(uid) != version} == {}


def test_a_tenant_gives_us_no_driver(cluster_set: ClusterSet, playbook: Playbook) -> None:
    """In the tenant's namespace is a DaemonSet like ours, with all labels and the field manager; its pods are refused.

    As long as nothing is known of a node, the driver of its group leaves out what it did before.
    """
    playbook = playbook.of("v100-01")
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    real = json.loads(cluster_set.kubectl("get", "daemonset", "dranet-v100", "-n", "kube-system", "-o", "json"))
    meta = {"name": "dranet-v100", "namespace": cluster_set.namespace, "labels": real["metadata"]["labels"]}
    theirs = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": real["spec"]}
    (container,) = theirs["spec"]["template"]["spec"]["containers"]
    container["args"].append(f'--filter="{NIC}"')
    gone = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "v100-09", "labels": {DRIVER: "v100"}}}
    limited = ("label", "namespace", cluster_set.namespace, "pod-security.kubernetes.io/enforce=baseline")
    cluster_set.kubectl(*limited)
    with accounts.tenant(cluster_set, cluster_set.namespace) as tenant:
        tenant("apply", "--server-side", "--field-manager=zerocopy.rdma", "-f", "-", stdin=theirs)
    refused = "--for=jsonpath={.status.desiredNumberScheduled}=1"
    cluster_set.kubectl("wait", "daemonset", "dranet-v100", "-n", cluster_set.namespace, refused, "--timeout=60s")
    cluster_set.kubectl("create", "-f", "-", stdin=gone)
    try:
        done = ours(playbook(**own))
    finally:
        cluster_set.kubectl("delete", "node", "v100-09")
        cluster_set.kubectl("delete", "daemonset", "dranet-v100", "-n", cluster_set.namespace)
    assert {task: result["changed"] for task, result in done.items() if result.get("changed")} == {}


def test_a_gpu_driver_of_the_gpu_operator_is_found_before_anything_changes(
    cluster_set: ClusterSet, playbook: Playbook
) -> None:
    definition = copy.deepcopy(DEFINITION)
    names = {"kind": "GPUCluster", "plural": "gpuclusters", "singular": "gpucluster", "listKind": "GPUClusterList"}
    definition["metadata"]["name"] = "gpuclusters.nvidia.com"
    definition["spec"].update(group="nvidia.com", scope="Cluster", names=names)
    definition["spec"]["versions"][0]["name"] = "v1alpha1"
    one = {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {"name": "gpu-cluster"}}
    one["spec"] = {"draDriver": {}}
    cluster_set.kubectl("create", "-f", "-", stdin=definition)
    try:
        cluster_set.kubectl("wait", "--for=condition=Established", "crd/gpuclusters.nvidia.com", "--timeout=60s")
        cluster_set.kubectl("create", "-f", "-", stdin=one)
        before = versions(cluster_set)
        said = playbook.of("v100-01").refused(rdma_driver_gpu_deploy=True)
        after = versions(cluster_set)
    finally:
        cluster_set.kubectl("delete", "crd", "gpuclusters.nvidia.com")
    assert "rdma_driver_gpu_deploy is True, but NVIDIA's GPU Operator deploys this driver already" in said
    assert "(GPUCluster gpu-cluster): leave the variable out" in said
    assert after == before


def test_teardown_removes_the_label_of_a_node_that_left_the_inventory(
    cluster_set: ClusterSet, playbook: Playbook
) -> None:
    cluster_set.kubectl("label", "node", "v100-02", "zerocopy.rdma.node-restriction.kubernetes.io/group=v100")
    playbook.of("v100-01")("--tags=driver", name="teardown.yml")
    assert "zerocopy.rdma.node-restriction.kubernetes.io/group" not in (
        cluster_set.get("node", "v100-02")["metadata"].get("labels") or {}
    )
