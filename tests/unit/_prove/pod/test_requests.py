# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The pod ring with the requests of device plugins, and with pods that ask for nothing."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import probe, probe_run
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import (
    HOSTS,
    KIND,
    PAIRED,
    between,
    failed,
    log,
    make_judged,
    plan,
    planned,
    shared,
)

# A fixture that is defined elsewhere.
__all__ = ["make_judged"]


def test_pods_that_ask_for_nothing(facts_of: Callable[..., Any], judged: Callable[..., Any]) -> None:
    found = plan(facts_of, [PAIRED])
    bare = [one for one in planned(found)[0] if one["alias"] == pod_plan.NOTHING]
    assert [one["pod"]["node"] for one in bare] == list(HOSTS)
    made = probe.manifest(probe.PodProbe(**bare[0]["pod"]), probe.Recipe("image", "true"))
    assert "resourceClaims" not in made["spec"]
    assert made["spec"]["containers"][0]["resources"] == {}
    # A pod that sees the port of the node in /sys and has no device node.
    facts = facts_of(KIND)
    nothing = log(facts, []).replace("==> nodes\nrdma_cm", "==> nodes")
    ran = {"phase": "Succeeded", "trouble": "", "seconds": 2.0, "allocation": [], "output": nothing}
    bare[0]["result"] = {"name": bare[0]["pod"]["name"], **ran}
    checks = judged(bare[:1])["checks"]
    assert [(check["id"], check["verdict"], check["subject"]) for check in checks] == [
        ("pod.runs", "pass", "nothing"),
        ("pod.without", "pass", "nothing"),
    ]
    bare[0]["result"]["output"] = log(facts, [facts["hcas"][0]["name"]])
    assert failed(judged(bare[:1]))["pod.without"].startswith("a pod that requests no RDMA device has rdma_cm, uverbs")
    bare[0]["result"]["output"] = nothing.replace("==> end", "")
    assert list(failed(judged(bare[:1]))) == ["pod.runs"]


@pytest.fixture
def sharing(facts_of: Callable[..., Any]) -> list[dict[str, Any]]:
    """Two pods that share the HCAs of their nodes, everything as it should be."""
    facts = facts_of(KIND)
    result = []
    for one in planned(shared(facts_of), namespace="training")[0]:
        if one["alias"] != pod_plan.NOTHING:
            names = [hca["name"] for hca in facts["hcas"]]
            output = log(facts, names, 371.5, moves=False)
            ran = {"phase": "Succeeded", "trouble": "", "seconds": 3.0, "allocation": [], "output": output}
            result.append({**one, "result": {"name": one["pod"]["name"], **ran}})
    return result


def test_how_a_pod_asks_for_shared_devices(sharing: list[dict[str, Any]]) -> None:
    pods = [probe.PodProbe(**one["pod"]) for one in sharing]
    made = probe.manifest(pods[1], probe.Recipe("image", "true"), "192.0.2.7")
    assert made["metadata"]["namespace"] == "training"
    # A resource's name is no name for a pod.
    assert made["metadata"]["name"].startswith("rdma-verify-rdma-rdma-h100-")
    container = made["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"rdma/rdma_h100": "1"}}
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    assert environment == {"ZEROCOPY_LOOPBACK": "1", "ZEROCOPY_SERVER": "", "ZEROCOPY_PEER": "192.0.2.7"}
    assert pods[1].peer == pods[0].name
    assert not made["spec"].get("hostNetwork")


def test_pods_that_share_devices(
    facts_of: Callable[..., Any], sharing: list[dict[str, Any]], judged: Callable[..., Any]
) -> None:
    found = judged(sharing, shared(facts_of))
    assert failed(found) == {}
    hcas = len(facts_of(KIND)["hcas"])
    assert between(found) == [("n2", "n1")] * hcas
    assert len(found["bandwidth"]) == 3 * hcas
    # No netdev has gone into the pod, so none has to come back.
    assert {check["id"] for check in found["checks"]} == {
        f"pod.{name}" for name in ("runs", "nodes", "port", "fallback", "cni", "memlock")
    }


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("==> nodes\nrdma_cm\nuverbs0\n", "==> nodes\nrdma_cm\n", "pod.nodes", "lacks uverbs0"),
        ("==> nodes\nrdma_cm\n", "==> nodes\nrdma_cm\nuverbs99\n", "pod.nodes", "uverbs99 of other NICs"),
        ("==> nodes\nrdma_cm\n", "==> nodes\n", "pod.nodes", "lacks rdma_cm"),
        ("4: ACTIVE", "1: DOWN", "pod.fallback", "NCCL and UCX silently use TCP in this pod: no port of"),
        ("==> opens\nuverbs0\n", "==> opens\n", "pod.fallback", "the container cannot open the device nodes of"),
        ("unlimited            unlimited", "8388608              8388608", "pod.memlock", "8192 KiB"),
    ],
)
def test_what_a_pod_that_shares_lacks(
    facts_of: Callable[..., Any],
    sharing: list[dict[str, Any]],
    judged: Callable[..., Any],
    old: str,
    new: str,
    check: str,
    said: str,
) -> None:
    output = sharing[0]["result"]["output"]
    assert old in output
    sharing[0]["result"]["output"] = output.replace(old, new)
    assert said in failed(judged(sharing, shared(facts_of)))[check]


