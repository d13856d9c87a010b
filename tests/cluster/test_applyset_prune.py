# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What leaves the set, what stays for as long as it is needed, and waiting."""

from __future__ import annotations

import copy
import threading
from typing import Any, Callable, Dict

import pytest
from vmlab.progress import await_condition

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import live_parent
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import (
    DEFINITION,
    ClusterSet,
    actions,
    claim,
    config_map,
    device_class,
    objects,
    pod_spec,
    reasons,
    template,
    workload,
)


def test_what_leaves_the_set_is_deleted_and_forgotten(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    cluster_set(objects=wanted)
    done = cluster_set(objects=wanted[:1])
    assert sorted(actions(done).values()) == ["configured", *["pruned"] * (len(wanted) - 1), "unchanged"]
    for kind in ("serviceaccount", "daemonset"):
        assert cluster_set.absent(kind, "driver")
    annotations = cluster_set.get("secret", "set")["metadata"]["annotations"]
    assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"
    assert cluster_set(objects=wanted[:1])["changed"] is False


def test_without_prune_it_stays_a_member(cluster_set: ClusterSet) -> None:
    cluster_set(objects=[config_map("a", cluster_set.namespace), config_map("b", cluster_set.namespace)])
    kept = cluster_set(objects=[config_map("a", cluster_set.namespace)], prune=False)
    assert (kept["changed"], reasons(kept)) == (False, {"b": "prune is off"})
    done = cluster_set(objects=[config_map("a", cluster_set.namespace)])
    assert actions(done)[f"ConfigMap {cluster_set.namespace}/b"] == "pruned"


def test_absent_twice(cluster_set: ClusterSet) -> None:
    cluster_set(objects=objects(cluster_set.namespace))
    predicted = cluster_set(state="absent", _ansible_check_mode=True)
    done = cluster_set(state="absent")
    assert {action for one, action in actions(predicted).items()} == {"pruned"}
    assert predicted == done
    assert cluster_set(state="absent") == {"changed": False, "objects": [], "names": {}, "unready": {}}


def in_parts(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Answer each list with so many objects and where it goes on, as if whatever serves it did so unasked."""
    send = Client._send

    def parted(client: Client, verb: str, path: str, query: Any, *arguments: Any, **options: Any) -> Any:
        is_list = verb == "GET" and path.rpartition("/")[2] in ("configmaps", "serviceaccounts", "daemonsets", "pods")
        more = {"limit": size} if is_list and "watch" not in (query or {}) else {}
        return send(client, verb, path, {**more, **(query or {})}, *arguments, **options)

    monkeypatch.setattr(Client, "_send", parted)


def test_a_list_of_which_the_api_server_gives_a_part_is_read_to_its_end(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the members beyond would stay in the cluster without a word when their set goes."""
    wanted = [*objects(cluster_set.namespace), *(config_map(f"c{n}", cluster_set.namespace) for n in range(5))]
    cluster_set(objects=wanted)
    in_parts(monkeypatch, 2)
    assert cluster_set(objects=wanted)["changed"] is False
    # And the parent.
    assert list(actions(cluster_set(state="absent")).values()) == ["pruned"] * (len(wanted) + 1)
    assert all(cluster_set.absent("configmap", f"c{n}") for n in range(5))


def deployment(cluster_set: ClusterSet, name: str) -> Dict[str, Any]:
    pod = pod_spec(resourceClaimTemplateName=name)
    return workload("Deployment", "trainer", cluster_set.namespace, pod, replicas=0)


def standalone_pod(cluster_set: ClusterSet, name: str) -> Dict[str, Any]:
    meta = {"name": "trainer", "namespace": cluster_set.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec(resourceClaimTemplateName=name)}


def cron_job(cluster_set: ClusterSet, name: str) -> Dict[str, Any]:
    pod = {**pod_spec(resourceClaimTemplateName=name), "restartPolicy": "Never"}
    job = {"spec": {"template": {"spec": pod}}}
    meta = {"name": "trainer", "namespace": cluster_set.namespace}
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": job}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec}


@pytest.mark.parametrize("user", [deployment, standalone_pod, cron_job], ids=["Deployment", "Pod", "CronJob"])
def test_a_template_stays_while_something_names_it(
    cluster_set: ClusterSet, user: Callable[[ClusterSet, str], Dict[str, Any]]
) -> None:
    first = cluster_set(objects=[template("h100", cluster_set.namespace, 1)])
    old = first["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"]
    outside = user(cluster_set, old)
    cluster_set.kubectl("create", "-f", "-", stdin=outside)
    wanted = [template("h100", cluster_set.namespace, 2)]
    predicted = cluster_set(objects=wanted, _ansible_check_mode=True)
    second = cluster_set(objects=wanted)
    assert predicted == second
    new = second["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"]
    assert reasons(second) == {old: f"named by {outside['kind']} trainer"}
    assert new != old
    third = cluster_set(objects=wanted)
    assert (third["changed"], reasons(third)) == (False, reasons(second))
    cluster_set.kubectl(
        "delete", outside["kind"], "trainer", "-n", cluster_set.namespace, "--cascade=foreground", "--grace-period=0"
    )
    assert actions(cluster_set(objects=wanted))[f"ResourceClaimTemplate {cluster_set.namespace}/{old}"] == "pruned"


def test_a_template_that_a_custom_resource_names(cluster_set: ClusterSet) -> None:
    definition = copy.deepcopy(DEFINITION)
    definition["metadata"]["name"] = "trainers.users.zerocopy.rdma"
    definition["spec"]["group"] = "users.zerocopy.rdma"
    definition["spec"]["names"] = {"kind": "Trainer", "plural": "trainers"}
    cluster_set(name="operator", objects=[definition])
    first = cluster_set(objects=[template("h100", cluster_set.namespace, 1)])
    old = first["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"]
    meta = {"name": "t", "namespace": cluster_set.namespace}
    spec = {"workers": [{"podTemplate": {"spec": pod_spec(resourceClaimTemplateName=old)}}]}
    trainer = {"apiVersion": "users.zerocopy.rdma/v1", "kind": "Trainer", "metadata": meta, "spec": spec}
    cluster_set.kubectl("create", "-f", "-", stdin=trainer)
    assert reasons(cluster_set(objects=[])) == {old: "named by Trainer t"}
    # The definition has an object of somebody else, so it stays too.
    held = cluster_set(name="operator", state="absent")
    assert reasons(held) == {"trainers.users.zerocopy.rdma": f"has objects: Trainer {cluster_set.namespace}/t"}
    cluster_set.kubectl("delete", "trainers.users.zerocopy.rdma", "t", "-n", cluster_set.namespace)
    assert reasons(cluster_set(objects=[])) == {}
    gone = cluster_set(name="operator", state="absent", wait=True)
    assert set(actions(gone).values()) == {"pruned"}


def test_a_template_that_a_custom_resource_without_a_namespace_names(cluster_set: ClusterSet) -> None:
    definition = copy.deepcopy(DEFINITION)
    definition["metadata"]["name"] = "clustertrainingruntimes.runtimes.zerocopy.rdma"
    definition["spec"].update(group="runtimes.zerocopy.rdma", scope="Cluster")
    definition["spec"]["names"] = {"kind": "ClusterTrainingRuntime", "plural": "clustertrainingruntimes"}
    cluster_set(name="operator", objects=[definition])
    first = cluster_set(objects=[template("h100", cluster_set.namespace, 1)])
    old = first["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"]
    spec = {"template": {"spec": pod_spec(resourceClaimTemplateName=old)}}
    api = {"apiVersion": "runtimes.zerocopy.rdma/v1", "kind": "ClusterTrainingRuntime"}
    cluster_set.kubectl("create", "-f", "-", stdin={**api, "metadata": {"name": "torch"}, "spec": spec})
    assert reasons(cluster_set(objects=[])) == {old: "named by ClusterTrainingRuntime torch"}
    cluster_set.kubectl("delete", "clustertrainingruntimes.runtimes.zerocopy.rdma", "torch")
    assert reasons(cluster_set(objects=[])) == {}
    cluster_set(name="operator", state="absent", wait=True)


def test_workloads_of_the_set_use_the_alias(cluster_set: ClusterSet) -> None:
    wanted = [template("h100", cluster_set.namespace, 1), deployment(cluster_set, "h100")]
    done = cluster_set(objects=wanted)
    name = done["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"]
    live = cluster_set.get("deployment", "trainer")["spec"]["template"]["spec"]["resourceClaims"]
    assert live == [{"name": "nic", "resourceClaimTemplateName": name}]
    assert cluster_set(objects=wanted)["changed"] is False
    # What makes the pods goes first and takes them along, so that nothing is left that needs the template.
    gone = cluster_set(state="absent", wait=True)
    assert set(actions(gone).values()) == {"pruned"}
    assert cluster_set.absent("resourceclaimtemplate", name)


def test_who_may_not_look_does_not_delete(cluster_set: ClusterSet) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]},
        {"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": ["*"]},
    ]
    rbac = "rbac.authorization.k8s.io"
    meta = {"name": "claims", "namespace": cluster_set.namespace}
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": rules}
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "claims"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "team"}],
    }
    for item in (role, binding):
        cluster_set.kubectl("create", "-f", "-", stdin=item)
    who = {"impersonate_user": "team", "impersonate_groups": ["system:authenticated"]}
    first = cluster_set(objects=[template("h100", cluster_set.namespace, 1)], **who)
    [name] = first["names"]["ResourceClaimTemplate"][cluster_set.namespace].values()
    kept = cluster_set(objects=[], **who)
    reason = reasons(kept)[name]
    assert reason.startswith("may be in use: this user has no right to list ")
    assert " deployments.apps, " in reason
    assert reason.endswith(f", statefulsets.apps in namespace {cluster_set.namespace}")
    assert f"ResourceClaimTemplate {cluster_set.namespace}/{name} is kept: it {reason}" in str(kept["warnings"])
    assert reasons(cluster_set(objects=[])) == {}


