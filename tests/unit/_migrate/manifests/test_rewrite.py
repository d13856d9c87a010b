# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What becomes of workloads that are rewritten to ask for claims, and the way back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import revert, rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import RewriteOptions
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import Object, guides, named, objects, pod
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import (
    NEAREST,
    ONE,
    PAIR,
    RAIL,
    SHARED,
    WISH,
    container,
    moved,
    only,
    refused,
)


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
    undo = json.loads(moved(before)[0][0]["metadata"]["annotations"][revert.BEFORE])
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


@pytest.mark.parametrize(
    "options", [WISH, RewriteOptions([SHARED]), RewriteOptions([RAIL]), RewriteOptions([ONE, PAIR])]
)
def test_there_and_back(options: RewriteOptions) -> None:
    before = [*objects(), *guides()]
    there, _notes = moved(*before, options=options)
    assert sum(new != old for new, old in zip(there, before)) >= 30
    back = rewrite.reverted(there)
    # In its order, too.
    assert json.dumps(back.documents) == json.dumps(before)
    assert back.notes == []
    again, _notes = moved(*there, options=options)
    assert json.dumps(again) == json.dumps(there)


def test_from_one_request_to_another() -> None:
    first, _notes = moved(named("prefill"))
    second, _notes = moved(*first, options=RewriteOptions([SHARED]))
    assert second == moved(named("prefill"), options=RewriteOptions([SHARED]))[0]
    assert container(second[0])["resources"]["limits"] == {"nvidia.com/gpu": "1", "rdma/shared": "1"}


def test_to_injection_and_from_what_was_written_for_it() -> None:
    there = only(named("decode"), RewriteOptions([NEAREST]))
    template = there["spec"]["template"]
    assert template["metadata"]["annotations"] == {"rdma.zerocopy.io/nics": "nearest"}
    assert container(there)["resources"]["limits"] == {"nvidia.com/gpu": "1", "rdma.io/hca": "1"}
    assert "hostNetwork" not in template["spec"]
    # As somebody wrote it, without the way back.
    again = only(there, RewriteOptions([replace(NEAREST, limits={})]))
    assert again["spec"]["template"]["metadata"]["annotations"] == {"rdma.zerocopy.io/nics": "nearest"}
    claims = only(again)
    assert "annotations" not in claims["spec"]["template"]["metadata"]
    assert container(claims)["resources"] == {"limits": {"nvidia.com/gpu": "1"}, "claims": [{"name": "rdma"}]}
    assert rewrite.reverted(moved(again)[0]).documents == [again]


_REQUIRED = "required-plugins.noderesource.dev"
_INJECT = RewriteOptions(
    [replace(NEAREST, annotations={"rdma.zerocopy.io/nics": "nearest", _REQUIRED: '["zerocopy-rdma"]'})]
)


def _requiring(name: str, value: str) -> Object:
    limits = {"nvidia.com/gpu": "1", "rdma/ib": "1"}
    return pod(metadata={"annotations": {name: value}}, container={"resources": {"limits": limits}})


@pytest.mark.parametrize("name", [_REQUIRED, f"{_REQUIRED}/pod", f"{_REQUIRED}/container.main"])
@pytest.mark.parametrize(
    ("value", "left"),
    [
        ('["zerocopy-rdma"]', None),
        # The validator reads YAML.
        ("- zerocopy-rdma\n", None),
        ('["dra.net", "zerocopy-rdma", "other"]', '["dra.net", "other"]'),
        ("[dra.net]", "[dra.net]"),
        ("[]", "[]"),
    ],
)
def test_claims_do_not_require_the_plugin_of_inject(name: str, value: str, left: str | None) -> None:
    """On a node without it, pods that require it do not start."""
    before = _requiring(name, value)
    there, notes = moved(before)
    assert notes == []
    assert there[0]["metadata"]["annotations"].get(name) == left
    back = rewrite.reverted(there)
    assert (back.documents, back.notes) == ([before], [])


