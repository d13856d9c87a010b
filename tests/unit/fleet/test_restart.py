# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Pods of a driver that start anew, and pools of addresses that go."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import RestartStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import pools
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import restart as module
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.tests.unit.fleet.cluster_client import Server, pod

PODS = "/api/v1/namespaces/kube-system/pods"


def status(ready: bool = True, restarts: int = 0) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"conditions": conditions, "containerStatuses": [{"ready": ready, "restartCount": restarts}]}


def driver_pod(name: str, on: str, **own: Any) -> dict[str, Any]:
    return {**pod(name, on), "status": status(**own)}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (status(), False),
        (status(ready=True, restarts=3), False),
        # It starts for the first time.
        (status(ready=False), False),
        (status(ready=False, restarts=1), True),
        # Another container than the driver's own.
        ({"containerStatuses": [*status()["containerStatuses"], {"ready": False, "restartCount": 4}]}, False),
        ({"containerStatuses": []}, False),
        ({}, False),
    ],
)
def test_which_pods_have_crashed(own: dict[str, Any], expected: bool) -> None:
    assert module.crashed({"status": own}) is expected
    assert not module.crashed({})


def step(*nodes: str, wait: bool = False) -> RestartStep:
    return RestartStep("Restart", "driver", "kube-system", "app=dranet", nodes, wait)


@pytest.fixture(name="server")
def make_server() -> Server:
    server = Server()
    server.lists[PODS] = [
        driver_pod("fine", "n1"),
        driver_pod("crashed", "n2", ready=False, restarts=2),
        driver_pod("changed", "n3"),
    ]
    return server


def restarted(server: Server, own: RestartStep, check: bool = False) -> dict[str, Any]:
    return module.restart(server, own, check)  # type: ignore[arg-type]  # a stand-in


def test_pods_that_crashed_and_those_of_changed_nodes(server: Server) -> None:
    assert restarted(server, step("n3")) == {"changed": True, "nodes": ["n2", "n3"]}
    assert server.writes == [f"delete {PODS}/crashed", f"delete {PODS}/changed"]
    # Not the pod that has its name by now.
    assert [options["preconditions"] for options in server.options] == [{"uid": "uid-crashed"}, {"uid": "uid-changed"}]
    assert server.watched == []


def test_check_mode_restarts_none(server: Server) -> None:
    assert restarted(server, step("n3", wait=True), check=True) == {"changed": True, "nodes": ["n2", "n3"]}
    assert (server.writes, server.watched) == ([], [])


def test_nothing_to_restart(server: Server) -> None:
    server.lists[PODS] = server.lists[PODS][:1]
    assert restarted(server, step("n3", wait=True)) == {"changed": False, "nodes": []}
    assert (server.writes, server.watched) == ([], [])


def test_new_pods_of_changed_nodes_are_waited_for(server: Server) -> None:
    fine, crashed, _changed = server.lists[PODS]
    new = driver_pod("new", "n3", ready=False)

    def meanwhile() -> None:
        # The old one is still listed, then a new one starts, and works in the end.
        if len(server.watched) == 1:
            server.lists[PODS] = [fine, crashed, new]
        else:
            new["status"] = status()

    server.meanwhile = meanwhile
    assert restarted(server, step("n3", wait=True))["changed"]
    assert len(server.watched) == 2


def test_the_wait_for_new_pods_ends(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0)
    assert restarted(server, step("n3", wait=True))["changed"]
    assert server.watched == []


POOLS = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/rdma/ippools"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/rdma/leases/whereabouts"


class PoolServer(Server):
    """With the kind of pools, or without."""

    def __init__(self, served: bool = True) -> None:
        super().__init__()
        self._served = served

    def get(self, path: str, query: Any = None, accept: str = "") -> dict[str, Any]:
        if path != "/apis":
            return super().get(path, query, accept)
        resource = {"resource": "ippools", "responseKind": {"kind": "IPPool"}, "scope": "Namespaced", "verbs": ["list"]}
        versions = [{"version": "v1alpha1", "resources": [resource]}]
        groups = [{"metadata": {"name": "whereabouts.cni.cncf.io"}, "versions": versions}] if self._served else []
        return {"kind": "APIGroupDiscoveryList", "items": groups}


def pool(name: str, **allocations: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "3"},
        "spec": {"allocations": allocations},
    }


def test_pools_without_addresses_in_use_go() -> None:
    server = PoolServer()
    server.lists[POOLS] = [pool("10.90.0.0-24"), pool("10.90.1.0-24", **{"5": {"podref": "llm/prefill"}})]
    pools.remove(server, "rdma")  # type: ignore[arg-type]  # a stand-in
    assert server.writes == [f"delete {POOLS}/10.90.0.0-24", f"delete {LEASE}"]
    # A pod that gets an address at this moment changes the version.
    assert server.options[0]["preconditions"] == {"uid": "uid-10.90.0.0-24", "resourceVersion": "3"}


@pytest.mark.parametrize("status_code", [409, 403])
def test_a_pool_that_changes_at_this_moment_stays(status_code: int) -> None:
    server = PoolServer()
    server.lists[POOLS] = [pool("one"), pool("two")]
    server.refused[f"{POOLS}/one"] = ApiError(status_code, {"message": "no"})
    if status_code == 409:
        pools.remove(server, "rdma")  # type: ignore[arg-type]  # a stand-in
        assert server.writes[-2:] == [f"delete {POOLS}/two", f"delete {LEASE}"]
        return
    with pytest.raises(ApiError):
        pools.remove(server, "rdma")  # type: ignore[arg-type]  # a stand-in


def test_without_the_kind_only_the_lease_goes() -> None:
    server = PoolServer(served=False)
    pools.remove(server, "rdma")  # type: ignore[arg-type]  # a stand-in
    assert server.writes == [f"delete {LEASE}"]