def test_a_device_class_stays_while_a_claim_asks_for_it(cluster_set: ClusterSet) -> None:
    name = f"{cluster_set.namespace}-nic"
    cluster_set(objects=[device_class(name), template("mine", cluster_set.namespace, 1, name)])
    other = claim("theirs", cluster_set.namespace, 1, name)
    cluster_set.kubectl("create", "-f", "-", stdin=other)
    held = cluster_set(objects=[])
    assert reasons(held) == {name: f"requested by ResourceClaim {cluster_set.namespace}/theirs"}
    cluster_set.kubectl("delete", "resourceclaim", "theirs", "-n", cluster_set.namespace)
    # Those of the set itself that go do not keep it.
    cluster_set(objects=[device_class(name), template("mine", cluster_set.namespace, 1, name)])
    predicted = cluster_set(objects=[], _ansible_check_mode=True)
    done = cluster_set(objects=[])
    assert predicted == done
    assert reasons(done) == {}


def test_a_namespace_with_pods_stays(cluster_set: ClusterSet) -> None:
    other = f"{cluster_set.namespace}-pods"
    cluster_set(objects=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}])
    meta = {"name": "p", "namespace": other}
    cluster_set.kubectl("create", "serviceaccount", "default", "-n", other, check=False)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec()}
    cluster_set.kubectl("create", "-f", "-", stdin=pod)
    assert reasons(cluster_set(objects=[])) == {other: "has pods"}
    cluster_set.kubectl("delete", "pod", "p", "-n", other, "--grace-period=0")
    assert set(actions(cluster_set(state="absent", wait=True)).values()) == {"pruned"}