def test_a_pod_without_any_device_would_use_tcp(
    facts_of: Callable[..., Any], sharing: list[dict[str, Any]], judged: Callable[..., Any]
) -> None:
    sharing[0]["result"]["output"] = log(facts_of(KIND), []).replace("==> nodes\nrdma_cm", "==> nodes")
    found = judged(sharing[:1], shared(facts_of))["checks"]
    (check,) = [check for check in found if check["id"] == "pod.fallback"]
    assert check["text"] == "NCCL and UCX silently use TCP in this pod: the container has no device node of its HCAs"
    assert check["remedy"].endswith("With NCCL_NET=IB, NCCL fails instead.")


def test_a_resource_that_is_used_up_is_no_fault(
    facts_of: Callable[..., Any], sharing: list[dict[str, Any]], judged: Callable[..., Any]
) -> None:
    trouble = "0/2 nodes are available: 1 Insufficient rdma/rdma_h100, 1 node(s) didn't match."
    sharing[0]["result"] |= {"phase": "Pending", "trouble": trouble, "seconds": None, "output": ""}
    free = judged(sharing[:1], shared(facts_of))["checks"]

    def beside(resource: str) -> list[dict[str, Any]]:
        found = judged(
            sharing[:1], shared(facts_of), in_use={"n1": [{"resource": resource, "pod": "training/worker-0"}]}
        )
        checks: list[dict[str, Any]] = found["checks"]
        return checks

    busy, other = beside("rdma/rdma_h100"), beside("rdma/rdma_h1")
    assert [[check["verdict"] for check in found] for found in (free, busy, other)] == [
        ["fail"],
        ["impossible"],
        ["fail"],
    ]
    assert busy[0]["text"].endswith("rdma/rdma_h100 is taken by training/worker-0")


def test_pods_of_a_strategy_that_counts_and_moves(facts_of: Callable[..., Any], judged: Callable[..., Any]) -> None:
    """One of two HCAs, whose netdev comes along and gets an address of the strategy's network."""
    facts = facts_of("v100-01")
    names = [hca["name"] for hca in facts["hcas"]]
    request = {
        "name": "example.org/nic",
        "hosts": {"n1": names},
        "limits": {"example.org/nic": 1},
        "number": 1,
        "annotations": {"k8s.v1.cni.cncf.io/networks": "training/rail0"},
        "namespace": "training",
        "moves": True,
        "networks": ["198.51.100.0/24"],
    }
    whole = {"sets": [], "requests": {"v100": [request]}}
    (pod, _bare) = planned(whole)[0]
    assert pod["pod"]["namespace"] == "training"
    made = probe.manifest(probe.PodProbe(**pod["pod"]), probe.Recipe("image", "true"))
    assert made["metadata"]["annotations"] == request["annotations"]

    def found(hcas: list[str], old: str = "", new: str = "") -> dict[str, str]:
        output = log(facts, hcas)
        assert old in output
        ran = {"phase": "Succeeded", "trouble": "", "seconds": 3.0, "allocation": []}
        pod["result"] = {"name": pod["pod"]["name"], **ran, "output": output.replace(old, new)}
        return failed(judged([pod], whole, before={"n1": facts}, after={"n1": facts}))

    assert found(names[1:]) == {}
    assert "has the devices of 2 HCAs, but requested 1" in found(names)["pod.nodes"]
    assert "none in 198.51.100.0/24" in found(names[1:], "198.51.100.139", "203.0.113.9")["pod.netdev"]
    mtu = next(port["netdev"]["mtu"] for port in facts["hcas"][1]["ports"])
    assert "has MTU 1500 in the pod" in found(names[1:], f" {mtu} 1\n==>", " 1500 1\n==>")["pod.netdev"]


def test_what_others_hold() -> None:
    class Cluster:
        """An API server with a pod that has ended nowhere, and one without a node."""

        def get(self, path: str, query: dict[str, str] | None = None) -> dict[str, Any]:
            assert path == "/api/v1/pods"
            limits = {"resources": {"limits": {"rdma/rdma_v100": "1", "cpu": "2"}}}
            meta = {"namespace": "training", "name": "worker-0"}
            spec = {"containers": [limits, limits], "nodeName": "n1"}
            return {"items": [{"metadata": meta, "spec": spec}, {"metadata": meta, "spec": {"containers": [limits]}}]}

    pods = [probe.PodProbe("look", "default", node, limits={"rdma/rdma_v100": 1}) for node in HOSTS]
    cluster: Any = Cluster()
    found = probe_run.in_use(cluster, pods, "")
    assert found == {"n1": [{"resource": "rdma/rdma_v100", "pod": "training/worker-0"}]}
    # A cluster that knows no claims is asked for none.
    assert probe_run.in_use(cluster, [probe.PodProbe("look", "default", "n1")], "") == {}
