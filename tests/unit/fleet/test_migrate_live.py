# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Workloads that are rewritten in the cluster: what is asked before the first change, and what stops it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import manifest_owner, way_back
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import PodAsk, Wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import live_manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Response
from ansible_collections.zerocopy.rdma.tests.unit.fleet import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit.fleet.audit_manifests import Object

_WISH = Wish([PodAsk("one-nic", templates={"llm": "one-nic-1"})])


def _merged(old: Any, change: Any) -> Any:
    """RFC 7386, as its section 2 has it."""
    if not isinstance(change, dict):
        return change
    found = dict(old) if isinstance(old, dict) else {}
    for name, value in change.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _merged(found.get(name), value)
    return found


class Server(audit_manifests.Server):
    """Takes merge patches on the version it has, and gives pods their dnsPolicy, as an API server does."""

    def __init__(self, items: Sequence[Object]) -> None:
        super().__init__(items)
        self.patches: list[tuple[str, bool]] = []
        self.drops: tuple[str, ...] = ()
        for item in self.all():
            item["metadata"].update(resourceVersion="1", uid=item["metadata"]["name"])

    def all(self) -> list[Object]:
        return [item for items in self._items.values() for item in items]

    def item(self, name: str) -> Object:
        (found,) = [item for item in self.all() if item["metadata"]["name"] == name]
        return found

    def get(self, path: str, query: Any = None, accept: str = "") -> Object:
        name = path.rpartition("/")[2]
        if "/namespaces/" in path and path.count("/") > 5 and name in [one["metadata"]["name"] for one in self.all()]:
            return copy.deepcopy(self.item(name))
        found: Object = copy.deepcopy(super().get(path, query, accept))
        return found

    def merge(self, path: str, change: Object, query: Any) -> Response:
        name, dry = path.rpartition("/")[2], query.get("dryRun") == "All"
        assert query["fieldValidation"] == "Strict"
        self.patches.append((name, dry))
        there = self.item(name)
        if change["metadata"]["resourceVersion"] != there["metadata"]["resourceVersion"]:
            raise ApiError(409, {"message": "the object has been modified"})
        new = _merged(there, change)
        for template in [new["spec"]["template"]["spec"]] if "template" in new["spec"] else []:
            template.setdefault("dnsPolicy", "ClusterFirst")
            for dropped in self.drops:
                template.pop(dropped, None)
        if not dry:
            new["metadata"]["resourceVersion"] += "1"
            there.clear()
            there.update(copy.deepcopy(new))
        return Response(200, copy.deepcopy(new))


def run(server: Any, *places: str, check: bool = False, wish: Wish = _WISH, **request: Any) -> Object:
    return live_manifests.rewrite(server, live_manifests.LiveRequest(places or ("llm",), wish, **request), check)


def refused(server: Server, *places: str, **request: Any) -> str:
    before = copy.deepcopy(server.all())
    with pytest.raises(ClusterError) as caught:
        run(server, *places, **request)
    assert server.all() == before
    return str(caught.value)


def plain(name: str) -> Object:
    """A workload that kubectl created."""
    item = audit_manifests.named(name)
    item["metadata"].pop("annotations", None)
    made = {"manager": "kubectl-create", "operation": "Update", "fieldsV1": {"f:spec": {}}}
    item["metadata"]["managedFields"] = [made]
    return item


@pytest.fixture
def server() -> Server:
    return Server([plain("prefill"), plain("decode"), plain("llama")])


def test_there_and_back(server: Server) -> None:
    before = copy.deepcopy(server.all())
    result = run(server)
    assert result["objects"] == ["Deployment llm/prefill", "Deployment llm/decode", "InferencePool llm/llama"]
    spec = server.item("decode")["spec"]["template"]["spec"]
    assert "hostNetwork" not in spec
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert server.item("llama")["spec"]["targetPorts"] == [{"number": 8000}]
    assert run(server)["changed"] is False
    back = run(server, back=True)
    assert (back["changed"], back["notes"]) == (True, [])
    for item in (*before, *server.all()):
        del item["metadata"]["resourceVersion"]
    assert server.all() == before
    assert run(server, back=True)["changed"] is False