def test_what_is_being_deleted_is_waited_for_and_not_applied(cluster_set: ClusterSet) -> None:
    held, other = (config_map(name, cluster_set.namespace) for name in ("held", "other"))
    held["metadata"]["finalizers"] = ["test.zerocopy.rdma/hold"]
    cluster_set(objects=[held, other])
    assert actions(cluster_set(objects=[other]))[f"ConfigMap {cluster_set.namespace}/held"] == "pruned"
    again = cluster_set(objects=[other])
    assert (again["changed"], list(actions(again))) == (
        False,
        [f"ConfigMap {cluster_set.namespace}/other", f"Secret {cluster_set.namespace}/set"],
    )
    late = cluster_set(objects=[other], wait=True, wait_timeout=1)
    assert late["msg"] == (
        "gave up waiting after 1 s without progress, or after a failure:\n"
        f"ConfigMap {cluster_set.namespace}/held: still there, held by test.zerocopy.rdma/hold"
    )
    failed = cluster_set(objects=[held, other])
    assert failed["msg"].startswith(
        "being deleted at the moment, so nothing was applied; run again when they are gone:\nConfigMap"
    )
    cluster_set.patch("configmap", "held", {"metadata": {"finalizers": None}})
    assert cluster_set(objects=[other], wait=True)["changed"] is False
    assert actions(cluster_set(objects=[held, other]))[f"ConfigMap {cluster_set.namespace}/held"] == "created"
    cluster_set(objects=[other])
    cluster_set.patch("configmap", "held", {"metadata": {"finalizers": None}})


