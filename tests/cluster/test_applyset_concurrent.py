# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs of one set at the same time. What the parent does not name, no later run finds: no object may be left behind."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import live_parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import (
    ClusterSet,
    actions,
    config_map,
    pod_spec,
    workload,
)

Object = Dict[str, Any]
_KINDS = "applyset.kubernetes.io/contains-group-kinds"


def account(namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": namespace}}


def before_write(monkeypatch: pytest.MonkeyPatch, plural: str, call: Callable[[Client], object]) -> None:
    """Call this once, before the first request that is to write an object of this kind."""
    send = Client._send
    called: List[bool] = []

    def hooked(self: Client, method: str, path: str, query: Any, *arguments: Any, **options: Any) -> Any:
        if method != "GET" and "dryRun" not in (query or {}) and f"/{plural}" in path and not called:
            called.append(True)
            call(self)
        return send(self, method, path, query, *arguments, **options)

    monkeypatch.setattr(Client, "_send", hooked)


@pytest.mark.parametrize("existing", [False, True], ids=["new set", "existing set"])
def test_a_run_whose_parent_changed_before_its_first_write_plans_again(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    if existing:
        cluster_set(objects=[config_map("old", cluster_set.namespace)])
    before_write(monkeypatch, "secrets", lambda _client: cluster_set(objects=[account(cluster_set.namespace)]))
    done = cluster_set(objects=[config_map("mine", cluster_set.namespace)])
    assert actions(done) == {
        f"ConfigMap {cluster_set.namespace}/mine": "created",
        f"ServiceAccount {cluster_set.namespace}/robot": "pruned",
        f"Secret {cluster_set.namespace}/set": "configured",
    }
    assert cluster_set.members() == ["configmap/mine"]
    cluster_set(state="absent")
    assert cluster_set.absent("configmap", "mine")


@pytest.mark.parametrize("existing", [False, True], ids=["new set", "existing set"])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_an_overtaken_run_fails_and_the_parent_names_the_objects_of_both(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch, existing: bool, state: str
) -> None:
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    if existing:
        cluster_set(objects=[config_map("old", cluster_set.namespace)])
    other: Object = {"objects": [account(cluster_set.namespace)]} if state == "present" else {"state": "absent"}
    before_write(monkeypatch, "configmaps", lambda _client: cluster_set(**other))
    failed = cluster_set(objects=[config_map("mine", cluster_set.namespace)])
    assert failed["msg"] == (
        f"Secret {cluster_set.namespace}/set, the parent of the set, was changed by another run at the same time. "
        f"Objects of both runs may be in the cluster, all of them members of the set: when the other run has ended, "
        f"run again"
    )
    annotations = cluster_set.get("secret", "set")["metadata"]["annotations"]
    assert "ConfigMap" in annotations[_KINDS].split(",")
    assert live_parent._RUN not in annotations
    assert "configmap/mine" in cluster_set.members()
    assert cluster_set(objects=[config_map("mine", cluster_set.namespace)])["changed"] is (state == "present")
    assert cluster_set.members() == ["configmap/mine"]
    cluster_set(state="absent")
    assert cluster_set.absent("configmap", "mine")
    assert cluster_set.absent("serviceaccount", "robot")


def test_a_run_that_fails_half_way_leaves_its_objects_to_the_next(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    before_write(
        monkeypatch, "configmaps", lambda _client: cluster_set(objects=[account(cluster_set.namespace)]) and None
    )
    never = workload("Deployment", "never", cluster_set.namespace, {**pod_spec(), "nodeSelector": {"a": "nowhere"}})
    failed = cluster_set(objects=[config_map("mine", cluster_set.namespace), never], wait=True, wait_timeout=1)
    assert failed["msg"].startswith("gave up waiting after 1 s without progress")
    assert "configmap/mine" in cluster_set.members()
    cluster_set(state="absent")
    assert cluster_set.absent("configmap", "mine")


def test_a_run_waits_for_the_one_that_is_changing_the_set(
    cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, others = config_map("mine", cluster_set.namespace), account(cluster_set.namespace)
    waiting = threading.Event()
    wait_until_idle = live_parent.LiveParent.wait_until_idle

    def wait(self: live_parent.LiveParent) -> bool:
        waiting.set()
        return wait_until_idle(self)

    monkeypatch.setattr(live_parent.LiveParent, "wait_until_idle", wait)
    second: Object = {}

    def start(client: Client) -> None:
        request = ApplysetRequest(name="set", namespace=cluster_set.namespace, objects=[others])
        another = Client(client._pool, client._host, client._headers)
        threads.append(threading.Thread(target=lambda: second.update(converge(another, request))))
        threads[0].start()
        assert waiting.wait(30)

    threads: List[threading.Thread] = []
    before_write(monkeypatch, "configmaps", start)
    first = cluster_set(objects=[mine])
    threads[0].join(60)
    assert actions(first)[f"ConfigMap {cluster_set.namespace}/mine"] == "created"
    assert actions(second) == {
        f"ServiceAccount {cluster_set.namespace}/robot": "created",
        f"ConfigMap {cluster_set.namespace}/mine": "pruned",
        f"Secret {cluster_set.namespace}/set": "configured",
    }
    assert cluster_set.members() == ["serviceaccount/robot"]
