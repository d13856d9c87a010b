# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A bundle as a file: its names are safe, what hosts sent is redacted again, and what is missing is in its index."""

from __future__ import annotations

import io
import json
import stat
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support import archive, cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.archive import Bundle
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.gathered import Gathered
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.modules import support_bundle as module
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _support
from ansible_collections.zerocopy.rdma.tests.docsite.examples import text
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Server
from ansible_collections.zerocopy.rdma.tests.unit.action_options import options, play


def members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert all(member.isreg() and member.mode == 0o600 for member in tar.getmembers())
        return {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # type: ignore[union-attr]


@settings(deadline=None)
@given(host=st.text(min_size=1, max_size=80), name=st.text(max_size=80), text=st.text(max_size=50))
def test_no_name_leads_elsewhere(host: str, name: str, text: str) -> None:
    content = archive.files(Bundle({}, {host: Gathered(files={name: text, "ok.log": text})}), 1_000)
    for path in members(archive.packed("b", content, 0)):
        assert path.startswith("b/")
        assert all(part not in ("", ".", "..") and part.isprintable() for part in path.split("/"))
    index = json.loads(content[archive.INDEX])
    listed = [*index["files"], *(entry["what"] for entry in index["missing"])]
    assert len(listed) >= len({name, "ok.log"})


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/shadow", ".ssh/x", "a/../b", "a/b/c", "x\n", "-rf", "a/.b"])
def test_names_of_hostile_hosts_are_told_and_not_used(name: str) -> None:
    content = archive.files(Bundle({}, {"h1": Gathered(files={name: "x"})}), 1_000)
    assert set(content) == {archive.INDEX}
    (entry,) = json.loads(content[archive.INDEX])["missing"]
    assert entry["why"] == "the name is not that of a file of a bundle"


def test_what_a_host_has_not_redacted_is_redacted_and_what_is_too_much_is_cut() -> None:
    own = Gathered({"journal/x.log": "old\n" * 1000 + "token=PLANTED\n"}, {"y": "Bearer PLANTED1234"}, {})
    content = archive.files(Bundle({}, {"h1": own}), 500)
    assert "PLANTED" not in "".join(content.values())
    index = json.loads(content[archive.INDEX])
    assert len(content["hosts/h1/journal/x.log"]) <= 500
    assert index["cut"][0]["what"] == "hosts/h1/journal/x.log"
    assert index["files"]["hosts/h1/journal/x.log"]["redacted"] == 1


def test_what_is_about_other_hosts_is_left_out() -> None:
    value = {
        "hosts": {"h1": 1, "h2": 2},
        "checks": [{"host": "h1"}, {"host": "h2"}, {"host": None}],
        "bandwidth": [{"source": {"host": "h1"}, "target": {"host": "h2"}}, {"source": {"host": "h1"}}],
    }
    assert archive.only(value, {"h2"}) == {
        "hosts": {"h1": 1},
        "checks": [{"host": "h1"}, {"host": None}],
        "bandwidth": [{"source": {"host": "h1"}}],
    }


def pod(name: str, restarts: int = 0, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "kube-system", "labels": labels},
        "spec": {
            "nodeName": "h1",
            "containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "PLANTED"}]}],
        },
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": restarts}]},
    }


def test_what_the_cluster_knows_of_chosen_nodes(server: Server, client: Client) -> None:
    resources = [
        {"resource": f"{kind.lower()}s", "responseKind": {"kind": kind}, "scope": "Cluster", "verbs": ["list"]}
        for kind in ("ResourceSlice", "ResourceClaim")
    ]
    group = {"metadata": {"name": "resource.k8s.io"}, "versions": [{"version": "v1", "resources": resources}]}
    dra = "/apis/resource.k8s.io/v1"
    result = {"driver": "dra.net", "pool": "h1", "device": "d"}
    claims = [
        {"metadata": {"name": at}, "status": {"allocation": {"devices": {"results": [{**result, "pool": at}]}}}}
        for at in ("h1", "h9")
    ]
    log = b"started\ntoken=PLANTED\n"
    server.paths = {
        "/version": (200, {}, {"gitVersion": "v1.37.2"}),
        "/api": (200, {}, {"kind": "APIGroupDiscoveryList", "items": []}),
        "/apis": (200, {}, {"kind": "APIGroupDiscoveryList", "items": [group]}),
        "/api/v1/nodes/h1": (200, {}, {"metadata": {"name": "h1"}, "status": {"nodeInfo": {"kernelVersion": "6.8"}}}),
        "/api/v1/nodes/h2": (404, {}, {"message": "no"}),
        f"{dra}/resourceslices": (200, {}, {"items": [{"spec": {"nodeName": at}} for at in ("h1", "h9")]}),
        f"{dra}/resourceclaims": (200, {}, {"items": claims}),
        "/api/v1/pods": (200, {}, {"items": [pod("dranet-x", 1, app="dranet"), pod("tenant")]}),
        "/api/v1/namespaces/kube-system/pods/dranet-x/log": (200, {}, log),
    }
    found = cluster.gather(client, ["h1"], 24, 1_000_000)
    assert json.loads(found.files["nodes.json"])["h1"]["nodeInfo"] == {"kernelVersion": "6.8"}
    assert [item["spec"] for item in json.loads(found.files["resourceslices.json"])] == [{"nodeName": "h1"}]
    assert [item["metadata"]["name"] for item in json.loads(found.files["resourceclaims.json"])] == ["h1"]
    assert [each["name"] for each in json.loads(found.files["pods.json"])] == ["dranet-x"]
    assert found.files["logs/kube-system_dranet-x_c.log"] == "started\ntoken=[redacted]\n"
    assert "logs/kube-system_dranet-x_c.previous.log" in found.files
    assert "PLANTED" not in "".join(found.files.values())
    assert found.missing == {"devicetaintrules.json": "the API server serves no DeviceTaintRule"}
    server.paths["/api/v1/pods"] = (403, {}, {"message": "pods is forbidden"})
    found = cluster.gather(client, ["h1", "h2"], 24, 1_000_000)
    assert found.missing["nodes.json (h2)"] == "no such node in the cluster"
    assert "pods is forbidden" in found.missing["pods.json (h1)"]


