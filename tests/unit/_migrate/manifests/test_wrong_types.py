# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Any value of a manifest may have any type: it is rewritten or told, and never ends the run for the others."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import files, rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.modules import workload_manifests
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import guides, objects
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import (
    NEAREST,
    ONE,
    PAIR,
    RAIL,
    SHARED,
    SINGLE,
)

_PODS = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: llm
  labels: {app: llama}
  annotations: {k8s.v1.cni.cncf.io/networks: llm/rail, rdma.zerocopy.io/nics: nearest}
spec:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  nodeSelector: {zerocopy.rdma.node-restriction.kubernetes.io/shared-device: v100}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions: [{key: zerocopy.rdma.node-restriction.kubernetes.io/inject, operator: In, values: [v100]}]
  volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  initContainers: [{name: first, image: a/b, restartPolicy: Always, resources: {limits: {rdma/ib: 1}}}]
  containers:
    - name: vllm
      image: registry.example.org/llm/vllm:v1
      command: [vllm, --port, "PORT"]
      args: [--disaggregation-ib-device=mlx5_0]
      ports: [{containerPort: PORT, hostPort: PORT}]
      livenessProbe: {httpGet: {port: PORT}}
      lifecycle: {preStop: {httpGet: {port: PORT}}}
      volumeMounts: [{name: ib, mountPath: /dev/infiniband}]
      env:
        - {name: NCCL_IB_HCA, value: mlx5}
        - {name: VLLM_HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
      securityContext: {privileged: false, capabilities: {add: [NET_RAW]}}
      resources: {claims: [{name: gpu}], limits: {nvidia.com/gpu: 1, rdma/ib: 1}, requests: {rdma/ib: 1}}
"""
_FRONTENDS = """
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama, namespace: llm}
spec: {selector: {matchLabels: {app: llama}}, targetPorts: [{number: 8000}, {number: 8300}]}
---
apiVersion: v1
kind: Service
metadata: {name: llama, namespace: llm}
spec: {selector: {app: llama}, ports: [{port: 80, targetPort: 8300}]}
---
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferencePool
metadata: {name: old, namespace: llm}
spec: {selector: {app: llama}, targetPortNumber: 8300}
"""
_TEXT = "---".join(
    [*(_PODS.replace("NAME", f"s{port}").replace("PORT", port) for port in ("8000", "8300")), _FRONTENDS]
)
_TOGETHER: list[Any] = list(yaml.safe_load_all(_TEXT))
_KUSTOMIZATION = yaml.safe_load("""
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namePrefix: a-
nameSuffix: -b
resources: [all.yaml]
components: [component]
patches:
  - {path: patch.yaml, target: {kind: Pod, name: s8000}}
  - {patch: "hostNetwork: true", target: {kind: Pod}}
patchesJson6902: [{target: {kind: Pod, name: x}, path: patch.yaml}]
patchesStrategicMerge: [patch.yaml, "spec:\\n  hostNetwork: true\\n"]
replacements:
  - {path: replacement.yaml}
  - {source: {kind: Pod, name: x}, targets: [{select: {kind: Pod, name: s8000}, fieldPaths: [spec.hostNetwork]}]}
""")
_FLUX = yaml.safe_load("""
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: .
  patches: [{patch: "hostNetwork: true", target: {kind: Pod}}]
  postBuild: {substitute: {nics: "1"}, substituteFrom: [{kind: ConfigMap, name: x}]}
