# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an audit finds in workloads, by kind and by what is in their pod templates."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import extended_resources, workloads
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE, audited, codes, named, pod

_SHARED = "rdma/hca_shared_devices_a"
# As they are in the file, the worst first; what is not there has nothing to change.
EXPECTED = {
    "prefill": [
        "host_network",
        "pool_ports",
        "ports_remapped",
        "dns_policy",
        "resource",
        "nic_by_hand",
        "gid_by_hand",
        "interface_by_hand",
        "host_address",
        "transport_by_hand",
    ],
    "decode": ["host_network", "pool_ports", "ports_remapped", "dns_policy", "resource"],
    "deepseek": ["host_network", "host_network", "resource", "no_ipc_lock"],
    "pd": ["host_network", "resource", "no_ipc_lock"],
    "granite": ["host_network", "resource", "no_ipc_lock"],
    "pretrain": ["volcano_templates", "resource"],
    "ray": ["host_network", "no_ipc_lock"],
    "bench": ["resource", "networks", "no_ipc_lock"],
    "llama-kserve": ["resource", "no_ipc_lock", "transport_by_hand"],
    "allreduce": ["resource", "no_ipc_lock", "nic_by_hand"],
    "trainer": ["privileged", "host_path", "nic_by_hand"],
    "nightly": ["resource", "no_ipc_lock"],
    "sets": ["resource", "no_ipc_lock"],
    "debug": ["resource", "no_ipc_lock"],
    "finetune": ["resource", "no_ipc_lock"],
    "ray-serve": ["resource", "no_ipc_lock"],
}


def only(result: Any) -> list[dict[str, Any]]:
    """The findings of the only workload."""
    (found,) = result["workloads"]
    return list(found["findings"])


def found_in(**spec: Any) -> list[str]:
    return [finding["code"] for workload in audited([pod(**spec)])["workloads"] for finding in workload["findings"]]


def environment(name: str, value: str) -> dict[str, Any]:
    return {"container": {"env": [{"name": name, "value": value}]}}


def test_every_kind_and_the_worst_first() -> None:
    result = audited(audit_manifests.objects())
    assert {workload["name"]: codes(result, workload["name"]) for workload in result["workloads"]} == EXPECTED
    assert [workload["name"] for workload in result["workloads"]] == list(EXPECTED)
    assert [one["name"] for one in result["others"]] == ["agent"]


def test_where_a_finding_is() -> None:
    result = audited(audit_manifests.objects())
    (pd,) = [workload for workload in result["workloads"] if workload["name"] == "pd"]
    host_network, resource, _lock = pd["findings"]
    assert host_network["places"] == ["spec.roles[1].spec.leaderWorkerTemplate.workerTemplate"]
    assert resource["places"] == [f"spec.roles[{role}].spec.leaderWorkerTemplate.workerTemplate" for role in (0, 1)]
    assert resource["containers"] == ["vllm"]
    assert resource["fields"] == {"resource": "rdma/ib", "number": "1"}


def test_every_path_of_a_kind_leads_to_a_template() -> None:
    # An object with a template at each path of its kind, made from the paths; the file above has them as they are used.
    for kind in workloads.KINDS:
        paths = [*workloads._TEMPLATES.get(kind, ()), *workloads._SPECS.get(kind, ())]
        item: dict[str, Any] = {}
        for path in filter(None, paths):
            here: Any = item
            *steps, last = path.replace(".[]", "[]").replace(".{}", "{}").split(".")
            for step in (*steps, last):
                name = step.strip("[]{}")
                if step.endswith("[]"):
                    here = here.setdefault(name, [{}])[0]
                elif step.endswith("{}"):
                    here = here.setdefault(name, {"One": {}})["One"]
                else:
                    here = here.setdefault(name, {})
        assert len(list(workloads.templates(kind, item))) == len(paths), kind


