# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Labels of nodes: what is written, and to which nodes."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import nodes
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Server, status

LABEL, OLD = "zerocopy.rdma.node-restriction.kubernetes.io/group", "zerocopy.rdma.node-restriction.kubernetes.io/old"


def node(name: str, **labels: str) -> Dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", **({"labels": labels} if labels else {})}}


@pytest.fixture
def fleet(server: Server) -> Server:
    found = [node("n1"), node("n2", **{LABEL: "h100", "zone": "a"}), node("n3", **{LABEL: "a100", OLD: "x"})]
    server.paths = {"/api/v1/nodes": (200, {}, {"items": found})}
    return server


def written(server: Server) -> List[Tuple[str, Dict[str, Any]]]:
    return sorted(
        (path, json.loads(body)["metadata"]) for method, path, _headers, body in server.seen if method != "GET"
    )


WANTED: Dict[str, Dict[str, Optional[str]]] = {
    "n1": {LABEL: "h100"},
    "n2": {LABEL: "h100"},
    "n3": {LABEL: "h100", OLD: None},
}


def test_only_nodes_that_differ_are_written(fleet: Server, client: Client) -> None:
    result = nodes.converge(client, WANTED, check=False)
    assert (result["changed"], result["nodes"]) == (True, ["n1", "n3"])
    assert written(fleet) == [
        ("/api/v1/nodes/n1?fieldManager=zerocopy.rdma", {"uid": "uid-n1", "labels": {LABEL: "h100"}}),
        ("/api/v1/nodes/n3?fieldManager=zerocopy.rdma", {"uid": "uid-n3", "labels": {LABEL: "h100", OLD: None}}),
    ]
    header = "labels of nodes"
    assert result["diff"] == [
        {
            "before_header": header,
            "after_header": header,
            "before": f"n3 {LABEL}: a100\nn3 {OLD}: x\n",
            "after": f"n1 {LABEL}: h100\nn3 {LABEL}: h100\n",
        }
    ]


def test_check_mode_writes_nothing(fleet: Server, client: Client) -> None:
    assert nodes.converge(client, WANTED, check=True)["changed"] is True
    assert written(fleet) == []


def test_nothing_to_do_is_no_change(fleet: Server, client: Client) -> None:
    assert nodes.converge(client, {"n2": {LABEL: "h100", OLD: None}}, check=False) == {
        "changed": False,
        "nodes": [],
        "missing": [],
        "diff": [],
    }
    assert written(fleet) == []


@pytest.mark.parametrize("check", [False, True])
def test_nodes_that_are_not_there_do_not_keep_others_from_their_labels(
    fleet: Server, client: Client, check: bool
) -> None:
    wanted: Dict[str, Dict[str, Optional[str]]] = {
        "n8": {LABEL: "h100"},
        "n1": {LABEL: "h100"},
        # Nothing is to be done on a node that is gone and should only lose labels.
        "n9": {LABEL: None},
    }
    result = nodes.converge(client, wanted, check)
    assert (result["nodes"], result["missing"]) == (["n1"], ["n8"])
    assert result["diff"][0]["after"] == f"n1 {LABEL}: h100\n"
    assert [path.partition("?")[0] for path, _meta in written(fleet)] == ([] if check else ["/api/v1/nodes/n1"])


def test_a_node_that_leaves_at_this_moment_does_not_keep_others_from_their_labels(
    fleet: Server, client: Client
) -> None:
    fleet.paths.update({f"/api/v1/nodes/{name}": status(404, f'nodes "{name}" not found') for name in ("n1", "n3")})
    wanted: Dict[str, Dict[str, Optional[str]]] = {"n1": {LABEL: "h100"}, "n2": {LABEL: "a100"}, "n3": {OLD: None}}
    result = nodes.converge(client, wanted, check=False)
    assert (result["changed"], result["nodes"], result["missing"]) == (True, ["n2"], ["n1"])
    assert result["diff"][0]["after"] == f"n2 {LABEL}: a100\n"
    fleet.paths["/api/v1/nodes/n1"] = status(403, "may not")
    with pytest.raises(ApiError, match="may not"):
        nodes.converge(client, wanted, check=False)
