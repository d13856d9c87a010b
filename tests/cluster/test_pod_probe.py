# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""pod_probe against a real API server and scheduler. The nodes are objects only, so their kubelets are played; that
pods run, and what they say, is tried in molecule scenario cluster.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Optional, Set

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import probe_run
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import DRANET, SliceDevice
from ansible_collections.zerocopy.rdma.plugins.modules import pod_probe, resource_slice_info
from ansible_collections.zerocopy.rdma.tests.cluster import accounts
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import API, Fleet, from_template
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.kubelets import PATCH, PlayedKubelets
from ansible_collections.zerocopy.rdma.tests.cluster.rights import asked_by, documented, idle, users

RESOURCE = "rdma/rdma_v100"
_LOOKS = 10
# In place of what a server has in its environment: a pod that does not end.
FOR_EVER = "for ever"


class Kubelets(PlayedKubelets):
    """Says of pods with a node that they ran and ended, and lets go of those that are deleted."""

    def __init__(self, cluster: dynamic.DynamicClient, namespace: str) -> None:
        super().__init__(cluster, namespace=namespace)
        self.environment: Dict[str, Dict[str, str]] = {}
        self.pods: Dict[str, Dict[str, Any]] = {}
        self._looks: Dict[str, int] = {}

    def status(self, pod: Object) -> Optional[Object]:
        name = pod["metadata"]["name"]
        if pod["status"].get("phase") == "Succeeded":
            return None
        environment = {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0]["env"]}
        self.environment[name] = environment
        self.pods[name] = pod
        # A server has to be there when its peer comes, and no container ends at once.
        self._looks[name] = self._looks.get(name, 0) + 1
        alone = environment["ZEROCOPY_SERVER"] and len(self.environment) < 2
        running = alone or environment["ZEROCOPY_SERVER"] == FOR_EVER or self._looks[name] < _LOOKS
        return {"podIP": "192.0.2.7", "phase": "Running" if running else "Succeeded"}


@pytest.fixture
def kubelets(cluster: dynamic.DynamicClient, namespace: str) -> Iterator[Kubelets]:
    with Kubelets(cluster, namespace) as found:
        yield found


@pytest.fixture
def probe(
    run_module: Callable[..., Any], control_plane: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Dict[str, Any]]:
    # What a kubelet takes to end a pod; these kubelets do not.
    monkeypatch.setattr(probe_run, "_GRACE_SECONDS", 1)

    def run(pods: List[Dict[str, Any]], **options: Any) -> Dict[str, Any]:
        common = {"image": "example.org/none:v1", "script": "exit 0", "timeout": 5}
        given = {"kubeconfig": str(control_plane.kubeconfig), "pods": pods, **common, **options}
        result: Dict[str, Any] = run_module(pod_probe, **given)
        return result

    return run


def one_nic(fleet: Fleet) -> None:
    """Two nodes with a NIC each, and a template for one."""
    devices = [SliceDevice(DRANET, name, "nic", name, {"dra.net/rdma": True}) for name in ("n1", "n2")]
    fleet.nodes(
        [
            SliceDevice(
                one.driver, f"{fleet.namespace}-{one.pool}", one.name, f"{fleet.namespace}-{one.node}", one.attributes
            )
            for one in devices
        ]
    )
    nic = {"name": "nic", "exactly": {"deviceClassName": f"{fleet.namespace}-nic"}}
    spec = {"spec": {"devices": {"requests": [nic]}}}
    template = {"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": {"name": "one-nic"}, "spec": spec}
    fleet.create([objects.device_class(f"{fleet.namespace}-nic"), template])


def wanted(fleet: Fleet, **options: Any) -> Dict[str, Any]:
    return bare(fleet, **{"template": "one-nic", **options})


def bare(fleet: Fleet, **options: Any) -> Dict[str, Any]:
    return {"name": "a", "namespace": fleet.namespace, "node": f"{fleet.namespace}-n1", **options}


def offer(cluster: dynamic.DynamicClient, node: str, number: str) -> None:
    """What a kubelet would write of a device plugin."""
    status = {"status": {kind: {RESOURCE: number} for kind in ("capacity", "allocatable")}}
    nodes = cluster.resources.get(api_version="v1", kind="Node")
    nodes.status.patch(name=node, body=status, content_type=PATCH)


def names(cluster: dynamic.DynamicClient, namespace: str) -> List[str]:
    pods = cluster.resources.get(api_version="v1", kind="Pod")
    return [one["metadata"]["name"] for one in pods.get(namespace=namespace).to_dict()["items"]]