def test_a_node_that_is_down_does_not_hold_up_what_goes(cluster_set: ClusterSet) -> None:
    space, place = cluster_set.namespace, f"{cluster_set.namespace}-node"
    cluster_set.kubectl("create", "-f", "-", stdin=node(place))
    pod = {**pod_spec(), "nodeSelector": {"kubernetes.io/hostname": place}}
    cluster_set(objects=[config_map("a", space), workload("DaemonSet", "driver", space, pod)])
    pods = ("pods", "-n", space, "-o", "jsonpath={.items[*].spec.nodeName}")
    await_condition("the pod", lambda: cluster_set.kubectl("get", *pods) == place, seconds=60)

    def kubelet(said: str) -> None:
        change = {"status": {"conditions": [{"type": "Ready", "status": said}]}}
        cluster_set.patch("node", place, change, subresource="status")

    kubelet("Unknown")
    warning = f"DaemonSet {space}/driver was deleted, but stays until its pods on {place} have ended"
    done = cluster_set(state="absent", wait=True, wait_timeout=2)
    assert set(actions(done).values()) == {"pruned", "configured"}
    assert warning in str(done["warnings"])
    assert cluster_set.absent("configmap", "a")
    # The set is not forgotten.
    again = cluster_set(state="absent", wait=True, wait_timeout=2)
    assert (again["changed"], warning in str(again["warnings"])) == (False, True)
    kubelet("True")
    late = cluster_set(state="absent", wait=True, wait_timeout=2)
    assert f"DaemonSet {space}/driver: still there, held by foregroundDeletion" in late["msg"]
    cluster_set.kubectl("delete", "pods", "-n", space, "--all", "--grace-period=0", "--force")
    assert actions(cluster_set(state="absent", wait=True)) == {f"Secret {space}/set": "pruned"}
    cluster_set.kubectl("delete", "node", place)


