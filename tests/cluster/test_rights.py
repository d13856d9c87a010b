# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The roles of docs/rights.md on a real API server: each is enough, and no rule of it can be left out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook
from ansible_collections.zerocopy.rdma.tests.cluster.rights import bound, documented

_USER = "rights-of-provision"


@pytest.fixture
def roles(cluster_set: ClusterSet) -> Iterator[list[Object]]:
    """The documented roles, for claims in the namespace of the test, bound to a user."""
    found = documented("zerocopy-provision")
    for item in found:
        if item["metadata"].get("namespace") == "default":
            item["metadata"]["namespace"] = cluster_set.namespace
    every = [*found, *(bound(item, _USER) for item in found)]
    text: Object = {"apiVersion": "v1", "kind": "List", "items": every}
    cluster_set.kubectl("create", "--validate=false", "-f", "-", stdin=text)
    yield found
    cluster_set.kubectl("delete", "-f", "-", stdin=text)


@pytest.fixture
def provision(cluster_set: ClusterSet, playbook: Playbook) -> Callable[..., Any]:
    fleet = playbook.of("h100-01", "h100-02")
    fleet._environment["K8S_AUTH_IMPERSONATE_USER"] = _USER
    own: dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    return lambda *options, refused=False: fleet.refused(*options, **own) if refused else fleet(*options, **own)


def test_the_role_of_provision_is_enough_and_minimal(
    cluster_set: ClusterSet, roles: list[Object], provision: Callable[..., Any]
) -> None:
    provision()
    assert cluster_set.kubectl(
        "get", "daemonset", "-n", "kube-system", "-l", "app.kubernetes.io/name=dranet", "-o", "name"
    )
    for role in roles:
        for rule in role["rules"]:
            less = {**role, "rules": [each for each in role["rules"] if each is not rule]}
            cluster_set.kubectl("replace", "--validate=false", "-f", "-", stdin=less)
            # The authorizer hears of it by a watch.
            time.sleep(1)
            said = provision("--check", refused=True)
            assert "Nothing was changed." in said, (rule, said)
            assert any(resource in said for resource in rule["resources"]), (rule, said)
        cluster_set.kubectl("replace", "--validate=false", "-f", "-", stdin=role)
    time.sleep(1)
    provision("--check")


def test_all_missing_rights_are_told_at_once_before_anything_is_changed(
    cluster_set: ClusterSet, roles: list[Object], provision: Callable[..., Any]
) -> None:
    cluster_role = json.loads(json.dumps(roles[0]))
    cluster_role["rules"][0]["verbs"] = ["list"]
    cluster_set.kubectl("replace", "--validate=false", "-f", "-", stdin=cluster_role)
    cluster_set.kubectl("replace", "--validate=false", "-f", "-", stdin={**roles[1], "rules": roles[1]["rules"][:4]})
    time.sleep(1)
    said = provision(refused=True)
    assert said.splitlines()[0] == "Nothing was changed. Fix this first:"
    assert "this user has no right to patch nodes" in said
    assert "this user has no right to create daemonsets.apps in namespace kube-system" in said
    assert (
        cluster_set.kubectl("get", "secrets", "-n", "kube-system", "-l", "applyset.kubernetes.io/id", "-o", "name")
        == ""
    )
