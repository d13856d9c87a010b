# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What becomes of workloads that are rewritten to ask for claims, what does not, and the way back."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import kinds, move, pods, requests, rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import PodAsk, Wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.resources import is_rdma
from ansible_collections.zerocopy.rdma.tests.unit.fleet.audit_manifests import (
    NAMESPACE,
    Object,
    guides,
    named,
    objects,
    pod,
)

_ONE = PodAsk("one-nic", templates={NAMESPACE: "one-nic-0a1b2c3d4e"})
_PAIR = PodAsk("pair", templates={NAMESPACE: "pair-5f6a7b8c9d"}, gpus=1)
_SINGLE = PodAsk("nic-a", claims={NAMESPACE: "nic-a-1111111111"})
_SHARED = PodAsk("rdma/shared", limits={"rdma/shared": 1})
_RAIL = PodAsk("rdma/rail", limits={"rdma/rail": 1}, annotations={"k8s.v1.cni.cncf.io/networks": "llm/rail"})
_NEAREST = PodAsk(
    "nearest",
    limits={"rdma.io/hca": 1},
    annotations={"rdma.zerocopy.io/nics": "nearest"},
    capabilities=(),
    gpu_resource="nvidia.com/gpu",
)
_WISH = Wish([_ONE])


def moved(*items: Object, wish: Wish = _WISH) -> tuple[list[Object], list[tuple[str, str, str]]]:
    found = move.forward(items, wish)
    return found.documents, [(note.ref.name, note.level, note.text) for note in found.notes]


def only(item: Object, wish: Wish = _WISH) -> Object:
    """The object without the way back."""
    (found,), notes = moved(item, wish=wish)
    assert [note for note in notes if note[1] == "cannot"] == []
    assert found["metadata"]["annotations"].pop(move.BEFORE)
    if not found["metadata"]["annotations"]:
        del found["metadata"]["annotations"]
    return found


def refused(item: Object, wish: Wish = _WISH) -> str:
    (found,), notes = moved(item, wish=wish)
    assert found == item
    (why,) = [text for _name, level, text in notes if level == "cannot"]
    return why


def container(item: Object) -> Object:
    (template,) = kinds.templates(move._ref(item, "").kind, item)
    first: Object = template.spec["containers"][0]
    return first


