# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Every document with RDMA in it is rewritten, or listed with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import RewriteOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import config_map
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import guides, objects, pod
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import ONE, WISH, moved
from ansible_collections.zerocopy.rdma.tests.unit._workloads.workload_examples import SCRIPT

# ai-dynamo/dynamo, recipes (PR 13596, PR 1314).
DYNAMO = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: llama-disagg, namespace: dynamo}
spec:
  services:
    VllmPrefillWorker:
      replicas: 2
      resources:
        limits: {gpu: "4", custom: {rdma/ib: "4"}}
      extraPodSpec:
        hostNetwork: true
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9
          securityContext: {capabilities: {add: ["IPC_LOCK"]}}
          env:
          - {name: UCX_TLS, value: "rc_x,rc,cuda_copy,cuda_ipc"}
          - {name: UCX_NET_DEVICES, value: "mlx5_0:1,mlx5_1:1"}
          command: ["python3", "-m", "dynamo.vllm"]
"""
_POD = "{containers: [{name: a, resources: {limits: {rdma/ib: 4}}}]}"


def _of(kind: str, spec: str, group: str = "example.org") -> str:
    return f"{{apiVersion: {group}/v1, kind: {kind}, metadata: {{name: a}}, spec: {spec}}}"


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (
            DYNAMO,
            "llama-disagg",
            "has rdma/ib: 4, UCX_TLS=rc_x,rc,cuda_copy,cuda_ipc, UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1",
        ),
        (
            _of("PodCliqueSet", f"{{template: {{cliques: [{{spec: {{podSpec: {_POD}}}}}]}}}}"),
            "a",
            "has rdma/ib: 4, but",
        ),
        (
            _of("StormService", f"{{template: {{spec: {{roles: [{{template: {{spec: {_POD}}}}}]}}}}}}"),
            "a",
            "rdma/ib: 4",
        ),
        (
            _of("RayClusterFleet", f"{{template: {{spec: {{headGroupSpec: {{template: {{spec: {_POD}}}}}}}}}}}"),
            "a",
            "rdma/",
        ),
        (
            _of("TrainJob", "{trainer: {resourcesPerNode: {limits: {nvidia.com/hostdev: 8}}}}"),
            "a",
            "nvidia.com/hostdev: 8",
        ),
        (_of("TrainJob", "{trainer: {env: [{name: NCCL_IB_HCA, value: mlx5}]}}"), "a", "has NCCL_IB_HCA=mlx5, but"),
        (_of("Workflow", "{templates: [{container: {resources: {limits: {rdma/ib: 1}}}}]}"), "a", "rdma/ib: 1"),
        (_of("Application", '{source: {helm: {values: "a:\\n  rdma/ib: 1\\n"}}}'), "a", "has rdma/ib, but"),
        (
            _of("Application", '{helm: {parameters: [{name: "limits.rdma\\\\.io/hca", value: "1"}]}}'),
            "a",
            "has limits.rdma\\.io/hca, but",
        ),
        (_of("HelmRelease", "{values: {prefill: {resources: {limits: {rdma/ib: 1}}}}}"), "a", "rdma/ib: 1"),
        (_of("HelmRelease", "{values: {env: {UCX_TLS: 'rc,cuda_copy'}}}"), "a", "UCX_TLS=rc,cuda_copy"),
        (
            _of("Sandbox", "{hostNetwork: true, limits: {nvidia.com/gpu: 8}}"),
            "a",
            "has hostNetwork with nvidia.com/gpu",
        ),
        (
            _of("Sandbox", "{volumes: [{hostPath: {path: /dev/infiniband/uverbs0}}]}"),
            "a",
            "has /dev/infiniband, but objects of",
        ),
        (_of("ClusterQueue", "{resources: [{name: rdma/ib, nominalQuota: 8}]}"), "a", "has rdma/ib, but"),
        (_of("ResourceQuota", "{hard: {requests.rdma/ib: 8}}"), "a", "has requests.rdma/ib: 8, but"),
        (
            _of("Sandbox", "{limits: {acme.example/fast: 1}}"),
            "a",
            "has acme.example/fast: 1, but objects of kind Sandbox",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {nccl.conf: 'NCCL_IB_HCA=mlx5_0'}}",
            "a",
            "mlx5_0",
        ),
        (_of("HelmRelease", "{values: {prefill: {rdma: {enabled: true}}}}"), "a", "has rdma: true, but"),
        (_of("Engine", "{network: {enableRDMA: 'true'}}"), "a", "has enableRDMA: true, but"),
        (
            "{apiVersion: serving.kserve.io/v1alpha1, kind: LLMInferenceService, metadata: {name: a, annotations: "
            "{k8s.v1.cni.cncf.io/networks: roce-p2}}, spec: {model: {uri: x}}}",
            "a",
            "has k8s.v1.cni.cncf.io/networks: roce-p2, but not where its pods",
        ),
        *(
            (_of("Engine", f"{{{inner}, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}"), "a", f"has {why} with nvidia")
            for inner, why in (
                ("securityContext: {capabilities: {add: [IPC_LOCK]}}", "IPC_LOCK"),
                ("securityContext: {privileged: true}", "privileged"),
                ("volumes: [{hostPath: {path: /dev}}]", "hostPath /dev"),
            )
        ),
        (
            _of("Engine", "{volumes: [{hostPath: {path: /sys/class/infiniband}}]}"),
            "a",
            "has /sys/class/infiniband, but",
        ),
        # Values of a chart, and a JSON Patch.
        ("{resources: {limits: {rdma/ib: 1}}}", "", "has rdma/ib: 1, but is not a Kubernetes object"),
        ("[{op: add, path: /spec/containers/0/resources/limits/rdma~1ib, value: '1'}]", "", "has rdma/ib, but is no"),
        # A kind that is known, with RDMA where it has no pods.
        (
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {overhead: {rdma/ib: 1}}}",
            "a",
            "has rdma/ib: 1, but not where its pods request RDMA",
        ),
    ],
)
def test_what_is_not_rewritten_is_listed(text: str, name: str, why: str) -> None:
    document = yaml.safe_load(text)
    (found,), notes = moved(document, options=RewriteOptions([ONE], site=Names(["acme.example/"])))
    assert found == document
    ((told, level, reason),) = notes
    assert (told, level) == (name, "cannot")
    assert why in reason


_ELSEWHERE = yaml.safe_load((Path(__file__).resolve().parents[2] / "fixtures/migrate/elsewhere.yml").read_text("utf-8"))


@pytest.mark.parametrize("case", _ELSEWHERE, ids=[case["of"] for case in _ELSEWHERE])
def test_rdma_in_any_form_is_listed(case: dict[str, Any]) -> None:
    (found,), notes = moved(case["document"])
    assert found == case["document"]
    ((_name, level, why),) = notes
    assert level == "cannot"
    assert why.startswith(f"has {case['found']}, but ")


def test_rdma_beside_the_pods_of_a_rewritten_object() -> None:
    served = "applications: [{runtime_env: {env_vars: {NCCL_IB_HCA: 'mlx5_0'}}}]"
    template = {"spec": {"containers": [{"name": "head", "resources": {"limits": {"rdma/ib": 1}}}]}}
    spec = {"serveConfigV2": served, "rayClusterConfig": {"headGroupSpec": {"template": template}}}
    item = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "a"}, "spec": spec}
    (found,), notes = moved(item)
    assert found != item
    assert notes == [("a", "left", "has NCCL_IB_HCA=mlx5_0 outside its pods: left as it is")]


def test_a_resource_that_may_be_rdma_of_a_rewritten_pod() -> None:
    limits = {"nvidia.com/gpu": 1, "vke.volcengine.com/rdma": 1}
    item = pod(container={"resources": {"limits": limits}}, hostNetwork=True)
    (found,), notes = moved(item)
    assert found != item
    assert [text for _name, level, text in notes if level == "left" and "vke.volcengine.com/rdma" in text]
    site = RewriteOptions([ONE], site=Names(["vke.volcengine.com/rdma"]))
    assert moved(item, options=site)[1] == []


def test_what_is_not_changed_is_no_change_to_review() -> None:
    environment = [{"name": "NCCL_IB_HCA", "value": "mlx5_0"}]
    item = pod(container={"resources": {}, "env": environment, "securityContext": {"privileged": True}})
    (found,), notes = moved(item)
    assert found == item
    why = "but not where its pods request RDMA: change it by hand if it is a request"
    assert notes == [("pod", "cannot", f"has NCCL_IB_HCA=mlx5_0, {why}")]
    # A value that only the shell knows.
    item["spec"]["containers"][0] |= {"env": [], "command": ["sh", "-c", "export NCCL_IB_HCA=$(list)"]}
    (found,), notes = moved(item)
    assert (found, [level for _name, level, _text in notes]) == (item, ["cannot"])
    assert "NCCL_IB_HCA=$(list" in notes[0][2]


# The script that our own examples have beside them.
_OURS = yaml.safe_dump(config_map("default", SCRIPT))


@pytest.mark.parametrize(
    "text",
    [
        "{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: a}, spec: {image: rdma/a}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, env: [{name: A, value: b}]}]}}",
        "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {openshift.io/cluster-monitoring: '1'}}}",
        _of("CustomResourceDefinition", "{description: mounts /dev/infiniband}", "apiextensions.k8s.io"),
        _of("ResourceSlice", "{devices: [{attributes: {ifName: {string: mlx5_0}}}]}", "resource.k8s.io"),
        _of("Sandbox", "{hostNetwork: true, tolerations: [{key: nvidia.com/gpu}]}"),
        _of("Sandbox", "{resources: {limits: {rdma/ib: 0}}}"),
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 'export NCCL_IB_HCA=$hcas; see rdma/ib'}}",
        _OURS,
        # Rules, selectors and devices that only name what others have.
        _of(
            "PrometheusRule",
            "{expr: 'rate(node_infiniband_errors{device=~\"mlx5_.*\"}[5m]) > 0', summary: RDMA is slow}",
        ),
        _of("NetworkPolicy", "{podSelector: {matchLabels: {network: rdma, example.org/network: rail}}}"),
        _of("NetworkAttachmentDefinition", '{config: \'{"type": "macvlan", "master": "ib0"}\'}'),
        _of(
            "NodeFeatureRule", "{rules: [{name: rdma, labels: {rdma.available: 'true', openshift.io/scc: restricted}}]}"
        ),
        _of("ClusterPolicy", "{driver: {rdma: {enabled: true}}}", "nvidia.com"),
        _of("Sandbox", "{rdma: {enabled: false}, roce: 3}"),
        # For what they claim, or of an agent.
        _of("Sandbox", "{privileged: true, limits: {nvidia.com/gpu: 8}, resourceClaims: [{name: a}]}"),
        _of("Sandbox", "{privileged: true, hostPath: {path: /dev}}"),
        _of("Sandbox", "{hostNetwork: '{{ .Values.hostNetwork }}', limits: {cpu: 8}}"),
        "[1, null, a]",
        "null",
        "text",
    ],
)
def test_nothing_is_said_of_others(text: str) -> None:
    assert moved(yaml.safe_load(text)) == ([yaml.safe_load(text)], [])


def test_the_pods_of_every_kind_in_one_that_is_not_known() -> None:
    items = [*objects(), *guides()]
    changed = [item for item, new in zip(items, moved(*items)[0]) if item != new and item["kind"] not in _LED]
    assert len(changed) >= 30
    wrapped: list[Any] = [
        {"apiVersion": "example.org/v1", "kind": "Anything", "metadata": {"name": f"a{place}"}, "spec": {"inner": item}}
        for place, item in enumerate(changed)
    ]
    found, notes = moved(*wrapped)
    assert found == wrapped
    assert [name for name, _level, _text in notes] == [item["metadata"]["name"] for item in wrapped]


# They are changed with their pods.
_LED = ("InferencePool", "Service")


def test_what_is_rewritten_is_not_listed() -> None:
    found, notes = moved(*objects(), *guides())
    there = moved(*found)
    assert there == (found, notes)
    assert not [text for _name, _level, text in notes if text.startswith("has rdma/")]


def test_claims_on_the_host_network() -> None:
    item = pod(container={"resources": {}}, hostNetwork=True, resourceClaims=[{"name": "gpu"}])
    _found, notes = moved(item, options=WISH)
    assert [text for _name, _level, text in notes if "hostNetwork beside claims" in text]
