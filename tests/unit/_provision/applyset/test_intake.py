# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import copy
import re
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.dra_version import converted, negotiate
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.intake import Wanted, intake
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.order import rank
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import PART_OF, Parent

PARENT = Parent("set", "kube-system")
RELEASES = {release: {"major": "1", "minor": release} for release in ("31", "32", "33+", "36")}


def resource(plural: str, kind: str, scope: str = "Namespaced") -> Dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": ["list", "get", "patch"]}


DRA = [
    resource("deviceclasses", "DeviceClass", "Cluster"),
    resource("resourceclaims", "ResourceClaim"),
    resource("resourceclaimtemplates", "ResourceClaimTemplate"),
]


def served(*versions: str) -> Api:
    """An API server with these versions of resource.k8s.io. Synthesised in the form of apidiscovery.k8s.io/v2."""
    groups: Dict[str, List[Dict[str, Any]]] = {
        "": [
            {
                "version": "v1",
                "resources": [
                    resource("pods", "Pod"),
                    resource("secrets", "Secret"),
                    resource("namespaces", "Namespace", "Cluster"),
                ],
            }
        ],
        "apps": [{"version": "v1", "resources": [resource("deployments", "Deployment")]}],
        "apiextensions.k8s.io": [
            {
                "version": "v1",
                "resources": [resource("customresourcedefinitions", "CustomResourceDefinition", "Cluster")],
            }
        ],
        "broken.example.org": [{"version": "v1", "freshness": "Stale"}],
    }
    if versions:
        groups["resource.k8s.io"] = [{"version": version, "resources": DRA} for version in versions]
    items = [{"metadata": {"name": name} if name else {}, "versions": found} for name, found in groups.items()]
    return Api([{"kind": "APIGroupDiscoveryList", "items": items}])


def take(*objects: Dict[str, Any], api: Any = None, release: str = "36") -> List[Wanted]:
    return intake(objects, PARENT, api or served("v1"), lambda: RELEASES[release])


def item(kind: str, name: str, api_version: str = "v1", **others: Any) -> Dict[str, Any]:
    meta = {"name": name, **others.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **others}


SPEC = {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "rdma", "count": 2}}]}}
CLAIM = item("ResourceClaim", "prefill", "resource.k8s.io/v1", spec=SPEC)
TEMPLATE = item("ResourceClaimTemplate", "h100", "resource.k8s.io/v1", spec={"spec": SPEC})
DEFINITION = item(
    "CustomResourceDefinition",
    "racks.example.org",
    "apiextensions.k8s.io/v1",
    spec={
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"kind": "Rack", "plural": "racks"},
        "versions": [{"name": "v1", "served": True, "storage": True}, {"name": "v0", "served": False}],
    },
)


@pytest.mark.parametrize("namespace", [None, ""])
def test_an_empty_namespace_is_none(namespace: Any) -> None:
    pod, cluster_wide = take(
        item("Pod", "a", metadata={"namespace": namespace}), item("Namespace", "b", metadata={"namespace": namespace})
    )
    assert pod.key.namespace == pod.body["metadata"]["namespace"] == "kube-system"
    assert cluster_wide.key.namespace == ""
    assert "namespace" not in cluster_wide.body["metadata"]


@pytest.mark.parametrize("namespace", ["..", "a/b", "A", "a\n", 7, ["a"]])
def test_a_namespace_that_cannot_be_is_refused(namespace: Any) -> None:
    with pytest.raises(ClusterError, match=re.escape(f"metadata.namespace of Pod a is {namespace!r}, it must be")):
        take(item("Pod", "a", metadata={"namespace": namespace}))


@pytest.mark.parametrize("name", [".", "..", "a/b", "a%2fb"])
def test_a_name_that_cannot_be_in_a_path_is_refused(name: str) -> None:
    with pytest.raises(ClusterError, match=re.escape(f"metadata.name of the Pod is {name!r}, which the API server")):
        take(item("Pod", name))


def test_the_namespace_of_the_parent_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"Namespace of the set's parent cannot be one of its members"):
        take(item("Namespace", "kube-system"))


def test_names_are_quoted_in_paths() -> None:
    (one,) = take(item("Pod", "system:x y?"))
    path = one.resource.path(one.key.namespace, one.key.name)
    assert path == "/api/v1/namespaces/kube-system/pods/system%3Ax%20y%3F"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"stringData": {"pin": 123456}}, "stringData.pin of Secret s is not text: quote it in YAML"),
        ({"data": {"pin": ["123456"]}}, "data.pin of Secret s is not text: quote it in YAML"),
        ({"stringData": "123456"}, "stringData of Secret s is not a mapping"),
    ],
)
def test_a_secret_value_of_a_wrong_type_is_refused_without_printing_it(content: Any, message: str) -> None:
    with pytest.raises(ClusterError) as caught:
        take(item("Secret", "s", **content))
    assert str(caught.value) == f"objects[0]: {message}"


