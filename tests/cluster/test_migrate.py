# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Rewritten manifests on a real API server: it accepts them, and the real scheduler allocates what they claim."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import move
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import PodAsk, Wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import content_hash, manifests
from ansible_collections.zerocopy.rdma.plugins.modules import workload_rewrite
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, Object, placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.kubectl import kubectl_of
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import plan, published, template
from ansible_collections.zerocopy.rdma.tests.unit.fleet import audit_manifests

Facts = Callable[..., dict[str, Any]]


def _rewritten(items: list[Object], asks: list[PodAsk]) -> list[Object]:
    found = move.forward(items, Wish(asks))
    assert [note for note in found.notes if note.level == move.CANNOT] == []
    assert found.documents != items
    return found.documents


@pytest.fixture
def kubectl(control_plane: Any) -> Callable[..., str]:
    return kubectl_of(control_plane)


def test_the_scheduler_allocates_the_claim_of_a_rewritten_pod(fleet: Fleet, facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    found = plan({"n1": facts}, template("pair", gpus=2, nics=2), rdma_claims_namespaces=[fleet.namespace])
    assert found.problems == []
    objects = manifests.ordered(found.objects)
    (made,) = [one for one in objects if one["metadata"].get("labels", {}).get(content_hash.ALIAS) == "pair"]
    fleet.create(objects)
    fleet.nodes(placed_on(published(facts), "n1"))
    limits = {"nvidia.com/gpu": "2", "rdma/hca_shared_devices_a": "1"}
    old = audit_manifests.pod(hostNetwork=True, container={"resources": {"limits": limits}})
    old["metadata"]["namespace"] = fleet.namespace
    ask = PodAsk("pair", templates={fleet.namespace: made["metadata"]["name"]}, gpus=2)
    (new,) = _rewritten([old], [ask])
    placed = fleet.pods([new])["pod"]
    assert placed.node == "n1"
    assert sorted(map(len, placed.devices.values())) == [2, 2] or sum(map(len, placed.devices.values())) == 4


def test_workloads_in_the_cluster_there_and_back(
    kubectl: Callable[..., str], namespace: str, control_plane: Any, run_module: Callable[..., Object]
) -> None:
    def run(place: str = namespace, **options: Any) -> Object:
        request = {"name": "one-nic", "templates": {namespace: "one-nic-1"}, "capabilities": ["IPC_LOCK"]}
        full = {"places": [place], "requests": [request], "kubeconfig": str(control_plane.kubeconfig), **options}
        return run_module(workload_rewrite, **full)

    def spec(kind: str, name: str) -> Object:
        found: Object = json.loads(kubectl("get", kind, name, "-n", namespace, "-o", "json"))["spec"]
        return found

    items = [audit_manifests.named(name) for name in ("prefill", "decode", "trainer", "nightly")]
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "llama"}}
    items.append({**service, "spec": {"selector": {"role": "prefill"}, "ports": [{"port": 8300}]}})
    for one in items:
        one["metadata"] = {"name": one["metadata"]["name"], "namespace": namespace}
        if one["kind"] in ("Deployment", "StatefulSet"):
            one["spec"]["replicas"] = 0
    kubectl("create", "-f", "-", items=items)
    names = [(one["kind"], one["metadata"]["name"]) for one in items]
    before = [spec(*name) for name in names]
    result = run(_ansible_check_mode=True)
    assert sorted(result["objects"]) == sorted(f"{kind} {namespace}/{name}" for kind, name in names)
    assert [spec(*name) for name in names] == before
    assert run()["objects"] == result["objects"]
    # The API server had filled in the port of the host.
    pod = spec("Deployment", "prefill")["template"]["spec"]
    assert not {"hostNetwork", "hostPort"} & {*pod, *pod["containers"][0]["ports"][0]}
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "1"}, "claims": [{"name": "rdma"}]}
    assert spec("Service", "llama")["ports"][0]["targetPort"] == 8000
    assert run()["changed"] is False
    back = run(state="absent")
    assert (back["objects"], back["notes"]) == (result["objects"], [])
    assert [spec(*name) for name in names] == before
    # The template of a Job cannot be changed, and kubectl apply would bring back what its manifest has.
    bench = audit_manifests.named("bench")
    bench["metadata"] = {"name": "bench", "namespace": namespace}
    bench["spec"]["suspend"] = True
    kubectl("create", "-f", "-", items=[bench])
    kubectl("apply", "-f", "-", items=[items[1]])
    why = run()["msg"]
    assert f"Job {namespace}/bench: the API server refuses the change: " in why
    assert f"Deployment {namespace}/decode would be changed back: change it in its manifest (kubectl)" in why
    assert [spec(*name) for name in names] == before
    assert run(f"{namespace}/prefill", _ansible_check_mode=True)["changed"] is True
