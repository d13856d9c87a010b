# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a rewrite reads in workloads: which of them use RDMA, what they are to ask for, and what is left to people."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import workloads
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import need, revert
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import (
    NAMESPACE,
    Object,
    guides,
    named,
    objects,
    pod,
)
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import (
    NEAREST,
    ONE,
    SHARED,
    SINGLE,
    moved,
    only,
    refused,
)


def test_which_of_them_are_rewritten() -> None:
    there, notes = moved(*objects())
    changed = {one["metadata"]["name"] for one, was in zip(there, objects()) if one != was}
    cannot = {name for name, level, _text in notes if level == "cannot"}
    assert cannot == {"pretrain"}
    assert changed == {
        *("prefill", "decode", "trainer", "bench", "nightly", "debug", "deepseek", "pd", "ray", "ray-serve"),
        *("finetune", "allreduce", "granite", "llama-kserve", "sets", "llama"),
    }
    for one in there:
        for shape in pods.read(workloads.ref_of(one, "").kind, one).pods:
            if one["metadata"]["name"] in changed:
                assert not need.requesting(shape, WELL_KNOWN) or shape.host_paths
                assert not shape.host_network


def test_what_guides_have() -> None:
    """Claims for all but three; another resource or none of the old way for all but a DaemonSet."""
    there, notes = moved(*guides())
    cannot = {name: text for name, level, text in notes if level == "cannot"}
    assert {one["metadata"]["name"] for one, was in zip(there, guides()) if one == was} == set(cannot)
    assert set(cannot) == {"gang", "fabric-runtime", "cache"}
    assert cannot["fabric-runtime"].startswith("one-nic is a claim, and a ServingRuntime has no field for claims")
    for one in moved(*(each for each in guides() if each["kind"] != "DaemonSet"), options=RewriteOptions([SHARED]))[0]:
        assert revert.BEFORE in one["metadata"]["annotations"]
        for shape in pods.read(workloads.ref_of(one, "").kind, one).pods:
            assert not shape.host_network
            for inside in shape.containers:
                assert {name for name in inside.resources if is_rdma(name)} <= {"rdma/shared"}


@pytest.mark.parametrize(
    ("annotations", "rewritten"),
    [
        ({"rdma.zerocopy.io/nics": "mlx5_0"}, True),
        ({"rdma.zerocopy.io/nics.main": "nearest"}, False),
        ({"rdma.zerocopy.io/nics": "mlx5_0", "rdma.zerocopy.io/nics.main": "none"}, False),
        ({"devices.nri.io/pod": '[{"path": "/dev/infiniband/uverbs0"}]'}, True),
        ({"devices.nri.io/pod": '[{"path": "/dev/fuse"}]'}, False),
    ],
)
def test_who_gets_devices_by_an_annotation(annotations: Object, rewritten: bool) -> None:
    """The container has no GPU, beside which there could be a NIC."""
    item = pod(container={"resources": {}}, metadata={"annotations": annotations})
    (there,), notes = moved(item)
    assert (there != item) is rewritten
    foreign = [f"{key}: {value}" for key, value in annotations.items() if key.startswith("devices") and rewritten]
    assert [text for _name, level, text in notes if level == "left"] == foreign
    assert not rewritten or {*there["metadata"]["annotations"]} - {revert.BEFORE} == {*annotations} - {
        "rdma.zerocopy.io/nics"
    }


def test_injection_needs_a_gpu_in_the_same_container() -> None:
    why = "nearest gives the NICs nearest to nvidia.com/gpu, but container main requests no GPU"
    assert refused(pod(), RewriteOptions([NEAREST])) == why


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"hostPID": True}, "hostNetwork may have another reason: hostPID is set as well"),
        (
            {"container": {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}},
            "hostNetwork may have another reason: container main has the capability NET_ADMIN",
        ),
        ({"metadata": {"namespace": "other"}}, "one-nic is in the namespaces llm only: add other to"),
        ({"schedulerName": "volcano"}, "its scheduler is Volcano, which fails on pods with ResourceClaimTemplates"),
        (
            {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "one,two"}}},
            "k8s.v1.cni.cncf.io/networks names several networks, and which of them",
        ),
    ],
)
def test_what_cannot_be_moved(spec: Object, why: str) -> None:
    assert refused(pod(hostNetwork=True, **spec)).startswith(why)


def test_a_daemon_set() -> None:
    item = named("decode")
    item["kind"] = "DaemonSet"
    assert refused(item) == "hostNetwork may have another reason: a DaemonSet serves the node it is on"


def test_a_daemon_set_without_host_network() -> None:
    """As labelers of nodes and exporters are, which mount the device nodes."""
    item = named("decode")
    item["kind"] = "DaemonSet"
    spec = item["spec"]["template"]["spec"]
    del spec["hostNetwork"]
    spec["containers"][0]["resources"] = {}
    spec["containers"][0]["volumeMounts"] = [{"name": "ib", "mountPath": "/dev/infiniband"}]
    spec["volumes"] = [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]
    assert refused(item) == "a DaemonSet serves the node it is on"


def test_a_single_claim_is_for_one_pod() -> None:
    options = RewriteOptions([ONE, SINGLE], {"decode": ["nic-a"]})
    spec = only(named("decode"), options)["spec"]["template"]["spec"]
    assert spec["resourceClaims"] == [{"name": "rdma", "resourceClaimName": "nic-a-1111111111"}]
    item = named("decode")
    item["spec"]["replicas"] = 2
    right = "nic-a is one NIC of one host, but this workload has 2 pods: use a ResourceClaimTemplate"
    assert refused(item, options) == right
    unknown = RewriteOptions([SINGLE], {"finetune": ["nic-a"]})
    assert "has several pods" in moved(named("finetune"), options=unknown)[1][0][2]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (RewriteOptions(), "pods of the group cannot request anything: see rdma_strategy and rdma_claims_templates"),
        (RewriteOptions([SINGLE]), "no request of the group fits a pod with 1 GPU; it has nic-a"),
        (
            RewriteOptions([ONE, NamedRequest("two", templates={NAMESPACE: "two-1"})]),
            "several requests fit a pod with 1 GPU (one-nic, two): choose in rdma_migrate_requests",
        ),
        (RewriteOptions([ONE], {"llm/decode": ["three"]}), "three is not a request of the group, which has one-nic"),
        (
            RewriteOptions([NamedRequest("pair", templates={NAMESPACE: "p"}, gpus=2)], {"decode": ["pair"]}),
            "the claim has 2 GPUs for one container, but vllm has nvidia.com/gpu: 1",
        ),
    ],
)
def test_which_request_is_not_guessed(options: RewriteOptions, why: str) -> None:
    assert refused(named("decode"), options) == why


def test_a_label_that_nodes_lose_is_left_to_people() -> None:
    item = named("decode")
    item["spec"]["template"]["spec"]["nodeSelector"] = {
        "zerocopy.rdma.node-restriction.kubernetes.io/shared-device": "h100"
    }
    _there, notes = moved(item)
    assert notes == [("decode", "left", "selects nodes by zerocopy.rdma.node-restriction.kubernetes.io/shared-device")]
