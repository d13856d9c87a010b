# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the module promises about applying, on a real API server."""

from __future__ import annotations

import copy
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.manifests import ordered
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import (
    DEFINITION,
    ClusterSet,
    actions,
    config_map,
    device_class,
    objects,
    reasons,
    template,
)


def test_created_then_unchanged_without_a_write(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    done = cluster_set(objects=wanted)
    assert set(actions(done).values()) == {"created"}
    assert len(done["objects"]) == len(wanted) + 1
    before = cluster_set.versions()
    with cluster_set.requests() as requests:
        again = cluster_set(objects=wanted)
    assert (again["changed"], set(actions(again).values())) == (False, {"unchanged"})
    assert cluster_set.versions() == before
    assert {verb for verb, _path in requests} <= {"get", "list"}
    assert {**again, "changed": None} == {
        **done,
        "changed": None,
        "objects": [{**one, "action": "unchanged"} for one in done["objects"]],
    }


def test_unchanged_costs_as_many_requests_for_few_as_for_many(cluster_set: ClusterSet) -> None:
    counts = []
    for number in (2, 60):
        wanted = [config_map(f"c{place}", cluster_set.namespace) for place in range(number)]
        cluster_set(objects=wanted)
        with cluster_set.requests() as requests:
            assert cluster_set(objects=wanted)["changed"] is False
        counts.append(len(requests))
    assert counts[0] == counts[1] <= 8


def test_check_mode_predicts_and_writes_nothing(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    before = cluster_set.versions()
    predicted = cluster_set(objects=wanted, _ansible_check_mode=True, _ansible_diff=True)
    assert cluster_set.versions() == before
    done = cluster_set(objects=wanted, _ansible_diff=True)
    assert {**predicted, "diff": None} == {**done, "diff": None}
    assert [entry["before_header"] for entry in predicted["diff"]] == [entry["before_header"] for entry in done["diff"]]
    changed = copy.deepcopy(wanted)
    changed[0]["data"]["key"] = "another"
    before = cluster_set.versions()
    with cluster_set.requests() as requests:
        predicted = cluster_set(objects=changed[:-1], _ansible_check_mode=True, _ansible_diff=True)
    assert cluster_set.versions() == before
    assert all("dryRun=All" in path for verb, path in requests if verb == "patch")
    done = cluster_set(objects=changed[:-1], _ansible_diff=True)
    assert predicted == done
    assert sorted(set(actions(done).values())) == ["configured", "pruned", "unchanged"]


def test_what_admission_may_reject_stays_as_it_is(cluster_set: ClusterSet) -> None:
    other, mine = (config_map(name, cluster_set.namespace) for name in ("other", "mine"))
    cluster_set(objects=[other, mine])
    for one in (other, mine):
        one["data"] = {"key": "changed"}
    new = config_map("new", cluster_set.namespace)
    new["data"] = {"key": "changed"}
    expression = "object.metadata.name == 'other' || !has(object.data) || object.data['key'] != 'changed'"
    names = [f"ConfigMap {cluster_set.namespace}/{name}" for name in ("other", "mine", "new")]
    with cluster_set.denying("configmaps", expression, mine):
        said = cluster_set(objects=[other, mine, new], rejectable=["Secret"])["msg"]
        assert said.startswith("2 of 3 objects rejected, nothing was applied")
        options: Dict[str, Any] = {"objects": [other, mine, new], "rejectable": ["ConfigMap"], "wait": True}
        predicted = cluster_set(**options, _ansible_check_mode=True)
        done = cluster_set(**options)
        assert predicted == done
        found = actions(done)
        assert [found[name] for name in names] == ["configured", "rejected", "rejected"]
        reasons = [one["reason"] for one in done["objects"] if one["action"] == "rejected"]
        assert all("denied request: no supported NIC is selected" in text for text in reasons)
        assert cluster_set.get("configmap", "other")["data"] == {"key": "changed"}
        assert cluster_set.get("configmap", "mine")["data"] == {"key": "value"}
        assert cluster_set.absent("configmap", "new")
        # Nothing is left to do but what is rejected.
        assert cluster_set(**options)["changed"] is False
    # A field that the API server does not know is no matter of admission.
    wrong = {**mine, "datum": {}}
    assert "datum" in cluster_set(objects=[other, wrong], rejectable=["ConfigMap"])["msg"]
    found = actions(cluster_set(**options))
    assert [found[name] for name in names] == ["unchanged", "configured", "created"]


def test_a_change_shows_what_changes_and_nothing_else(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    cluster_set(objects=wanted)
    wanted[0]["data"] = {"other": "value"}
    done = cluster_set(objects=wanted, _ansible_diff=True)
    name = f"ConfigMap {cluster_set.namespace}/settings"
    assert {one: action for one, action in actions(done).items() if action != "unchanged"} == {name: "configured"}
    [entry] = done["diff"]
    assert (entry["before_header"], entry["after_header"]) == (name, name)
    assert (entry["before"].pop("data"), entry["after"].pop("data")) == ({"key": "value"}, {"other": "value"})
    assert entry["before"] == entry["after"]
    assert cluster_set.get("configmap", "settings")["data"] == {"other": "value"}


def test_drift_is_put_right(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    cluster_set(objects=wanted)
    labels = {"metadata": {"labels": {"app": None}}}
    cluster_set.patch("configmap", "settings", {"data": {"added": "by somebody"}, **labels})
    # Who removed a field has nothing that could conflict.
    done = cluster_set(objects=wanted)
    assert actions(done)[f"ConfigMap {cluster_set.namespace}/settings"] == "configured"
    live = cluster_set.get("configmap", "settings")
    assert (live["metadata"]["labels"]["app"], live["data"]) == ("x", {"key": "value", "added": "by somebody"})


def test_a_conflict_names_the_other_manager_and_the_field(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    cluster_set(objects=wanted)
    cluster_set.patch("configmap", "settings", {"data": {"key": "theirs"}}, manager="their-operator")
    wanted.append(config_map("new", cluster_set.namespace))
    before = cluster_set.versions()
    failed = cluster_set(objects=wanted)
    assert failed["failed"] is True
    text = "belongs to their-operator: leave the field out, or take it over with force_conflicts"
    assert f"ConfigMap {cluster_set.namespace}/settings: .data.key {text}" in failed["msg"]
    assert cluster_set.versions() == before
    forced = cluster_set(objects=wanted, force_conflicts="always")
    assert actions(forced)[f"ConfigMap {cluster_set.namespace}/settings"] == "configured"
    assert cluster_set.get("configmap", "settings")["data"]["key"] == "value"
    assert cluster_set(objects=wanted)["changed"] is False


def test_what_was_changed_by_hand_is_put_right_in_members_alone(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    cluster_set(objects=wanted)
    cluster_set.patch("configmap", "settings", {"data": {"key": "theirs"}}, manager="kubectl-edit")
    foreign = config_map("foreign", cluster_set.namespace)
    cluster_set.kubectl("create", "-f", "-", stdin={**foreign, "data": {"key": "theirs"}})
    before = cluster_set.versions()
    failed = cluster_set(objects=[*wanted, foreign], force_conflicts="members")
    assert failed["msg"].startswith(f"1 of {len(wanted) + 1} objects rejected, nothing was applied:\n")
    said = f"this object is not part of the set {cluster_set.namespace}/set: rename or delete it"
    assert f"ConfigMap {cluster_set.namespace}/foreign: .data.key belongs to kubectl-create: {said}" in failed["msg"]
    assert cluster_set.versions() == before
    seen = cluster_set(objects=wanted, force_conflicts="members", _ansible_check_mode=True)
    assert actions(seen)[f"ConfigMap {cluster_set.namespace}/settings"] == "configured"
    assert cluster_set.versions() == before
    assert actions(cluster_set(objects=wanted, force_conflicts="members")) == actions(seen)
    assert cluster_set.get("configmap", "settings")["data"]["key"] == "value"


def test_a_typo_is_refused_and_nothing_is_applied(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    wrong: List[Dict[str, Any]] = [copy.deepcopy(wanted[0]), device_class(f"{cluster_set.namespace}-bad")]
    wrong[0]["metadata"]["name"] = "typo"
    wrong[0]["dta"] = wrong[0].pop("data")
    wrong[1]["spec"]["selectors"][0]["cel"]["expression"] = "device.driver =="
    before = cluster_set.versions()
    failed = cluster_set(objects=wanted + wrong)
    assert cluster_set.versions() == before
    assert failed["msg"].startswith(f"2 of {len(wanted) + 2} objects rejected, nothing was applied:\n")
    assert f"ConfigMap {cluster_set.namespace}/typo: " in failed["msg"]
    assert ".dta: field not declared in schema" in failed["msg"]
    assert f"DeviceClass {cluster_set.namespace}-bad: " in failed["msg"]
    assert "device.driver ==" in failed["msg"]


@pytest.mark.parametrize("existing", [False, True], ids=["new set", "set that exists"])
def test_templates_are_all_made_or_none(cluster_set: ClusterSet, existing: bool) -> None:
    place = cluster_set.namespace
    there = [config_map("there", place)]
    if existing:
        cluster_set(objects=there)
    wrong = template("wrong", place, count=1)
    wrong["spec"]["spec"]["devices"]["requests"][0]["exactly"]["cuont"] = 2
    bad_name = template("Not_A_Name", place, count=1)
    many = [template(f"t{number}", place, count=1) for number in range(20)]
    failed = cluster_set(objects=[*there, *many, wrong, bad_name])
    assert failed["msg"].startswith("2 of 23 objects rejected, nothing was applied:\n")
    assert ".exactly.cuont: field not declared in schema" in failed["msg"]
    assert "Not_A_Name" in failed["msg"]
    assert cluster_set.kubectl("get", "resourceclaimtemplates", "-n", place, "-o", "name") == ""
    assert cluster_set.absent("configmap", "there") is not existing
    assert cluster_set.absent("secret", "set") is not existing
    if existing:
        annotations = cluster_set.get("secret", "set")["metadata"]["annotations"]
        assert annotations["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"


def test_an_object_of_another_set_is_not_taken_over(cluster_set: ClusterSet) -> None:
    wanted = objects(cluster_set.namespace)
    cluster_set(objects=wanted)
    before = cluster_set.versions()
    failed = cluster_set(name="second", objects=wanted[:1], force_conflicts="always")
    assert f"ConfigMap {cluster_set.namespace}/settings is in the set applyset-" in failed["msg"]
    assert cluster_set.versions() == before


@pytest.mark.parametrize("manager", ["helm", "argocd-controller", "kustomize-controller"])
def test_an_object_of_others_with_the_same_content_is_refused(cluster_set: ClusterSet, manager: str) -> None:
    theirs = objects(cluster_set.namespace)[:4]
    items = {"apiVersion": "v1", "kind": "List", "items": theirs}
    cluster_set.kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", stdin=items)
    before = cluster_set.versions()
    for options in ({}, {"force_conflicts": "members"}, {"_ansible_check_mode": True}):
        failed = cluster_set(objects=theirs, **options)
        assert failed["msg"].startswith("4 of 4 objects rejected, nothing was applied:\n")
        for item in theirs:
            place = f"{cluster_set.namespace}/" if "namespace" in item["metadata"] else ""
            # Of an object that is no more than its name the API server keeps no manager.
            whose = "somebody else" if item["kind"] == "ServiceAccount" else manager
            said = f"{item['kind']} {place}{item['metadata']['name']}: exists already, managed by {whose}: this object"
            assert said in failed["msg"]
    assert cluster_set.versions() == before


def test_a_template_that_others_applied_from_manifests_is_refused(cluster_set: ClusterSet) -> None:
    wanted = [template("h100", cluster_set.namespace, 1)]
    (manifest,) = ordered(wanted)
    cluster_set.kubectl("apply", "--server-side", "--field-manager=argocd-controller", "-f", "-", stdin=manifest)
    before = cluster_set.versions()
    said = f"ResourceClaimTemplate {cluster_set.namespace}/{manifest['metadata']['name']}: exists already, managed by"
    assert f"{said} argocd-controller: " in cluster_set(objects=wanted)["msg"]
    assert cluster_set.versions() == before


def test_an_object_of_others_that_was_taken_over_is_kept(cluster_set: ClusterSet) -> None:
    theirs, both = config_map("settings", cluster_set.namespace), config_map("both", cluster_set.namespace)
    cluster_set.kubectl("apply", "--server-side", "--field-manager=helm", "-f", "-", stdin=theirs)
    done = cluster_set(objects=[theirs, both], force_conflicts="always")
    assert actions(done)[f"ConfigMap {cluster_set.namespace}/settings"] == "configured"
    assert cluster_set(objects=[theirs, both])["changed"] is False
    # Who adds something to an object of ours does not own it.
    cluster_set.patch("configmap", "both", {"metadata": {"labels": {"team": "x"}}, "data": {"more": "y"}})
    gone = cluster_set(state="absent")
    assert reasons(gone) == {"settings": "managed by helm too"}
    assert actions(gone)[f"ConfigMap {cluster_set.namespace}/both"] == "pruned"
    assert not cluster_set.absent("configmap", "settings")


def test_a_set_brings_a_new_version_of_a_kind(cluster_set: ClusterSet) -> None:
    definition = copy.deepcopy(DEFINITION)
    definition["metadata"]["name"] = "racks.newer.zerocopy.rdma"
    definition["spec"]["group"] = "newer.zerocopy.rdma"
    meta = {"name": "r1", "namespace": cluster_set.namespace}
    rack = {"apiVersion": "newer.zerocopy.rdma/v1", "kind": "Rack", "metadata": meta, "spec": {"height": 42}}
    cluster_set(objects=[definition, rack])
    versions = definition["spec"]["versions"]
    versions.append({**copy.deepcopy(versions[0]), "name": "v2", "storage": False})
    wanted = [definition, {**rack, "apiVersion": "newer.zerocopy.rdma/v2"}]
    # In whatever version, the object is the first set's.
    assert f"{cluster_set.namespace}/r1 is in the set" in cluster_set(name="other", objects=wanted)["msg"]
    predicted = cluster_set(objects=wanted, _ansible_check_mode=True)
    done = cluster_set(objects=wanted)
    assert predicted == done
    assert list(actions(done).values()) == ["configured", "configured", "unchanged"]
    assert cluster_set(objects=wanted)["changed"] is False
    assert set(actions(cluster_set(state="absent", wait=True)).values()) == {"pruned"}


def test_kinds_and_namespaces_of_the_set_itself(cluster_set: ClusterSet) -> None:
    other = f"{cluster_set.namespace}-other"
    definition = copy.deepcopy(DEFINITION)
    rack = {"apiVersion": "test.zerocopy.rdma/v1", "kind": "Rack", "metadata": {"name": "r1", "namespace": other}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    wanted = [rack, config_map("there", other), namespace, definition]
    predicted = cluster_set(objects=wanted, _ansible_check_mode=True)
    done = cluster_set(objects=wanted)
    assert predicted == done
    assert set(actions(done).values()) == {"created"}
    assert cluster_set(objects=wanted)["changed"] is False
    parent = cluster_set.get("secret", "set")["metadata"]["annotations"]
    assert parent["applyset.kubernetes.io/additional-namespaces"] == other
    assert parent["applyset.kubernetes.io/contains-group-kinds"] == (
        "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io,Namespace,Rack.test.zerocopy.rdma"
    )
    gone = cluster_set(state="absent", wait=True)
    assert set(actions(gone).values()) == {"pruned"}
    assert cluster_set.absent("namespace", other)
    assert cluster_set.absent("crd", definition["metadata"]["name"])
    assert cluster_set.absent("secret", "set")


def test_the_parent_needs_a_namespace_that_exists(cluster_set: ClusterSet) -> None:
    failed = cluster_set(namespace="nowhere", objects=[config_map("c", cluster_set.namespace)])
    assert failed["msg"].startswith("the namespace nowhere for the parent of the set does not exist")
    assert cluster_set.absent("configmap", "c")


def test_a_secret_that_is_no_parent_is_left_alone(cluster_set: ClusterSet) -> None:
    cluster_set.kubectl("create", "secret", "generic", "set", "-n", cluster_set.namespace)
    before = cluster_set.versions()
    for state in ("present", "absent"):
        failed = cluster_set(objects=[config_map("c", cluster_set.namespace)], state=state)
        assert "exists, but is not the parent of an ApplySet" in failed["msg"]
    assert cluster_set.versions() == before


def test_who_may_not_is_told_what_is_missing(cluster_set: ClusterSet) -> None:
    failed = cluster_set(
        objects=[config_map("c", cluster_set.namespace)],
        impersonate_user="somebody",
        impersonate_groups=["first", "system:authenticated"],
    )
    assert (
        f'User "somebody" cannot get resource "secrets" in API group "" in the namespace "{cluster_set.namespace}"'
        in (failed["msg"])
    )


def test_groups_are_impersonated_all(cluster_set: ClusterSet) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "team", "namespace": cluster_set.namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "first"}],
    }
    cluster_set.kubectl("create", "-f", "-", stdin=binding)
    groups = ["first", "system:authenticated"]
    options = {"impersonate_user": "somebody", "impersonate_groups": groups}
    done = cluster_set(objects=[config_map("c", cluster_set.namespace)], **options)
    assert set(actions(done).values()) == {"created"}


def test_templates_keep_their_name_until_they_change(cluster_set: ClusterSet) -> None:
    first = cluster_set(objects=[template("h100", cluster_set.namespace, count=1)])
    names = first["names"]["ResourceClaimTemplate"][cluster_set.namespace]
    live = cluster_set.get("resourceclaimtemplate", names["h100"])
    assert live["metadata"]["labels"]["zerocopy.rdma/alias"] == "h100"
    second = cluster_set(objects=[template("h100", cluster_set.namespace, count=2)])
    new = second["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"]
    assert actions(second) == {
        f"ResourceClaimTemplate {cluster_set.namespace}/{new}": "created",
        f"ResourceClaimTemplate {cluster_set.namespace}/{names['h100']}": "pruned",
        f"Secret {cluster_set.namespace}/set": "unchanged",
    }
    assert cluster_set.absent("resourceclaimtemplate", names["h100"])


@pytest.mark.parametrize("label", ["old", "new"])
def test_labels_of_a_template_change_in_place(cluster_set: ClusterSet, label: str) -> None:
    wanted = template("h100", cluster_set.namespace, count=1)
    first = cluster_set(objects=[wanted])
    wanted["metadata"]["labels"] = {"generation": label}
    second = cluster_set(objects=[wanted])
    assert second["names"] == first["names"]
    assert sorted(actions(second).values()) == ["configured", "unchanged"]
    assert cluster_set(objects=[wanted])["changed"] is False