@pytest.mark.parametrize(
    ("name", "is_rdma"),
    [
        (_SHARED, True),
        ("rdma.io/hca", True),
        ("nvidia.com/hostdev", True),
        ("nvidia.com/hostdev_a", True),
        ("nvidia.com/sriov-rdma-vf", True),
        ("nvidia.com/mlnxnics", True),
        ("nvidia.com/cx7_qsfp", True),
        ("nvidia.com/bf2_sf", True),
        ("nvidia.com/v100", False),
        ("openshift.io/mlxnics", True),
        ("intel.com/sriov_roce", True),
        ("amd.com/nic", True),
        ("amd.com/vnic", True),
        ("amd.com/nic_rail0", True),
        ("amd.com/gpu", False),
        ("amd.com/cpx_nps4", False),
        ("nvidia.com/gpu", False),
        ("nvidia.com/mig-1g.10gb", False),
        ("nvidia.com/GRID_A100-4C", False),
        ("intel.com/qat", False),
        ("example.com/hca", False),
        ("cpu", False),
    ],
)
def test_which_resources_are_rdma(name: str, is_rdma: bool) -> None:
    assert extended_resources.is_rdma(name) is is_rdma


def test_resources_of_the_site() -> None:
    asked = pod(container={"resources": {"limits": {"example.com/hca": "1"}}})
    assert audited([asked])["workloads"] == []
    for own in ("example.com/hca", "example.com/"):
        assert codes(audited([asked], resources=[own]), "pod") == ["resource"]
    assert audited([asked], resources=["example.com/hc"])["workloads"] == []


def test_a_resource_that_is_not_asked_for() -> None:
    assert found_in(container={"resources": {"limits": {"rdma/ib": "0"}}}) == []
    assert found_in(container={"resources": {"requests": {"rdma/ib": 1}}}) == ["resource"]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("NCCL_IB_HCA", "mlx5_0,mlx5_1", "nic_by_hand"),
        ("NCCL_IB_HCA", "", None),
        ("UCX_NET_DEVICES", "mlx5_0:1", "nic_by_hand"),
        ("UCX_NET_DEVICES", "all", None),
        ("UCX_NET_DEVICES", "eth0", "tcp_by_hand"),
        ("UCX_NET_DEVICES", "eth0,enp3s0", "tcp_by_hand"),
        ("UCX_NET_DEVICES", "eth0,mlx5_0:1", "nic_by_hand"),
        ("UCX_TLS", "rc,cuda_copy", "transport_by_hand"),
        ("UCX_TLS", "all", "transport_by_hand"),
        ("UCX_TLS", "^tcp", "transport_by_hand"),
        ("UCX_TLS", "tcp", "tcp_by_hand"),
        ("UCX_TLS", "tcp,sm,cuda_copy", "tcp_by_hand"),
        ("UCX_TLS", "^ib", "tcp_by_hand"),
        ("NCCL_NET", "Socket", "tcp_by_hand"),
        ("NCCL_NET", "IB", None),
        ("NCCL_IB_DISABLE", "1", "tcp_by_hand"),
        ("NCCL_IB_DISABLE", "0", None),
        ("NCCL_IB_GID_INDEX", "3", "gid_by_hand"),
        ("NCCL_IB_GID_INDEX", "-1", None),
        ("UCX_IB_GID_INDEX", "auto", None),
        ("UCX_IB_GID_INDEX", "3", "gid_by_hand"),
        ("MC_GID_INDEX", "3", "gid_by_hand"),
        ("MOONCAKE_DEVICE", "mlx5_0", "nic_by_hand"),
        ("NVSHMEM_HCA_PREFIX", "mlx5_bond", "nic_by_hand"),
        ("TP_SOCKET_IFNAME", "eno1", "interface_by_hand"),
        ("TP_SOCKET_IFNAME", "eth0", None),
        ("NCCL_SOCKET_IFNAME", "eno1", "interface_by_hand"),
        ("GLOO_SOCKET_IFNAME", "eth0", None),
        ("NCCL_DEBUG", "INFO", None),
    ],
)
def test_what_is_written_by_hand(name: str, value: str, code: str | None) -> None:
    expected = ["resource", code] if code else ["resource"]
    assert found_in(**environment(name, value)) == expected
    command = {"command": ["sh", "-c", f"export {name}={value}; exec serve"]}
    assert found_in(container=command) == expected


