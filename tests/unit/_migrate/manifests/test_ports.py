# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Ports that workloads had for themselves on the host network, with the probes, Services and pools that name them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import rewrite
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE, Object, named
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import container, moved


def _deployment(name: str, port: int, **more: Any) -> Object:
    item = named("decode")
    item["metadata"]["name"] = name
    inside = item["spec"]["template"]["spec"]["containers"][0]
    inside.update({"args": ["--port", str(port)], "ports": [{"containerPort": port, "hostPort": port}], **more})
    item["spec"]["template"]["metadata"]["labels"] = {"app": "llama", "role": name}
    return item


def test_probes_and_services_follow_the_port() -> None:
    probe = {"httpGet": {"path": "/health", "port": 8300}}
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "svc", "namespace": NAMESPACE},
        "spec": {"selector": {"role": "b"}, "ports": [{"port": 8300}]},
    }
    items = [_deployment("a", 8000), _deployment("b", 8300, readinessProbe=probe), service]
    there, notes = moved(*items)
    assert notes == []
    assert container(there[1])["args"] == ["--port", "8000"]
    assert container(there[1])["ports"] == [{"containerPort": 8000}]
    assert container(there[1])["readinessProbe"]["httpGet"]["port"] == 8000
    # Its clients notice nothing.
    assert there[2]["spec"]["ports"] == [{"port": 8300, "targetPort": 8000}]
    assert rewrite.reverted(there).documents == items
    # Nor does it matter which of them a run sees.
    for place in range(3):
        assert moved(there[place])[0] == [there[place]]
    headless = copy.deepcopy(items)
    headless[2]["spec"]["clusterIP"] = "None"
    there, notes = moved(*headless)
    assert [text for _name, _level, text in notes] == [
        "port 8300 stays, although 8000 is the common port: clients of the headless Service svc use it directly"
    ]
    assert there[2] == headless[2]


@pytest.mark.parametrize(
    ("selector", "led"),
    [
        ({"leaderworkerset.sigs.k8s.io/name": "b", "role": "leader"}, True),
        ({"ray.io/cluster": "b-raycluster-x7k2p"}, True),
        # Of another object, or of pods with another role.
        ({"leaderworkerset.sigs.k8s.io/name": "bb", "role": "leader"}, False),
        ({"leaderworkerset.sigs.k8s.io/name": "b", "role": "worker"}, False),
    ],
)
def test_a_service_that_selects_pods_by_what_their_controller_adds(selector: Object, led: bool) -> None:
    """As in the examples of LeaderWorkerSet: the template alone does not say that the Service leads to its pods."""
    workload = _deployment("b", 8300)
    workload["spec"]["template"]["metadata"]["labels"] = {"role": "leader"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "namespace": NAMESPACE}}
    service["spec"] = {"selector": selector, "ports": [{"port": 80, "targetPort": 8300}]}
    there, notes = moved(_deployment("a", 8000), workload, service)
    assert there[2] == service
    assert container(there[1])["args"] == ["--port", "8300" if led else "8000"]
    label = next(iter(selector))
    said = f"Service {NAMESPACE}/svc seems to lead to it by {label}, which the template does not have"
    what = "port 8300 stays, although 8000 is the common port: "
    assert notes == ([("b", "left", f"{what}{said}")] if led else [])


def _other(api: str, kind: str, spec: Any, **meta: Any) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": NAMESPACE, **meta}, "spec": spec}


@pytest.mark.parametrize(
    ("api", "kind", "spec"),
    [
        ("networking.k8s.io/v1", "NetworkPolicy", {"podSelector": {}, "ingress": [{"ports": [{"port": 8300}]}]}),
        ("networking.k8s.io/v1", "NetworkPolicy", {"egress": [{"ports": [{"port": 8299, "endPort": 8300}]}]}),
        ("networking.k8s.io/v1", "NetworkPolicy", {"ingress": [{"ports": [{"port": 8200, "endPort": 8400}]}]}),
        ("cilium.io/v2", "CiliumNetworkPolicy", {"ingress": [{"toPorts": [{"ports": [{"port": "8300"}]}]}]}),
        ("monitoring.coreos.com/v1", "PodMonitor", {"podMetricsEndpoints": [{"portNumber": 8300}]}),
        ("monitoring.coreos.com/v1", "PodMonitor", {"podMetricsEndpoints": [{"targetPort": 8300}]}),
        (
            "networking.istio.io/v1",
            "DestinationRule",
            {"trafficPolicy": {"portLevelSettings": [{"port": {"number": 8300}}]}},
        ),
    ],
)
def test_a_port_that_another_object_names_stays(api: str, kind: str, spec: Any) -> None:
    items = [_deployment("a", 8000), _deployment("b", 8300), _other(api, kind, spec)]
    there, notes = moved(*items)
    assert container(there[1])["args"] == ["--port", "8300"]
    assert there[2] == items[2]
    why = f"port 8300 stays, although 8000 is the common port: {kind} {NAMESPACE}/x names it"
    assert notes == [("b", "left", why)]


