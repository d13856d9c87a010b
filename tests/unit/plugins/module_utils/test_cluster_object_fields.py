# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Fields of an object that its controller and others write at the same moment; the rest is in tests/cluster."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.object_fields import FieldsRequest, converge
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.api_server import Reply, Server, status

WANTED = {"apiVersion": "example.com/v1", "kind": "Policy", "metadata": {"name": "one"}}
PATH = "/apis/example.com/v1/policies/one"
RESOURCE = {"resource": "policies", "responseKind": {"kind": "Policy"}, "scope": "Cluster", "verbs": ["get"]}
GROUP = {"metadata": {"name": "example.com"}, "versions": [{"version": "v1", "resources": [RESOURCE]}]}


def live(version: int, *managers: str) -> Dict[str, Any]:
    entries = [{"manager": name, "operation": "Apply", "fieldsV1": {"f:spec": {}}} for name in managers]
    meta = {"name": "one", "uid": "0", "resourceVersion": str(version), "managedFields": entries}
    return {**WANTED, "metadata": meta, "spec": {}}


def released(server: Server, client: Client, conflicts: int, *managers: str) -> Tuple[Dict[str, Any], List[str]]:
    """The result, and the versions that were written on; so many writes meet another one."""
    versions: List[str] = []
    served: Dict[str, List[Any]] = {"/api": [], "/apis": [GROUP]}
    server.paths = {
        path: (200, {}, {"kind": "APIGroupDiscoveryList", "items": groups}) for path, groups in served.items()
    }

    def decide(method: str, path: str, body: bytes) -> Reply:
        assert path.partition("?")[0] == PATH
        if method == "GET":
            return 200, {}, live(len(versions), *managers)
        sent = json.loads(body)
        versions.append((sent.get("preconditions") or sent["metadata"])["resourceVersion"])
        if len(versions) <= conflicts:
            return status(409, "the object has been modified", "Conflict")
        return 200, {}, live(len(versions), *managers[1:])

    server.decide = decide
    return converge(client, FieldsRequest(WANTED, "ours", present=False)), versions


def test_an_object_that_changes_meanwhile_is_looked_at_again(server: Server, client: Client) -> None:
    result, versions = released(server, client, 2, "ours")
    assert [one["action"] for one in result["objects"]] == ["pruned"]
    assert versions == ["0", "1", "2"]


def test_what_others_have_is_not_made_anew(server: Server, client: Client) -> None:
    """Without the version, an object that was deleted meanwhile would be made by taking fields back."""
    result, versions = released(server, client, 1, "ours", "theirs")
    assert [one["action"] for one in result["objects"]] == ["configured"]
    # Refused, tried, written.
    assert versions == ["0", "1", "1"]


def test_it_ends_where_others_never_do(server: Server, client: Client) -> None:
    with pytest.raises(ClusterError, match="others kept changing it, nothing was changed: run again"):
        released(server, client, 1000, "ours")


def test_nothing_is_written_for_nobody(server: Server, client: Client) -> None:
    result, versions = released(server, client, 0, "theirs")
    assert (result["changed"], versions) == (False, [])