def test_a_pod_that_is_stuck_before_its_containers_start(server: Server, client: Client) -> None:
    stuck = pod("dranet-x", app="dranet")
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    stuck["status"]["initContainerStatuses"] = [{"name": "init", "restartCount": 7, "state": waiting}]
    server.paths = {
        "/api/v1/pods": (200, {}, {"items": [stuck]}),
        "/api/v1/namespaces/kube-system/pods/dranet-x/log": (200, {}, b"no such device\n"),
    }
    found = cluster.gather(client, ["h1"], 24, 1_000_000)
    (state,) = json.loads(found.files["pods.json"])
    assert [each["state"] for each in state["initContainers"]] == [waiting]
    assert [each["name"] for each in state["containers"]] == ["c"]
    for log in ("init.log", "init.previous.log", "c.log"):
        assert found.files[f"logs/kube-system_dranet-x_{log}"] == "no such device\n"


@pytest.mark.parametrize(("lines", "is_cut"), [(5_000, False), (6_000, True)])
def test_a_log_of_more_lines_than_are_asked_for_is_told(
    lines: int, is_cut: bool, server: Server, client: Client
) -> None:
    def decide(_method: str, path: str, _body: bytes) -> Any:
        if "/log?" not in path:
            return 200, {}, {"items": [pod("dranet-x", app="dranet")] if path.startswith("/api/v1/pods") else []}
        asked = int(parse_qs(urlsplit(path).query)["tailLines"][0])
        return 200, {}, "".join(f"line {number}\n" for number in range(lines)[-asked:]).encode()

    server.decide = decide
    found = cluster.gather(client, ["h1"], 24, 1_000_000)
    name = "logs/kube-system_dranet-x_c.log"
    assert found.files[name].endswith(f"line {lines - 1}\n")
    assert found.cut == ({name: "more than 5000 lines: older ones left out"} if is_cut else {})