def test_what_is_missing_is_added_and_the_input_stays() -> None:
    given = item("Pod", "a", metadata={"labels": {"app": "x"}})
    before = copy.deepcopy(given)
    [found] = take(given)
    assert given == before
    assert found.body["metadata"] == {
        "name": "a",
        "namespace": "kube-system",
        "labels": {"app": "x", PART_OF: PARENT.id},
    }
    assert found.resource.path(found.key.namespace, found.key.name) == "/api/v1/namespaces/kube-system/pods/a"
    [found] = take(item("DeviceClass", "rdma", "resource.k8s.io/v1", spec={}))
    assert "namespace" not in found.body["metadata"]
    assert found.resource.path("", "rdma") == "/apis/resource.k8s.io/v1/deviceclasses/rdma"


def test_a_claim_is_named_after_its_content() -> None:
    first, changed = copy.deepcopy(CLAIM), copy.deepcopy(CLAIM)
    first["spec"] = dict(reversed(list(first["spec"].items())))
    changed["spec"]["devices"]["requests"][0]["exactly"]["count"] = 1
    names = [take(one)[0].key.name for one in (CLAIM, first, changed)]
    assert names[0] == names[1] != names[2]
    assert all(re.fullmatch("prefill-[0-9a-f]{10}", name) for name in names)
    [found] = take(CLAIM)
    assert (found.alias, found.body["metadata"]["labels"]["zerocopy.rdma/alias"]) == ("prefill", "prefill")


def test_the_name_does_not_depend_on_the_version_that_is_served() -> None:
    names = {take(TEMPLATE, api=served(version))[0].key.name for version in ("v1", "v1beta2", "v1beta1")}
    assert len(names) == 1


def test_references_by_alias_become_names_in_the_same_namespace() -> None:
    def pod(namespace: str) -> Dict[str, Any]:
        claims = [
            {"name": "a", "resourceClaimTemplateName": "h100"},
            {"name": "b", "resourceClaimName": "h100"},
            {"name": "c", "resourceClaimName": "prefill"},
        ]
        pod_template = {"template": {"spec": {"resourceClaims": claims}}}
        return item("Deployment", "d", "apps/v1", metadata={"namespace": namespace}, spec=pod_template)

    here, there, claim, template = take(pod("kube-system"), pod("elsewhere"), CLAIM, TEMPLATE)
    named = [
        [(one.get("resourceClaimName"), one.get("resourceClaimTemplateName")) for one in found]
        for found in (one.body["spec"]["template"]["spec"]["resourceClaims"] for one in (here, there))
    ]
    assert named[0] == [(None, template.key.name), ("h100", None), (claim.key.name, None)]
    assert named[1] == [(None, "h100"), ("h100", None), ("prefill", None)]


def test_v1beta1_has_no_exactly() -> None:
    flat = {"devices": {"requests": [{"name": "nic", "deviceClassName": "rdma", "count": 2}]}}
    assert converted(CLAIM, "v1beta1")["spec"] == flat
    assert converted(TEMPLATE, "v1beta1")["spec"] == {"spec": flat}
    assert converted(TEMPLATE, "v1beta2") == {**TEMPLATE, "apiVersion": "resource.k8s.io/v1beta2"}
    assert CLAIM["spec"] == SPEC
    either: Dict[str, Any] = {"spec": {"devices": {"requests": [{"name": "nic", "firstAvailable": [{"name": "x"}]}]}}}
    assert converted({**CLAIM, **either}, "v1beta1")["spec"] == either["spec"]
    # Not valid, but the API server's to refuse.
    for wrong in (None, {}, {"devices": None}, {"devices": {"requests": ["nic"]}}):
        assert converted({**CLAIM, "spec": wrong}, "v1beta1")["spec"] == wrong


def test_the_newest_version_that_is_served_is_taken() -> None:
    assert negotiate(["v1beta1", "v1", "v1alpha3"], dict) == "v1"
    assert negotiate(["v1beta1", "v1beta2"], dict) == "v1beta2"
    assert take(CLAIM, api=served("v1beta1"))[0].body["apiVersion"] == "resource.k8s.io/v1beta1"
    # Somebody who wrote v1beta1 gets v1beta1.
    old = {**converted(CLAIM, "v1beta1")}
    assert take(old, api=served("v1", "v1beta1"))[0].body["apiVersion"] == "resource.k8s.io/v1beta1"


