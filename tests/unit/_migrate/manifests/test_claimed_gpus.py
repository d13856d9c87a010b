# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""GPUs that a pod has by a claim have a share in the NICs of a node, as those of a device plugin have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import RewriteOptions
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import ONE, moved

# Of nodes with eight GPUs and eight NICs.
_ONE = replace(ONE, nics=1, node_gpus=8, node_nics=8)
_FOUR = replace(_ONE, name="four-nics", templates={"llm": "four-nics-1"}, nics=4)
_BOTH = RewriteOptions([_ONE, _FOUR])
_POD = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: llm}
spec:
  resourceClaims: [{name: gpus, resourceClaimTemplateName: my-gpus}]
  containers:
    - {name: main, resources: {limits: {rdma/ib: 1}, claims: [{name: gpus}]}}
"""
_TEMPLATE = "{apiVersion: resource.k8s.io/v1, kind: %s, metadata: {name: my-gpus, namespace: llm}, spec: %s}"
_DEVICES = "{devices: {requests: [%s]}}"


def _done(pod: str, *others: str, options: RewriteOptions = _BOTH) -> tuple[Any, list[str]]:
    documents, notes = moved(*[yaml.safe_load(text) for text in (pod, *others)], options=options)
    return documents[0]["spec"]["resourceClaims"], [text for _name, _level, text in notes]


def _claim(request: str, kind: str = "ResourceClaimTemplate") -> str:
    devices = _DEVICES % request
    return _TEMPLATE % (kind, f"{{spec: {devices}}}" if kind == "ResourceClaimTemplate" else devices)


@pytest.mark.parametrize(
    "request_of_claim",
    [
        "{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}",
        "{name: a, deviceClassName: gpu.nvidia.com, count: 4}",
        "{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}, {name: b, exactly: {deviceClassName: "
        "gpu.nvidia.com, count: 2}}",
        "{name: a, firstAvailable: [{name: x, deviceClassName: gpu.amd.com, count: 4}, {name: y, deviceClassName: "
        "gpu.nvidia.com}]}",
    ],
)
def test_gpus_of_a_template_have_their_share(request_of_claim: str) -> None:
    claims, notes = _done(_POD, _claim(request_of_claim))
    assert ([claim["resourceClaimTemplateName"] for claim in claims], notes) == (["my-gpus", "four-nics-1"], [])


def test_gpus_of_a_claim_have_their_share() -> None:
    pod = _POD.replace("resourceClaimTemplateName", "resourceClaimName")
    claims, notes = _done(
        pod, _claim("{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}", "ResourceClaim")
    )
    assert (claims[1]["resourceClaimTemplateName"], notes) == ("four-nics-1", [])


def test_a_pod_whose_gpus_have_more_nics_than_any_request_stays() -> None:
    claims, notes = _done(
        _POD, _claim("{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}"), options=RewriteOptions([_FOUR])
    )
    assert len(claims) == 1
    assert notes == [
        "no request of the group fits a pod with 8 GPUs of a claim, which asks for 8 NICs (four-nics has 4 NICs): "
        "choose in rdma_migrate_requests"
    ]


@pytest.mark.parametrize(
    "others",
    [
        [],
        [_claim("{name: a, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}")],
        [_claim("{name: a, exactly: {deviceClassName: something.example.org}}")],
    ],
)
def test_a_claim_that_is_not_known_is_for_people(others: list[str]) -> None:
    claims, notes = _done(_POD, *others)
    assert len(claims) == 1
    told = "the pod has the claim gpus, and how many GPUs it has is not in these manifests"
    assert notes == [f"{told}: choose in rdma_migrate_requests"]
    chosen = RewriteOptions([_ONE, _FOUR], {"a": ["one-nic"]})
    claims, notes = _done(_POD, *others, options=chosen)
    assert len(claims) == 2
    assert notes == [f"{told}: whether one-nic has enough is not known"]


@pytest.mark.parametrize(("gpus", "known"), [(1, True), (0, False)])
def test_a_variable_beside_a_claim(gpus: int, known: bool) -> None:
    """Which of the GPUs of the claim a container sees changes nothing, but a claim of NICs has none."""
    devices = "gpu.nvidia.com" if gpus else "rdma-nic"
    pod = _POD.replace("{name: main,", "{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}],")
    claim = _claim(f"{{name: a, exactly: {{deviceClassName: {devices}}}}}")
    claims, notes = _done(pod, claim, options=RewriteOptions([_ONE]))
    said = "container main has GPUs by NVIDIA_VISIBLE_DEVICES, and how many is not in the manifest"
    assert (len(claims), notes) == ((2, []) if known else (1, [f"{said}: choose in rdma_migrate_requests"]))


def test_claims_of_other_devices_and_shared_ones_count_once() -> None:
    pod = _POD + "    - {name: second, resources: {limits: {rdma/ib: 1}, claims: [{name: gpus}]}}\n"
    nic = _claim(
        "{name: a, exactly: {deviceClassName: rdma-nic, count: 9}}, {name: b, exactly: {deviceClassName: "
        "gpu.nvidia.com, count: 3}}"
    )
    claims, notes = _done(pod, nic)
    assert (claims[1]["resourceClaimTemplateName"], notes) == ("four-nics-1", [])