@pytest.mark.parametrize(
    ("name", "value", "uses"),
    [
        ("UCX_TLS", "rc,tcp", True),
        ("UCX_TLS", "self,dc_x", True),
        ("UCX_TLS", "tcp,cuda_copy", False),
        ("UCX_NET_DEVICES", "mlx5_0:1", True),
        ("UCX_NET_DEVICES", "eth0", False),
        ("NCCL_IB_DISABLE", "1", False),
        ("NCCL_SOCKET_IFNAME", "eno1", False),
    ],
)
def test_which_variables_are_a_sign_of_rdma(name: str, value: str, uses: bool) -> None:
    container = {"resources": {}, **environment(name, value)["container"]}
    assert bool(audited([pod(container=container)])["workloads"]) is uses


def test_tcp_beside_a_resource_of_rdma() -> None:
    """As another tool injected it (after ome-projects/ome#837)."""
    given = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth0", "NCCL_IB_GID_INDEX": "3", "NCCL_IB_HCA": "=mlx5_0,mlx5_1"}
    container = {
        "env": [{"name": name, "value": value} for name, value in given.items()],
        "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/hca_shared_devices_a": "1"}},
    }
    found = only(audited([pod(container=container, hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")]))
    texts = {finding["text"] for finding in found if finding["code"] == "tcp_by_hand"}
    assert texts == {"UCX_TLS=tcp", "UCX_NET_DEVICES=eth0"}


@pytest.mark.parametrize("between", [" ", "="])
def test_nics_that_an_option_of_a_server_names(between: str) -> None:
    command = {"args": [f"python -m sglang.launch_server --disaggregation-ib-device{between}mlx5_0,mlx5_1 --port 80"]}
    result = audited([pod(container=command)])
    (_resource, found) = result["workloads"][0]["findings"]
    assert found["text"] == "--disaggregation-ib-device=mlx5_0,mlx5_1"


def test_the_shell_of_a_command_has_the_last_word() -> None:
    container = {"env": [{"name": "NCCL_IB_HCA", "value": "mlx5_0"}], "args": ["NCCL_IB_HCA='' serve"]}
    assert found_in(container=container) == ["resource"]


@pytest.mark.parametrize(
    ("security", "code"),
    [
        ({}, ["no_ipc_lock"]),
        ({"capabilities": {"add": ["NET_ADMIN"]}}, ["no_ipc_lock"]),
        ({"capabilities": {"add": ["CAP_IPC_LOCK"]}}, []),
        ({"capabilities": {"add": ["ALL"]}}, []),
        ({"privileged": True}, ["privileged"]),
    ],
)
def test_locked_memory(security: dict[str, Any], code: list[str]) -> None:
    assert found_in(container={"securityContext": security}) == ["resource", *code]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/dev/infiniband", ["host_path"]),
        ("/dev/infiniband/uverbs0", ["host_path"]),
        ("/dev/", ["host_path"]),
        ("/dev/shm", []),
        ("/dev/infinibandage", []),
    ],
)
def test_device_nodes_of_the_host(path: str, code: list[str]) -> None:
    volumes = [{"name": "one", "hostPath": {"path": path}}, {"name": "other", "hostPath": {"path": "/dev/infiniband"}}]
    container = {"volumeMounts": [{"name": "one", "mountPath": "/x"}]}
    # The other one is mounted by nobody here.
    assert found_in(container=container, volumes=volumes) == ["resource", *code]


def test_all_device_nodes_alone_are_no_sign_of_rdma() -> None:
    container = {"resources": {}, "volumeMounts": [{"name": "dev", "mountPath": "/dev"}]}
    agent = pod(container=container, volumes=[{"name": "dev", "hostPath": {"path": "/dev"}}], hostNetwork=True)
    result = audited([agent])
    assert result["workloads"] == []
    assert [one["name"] for one in result["others"]] == ["pod"]


def test_the_address_of_the_node() -> None:
    field = {"valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}
    container = {"env": [{"name": "VLLM_HOST_IP", **field}]}
    assert found_in(container=container) == ["resource"]
    assert found_in(container=container, hostNetwork=True) == ["host_network", "resource", "host_address"]


def test_claims_with_the_network_of_the_host() -> None:
    claims = [{"name": "nic", "resourceClaimTemplateName": "h100-1nic"}]
    assert found_in(container={"resources": {}}, resourceClaims=claims) == []
    assert found_in(container={"resources": {}}, resourceClaims=claims, hostNetwork=True) == ["host_network"]


def test_an_init_container_has_no_say_in_privileges() -> None:
    init = [{"name": "sysctl", "image": "x", "securityContext": {"privileged": True}}]
    assert found_in(initContainers=init) == ["resource"]
    asking = [{"name": "warm-up", "image": "x", "resources": {"limits": {"rdma/ib": "1"}}}]
    (finding,) = only(audited([pod(initContainers=asking)]))
    assert finding["containers"] == ["main", "warm-up"]


def test_ports_of_twins() -> None:
    def server(name: str, port: int, image: str = "registry.example.org/llm/vllm:v1", host: bool = True) -> Any:
        meta, container = {"name": name}, {"image": image, "args": [f"--port={port}"]}
        return pod(metadata=meta, container=container, hostNetwork=host)

    def moved(*pods: Any) -> set[str]:
        result = audited(list(pods))
        return {one["name"] for one in result["workloads"] if "ports_remapped" in codes(result, one["name"])}

    assert moved(server("a", 8000), server("b", 8001)) == {"a", "b"}
    assert moved(server("a", 8000), server("b", 8001, "registry.example.org/llm/vllm@sha256:0")) == {"a", "b"}
    assert moved(server("a", 8000), server("b", 8000)) == set()
    assert moved(server("a", 8000), server("b", 8001, "registry.example.org/llm/sglang:v1")) == set()
    assert moved(server("a", 8000), server("b", 8001, host=False)) == set()
    other = server("b", 8001)
    other["metadata"]["namespace"] = "elsewhere"
    assert moved(server("a", 8000), other) == set()


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"targetPorts": [{"number": 8000}, {"number": 8300}], "selector": {"matchLabels": {"app": "x"}}}, True),
        ({"targetPorts": [{"number": 8000}], "selector": {"matchLabels": {"app": "x"}}}, False),
        ({"targetPorts": [{"number": 8000}, {"number": 8300}], "selector": {"matchLabels": {"app": "y"}}}, False),
        ({"targetPorts": [{"number": 8000}, {"number": 8300}], "selector": {}}, False),
        ({"targetPortNumber": 8000, "selector": {"app": "x"}}, False),
    ],
)
def test_ports_of_pools(spec: dict[str, Any], found: bool) -> None:
    meta = {"name": "pool", "namespace": NAMESPACE}
    pool = {"apiVersion": "inference.networking.k8s.io/v1", "kind": "InferencePool", "metadata": meta, "spec": spec}
    served = pod(metadata={"labels": {"app": "x"}}, hostNetwork=True)
    assert ("pool_ports" in codes(audited([served, pool]), "pod")) is found


