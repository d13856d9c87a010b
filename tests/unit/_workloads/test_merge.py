# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Manifests of somebody's own that get what pods of a group need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests.unit._workloads.workload_examples import GROUPS, Facts, made

DEPLOYMENT = """\
# Ours.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: decode   # not to be renamed
spec:
  selector: {matchLabels: {app: decode}}
  template:
    metadata:
      labels: {app: decode}
    spec:
      containers:
        - name: vllm
          image: registry.example.org/vllm:1
          command: [vllm, serve, "Qwen/Qwen3-8B"]
          env:
            - {name: UCX_TLS, value: all}   # measured
        - name: proxy
          image: registry.example.org/proxy:1
"""
GPU = '          resources: {limits: {nvidia.com/gpu: "2"}}\n        - name: proxy'


@pytest.fixture(name="complete")
def make_complete(facts_of: Facts, tmp_path: Path) -> Any:
    def run(
        text: str, group: str = "h100", container: str = "vllm", settings: Any = None, **more: str
    ) -> tuple[str, list[str]]:
        path = tmp_path / "decode.yml"
        path.write_text(text)
        given = {"path": str(path), "container": container, "group": group, **more}
        found = made(facts_of, group, manifests=[given], **settings or {})
        mine = [one["content"] for one in found["examples"] if one["path"] == f"{group}/decode.yml"]
        return (mine[0] if mine else ""), found["problems"]

    return run


def test_a_container_gets_what_it_needs(complete: Any) -> None:
    text, problems = complete(DEPLOYMENT, request="one")
    assert problems == []
    spec = yaml.safe_load(text)["spec"]["template"]["spec"]
    vllm, proxy = spec["containers"]
    assert vllm["command"] == ["/bin/sh", "/opt/zerocopy-rdma/rdma-env.sh", "vllm", "serve", "Qwen/Qwen3-8B"]
    assert vllm["resources"] == {"claims": [{"name": "rdma"}]}
    assert vllm["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert {"name": "UCX_TLS", "value": "all"} in vllm["env"]
    assert [mount["mountPath"] for mount in vllm["volumeMounts"]] == ["/dev/shm", "/opt/zerocopy-rdma"]
    assert spec["resourceClaims"][0]["resourceClaimTemplateName"].startswith("one-")
    assert [volume["name"] for volume in spec["volumes"]] == ["dshm", "zerocopy-rdma-env"]
    assert proxy == {"name": "proxy", "image": "registry.example.org/proxy:1"}
    # Everything else is as it was.
    for line in ("# Ours.", "  name: decode   # not to be renamed", "{name: UCX_TLS, value: all}   # measured"):
        assert line in text
    assert complete(text, request="one") == (text, [])


def test_limits_and_the_gpus_that_it_has(complete: Any) -> None:
    text, problems = complete(DEPLOYMENT.replace("        - name: proxy", GPU), "v100")
    assert problems == []
    vllm = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]
    assert vllm["resources"] == {"limits": {"nvidia.com/gpu": "2", "rdma/rdma_v100": "1"}}
    # As it was before there were claims.
    old = DEPLOYMENT.replace("      containers:", "      hostNetwork: true\n      containers:")
    text, problems = complete(old, "v100")
    assert problems == []
    vllm = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]
    assert vllm["resources"] == {"limits": {"nvidia.com/gpu": "1", "rdma/rdma_v100": "1"}}


def test_its_own_shared_memory_stays(complete: Any) -> None:
    own = "          volumeMounts: [{name: mine, mountPath: /dev/shm}]\n        - name: proxy"
    text, problems = complete(DEPLOYMENT.replace("        - name: proxy", own), "v100")
    assert problems == []
    spec = yaml.safe_load(text)["spec"]["template"]["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["zerocopy-rdma-env"]
    assert spec["containers"][0]["volumeMounts"][0] == {"name": "mine", "mountPath": "/dev/shm"}


def test_objects_of_a_list_and_keys_without_a_value(complete: Any) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: m, image: i, command: [x]}]}}"
    text = f"apiVersion: v1\nkind: List\nitems:\n- {pod}\n"
    text = text.replace("image: i", "image: i, env: , securityContext: {capabilities: {add: }}")
    found, problems = complete(text, "h100", "m", request="one")
    assert problems == []
    (container,) = yaml.safe_load(found)["items"][0]["spec"]["containers"]
    assert container["resources"] == {"claims": [{"name": "rdma"}]}
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