def test_a_pair(fleet: Fleet, kubelets: Kubelets, probe: Callable[..., Any], cluster: dynamic.DynamicClient) -> None:
    one_nic(fleet)
    pods = [wanted(fleet, server=True), wanted(fleet, name="b", node=f"{fleet.namespace}-n2", peer="a")]
    found = probe(pods)
    assert [one["phase"] for one in found["pods"]] == ["Succeeded", "Succeeded"]
    assert [[device["pool"] for device in one["allocation"]] for one in found["pods"]] == [
        [f"{fleet.namespace}-n1"],
        [f"{fleet.namespace}-n2"],
    ]
    assert kubelets.environment["b"]["ZEROCOPY_PEER"] == "192.0.2.7"
    assert names(cluster, fleet.namespace) == []


def test_what_cannot_run_says_why_and_leaves_nothing(
    fleet: Fleet, kubelets: Kubelets, probe: Callable[..., Any], cluster: dynamic.DynamicClient
) -> None:
    one_nic(fleet)
    found = probe([wanted(fleet, template="no-such"), wanted(fleet, name="b", node="no-such-node")])
    assert [one["phase"] for one in found["pods"]] == ["Pending", "Pending"]
    assert "no-such" in found["pods"][0]["trouble"]
    assert "node" in found["pods"][1]["trouble"]
    assert names(cluster, fleet.namespace) == []


def test_a_nic_in_use(fleet: Fleet, probe: Callable[..., Any], kubelets: Kubelets) -> None:
    one_nic(fleet)
    user = from_template("user", "one-nic", f"{fleet.namespace}-n1")
    user["spec"]["containers"][0]["env"] = [{"name": "ZEROCOPY_SERVER", "value": "1"}]
    fleet.pods([user])
    found = probe([wanted(fleet)])
    assert found["in_use"] == {f"{fleet.namespace}-n1": [{"driver": "dra.net", "device": "nic"}]}
    assert "cannot allocate all claims" in found["pods"][0]["trouble"]


def test_an_extended_resource_and_nothing(
    fleet: Fleet, kubelets: Kubelets, probe: Callable[..., Any], cluster: dynamic.DynamicClient
) -> None:
    one_nic(fleet)
    offer(cluster, f"{fleet.namespace}-n1", "1")
    requests = {"limits": {RESOURCE: 1}, "capabilities": ["IPC_LOCK"], "annotations": {"example.org/net": "rail0"}}
    found = probe([bare(fleet, environment={"ZEROCOPY_LOOPBACK": "1"}, **requests), bare(fleet, name="b")])
    assert [(one["phase"], one["claim"], one["allocation"]) for one in found["pods"]] == [("Succeeded", "", [])] * 2
    container = kubelets.pods["a"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == container["resources"]["limits"] == {RESOURCE: "1"}
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    assert kubelets.pods["a"]["metadata"]["annotations"]["example.org/net"] == "rail0"
    assert kubelets.environment["a"]["ZEROCOPY_LOOPBACK"] == "1"
    assert not kubelets.pods["b"]["spec"]["containers"][0]["resources"]
    assert names(cluster, fleet.namespace) == []


def test_a_resource_that_others_have(
    fleet: Fleet, kubelets: Kubelets, probe: Callable[..., Any], cluster: dynamic.DynamicClient
) -> None:
    one_nic(fleet)
    offer(cluster, f"{fleet.namespace}-n1", "1")
    user = from_template("user", "one-nic", f"{fleet.namespace}-n1")
    del user["spec"]["resourceClaims"]
    container = user["spec"]["containers"][0]
    container.update(resources={"limits": {RESOURCE: "1"}}, env=[{"name": "ZEROCOPY_SERVER", "value": "1"}])
    fleet.pods([user])
    found = probe([bare(fleet, limits={RESOURCE: 1})])
    assert found["in_use"] == {f"{fleet.namespace}-n1": [{"resource": RESOURCE, "pod": f"{fleet.namespace}/user"}]}
    assert f"Insufficient {RESOURCE}" in found["pods"][0]["trouble"]


def test_pods_of_others_stop_nobody_and_stay(
    fleet: Fleet,
    kubelets: Kubelets,
    probe: Callable[..., Any],
    cluster: dynamic.DynamicClient,
    cluster_set: ClusterSet,
) -> None:
    """A tenant may give a pod our label and the name of one of ours, which may have ended or not."""
    one_nic(fleet)
    with accounts.tenant(cluster_set, fleet.namespace) as tenant:
        for name, number, server in (("a", 1, ""), ("b", 1, FOR_EVER), ("busy", 2, FOR_EVER), ("ended", 2, "")):
            body = labelled(name, f"{fleet.namespace}-n{number}", server)
            tenant("create", "-f", "-", f"--namespace={fleet.namespace}", stdin=body)
    theirs = uids(cluster, fleet.namespace)
    ended(cluster, fleet.namespace, {"a", "ended"})
    found = probe([wanted(fleet), bare(fleet, name="b"), bare(fleet, name="c", node=f"{fleet.namespace}-n2")])
    assert [(one["name"], one["phase"]) for one in found["pods"]] == [(name, "Succeeded") for name in "abc"]
    assert found["pods"][0]["allocation"]
    (said,) = map(str, found["warnings"])
    assert "/b, " in said
    assert "/busy. If they belong to another run" in said
    assert uids(cluster, fleet.namespace) == theirs


def labelled(name: str, node: str, server: str) -> Dict[str, Any]:
    """A pod that looks like one of ours."""
    body: Dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    body["metadata"] = {"name": name, "labels": {"zerocopy.rdma/probe": "pod"}}
    environment = [{"name": "ZEROCOPY_SERVER", "value": server}]
    container = {"name": "main", "image": "example.org/none:v1", "env": environment}
    body["spec"] = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
    return body


def uids(cluster: dynamic.DynamicClient, namespace: str) -> Dict[str, str]:
    pods = cluster.resources.get(api_version="v1", kind="Pod").get(namespace=namespace).to_dict()["items"]
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in pods}