NODES = [f"h{number}" for number in range(40)]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "PATIENCE", 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("answer", "why"), [(None, "no connection to the cluster"), ((503, {}, b"no server"), "no server (tried for 0 s")]
)
def test_an_api_server_that_does_not_answer_is_asked_once(
    answer: Any, why: str, server: Server, client: Client
) -> None:
    server.decide = lambda *_asked: answer
    found = cluster.gather(client, NODES, 24, 1_000_000)
    assert len(server.seen) == 1
    assert found.files == {}
    assert list(found.missing) == ["everything"]
    assert why in found.missing["everything"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("until", ["/api/v1/nodes/", "/apis", "/api/v1/pods"])
def test_of_an_api_server_that_goes_away_what_it_had_said_is_kept(until: str, server: Server, client: Client) -> None:
    server.decide = lambda _method, path, _body: None if path.startswith(until) else (200, {}, {"items": []})
    found = cluster.gather(client, NODES, 24, 1_000_000)
    # Those that were under way.
    assert sum(path.startswith(until) for _method, path, _headers, _body in server.seen) <= request.THREADS
    assert ("nodes.json" in found.files) is (until != "/api/v1/nodes/")
    assert found.missing.keys() - {"objects"} == {"everything else"}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_up", [True, False])
def test_a_kubelet_that_does_not_answer_costs_no_other_log(is_up: bool, server: Server, client: Client) -> None:
    pods = [pod(f"dranet-{number}", app="dranet") for number in range(20)]
    hangs = "/api/v1/namespaces/kube-system/pods/dranet-0/log"

    def decide(_method: str, path: str, _body: bytes) -> Any:
        if path.startswith(hangs) or (
            path == "/version" and not is_up and any("/log" in seen[1] for seen in server.seen)
        ):
            return None
        return 200, {}, b"fine\n" if "/log" in path else {"items": pods if path.startswith("/api/v1/pods") else []}

    server.decide = decide
    found = cluster.gather(client, ["h1"], 24, 1_000_000)
    name = "logs/kube-system_dranet-0_c.log"
    logs = [name for name in found.files if name.startswith("logs/")]
    assert name not in logs
    assert (name in found.missing) is is_up
    assert ("everything else" in found.missing) is not is_up
    assert len(logs) == 19 if is_up else len(logs) <= 19


def host(name: str, **registered: Any) -> dict[str, Any]:
    return {"inventory_hostname": name, "group_names": ["lab"], **registered}


@pytest.mark.parametrize("kind", ["verify", "health"])
def test_reports_are_looked_for_where_their_roles_write_them(kind: str) -> None:
    tasks = yaml.safe_load(text("roles/rdma_support_bundle/tasks/main.yml"))
    (packed,) = (task["zerocopy.rdma.support_bundle"] for task in tasks if "zerocopy.rdma.support_bundle" in task)
    name = f"rdma_{kind}_directory"
    default = yaml.safe_load(text(f"roles/rdma_{kind}/defaults/main.yml"))[name]
    assert packed[kind] == f"{{{{ {name} | default('{default}') }}}}"


@pytest.mark.parametrize("check", [False, True])
def test_a_bad_host_is_told_and_stops_no_other_one(check: bool, tmp_path: Path) -> None:
    sent = {"files": {"journal/kubelet.log": "fine\n"}, "missing": {}, "cut": {}}
    facts: dict[str, Any] = {"ansible_facts": {"rdma": {"hcas": []}}}
    (tmp_path / "health.json").write_text(json.dumps({"hosts": {"h1": "now", "h9": "now"}}))
    hosts = {
        "h1": host("h1", __rdma_support_node=sent, __rdma_support_facts=facts),
        "h2": host("h2", __rdma_support_node={"unreachable": True, "msg": "No route to host"}),
        "h3": host("h3", __rdma_support_node={"failed": True, "msg": "Python is too old"}),
    }
    context = play(hosts)
    context["groups"] = {"all": [*hosts, "h9"]}
    given = options(
        module, directory=str(tmp_path / "support"), health=str(tmp_path), cluster={"skipped": True}, plan_failure="why"
    )
    found = _support.bundle(context, given, check)
    why = {entry["what"]: entry["why"] for entry in found["missing"]}
    assert why["hosts/h2/everything"] == "No route to host"
    assert why["hosts/h3/journal"] == "Python is too old"
    assert why["controller/verify/verify.json"] == "rdma_verify_directory is not set"
    assert why["cluster/everything"] == "rdma_cluster: none, so no API server was asked"
    assert why["hosts/h1/drift.json"] == "why"
    assert "No route to host" in found["text"]
    path = Path(found["path"])
    assert path.exists() is not check
    if check:
        assert "would have" in found["text"]
        return
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = members(path.read_bytes())
    root = path.name.partition(".")[0]
    assert content[f"{root}/hosts/h1/journal/kubelet.log"] == b"fine\n"
    assert json.loads(content[f"{root}/controller/health/health.json"]) == {"hosts": {"h1": "now"}}


def test_what_is_nested_too_deeply_is_told_and_stops_no_other_host(tmp_path: Path) -> None:
    deep: Any = "x"
    for _level in range(450):
        deep = {"a": deep}
    (tmp_path / "verify.json").write_text(json.dumps(deep))
    sent = {"files": {"journal/kubelet.log": "fine\n"}, "missing": {}, "cut": {}}
    hosts = {
        "h1": host("h1", __rdma_support_node=sent, __rdma_support_figures={"figures": deep}),
        "h2": host("h2", __rdma_support_node=sent, __rdma_support_figures={"figures": {"a": 1}}),
    }
    given = options(
        module, directory=str(tmp_path / "support"), verify=str(tmp_path), cluster={"skipped": True}, plan_failure="why"
    )
    context = play(hosts)
    context["groups"] = {"all": [*hosts]}
    found = _support.bundle(context, given, False)
    why = {entry["what"]: entry["why"] for entry in found["missing"]}
    assert why["hosts/h1/exporter.json"] == "it is nested too deeply to be read"
    assert why["controller/verify/verify.json"].endswith("it is nested too deeply to be read")
    path = Path(found["path"])
    content = members(path.read_bytes())
    root = path.name.partition(".")[0]
    assert content[f"{root}/hosts/h1/journal/kubelet.log"] == b"fine\n"
    assert json.loads(content[f"{root}/hosts/h2/exporter.json"]) == {"a": 1}