@pytest.mark.parametrize(
    ("release", "versions", "message"),
    [
        ("36", [], r"Kubernetes 1.36\) serves no resource.k8s.io at all. It is on by default since 1.34: remove"),
        (
            "33+",
            [],
            "--runtime-config=resource.k8s.io/v1beta1=true,|=resource.k8s.io/v1beta2=true,resource.k8s.io/v1beta1",
        ),
        (
            "32",
            ["v1alpha3"],
            r"only resource.k8s.io/v1alpha3. .*--runtime-config=resource.k8s.io/v1beta1=true, and kube-",
        ),
        ("31", [], "Kubernetes 1.32 is the oldest"),
    ],
)
def test_without_dra_the_message_says_what_to_switch_on(release: str, versions: List[str], message: str) -> None:
    with pytest.raises(ClusterError, match="Dynamic Resource Allocation is off: .*" + message):
        take(CLAIM, api=served(*versions), release=release)


def test_a_set_can_define_kinds_and_use_them() -> None:
    rack = item("Rack", "r1", "example.org/v1")
    definition, found = take(DEFINITION, rack)
    assert (definition.resource.new, found.resource.new) == (False, True)
    assert found.resource.path("ns", "r1") == "/apis/example.org/v1/namespaces/ns/racks/r1"


@pytest.mark.parametrize(
    ("objects", "messages"),
    [
        ([{"kind": "Pod"}], ["objects[0]: apiVersion is missing"]),
        ([{"apiVersion": "v1", "kind": ""}], ["objects[0]: kind is missing"]),
        ([item("Pod", "")], ["objects[0]: metadata.name of the Pod is missing"]),
        ([item("Pod", "a", metadata={"labels": ["x"]})], ["metadata.labels of Pod a is not a mapping"]),
        ([item("Pod", "a", metadata={"uid": "1"})], ["metadata.uid of Pod a is set by the API server: leave it out"]),
        ([item("Pod", "a", metadata={"labels": {PART_OF: "x"}})], ["is set by this module: leave it out"]),
        ([item("Pod", "a"), item("Pod", "a")], ["Pod kube-system/a is in the set twice"]),
        (
            [TEMPLATE, {**TEMPLATE, "spec": {"spec": {}}}],
            ["ResourceClaimTemplate kube-system/h100 is in the set twice"],
        ),
        ([item("Deployment", "a", "apps/v2")], ["does not serve Deployment in apps/v2, only in v1"]),
        (
            [item("Deploiment", "a", "apps/v1"), item("Namespace", "a", metadata={"namespace": "b"})],
            [
                "objects[0] (Deploiment a): the API server has no kind Deploiment in apps/v1. If a Custom",
                "objects[1] (Namespace a): a Namespace is cluster-scoped: leave metadata.namespace out",
            ],
        ),
        ([item("Secret", "set")], ["objects[0] (Secret set): the Secret of this name is the parent of the set"]),
        (
            [item("Thing", "t", "broken.example.org/v1")],
            ["the API server of the group broken.example.org does not ans"],
        ),
        ([{**CLAIM, "metadata": {"name": "n" * 64}}], ["is 64 characters long, but 63 is the maximum"]),
        (
            [{**DEFINITION, "spec": {"group": "example.org"}}],
            ["CustomResourceDefinition racks.example.org: spec has no valid 'versions'"],
        ),
    ],
)
def test_what_cannot_be_sent_is_named(objects: List[Dict[str, Any]], messages: List[str]) -> None:
    with pytest.raises(ClusterError) as caught:
        take(*objects)
    for message in messages:
        assert message in str(caught.value)


def test_what_others_need_comes_first() -> None:
    order = [
        GroupKind("", "Namespace"),
        GroupKind("rbac.authorization.k8s.io", "ClusterRole"),
        GroupKind("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        GroupKind("apps", "DaemonSet"),
        GroupKind("mellanox.com", "NicClusterPolicy"),
        GroupKind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ]
    ranks = [rank(kind) for kind in order]
    assert ranks == sorted(set(ranks))
    dra = [rank(GroupKind("resource.k8s.io", kind)) for kind in ("DeviceClass", "ResourceClaimTemplate")]
    assert dra == sorted(set(dra))


def test_an_old_api_server_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"older than Kubernetes 1.30"):
        Api([{"kind": "APIGroupList", "groups": []}])