def test_prefill_and_decode_and_their_pool() -> None:
    (prefill, decode, pool), notes = moved(named("prefill"), named("decode"), named("llama"))
    for one in (prefill, decode):
        spec = one["spec"]["template"]["spec"]
        assert not {"hostNetwork", "dnsPolicy"} & set(spec)
        assert spec["resourceClaims"] == [{"name": "rdma", "resourceClaimTemplateName": "one-nic-0a1b2c3d4e"}]
        resources = spec["containers"][0]["resources"]
        assert resources == {"limits": {"nvidia.com/gpu": "1"}, "claims": [{"name": "rdma"}]}
        assert spec["containers"][0]["ports"] == [{"containerPort": 8000}]
        assert spec["containers"][0]["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert container(prefill)["args"] == ["export UCX_TLS=rc,cuda_copy,tcp; exec vllm serve model --port 8000"]
    address = container(prefill)["env"][3]
    assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert pool["spec"]["targetPorts"] == [{"number": 8000}]
    assert pool["spec"]["endpointPickerRef"] == named("llama")["spec"]["endpointPickerRef"]
    assert {(name, level) for name, level, _text in notes} == {("prefill", "left")}
    assert "UCX_NET_DEVICES=mlx5_0:1 (container vllm)" in [text for _name, _level, text in notes]
    assert not any("status.hostIP" in text for _name, _level, text in notes)


def test_only_named_paths_change() -> None:
    before = named("prefill")
    after = only(before)
    undo = json.loads(moved(before)[0][0]["metadata"]["annotations"][move.BEFORE])
    spec = "/spec/template/spec"
    assert {op["path"] for op in undo} == {
        f"{spec}/hostNetwork",
        f"{spec}/dnsPolicy",
        f"{spec}/resourceClaims",
        f"{spec}/containers/0/env/3/valueFrom/fieldRef/fieldPath",
        f"{spec}/containers/0/resources/limits/rdma~1hca_shared_devices_a",
        f"{spec}/containers/0/resources/requests",
        f"{spec}/containers/0/resources/claims",
    }
    # Its port stays where no twin is seen.
    assert container(after)["ports"] == [{"containerPort": 8300}]


@pytest.mark.parametrize("wish", [_WISH, Wish([_SHARED]), Wish([_RAIL]), Wish([_ONE, _PAIR])])
def test_there_and_back(wish: Wish) -> None:
    before = [*objects(), *guides()]
    there, _notes = moved(*before, wish=wish)
    assert sum(new != old for new, old in zip(there, before)) >= 30
    back = move.back(there)
    # In its order, too.
    assert json.dumps(back.documents) == json.dumps(before)
    assert back.notes == []
    again, _notes = moved(*there, wish=wish)
    assert json.dumps(again) == json.dumps(there)


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
        for shape in pods.seen(move._ref(one, "").kind, one).pods:
            if one["metadata"]["name"] in changed:
                assert not rewrite.asking(shape, ()) or shape.host_paths
                assert not shape.host_network


def test_what_guides_have() -> None:
    """Claims for all but two; another resource or none of the old way for all of them."""
    there, notes = moved(*guides())
    cannot = {name: text for name, level, text in notes if level == "cannot"}
    assert {one["metadata"]["name"] for one, was in zip(there, guides()) if one == was} == set(cannot)
    assert set(cannot) == {"gang", "fabric-runtime"}
    assert cannot["fabric-runtime"].startswith("one-nic is a claim, and a ServingRuntime has no field for claims")
    for one in moved(*guides(), wish=Wish([_SHARED]))[0]:
        assert move.BEFORE in one["metadata"]["annotations"]
        for shape in pods.seen(move._ref(one, "").kind, one).pods:
            assert not shape.host_network
            for inside in shape.containers:
                assert {name for name in inside.resources if is_rdma(name)} <= {"rdma/shared"}


def test_from_one_request_to_another() -> None:
    first, _notes = moved(named("prefill"))
    second, _notes = moved(*first, wish=Wish([_SHARED]))
    assert second == moved(named("prefill"), wish=Wish([_SHARED]))[0]
    assert container(second[0])["resources"]["limits"] == {"nvidia.com/gpu": "1", "rdma/shared": "1"}


def test_to_injection_and_from_what_was_written_for_it() -> None:
    there = only(named("decode"), Wish([_NEAREST]))
    template = there["spec"]["template"]
    assert template["metadata"]["annotations"] == {"rdma.zerocopy.io/nics": "nearest"}
    assert container(there)["resources"]["limits"] == {"nvidia.com/gpu": "1", "rdma.io/hca": "1"}
    assert "hostNetwork" not in template["spec"]
    # As somebody wrote it, without the way back.
    again = only(there, Wish([replace(_NEAREST, limits={})]))
    assert again["spec"]["template"]["metadata"]["annotations"] == {"rdma.zerocopy.io/nics": "nearest"}
    claims = only(again)
    assert "annotations" not in claims["spec"]["template"]["metadata"]
    assert container(claims)["resources"] == {"limits": {"nvidia.com/gpu": "1"}, "claims": [{"name": "rdma"}]}
    assert move.back(moved(again)[0]).documents == [again]


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
    assert not rewritten or {*there["metadata"]["annotations"]} - {move.BEFORE} == {*annotations} - {
        "rdma.zerocopy.io/nics"
    }


def test_injection_needs_a_gpu_in_the_same_container() -> None:
    why = "nearest gives the NICs nearest to nvidia.com/gpu, but container main requests no GPU"
    assert refused(pod(), Wish([_NEAREST])) == why


def test_a_claim_with_gpus_replaces_their_limit() -> None:
    after = only(named("prefill"), Wish([_ONE, _PAIR]))
    assert container(after)["resources"] == {"claims": [{"name": "rdma"}]}
    assert after["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == "pair-5f6a7b8c9d"


def test_networks_of_multus() -> None:
    after = only(named("bench"))
    assert "annotations" not in after["spec"]["template"]["metadata"]
    rail = only(named("decode"), Wish([_RAIL]))
    assert rail["spec"]["template"]["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/networks": "llm/rail"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}, ["gpu", "rdma"]),
        ({"resourceClaims": [{"name": "rdma", "resourceClaimName": "x"}]}, ["rdma", "rdma-2"]),
    ],
)
def test_claims_that_are_there_already(spec: Object, expected: list[str]) -> None:
    after = only(pod(**spec))
    assert [one["name"] for one in after["spec"]["resourceClaims"]] == expected
    assert container(after)["resources"]["claims"] == [{"name": expected[-1]}]


@pytest.mark.parametrize(
    ("security", "expected"),
    [
        (None, {"capabilities": {"add": ["IPC_LOCK"]}}),
        ({"runAsUser": 0}, {"runAsUser": 0, "capabilities": {"add": ["IPC_LOCK"]}}),
        ({"capabilities": {"drop": ["ALL"]}}, {"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}),
        ({"capabilities": {"add": ["ALL"]}}, {"capabilities": {"add": ["ALL"]}}),
        ({"capabilities": {"add": ["CAP_IPC_LOCK"]}}, {"capabilities": {"add": ["CAP_IPC_LOCK"]}}),
        ({"privileged": True}, {"privileged": True}),
    ],
)
def test_locked_memory(security: Object | None, expected: Object) -> None:
    item = pod(container={"securityContext": security})
    if security is None:
        del item["spec"]["containers"][0]["securityContext"]
    assert container(only(item))["securityContext"] == expected


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
    assert move.back(there).documents == items
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


def test_a_single_claim_is_for_one_pod() -> None:
    wish = Wish([_ONE, _SINGLE], {"decode": ["nic-a"]})
    spec = only(named("decode"), wish)["spec"]["template"]["spec"]
    assert spec["resourceClaims"] == [{"name": "rdma", "resourceClaimName": "nic-a-1111111111"}]
    item = named("decode")
    item["spec"]["replicas"] = 2
    right = "nic-a is one NIC of one host, but this workload has 2 pods: use a ResourceClaimTemplate"
    assert refused(item, wish) == right
    unknown = Wish([_SINGLE], {"finetune": ["nic-a"]})
    assert "has several pods" in moved(named("finetune"), wish=unknown)[1][0][2]


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (Wish(), "pods of the group cannot request anything: see rdma_strategy and rdma_claims_templates"),
        (Wish([_SINGLE]), "no request of the group fits a pod with 1 GPUs; it has nic-a"),
        (
            Wish([_ONE, PodAsk("two", templates={NAMESPACE: "two-1"})]),
            "several requests fit a pod with 1 GPUs (one-nic, two): choose in rdma_migrate_requests",
        ),
        (Wish([_ONE], {"llm/decode": ["three"]}), "three is not a request of the group, which has one-nic"),
        (
            Wish([PodAsk("pair", templates={NAMESPACE: "p"}, gpus=2)], {"decode": ["pair"]}),
            "the claim has 2 GPUs for one container, but vllm has 1",
        ),
    ],
)
def test_which_request_is_not_guessed(wish: Wish, why: str) -> None:
    assert refused(named("decode"), wish) == why