def test_a_plain_pod_has_annotations_of_its_strategy(complete: Any) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: m, image: i, command: [x]}]\n"
    text, problems = complete(pod, "a100", "m")
    assert problems == []
    found = yaml.safe_load(text)
    assert found["metadata"]["annotations"] == {
        "rdma.zerocopy.io/nics": "nearest",
        "required-plugins.noderesource.dev": '["zerocopy-rdma"]',
    }
    assert found["spec"]["containers"][0]["resources"]["limits"] == {"rdma.io/hca": "1", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nvidia.com/gpu", {}),
        ("nvidia.com/v100", {}),
        ("nvidia.com/mig-1g.5gb", {}),
        ("amd.com/gpu", {}),
        ("example.org/gpu", {"gpu_resource": "example.org/gpu"}),
        ("example.org/gpu", {"gpu_resources": ["example.org/gpu"]}),
        ("nvidia.com/gpu", {"gpu_resource": "example.org/gpu"}),
    ],
)
def test_no_container_gets_gpus_twice(complete: Any, name: str, settings: dict[str, Any]) -> None:
    text = DEPLOYMENT.replace("        - name: proxy", GPU.replace("nvidia.com/gpu", name))
    _text, problems = complete(text, settings=settings, request="four")
    (problem,) = problems
    assert problem.endswith(f"has a limit of {name}, and the claim has 4 GPUs as well: remove the limit")
    for group in ("v100", "a100"):
        found, problems = complete(text, group, settings=settings)
        assert problems == []
        limits = yaml.safe_load(found)["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        assert {one: number for one, number in limits.items() if not one.startswith("rdma")} == {name: "2"}


@pytest.mark.parametrize(
    ("group", "claims", "right"),
    [
        ("h100", {"rdma_claims_namespaces": ["default", "llm"]}, "set rdma_workloads_namespace to llm"),
        ("h100", {}, "add llm to rdma_claims_namespaces, and set rdma_workloads_namespace to llm"),
        ("v100", {}, "set rdma_workloads_namespace to llm"),
    ],
)
def test_another_namespace_names_what_to_set(
    complete: Any, monkeypatch: pytest.MonkeyPatch, group: str, claims: dict[str, Any], right: str
) -> None:
    names, variables = GROUPS[group]
    monkeypatch.setitem(GROUPS, group, (names, {**variables, **claims}))
    text = DEPLOYMENT.replace("  name: decode", "  namespace: llm\n  name: decode")
    (problem,) = complete(text, group)[1]
    assert problem.endswith(f"is in namespace llm, but claims and script are in default: {right}")


@pytest.mark.parametrize(
    ("before", "after", "more", "why"),
    [
        ("vllm", "other", {}, "no pod in it has a container vllm"),
        ("command:", "args:", {}, "Deployment decode has no command to put the script before"),
        ("  name: decode", "  namespace: llm\n  name: decode", {}, "is in namespace llm, but claims and script are in"),
        ("spec:", "spec: [", {}, "is not YAML"),
        (
            "      containers:",
            "      hostNetwork: true\n      containers:",
            {},
            "decode has hostNetwork, so its pods would get no NIC",
        ),
        (
            "          env:",
            "          resources: {limits: {rdma/a: 1}}\n          env:",
            {"request": "one"},
            "Deployment decode has a limit of rdma/a, and the claim has NICs as well: remove the limit",
        ),
        (
            "      containers:",
            "      resourceClaims: [{name: rdma, resourceClaimTemplateName: one-0a1b2c3d4e}]\n      containers:",
            {"request": "one"},
            "decode has a different claim with the name rdma",
        ),
        # What is there is of another type than Kubernetes has.
        ('[vllm, serve, "Qwen/Qwen3-8B"]', "vllm serve", {}, "Deployment decode has a command that is not a list"),
        (
            "          env:",
            "          resources: none\n          env:",
            {},
            "Deployment decode: resources is not a map",
        ),
        (
            "      containers:",
            "      volumes: 7\n      containers:",
            {},
            "Deployment decode: volumes is not a list",
        ),
        ("", "", {"request": "two"}, "its request is 'two', it must be one of one-numa0, one-numa1, four-numa0"),
    ],
)
def test_what_cannot_be_completed(complete: Any, before: str, after: str, more: dict[str, str], why: str) -> None:
    _text, problems = complete(DEPLOYMENT.replace(before, after) if before else DEPLOYMENT, **more)
    (problem,) = problems
    assert problem.startswith("rdma_workloads_manifests: ")
    assert why in problem
