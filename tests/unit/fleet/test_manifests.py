# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Manifests for a repository: the order and the names that the module ``applyset`` would give the objects."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.filter.manifests import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import content_hash


def template(name: str, count: int) -> dict[str, Any]:
    spec = {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "nic", "count": count}}]}}
    metadata = {"name": name, "namespace": "serving", "labels": {"app": "prefill"}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def plain(api: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}}


def read(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_what_others_need_comes_first() -> None:
    objects = [
        plain("apps/v1", "DaemonSet", "dranet"),
        plain("example.org/v1", "Anything", "own"),
        plain("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "dranet"),
        plain("v1", "ServiceAccount", "dranet"),
        plain("rbac.authorization.k8s.io/v1", "ClusterRole", "dranet"),
        plain("v1", "Namespace", "rdma"),
    ]
    kinds = [found["kind"] for found in read(manifests(objects))]
    # Objects of one rank stay in the order in which they were given.
    assert kinds == ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "DaemonSet", "Anything"]


def test_a_template_is_called_after_its_content() -> None:
    objects = [template("one-nic", 1), template("one-nic", 2)]
    before = copy.deepcopy(objects)
    first, second = read(manifests(objects))
    assert objects == before
    assert first["metadata"]["name"] == content_hash.hashed("one-nic", before[0]["spec"])
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["metadata"]["labels"] == {"app": "prefill", content_hash.ALIAS: "one-nic"}
    assert first["spec"] == before[0]["spec"]


def test_there_are_no_anchors() -> None:
    shared = {"app": "dranet"}
    labelled = {"name": "dranet", "labels": shared}
    text = manifests([{"apiVersion": "v1", "kind": "Service", "metadata": labelled, "spec": {"selector": shared}}])
    assert "&" not in text
    (found,) = read(text)
    assert found["metadata"]["labels"] == found["spec"]["selector"] == shared


def test_a_name_that_is_no_label_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="64 characters long, but 63 is the maximum"):
        manifests([template("n" * 64, 1)])