def test_a_pool_in_two_groups_is_one() -> None:
    old, new = named("llama"), named("llama")
    old["apiVersion"], old["spec"] = "inference.networking.x-k8s.io/v1alpha2", {"targetPortNumber": 8000}
    result = audited([old, new])
    assert [finding["code"] for finding in result["cluster"]] == ["pool"]


def test_objects_of_others_are_told_once() -> None:
    def owned(kind: str, name: str, owner: str, api: str = "apps/v1", top: str = "top") -> dict[str, Any]:
        references = [{"apiVersion": api, "kind": owner, "name": top, "uid": "1", "controller": True}]
        item = pod(metadata={"name": name, "ownerReferences": references})
        if kind == "Pod":
            return item
        meta, template = item["metadata"], {"spec": item["spec"]}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {"template": template}}

    top = {**named("decode")}
    top["metadata"]["name"] = "top"
    chain = [top, owned("ReplicaSet", "top-1", "Deployment"), owned("Pod", "top-1-a", "ReplicaSet", top="top-1")]
    assert [one["name"] for one in audited(chain)["workloads"]] == ["top"]

    # Nobody knows where this kind has its pod templates, so its pods speak for it.
    unknown = [owned("Pod", f"worker-{number}", "Graph", "example.com/v1") for number in range(3)]
    (workload,) = audited(unknown)["workloads"]
    assert (workload["kind"], workload["name"], workload["pods"], workload["owners"]) == ("Graph", "top", 3, [])
    assert [finding["code"] for finding in workload["findings"]] == ["resource"]

    (workload,) = audited([owned("StatefulSet", "made", "Graph", "example.com/v1")])["workloads"]
    assert (workload["name"], workload["owners"][0]["text"]) == ("made", f"Graph {NAMESPACE}/top")