def ended(cluster: dynamic.DynamicClient, namespace: str, names: Set[str]) -> None:
    """Wait until these pods have come to their end."""
    for event in cluster.resources.get(api_version="v1", kind="Pod").watch(namespace=namespace, timeout=60):
        if event["raw_object"]["status"].get("phase") == "Succeeded":
            names.discard(event["raw_object"]["metadata"]["name"])
        if not names:
            return
    raise AssertionError(f"{names} have not ended")


def test_what_a_killed_run_left_is_removed(
    fleet: Fleet,
    kubelets: Kubelets,
    probe: Callable[..., Any],
    cluster: dynamic.DynamicClient,
    cluster_set: ClusterSet,
) -> None:
    one_nic(fleet)
    left = labelled("a", f"{fleet.namespace}-n1", "")
    flags = (f"--namespace={fleet.namespace}", "--field-manager=zerocopy.rdma")
    cluster_set.kubectl("create", "-f", "-", *flags, stdin=left)
    before = uids(cluster, fleet.namespace)
    ended(cluster, fleet.namespace, {"a"})
    found = probe([bare(fleet)])
    assert [one["phase"] for one in found["pods"]] == ["Succeeded"]
    # Under its own name again.
    assert (list(kubelets.pods), kubelets.pods["a"]["metadata"]["uid"] != before["a"]) == (["a"], True)
    assert names(cluster, fleet.namespace) == []


def test_check_mode_makes_no_pod(fleet: Fleet, probe: Callable[..., Any], cluster: dynamic.DynamicClient) -> None:
    one_nic(fleet)
    assert probe([wanted(fleet)], _ansible_check_mode=True)["pods"] == []
    assert names(cluster, fleet.namespace) == []


def test_the_documented_roles_are_enough_and_all_of_them_is_asked_for(
    fleet: Fleet,
    kubelets: Kubelets,
    probe: Callable[..., Any],
    run_module: Callable[..., Any],
    control_plane: Any,
    cluster: dynamic.DynamicClient,
    cluster_set: ClusterSet,
) -> None:
    one_nic(fleet)
    offer(cluster, f"{fleet.namespace}-n2", "1")
    user = {"impersonate_user": "rights-pods"}
    away = {"drivers": [], "devices": [], "left_out": {}, "may_hide_nics": False, "wait": []}
    roles = documented(cluster_set.namespace, "zerocopy-pods")
    pods = [wanted(fleet), bare(fleet, name="b", node=f"{fleet.namespace}-n2", limits={RESOURCE: 1})]
    with users(cluster_set, {"rights-pods": roles}), asked_by(cluster_set, "rights-pods") as asked:
        # What the pods are planned of.
        read = {"kubeconfig": str(control_plane.kubeconfig), "expected": {"away-1": away}, **user}
        assert not run_module(resource_slice_info, **read).get("failed")
        found = probe(pods, **user)
        assert [one["phase"] for one in found["pods"]] == ["Succeeded", "Succeeded"], found
        assert found["pods"][0]["allocation"]
    # Played pods have no log; those of test_benchmark.py do.
    assert [atom.resource for atom in idle(roles, asked)] == ["pods/log"]
