# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The driver is restarted where the kernel was changed or it has crashed, nowhere else. Its pods are objects only."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Dict, Iterator, List

import pytest
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import ProtocolError

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import RestartStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import objects as drivers_objects
from ansible_collections.zerocopy.rdma.plugins.modules import cluster_apply
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _fleet
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node

HOSTS = {"restart-a1": "a", "restart-a2": "a", "restart-a3": "a", "restart-b1": "b", "restart-b2": "b"}
MODULE = {"kind": "module", "name": "ib_umad", "before": "unloaded", "after": "loaded"}
NETNS = {"kind": "rdma_netns_mode", "name": "rdma", "before": "shared", "after": "exclusive"}
FILE = {"kind": "file", "name": "/etc/modules-load.d/zerocopy-rdma.conf", "before": "absent", "after": "present"}


class Kubelet(threading.Thread):
    """Plays the kubelets: starts pods that have a node, and ends those that are deleted."""

    def __init__(self, client: dynamic.DynamicClient, namespace: str) -> None:
        super().__init__(daemon=True)
        self._pods = client.resources.get(api_version="v1", kind="Pod")
        self._namespace = namespace
        self._watcher = dynamic.client.watch.Watch()
        self._stopped = False
        self.changed = threading.Condition()
        self.running: Dict[str, str] = {}

    def run(self) -> None:
        try:
            self._play()
        except (ProtocolError, TypeError):
            # The connection that it still has ends with the API server; the client reads half a line as no object.
            if not self._stopped:
                raise

    def _play(self) -> None:
        for event in self._pods.watch(namespace=self._namespace, watcher=self._watcher):
            one = event["raw_object"]
            name, meta, placed = one["metadata"]["name"], one["metadata"], one["spec"].get("nodeName")
            # What was removed or changed meanwhile comes again as another event.
            with contextlib.suppress(ApiException):
                if event["type"] == "DELETED":
                    continue
                if "deletionTimestamp" in meta:
                    self._pods.delete(name=name, namespace=self._namespace, body={"gracePeriodSeconds": 0})
                elif placed and one["status"].get("phase") != "Running":
                    self._start(name)
                elif placed:
                    with self.changed:
                        self.running[placed] = meta["uid"]
                        self.changed.notify_all()

    def _start(self, name: str, crashes: int = 0) -> None:
        ready = not crashes
        container = {"name": "dranet", "ready": ready, "restartCount": crashes, "image": "i", "imageID": "i"}
        if crashes:
            container["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
        conditions = [{"type": kind, "status": str(ready)} for kind in ("Ready", "ContainersReady")]
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": [container]}
        self._pods.status.patch(
            name=name,
            namespace=self._namespace,
            body={"status": status},
            content_type="application/merge-patch+json",
        )

    def crash(self, host: str) -> None:
        """The driver on this host waits to be started again."""
        pods = self._pods.get(namespace=self._namespace, field_selector=f"spec.nodeName={host}").items
        self._start(pods[0].metadata.name, crashes=5)

    def stop(self) -> None:
        self._stopped = True
        self._watcher.stop()


@pytest.fixture
def kubelet(cluster: dynamic.DynamicClient, namespace: str, create: Callable[..., Any]) -> Iterator[Kubelet]:
    """With the driver of two groups on all nodes."""
    for host, group in HOSTS.items():
        body = node(host)
        body["metadata"]["labels"]["zerocopy.rdma.node-restriction.kubernetes.io/group"] = group
        create(cluster, "Node", body)
    own = {"rdma_driver_namespace": namespace}
    plan = deployment.plan([InventoryHost(host, group, own) for host, group in HOSTS.items()], variables.options_of())
    assert plan.problems == []
    for item in plan.objects:
        if item["kind"] in ("ServiceAccount", "DaemonSet"):
            resource = cluster.resources.get(api_version=item["apiVersion"], kind=item["kind"])
            resource.create(body=item, namespace=namespace)
    played = Kubelet(cluster, namespace)
    played.start()
    with played.changed:
        assert played.changed.wait_for(lambda: set(played.running) == set(HOSTS), timeout=60), played.running
    yield played
    sets = cluster.resources.get(api_version="apps/v1", kind="DaemonSet")
    sets.delete(namespace=namespace, label_selector="app.kubernetes.io/name=dranet")
    played.stop()


@pytest.fixture
def restart(control_plane: Any, run_module: Callable[..., Any], namespace: str) -> Callable[..., List[str]]:
    """Restarts the driver for hosts with these changes, and tells on which hosts it was, or would be, restarted."""

    def play(changes: Dict[str, Any], check: bool = False) -> List[str]:
        hostvars = {host: {"rdma_kernel_result": changes[host]} if host in changes else {} for host in HOSTS}
        step = RestartStep(
            "restart",
            "driver",
            namespace,
            drivers_objects.SELECTOR,
            _fleet.restarted(hostvars, [InventoryHost(host) for host in HOSTS]),
            wait=True,
        )
        done = run_module(
            cluster_apply,
            kubeconfig=str(control_plane.kubeconfig),
            steps=steps.written([step]),
            _ansible_check_mode=check,
        )
        (result,) = done["steps"]
        assert result["changed"] == done["changed"] == bool(result["nodes"])
        return sorted(result["nodes"])

    return play


def test_only_where_the_kernel_was_changed(kubelet: Kubelet, restart: Callable[..., List[str]]) -> None:
    changes = {
        "restart-a1": {"changed": True, "changes": [FILE, MODULE]},
        "restart-a2": {"changed": True, "changes": [FILE]},
        "restart-b1": {"changed": True, "changes": [NETNS, MODULE]},
        "restart-b2": {"changed": False, "skipped": True},
    }
    before = dict(kubelet.running)
    assert restart(changes, check=True) == ["restart-a1", "restart-b1"]
    assert kubelet.running == before

    assert restart(changes) == ["restart-a1", "restart-b1"]
    # The step has waited for the successors, of which the played kubelet is told as well.
    wanted = {"restart-a1", "restart-b1"}
    with kubelet.changed:
        kubelet.changed.wait_for(
            lambda: {host for host in HOSTS if kubelet.running[host] != before[host]} == wanted, 60
        )
    assert {host for host in HOSTS if kubelet.running[host] != before[host]} == wanted

    unchanged = {host: {"changed": False, "changes": []} for host in HOSTS}
    assert restart(unchanged) == []


def test_where_it_waits_after_a_crash(kubelet: Kubelet, restart: Callable[..., List[str]]) -> None:
    before = dict(kubelet.running)
    kubelet.crash("restart-a2")
    assert restart({}) == ["restart-a2"]
    with kubelet.changed:
        assert kubelet.changed.wait_for(lambda: kubelet.running["restart-a2"] != before["restart-a2"], timeout=60)
    assert {host for host in HOSTS if kubelet.running[host] != before[host]} == {"restart-a2"}
    assert restart({}) == []