""")
_WRONG: some.SearchStrategy[Any] = some.sampled_from(
    [None, 5, -1, 1.5, True, "", "x", [], ["main"], [["main"]], [None], [{}], {}, {"a": ["b"]}, {1: 2}, 10**30]
)
_REQUESTS = some.sampled_from([ONE, PAIR, SINGLE, SHARED, RAIL, NEAREST])
_HOST = RewriteOptions([ONE])


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, entry in inner:
        yield from _places(entry, (*place, step))


def _with(documents: list[Any], place: tuple[Any, ...], value: Any) -> list[Any]:
    found = copy.deepcopy(documents)
    holder: Any = found
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    return found


_SAMPLES = [_TOGETHER, *([item] for item in [*objects(), *guides()])]
_ANYWHERE = [(sample, place) for sample in _SAMPLES for place in _places(sample) if place]


@settings(max_examples=300, deadline=None)
@given(some.sampled_from(_ANYWHERE), _WRONG, _REQUESTS)
@example((_TOGETHER, (0, "spec", "containers", 0, "name")), ["main"], ONE)
@example((_TOGETHER, (0, "spec", "containers", 0, "env", 1, "name")), {"a": ["b"]}, RAIL)
@example((_TOGETHER, (0, "spec", "containers", 0, "env", 1, "valueFrom", "fieldRef", "fieldPath")), [{}], ONE)
@example((_TOGETHER, (2, "spec", "targetPorts", 0, "number")), ["main"], ONE)
@example((_TOGETHER, (4, "spec", "targetPortNumber")), {"a": ["b"]}, ONE)
def test_any_value_of_another_type(where: tuple[list[Any], tuple[Any, ...]], value: Any, ask: NamedRequest) -> None:
    documents = _with(*where, value)
    there = rewrite.rewritten(documents, RewriteOptions([ask]))
    assert all(note.text for note in there.notes)
    back = rewrite.reverted(there.documents)
    assert json.dumps(back.documents) == json.dumps(documents)


_FILES = {"all.yaml": _TOGETHER, "kustomization.yaml": [_KUSTOMIZATION], "flux.yaml": [_FLUX]}
_IN_FILES = [(name, place) for name, sample in _FILES.items() for place in _places(sample) if place]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.sampled_from(_IN_FILES), _WRONG)
@example(("kustomization.yaml", (0, "replacements", 0, "path")), {"a": ["b"]})
@example(("kustomization.yaml", (0, "replacements", 0, "path")), ".")
@example(("kustomization.yaml", (0, "replacements", 1, "targets", 0)), {"fieldPaths": [None, ["a"]]})
def test_any_value_of_another_type_in_a_file(tmp_path: Path, where: tuple[str, tuple[Any, ...]], value: Any) -> None:
    changed, place = where
    for name, sample in _FILES.items():
        found = _with(sample, place, value) if name == changed else sample
        (tmp_path / name).write_text(yaml.safe_dump_all(found, sort_keys=False))
    (tmp_path / "component").mkdir(exist_ok=True)
    (tmp_path / "component" / "kustomization.yaml").write_text("patches: [{path: none.yaml}]\n")
    (tmp_path / "patch.yaml").write_text("spec: {hostNetwork: true}\n")
    (tmp_path / "replacement.yaml").write_text("[{source: {kind: Pod, name: x}, targets: [{fieldPaths: [spec.a]}]}]\n")
    result = files.rewrite_files(files.FilesRequest([str(tmp_path)], _HOST), check=True)
    assert all(note["text"] for note in result["notes"])


def test_a_container_whose_name_is_a_number_is_rewritten() -> None:
    (item,) = _with(_TOGETHER[:1], (0, "spec", "containers", 0, "name"), 5)
    # How many GPUs a claim has is in no manifest here.
    del item["spec"]["resourceClaims"], item["spec"]["containers"][0]["resources"]["claims"]
    (there,) = rewrite.rewritten([item], _HOST).documents
    assert "rdma/ib" not in there["spec"]["containers"][0]["resources"]["limits"]


def test_a_second_run_does_not_say_that_it_changed_what_needs_a_review() -> None:
    note = {"file": "pod.yml", "object": "Pod prefill", "level": rewrite.LEFT, "text": "look at it"}
    assert files._summary([], [note]).splitlines()[:2] == ["0 files changed", "Needs a review:"]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("default/prefil", "; the nearest name is default/prefill"),
        ("prefil", "; the nearest name is prefill"),
        ("x", ""),
    ],
)
def test_a_choice_for_no_workload_is_a_warning(tmp_path: Path, name: str, nearest: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "prefill"}, "spec": {"containers": []}}
    (tmp_path / "pod.yml").write_text(yaml.safe_dump(pod))
    choices = {key: ["one"] for key in (name, "prefill", "default/prefill")}
    options = RewriteOptions([ONE], choices, namespace="default")
    result = files.rewrite_files(files.FilesRequest([str(tmp_path)], options), check=True)
    assert result["warnings"] == [f"rdma_migrate_requests: {name} is no workload of these manifests{nearest}"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"choices": {"vllm": 5}}, "choices (rdma_migrate_requests): vllm must be a list of names of requests, not 5"),
        ({"choices": {"vllm": None}}, "vllm must be a list of names of requests, not None"),
        ({"choices": {"vllm": [["a"]]}}, "vllm must be a list of names of requests, not [['a']]"),
        ({"choices": {"vllm": {"a": 1}}}, "vllm must be a list of names of requests, not {'a': 1}"),
        (
            {"requests": [{"name": "a", "templates": {"llm": ["b"]}}]},
            "requests: templates of a must be strings, but llm is not",
        ),
    ],
)
def test_options_of_another_type(
    run_module: Callable[..., dict[str, Any]], tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    result = run_module(workload_manifests, paths=[str(tmp_path)], **options)
    assert result["msg"].startswith("No file was changed. ")
    assert told in result["msg"]