@pytest.mark.parametrize("value", ["zerocopy-rdma", "[1, zerocopy-rdma]", "[zerocopy-rdma"])
def test_required_plugins_that_cannot_be_read(value: str) -> None:
    for options in (WISH, _INJECT):
        before = _requiring(_REQUIRED, value)
        there, notes = moved(before, options=options)
        assert there[0]["metadata"]["annotations"][_REQUIRED] == value
        assert notes == [("pod", "left", f"{_REQUIRED} cannot be read as a list of plugins, and stays as it is")]
        assert rewrite.reverted(there).documents == [before]


def test_injection_requires_its_plugin_beside_others() -> None:
    before = _requiring(_REQUIRED, "[dra.net]")
    there, _notes = moved(before, options=_INJECT)
    assert there[0]["metadata"]["annotations"][_REQUIRED] == '["dra.net", "zerocopy-rdma"]'
    assert rewrite.reverted(there).documents == [before]


def test_a_claim_with_gpus_replaces_their_limit() -> None:
    after = only(named("prefill"), RewriteOptions([ONE, PAIR]))
    assert container(after)["resources"] == {"claims": [{"name": "rdma"}]}
    assert after["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == "pair-5f6a7b8c9d"


def test_networks_of_multus() -> None:
    after = only(named("bench"))
    assert "annotations" not in after["spec"]["template"]["metadata"]
    rail = only(named("decode"), RewriteOptions([RAIL]))
    assert rail["spec"]["template"]["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/networks": "llm/rail"}


@pytest.mark.parametrize("name", ["over-vfs", "granite"])
def test_networks_that_kserve_passes_on_to_pods(name: str) -> None:
    """Of the object itself: its pods have no metadata of their own in it."""
    (item,) = [each for each in (*objects(), *guides()) if each["metadata"]["name"] == name]
    item["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": "llm/rail", "example.org/team": "a"}
    after = only(item)
    assert after["metadata"]["annotations"] == {"example.org/team": "a"}
    assert rewrite.reverted(moved(item)[0]).documents == [item]
    item["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = "llm/one,llm/two"
    assert "names several networks" in refused(item)


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


def test_one_that_cannot_be_moved_any_more_stays_as_it_was_moved() -> None:
    there, _notes = moved(named("decode"))
    again, notes = moved(*there, options=RewriteOptions())
    assert again == there
    assert [level for _name, level, _text in notes] == ["cannot"]


def test_what_somebody_changed_since_is_not_undone() -> None:
    (there,), _notes = moved(named("decode"))
    container(there)["args"].append("--verbose")
    assert rewrite.reverted([there]).notes == []
    (undone,) = rewrite.reverted([there]).documents
    assert container(undone)["args"][-1] == "--verbose"
    there["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "another"
    found = rewrite.reverted([there])
    assert found.documents == [there]
    (note,) = found.notes
    assert note.text == (
        "cannot be reverted, because it was changed after the rewrite: /spec/template/spec/resourceClaims"
    )
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
    item["metadata"]["annotations"] = {revert.BEFORE: written}
    for found in (rewrite.reverted([item]), rewrite.rewritten([item], WISH)):
        assert found.documents == [item]
        assert [note.level for note in found.notes] == ["cannot"]


def test_a_list_of_objects_and_documents_that_are_none() -> None:
    whole = {"apiVersion": "v1", "kind": "List", "items": [named("decode"), named("web")]}
    (nothing, there), _notes = moved(None, whole)  # type: ignore[arg-type]  # what an empty document is
    assert nothing is None
    assert there["items"] == [moved(named("decode"))[0][0], named("web")]
    assert rewrite.reverted([there]).documents == [whole]


@pytest.mark.parametrize("with_kind", [True, False])
def test_a_list_of_one_kind(with_kind: bool) -> None:
    """As the API server sends it, the objects have no kind of their own."""
    item = named("decode")
    if not with_kind:
        del item["kind"], item["apiVersion"]
    whole = {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [item]}
    (there,), _notes = moved(whole)
    assert there["items"][0]["spec"] == moved(named("decode"))[0][0]["spec"]
    assert rewrite.reverted([there]).documents == [whole]