@pytest.mark.parametrize(
    "other",
    [
        _other("networking.k8s.io/v1", "NetworkPolicy", {"ingress": [{"ports": [{"port": 8300}]}]}, namespace="b"),
        _other("networking.k8s.io/v1", "NetworkPolicy", {"ingress": [{"ports": [{"port": 8000}]}]}),
        # The new port is in it as well.
        _other("networking.k8s.io/v1", "NetworkPolicy", {"ingress": [{"ports": [{"port": 7999, "endPort": 9000}]}]}),
        _other("example.com/v1", "Quota", {"number": 8300, "replicas": 8300}),
    ],
)
def test_other_objects_that_do_not_name_a_port(other: Object) -> None:
    there, notes = moved(_deployment("a", 8000), _deployment("b", 8300), other)
    assert container(there[1])["args"] == ["--port", "8000"]
    assert notes == []


def test_a_port_that_is_elsewhere_in_the_pod_stays() -> None:
    own = {"env": [{"name": "SERVER_PORT", "value": "8300"}]}
    _there, notes = moved(_deployment("a", 8000), _deployment("b", 8300, **own))
    assert notes == [
        ("b", "left", "port 8300 stays, although 8000 is the common port: 8300 also appears elsewhere in the pod")
    ]


def test_a_port_that_an_annotation_names_stays() -> None:
    other = _deployment("b", 8300)
    other["spec"]["template"]["metadata"]["annotations"] = {"prometheus.io/port": "8300"}
    _there, notes = moved(_deployment("a", 8000), other)
    assert notes == [
        ("b", "left", "port 8300 stays, although 8000 is the common port: 8300 also appears elsewhere in the pod")
    ]


def test_a_sidecar_keeps_its_port() -> None:
    other = _deployment("b", 8200)
    sidecar = {"name": "proxy", "image": "registry.example.org/proxy:v1", "ports": [{"containerPort": 8000}]}
    other["spec"]["template"]["spec"]["containers"].append(sidecar)
    there, notes = moved(_deployment("a", 8000), other)
    assert container(there[1])["args"] == ["--port", "8200"]
    assert notes == [("b", "left", "port 8200 stays, although 8000 is the common port: container proxy has 8000")]


def test_a_pool_of_one_port() -> None:
    pool = named("llama")
    pool["apiVersion"] = "inference.networking.x-k8s.io/v1alpha2"
    pool["spec"] = {"selector": {"role": "b"}, "targetPortNumber": 8300}
    there, _notes = moved(_deployment("a", 8000), _deployment("b", 8300), pool)
    assert there[2]["spec"]["targetPortNumber"] == 8000


@pytest.mark.parametrize("keeps", ["its own network", "a reason to stay"])
def test_a_port_stays_where_another_workload_is_reached_by_it(keeps: str) -> None:
    """A Service or a pool has it for both."""
    other = named("prefill")
    other["metadata"]["name"] = "canary"
    spec = other["spec"]["template"]["spec"]
    if keeps == "its own network":
        del spec["hostNetwork"]
        del spec["containers"][0]["resources"]
        spec["containers"][0]["env"] = []
    else:
        spec["hostPID"] = True
    (prefill, _decode, pool, canary), notes = moved(named("prefill"), named("decode"), named("llama"), other)
    assert container(prefill)["ports"] == [{"containerPort": 8300}]
    assert pool == named("llama")
    assert container(canary)["ports"] == [{"containerPort": 8300}]
    why = (
        "port 8300 stays, although 8000 is the common port: InferencePool llm/llama also leads to Deployment llm/canary"
    )
    assert ("prefill", "left", f"{why}, which keeps it") in notes


def test_the_same_objects_of_two_clusters() -> None:
    """In another order, and one cluster's Service has labels that no pod has."""
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "prefill", "namespace": NAMESPACE},
        "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 80, "targetPort": 8300}]},
    }
    labels = named("prefill")["spec"]["template"]["metadata"]["labels"]
    leading = {**service, "spec": {**service["spec"], "selector": labels}}
    (_prefill, _decode, changed, alone), _notes = moved(named("prefill"), named("decode"), leading, service)
    assert changed["spec"]["ports"] == [{"port": 80, "targetPort": 8000}]
    assert alone == service