def test_requests_by_number_of_gpus() -> None:
    ref = move._ref(named("decode"), "")
    wish = Wish([_ONE, _PAIR, _SINGLE])
    assert [ask.name for ask in requests.chosen(ref, 1, wish)] == ["pair"]
    assert [ask.name for ask in requests.chosen(ref, 8, wish)] == ["one-nic"]
    assert [ask.name for ask in requests.chosen(ref, 0, wish)] == ["one-nic"]


def test_one_that_cannot_be_moved_any_more_stays_as_it_was_moved() -> None:
    there, _notes = moved(named("decode"))
    again, notes = moved(*there, wish=Wish())
    assert again == there
    assert [level for _name, level, _text in notes] == ["cannot"]


def test_what_somebody_changed_since_is_not_undone() -> None:
    (there,), _notes = moved(named("decode"))
    container(there)["args"].append("--verbose")
    assert move.back([there]).notes == []
    (undone,) = move.back([there]).documents
    assert container(undone)["args"][-1] == "--verbose"
    there["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "another"
    found = move.back([there])
    assert found.documents == [there]
    (note,) = found.notes
    assert note.text == "cannot go back, because it was changed since: /spec/template/spec/resourceClaims"
    again, notes = moved(there)
    assert again == [there]
    assert notes[0][2].startswith("was rewritten and then changed by somebody else")


@pytest.mark.parametrize(
    "written",
    [
        "[" * 100_000,
        '[{"op": "add", "path": "/spec/x", "value": 1, "before": [1]}, {"op": "test", "path": "/x", "value": 1}]',
        '[{"op": "remove", "path": "/metadata"}]',
        '[{"op": "replace", "path": "/metadata", "value": null}]',
        '[{"op": "replace", "path": "/kind", "value": "ClusterRoleBinding"}]',
    ],
)
def test_a_way_back_that_somebody_else_wrote(written: str) -> None:
    item = named("decode")
    item["metadata"]["annotations"] = {move.BEFORE: written}
    for found in (move.back([item]), move.forward([item], _WISH)):
        assert found.documents == [item]
        assert [note.level for note in found.notes] == ["cannot"]


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


def test_a_label_that_nodes_lose_is_left_to_people() -> None:
    item = named("decode")
    item["spec"]["template"]["spec"]["nodeSelector"] = {"zerocopy.rdma/shared-device": "h100"}
    _there, notes = moved(item)
    assert notes == [("decode", "left", "selects nodes by zerocopy.rdma/shared-device")]


@pytest.mark.parametrize(
    ("requested", "nics", "said"),
    [
        (["1"], 1, []),
        (["8"], 8, []),
        # Not known.
        (["8"], 0, []),
        (["8"], 1, ["rdma/ib: 8 became one-nic, with 1 NIC for all containers of the pod"]),
        (["2", 2], 3, ["rdma/ib: 4 became one-nic, with 3 NICs for all containers of the pod"]),
    ],
)
def test_fewer_nics_than_before_are_told(requested: list[Any], nics: int, said: list[str]) -> None:
    item = named("debug")
    containers = [
        {"name": f"c{place}", "image": "x", "resources": {"limits": {"rdma/ib": number}}}
        for place, number in enumerate(requested)
    ]
    item["spec"]["containers"] = containers
    # One after the other.
    item["spec"]["initContainers"] = [{"name": "check", "image": "x", "resources": {"limits": {"rdma/ib": "9"}}}]
    _there, notes = moved(item, wish=Wish([replace(_ONE, nics=nics)]))
    assert [text for _name, _level, text in notes] == said


def test_a_list_of_objects_and_documents_that_are_none() -> None:
    whole = {"apiVersion": "v1", "kind": "List", "items": [named("decode"), named("web")]}
    (nothing, there), _notes = moved(None, whole)  # type: ignore[arg-type]  # what an empty document is
    assert nothing is None
    assert there["items"] == [moved(named("decode"))[0][0], named("web")]
    assert move.back([there]).documents == [whole]