def test_a_rewrite_that_is_the_way_back() -> None:
    """A workload that was written for a device plugin, whose group went to claims and is at the plugin again."""
    item = plain("decode")
    spec = item["spec"]["template"]["spec"]
    spec.pop("hostNetwork")
    spec["dnsPolicy"] = "ClusterFirst"
    spec["containers"][0]["resources"] = {"limits": {"rdma/shared": "1"}}
    spec["containers"][0]["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    server = Server([item])
    before = copy.deepcopy(server.item("decode"))
    assert run(server)["changed"] is True
    found = run(server, wish=Wish([PodAsk("rdma/shared", limits={"rdma/shared": 1})]))
    assert (found["changed"], found["notes"]) == (True, [])
    assert server.item("decode")["spec"] == before["spec"]
    assert way_back.BEFORE not in server.item("decode")["metadata"].get("annotations", {})


def test_every_dry_run_comes_first(server: Server) -> None:
    result = run(server, check=True)
    assert result["changed"] is True
    assert server.patches == [("prefill", True), ("decode", True), ("llama", True)]
    shown = result["diff"][1]
    assert shown["before"]["spec"]["template"]["spec"]["hostNetwork"] is True
    assert "hostNetwork" not in shown["after"]["spec"]["template"]["spec"]
    server.patches.clear()
    run(server)
    assert [dry for _name, dry in server.patches] == [True] * 3 + [False] * 3


def test_one_object(server: Server) -> None:
    assert run(server, "llm/decode")["objects"] == ["Deployment llm/decode"]
    assert refused(server, "llm/none").startswith("places has llm/none, but there is no workload")
    assert refused(server, "llm", "lmm").startswith("places has lmm, but there is no workload")


@pytest.mark.parametrize("place", ["", "/", "/decode", "llm/", "llm/decode/x", "Llm", "llm decode", "../llm", "*"])
def test_a_place_that_would_be_more_than_was_meant(server: Server, place: str) -> None:
    """Such as one of an empty variable: all namespaces, or all of a namespace."""
    assert refused(server, place) == f"places has {place!r}, it must be a namespace, or namespace/name"


def test_who_would_change_it_back(server: Server) -> None:
    for name, manager in (("prefill", "argocd-controller"), ("decode", "terraform")):
        server.item(name)["metadata"]["managedFields"][0]["manager"] = manager
    why = refused(server).splitlines()
    assert why[1:] == [
        "Deployment llm/prefill would be changed back: change it in Argo CD application (argocd-controller)",
        "Deployment llm/decode would be changed back: change it in (terraform)",
    ]
    assert run(server, "llm/decode", managers=["terraform"])["changed"] is True


def test_what_the_api_server_refuses_stops_all(server: Server) -> None:
    class Immutable(Server):
        def merge(self, path: str, change: Object, query: Any) -> Response:
            if path.endswith("/bench"):
                raise ApiError(422, {"message": "spec.template: field is immutable"})
            return super().merge(path, change, query)

    why = refused(Immutable([plain("decode"), plain("bench")]))
    assert "Job llm/bench: the API server refuses the change: spec.template: field is immutable. Delete it" in why
    server.drops = ("resourceClaims",)
    assert "does not keep /spec/template/spec/resourceClaims" in refused(server, "llm/decode")


def test_what_another_object_makes(server: Server) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "controller": True}
    server.item("decode")["metadata"]["ownerReferences"] = [owner]
    assert run(server, "llm/prefill", "llm/llama")["objects"] == ["Deployment llm/prefill"]
    owner.update(apiVersion="example.com/v1", kind="Model")
    server.item("decode")["metadata"]["ownerReferences"] = [owner]
    assert "Deployment llm/decode: Model x created it: change that object instead" in refused(server, "llm/decode")


def test_a_status_that_is_written_meanwhile(server: Server) -> None:
    class Busy(Server):
        def merge(self, path: str, change: Object, query: Any) -> Response:
            if not query.get("dryRun") and len(self.patches) < 3:
                self.item("decode")["metadata"]["resourceVersion"] += "0"
            return super().merge(path, change, query)

    busy = Busy([plain("decode")])
    assert run(busy)["changed"] is True
    assert "hostNetwork" not in busy.item("decode")["spec"]["template"]["spec"]
    assert busy.patches == [("decode", True), ("decode", False), ("decode", False), ("decode", False)]


def test_a_spec_that_is_written_meanwhile(server: Server) -> None:
    class Changing(Server):
        def merge(self, path: str, change: Object, query: Any) -> Response:
            if not query.get("dryRun") and path.endswith("/decode"):
                self.item("decode")["metadata"]["resourceVersion"] += "0"
                self.item("decode")["spec"]["replicas"] = 7
            return super().merge(path, change, query)

    with pytest.raises(ClusterError) as caught:
        run(Changing([plain("prefill"), plain("decode"), plain("llama")]))
    assert str(caught.value).startswith(
        "Deployment llm/decode: somebody else has changed it meanwhile. Changed before: Deployment llm/prefill"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2}}),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"c": 2}]}),
        ({"a": 1}, {"a": {"b": True}}),
        ({"a": True}, {"a": 1}),
        ({"a": {}}, {"a": {}}),
    ],
)
def test_a_merge_patch(old: Object, new: Object) -> None:
    change = live_manifests.merge(old, new)
    assert _merged(old, change) == new
    assert bool(change) == (str(old) != str(new))


def test_who_writes_it_again() -> None:
    def told(*managers: str, known: Sequence[str] = (), **annotations: str) -> list[str]:
        fields = [{"manager": manager, "fieldsV1": {"f:spec": {}}} for manager in managers]
        found = manifest_owner.keepers({"managedFields": fields, "annotations": annotations}, known)
        return [owner.tool for owner in found]

    assert told("kubectl-create", "kubectl-edit", "zerocopy.rdma", known=["zerocopy.rdma"]) == []
    assert told("kubectl") == told("kubectl-client-side-apply") == ["kubectl"]
    # Whatever name it was given on the command line.
    last = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert told("kubectl-edit", **last) == ["kubectl"]
    assert told("kubectl-client-side-apply", known=["kubectl-client-side-apply"], **last) == []
    assert told("helm", "terraform") == ["helm", "other"]


def test_the_way_back_is_an_annotation(server: Server) -> None:
    run(server, "llm/decode")
    assert way_back.BEFORE in server.item("decode")["metadata"]["annotations"]