def test_what_somebody_else_is_deleting_is_not_applied(cluster_set: ClusterSet) -> None:
    held = config_map("held", cluster_set.namespace)
    held["metadata"]["finalizers"] = ["test.zerocopy.rdma/hold"]
    cluster_set.kubectl("create", "-f", "-", stdin=held)
    cluster_set.kubectl("delete", "configmap", "held", "-n", cluster_set.namespace, "--wait=false")
    wanted = [config_map("held", cluster_set.namespace), config_map("other", cluster_set.namespace)]
    for check in (True, False):
        failed = cluster_set(objects=wanted, force_conflicts="always", _ansible_check_mode=check)
        assert failed["msg"] == (
            "being deleted at the moment, so nothing was applied; run again when they are gone:\n"
            f"ConfigMap {cluster_set.namespace}/held"
        )
    assert cluster_set.absent("configmap", "other")
    assert cluster_set.absent("secret", "set")
    cluster_set.patch("configmap", "held", {"metadata": {"finalizers": None}})


def test_wait_until_it_works(cluster_set: ClusterSet) -> None:
    wanted = workload("Deployment", "server", cluster_set.namespace, pod_spec(), replicas=2)
    late = cluster_set(objects=[wanted], wait=True, wait_timeout=2)
    text = f"Deployment {cluster_set.namespace}/server: 0 of 2 pods available; Pod server-"
    assert late["msg"].startswith(f"gave up waiting after 2 s without progress, or after a failure:\n{text}")
    assert late["msg"].endswith(": no nodes available to schedule pods")
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    def play_kubelet() -> None:
        """Report every pod as running, one after the other."""
        listed = cluster_set.kubectl("get", "pods", "-n", cluster_set.namespace, "-o", "name")
        for name in listed.split():
            status = {"status": {"phase": "Running", "conditions": [condition]}}
            cluster_set.patch("pod", name.partition("/")[2], status, subresource="status")

    kubelet = threading.Timer(1, play_kubelet)
    kubelet.start()
    done = cluster_set(objects=[wanted], wait=True, wait_timeout=30)
    kubelet.join()
    assert done["changed"] is False
    assert cluster_set.get("deployment", "server")["status"]["availableReplicas"] == 2


class Killed(BaseException):
    """SIGKILL, as far as a test in the same process can have it."""


class Killing:
    """The client's way to send, which dies at the first write after so many, before or after the API server has it."""

    def __init__(self, writes: int, answered: bool) -> None:
        self._send = Client._send
        self._left = writes
        self._answered = answered

    def method(self) -> Callable[..., Any]:
        """To stand in for the client's."""

        def send(client: Client, verb: str, path: str, query: Any, headers: Any, data: Any, **options: Any) -> Any:
            dry = "dryRun" in (query or {}) or b"dryRun" in (data or b"")
            if verb != "GET" and not dry:
                self._left -= 1
            if self._left < 0 and not self._answered:
                raise Killed
            answer = self._send(client, verb, path, query, headers, data, **options)
            if self._left < 0:
                raise Killed
            return answer

        return send


@pytest.mark.parametrize("answered", [False, True], ids=["before the request", "before its answer"])
def test_killed_anywhere_the_next_run_completes(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    # The next run need not wait for the one that was killed.
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    old = [*objects(cluster_set.namespace), config_map("leaves", cluster_set.namespace)]
    new = [
        config_map("enters", cluster_set.namespace),
        template("h100", cluster_set.namespace, 2),
        workload("Deployment", "enters", cluster_set.namespace, pod_spec(), replicas=0),
    ]
    writes = 0
    survived = False
    while not survived:
        cluster_set(objects=old)
        with monkeypatch.context() as patch:
            killing = Killing(writes, answered)
            patch.setattr(Client, "_send", killing.method())
            try:
                cluster_set(objects=new)
                survived = True
            except Killed:
                writes += 1
        cluster_set(objects=new)
        assert cluster_set(objects=new)["changed"] is False
        assert len(cluster_set.members()) == len(new)
        annotations = cluster_set.get("secret", "set")["metadata"]["annotations"]
        kinds = annotations["applyset.kubernetes.io/contains-group-kinds"]
        assert kinds == "ConfigMap,Deployment.apps,ResourceClaimTemplate.resource.k8s.io"
        cluster_set(state="absent", wait=True)
    # The parent twice, what enters and what leaves.
    assert writes == 2 + len(new) + len(old)
