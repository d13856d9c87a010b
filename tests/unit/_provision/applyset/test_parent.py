# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import TOOL, VERSION, Parent

PARENT = Parent("my-set", "test")


def live(parent: Parent = PARENT, **annotations: str) -> Dict[str, Any]:
    """The parent as the API server has it, with the last part of annotations' names changed to other values."""
    found = parent.object(parent.scope([GroupKind("apps", "DaemonSet"), GroupKind("", "Secret")], ["other"]))
    for name, value in annotations.items():
        found["metadata"]["annotations"][f"applyset.kubernetes.io/{name.replace('_', '-')}"] = value
    return found


def test_the_identifier_is_that_of_kubectl() -> None:
    # From kubernetes/kubectl, pkg/cmd/apply/apply_test.go (TestApplySetParentManagement).
    assert PARENT.id == "applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1"


def test_the_parent_is_read_as_it_was_written() -> None:
    found = live()
    assert found["metadata"]["labels"] == {"applyset.kubernetes.io/id": PARENT.id}
    assert found["metadata"]["annotations"] == {
        "applyset.kubernetes.io/tooling": f"{TOOL}/{VERSION}",
        "applyset.kubernetes.io/contains-group-kinds": "DaemonSet.apps,Secret",
        "applyset.kubernetes.io/additional-namespaces": "other",
    }
    scope = PARENT.read(found)
    assert scope == PARENT.scope([GroupKind("", "Secret"), GroupKind("apps", "DaemonSet")], ["", "other"])
    assert PARENT.read(live(additional_namespaces="", contains_group_kinds="")) == PARENT.scope()
    assert PARENT.read(None) is None


def test_another_version_of_this_tool_is_no_other_tool() -> None:
    for release in ("v0.0.1", "v0.7.2", "v1.7.2", "x"):
        assert PARENT.read(live(tooling=f"zerocopy.rdma/{release}")) == PARENT.read(live())


def test_a_set_of_a_newer_major_version_is_refused() -> None:
    message = (
        "Secret test/my-set, the parent of a set of objects, has version 7, which a newer version of this collection "
        "wrote; this one reads versions up to 1: update the collection"
    )
    with pytest.raises(ClusterError, match=f"^{re.escape(message)}$"):
        PARENT.read(live(tooling="zerocopy.rdma/v7.1.2"))


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        (
            {"metadata": {"labels": {"a": "b"}}},
            "Secret test/my-set exists, but is not the parent of an ApplySet: choose another name",
        ),
        (
            live(tooling="kubectl/v1.36.3"),
            "Secret test/my-set is the ApplySet of kubectl, not of zerocopy.rdma. To hand the set over: "
            "kubectl annotate --overwrite -n test secret my-set applyset.kubernetes.io/tooling=zerocopy.rdma/v",
        ),
        (live(tooling=""), "is the ApplySet of an unnamed tool"),
        (live(Parent("my-set", "elsewhere")), f"but the set of this name and namespace is {PARENT.id}"),
    ],
)
def test_what_is_not_ours_is_refused(secret: Dict[str, Any], message: str) -> None:
    with pytest.raises(ClusterError, match=re.escape(message)):
        PARENT.read(secret)


def test_without_the_list_of_kinds_the_members_cannot_be_found() -> None:
    found = live()
    del found["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"]
    with pytest.raises(ClusterError, match=r"does not have the annotation applyset.*/contains-group-kinds"):
        PARENT.read(found)


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("a/b", "test", "name is 'a/b', it must be the name of a Secret"),
        ("", "test", "name is '', it must be the name of a Secret"),
        ("my-set\n", "test", "it must be the name of a Secret"),
        ("my-set", "..", "namespace is '..', it must be the name of a namespace"),
        ("my-set", "", "namespace is '', it must be the name of a namespace"),
    ],
)
def test_a_set_with_an_impossible_name_is_refused(name: str, namespace: str, message: str) -> None:
    with pytest.raises(ClusterError, match=re.escape(message)):
        Parent(name, namespace).check()


def test_the_version_is_that_of_the_collection() -> None:
    galaxy = (Path(__file__).parents[4] / "galaxy.yml").read_text(encoding="utf-8")
    assert f"\nversion: {VERSION[1:]}\n" in galaxy