def _made(kind: str, name: str, owner: str, *, plain: bool = False) -> dict[str, Any]:
    """An object that another one (``kind/name``) made, ``plain`` without RDMA."""
    api = {"LLMInferenceService": "serving.kserve.io/v1alpha1", "Job": "batch/v1"}
    above, _slash, top = owner.partition("/")
    reference = {"apiVersion": api.get(above, "apps/v1"), "kind": above, "name": top, "controller": True}
    item = pod(metadata={"name": name, "ownerReferences": [reference]}, container={"resources": {}} if plain else {})
    if kind == "Pod":
        return item
    version, spec = api.get(kind, "apps/v1"), {"template": {"spec": item["spec"]}}
    return {"apiVersion": version, "kind": kind, "metadata": item["metadata"], "spec": spec}


def _told(items: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(one["kind"], one["name"], one["pods"]) for one in audited(items)["workloads"]]


def test_an_owner_that_does_not_show_the_rdma_of_its_pods() -> None:
    """As an LLMInferenceService whose baseRefs lead to it: its Deployment has it, and it is told once."""
    service = _made("LLMInferenceService", "llama", "Application/serving")
    service["spec"] = {"baseRefs": [{"name": "h100-rdma"}]}
    del service["metadata"]["ownerReferences"]
    service["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "serving:x"}
    chain = [
        service,
        _made("Deployment", "llama-kserve", "LLMInferenceService/llama"),
        _made("ReplicaSet", "llama-kserve-1", "Deployment/llama-kserve"),
        *(_made("Pod", f"llama-kserve-1-{name}", "ReplicaSet/llama-kserve-1") for name in "ab"),
    ]
    assert _told(chain) == [("LLMInferenceService", "llama", 2)]
    (workload,) = audited(chain)["workloads"]
    assert [owner["text"] for owner in workload["owners"]] == ["Argo CD application serving"]
    assert [finding["code"] for finding in workload["findings"]] == ["resource"]
    # Where it may not be listed, what it made is the topmost.
    assert _told(chain[1:]) == [("Deployment", "llama-kserve", 0)]


@pytest.mark.parametrize("listed", [True, False])
def test_pods_that_a_webhook_changed(listed: bool) -> None:
    replica_set = _made("ReplicaSet", "serve-1", "Deployment/serve", plain=True)
    pods = [_made("Pod", f"serve-1-{number}", "ReplicaSet/serve-1") for number in range(3)]
    deployment = {**replica_set, "kind": "Deployment", "metadata": {"name": "serve", "namespace": NAMESPACE}}
    items = [deployment, *([replica_set] if listed else []), *pods]
    assert _told(items) == [("Deployment", "serve", 3)]
    assert _told(items[:-3]) == []


def test_an_owner_that_is_gone() -> None:
    """Others of its kind are there."""
    other = _made("Job", "other", "CronJob/x", plain=True)
    assert _told([other, _made("Pod", "train-0", "Job/train")]) == [("Job", "train", 1)]
    assert _told([other, _made("Pod", "train-0", "Job/train", plain=True)]) == []


def test_old_revisions_of_a_deployment_do_not_speak_for_it() -> None:
    """They keep what it had before it was rewritten."""
    new = _made("ReplicaSet", "serve-2", "Deployment/serve", plain=True)
    deployment = {**new, "kind": "Deployment", "metadata": {"name": "serve", "namespace": NAMESPACE}}
    items = [deployment, _made("ReplicaSet", "serve-1", "Deployment/serve"), new]
    assert _told(items) == []
    # A rollout that is not over.
    assert _told([*items, _made("Pod", "serve-1-a", "ReplicaSet/serve-1")]) == [("Deployment", "serve", 1)]


def test_owners_in_a_ring() -> None:
    items = [_made("ReplicaSet", "a", "ReplicaSet/b", plain=True), _made("ReplicaSet", "b", "ReplicaSet/a")]
    assert [name for _kind, name, _pods in _told(items)] == ["a"]


@pytest.mark.parametrize(
    ("labels", "terms", "found"),
    [
        (
            {"zerocopy.rdma.node-restriction.kubernetes.io/shared-device": "h100"},
            [],
            ["zerocopy.rdma.node-restriction.kubernetes.io/shared-device"],
        ),
        # Nodes have it with claims.
        ({"zerocopy.rdma.node-restriction.kubernetes.io/group": "h100"}, [], []),
        ({"example.com/gpu": "h100"}, [], []),
        (
            {},
            [[("zerocopy.rdma.node-restriction.kubernetes.io/inject", "In")]],
            ["zerocopy.rdma.node-restriction.kubernetes.io/inject"],
        ),
        ({}, [[("zerocopy.rdma.node-restriction.kubernetes.io/inject", "DoesNotExist")]], []),
        ({}, [[("zerocopy.rdma.node-restriction.kubernetes.io/inject", "NotIn")]], []),
        # Any of the terms will do.
        ({}, [[("zerocopy.rdma.node-restriction.kubernetes.io/inject", "Exists")], [("zone", "Exists")]], []),
        (
            {},
            [
                [("zerocopy.rdma.node-restriction.kubernetes.io/inject", "Exists"), ("a", "Exists")],
                [("zerocopy.rdma.node-restriction.kubernetes.io/inject", "Exists")],
            ],
            ["zerocopy.rdma.node-restriction.kubernetes.io/inject"],
        ),
    ],
)
def test_labels_that_nodes_lose_when_they_move(labels: Any, terms: Any, found: list[str]) -> None:
    selectors = [{"matchExpressions": [{"key": key, "operator": name} for key, name in term]} for term in terms]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": selectors}}
    affinity = {"affinity": {"nodeAffinity": required}} if terms else {}
    result = only(audited([pod(nodeSelector=labels, **affinity)]))
    assert [one["fields"]["label"] for one in result if one["code"] == "node_label"] == found


def test_a_workload_with_a_sidecar_that_is_called_like_a_check_of_nodes() -> None:
    sidecar = {"name": "probe", "image": "registry.example.org/llm/healthcheck:v1"}
    item = named("decode")
    item["spec"]["template"]["spec"]["containers"].append(sidecar)
    result = audited([item])
    assert [workload["name"] for workload in result["workloads"]] == ["decode"]
    assert "health_check" not in [finding["code"] for finding in result["cluster"]]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("bench", {"conditions": [{"type": "Complete", "status": "True"}]}),
        ("bench", {"conditions": [{"type": "Failed", "status": "True"}]}),
        ("pretrain", {"state": {"phase": "Completed"}}),
        ("finetune", {"conditions": [{"type": "Succeeded", "status": "True"}]}),
        ("sets", {"conditions": [{"type": "Completed", "status": "True"}], "terminalState": "Completed"}),
    ],
)
def test_a_job_that_has_ended_moves_nowhere(name: str, status: dict[str, Any]) -> None:
    assert audited([{**named(name), "status": status}])["workloads"] == []
    assert audited([{**named(name), "status": {"conditions": [{"type": "Running", "status": "True"}]}}])["workloads"]
