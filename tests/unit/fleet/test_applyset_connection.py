# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the user reads when there is no connection. The module at work is in tests/cluster."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, ClassVar, Dict, Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.modules import applyset
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

Run = Callable[..., Dict[str, Any]]
SELECTION = ". rdma_kubeconfig and rdma_context select the cluster"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"pin": "hunter2"}}
SET: Dict[str, Any] = {"name": "set", "namespace": "kube-system", "objects": [SECRET]}


class Unauthorized(BaseHTTPRequestHandler):
    """Answers as an API server does to a token that it does not know."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps({"kind": "Status", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture(name="server")
def serve() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Unauthorized) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()
        thread.join()


def kubeconfig(path: Path, server: str) -> Path:
    content = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "alice"}}],
        "clusters": [{"name": "lab", "cluster": {"server": server}}],
        "users": [{"name": "alice", "user": {"token": "of-yesterday"}}],
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "(named by rdma_kubeconfig)"), ("", "No configuration found"), ("a: [", "expected the node content")],
    ids=["missing", "empty", "broken"],
)
def test_a_kubeconfig_that_cannot_be_read_is_named(run_module: Run, tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    result = run_module(applyset, kubeconfig=str(path), **SET)
    assert result["msg"].startswith(f"no connection to the cluster with kubeconfig {path}: ")
    assert said in result["msg"]
    assert result["msg"].endswith(SELECTION)


@pytest.mark.parametrize("playbook", ["audit.yml", "plan.yml"])
def test_playbooks_say_which_variables_select_the_cluster(playbook: str, tmp_path: Path) -> None:
    environment = {"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "KUBECONFIG": str(tmp_path / "none")}
    # As site.yml says, after facts of this run.
    variables = json.dumps({"rdma_plan_provisions": True, "rdma_discover_fleet": {}})
    done = played(tmp_path, "-i", "n1,", "-e", variables, str(PLAYBOOKS / playbook), **environment)
    told = json.loads(done.stdout[done.stdout.index("{\n") :])
    said = told["plays"][-1]["tasks"][-1]["hosts"]["n1"]["msg"]
    assert f"no connection to the cluster with kubeconfig {tmp_path / 'none'}: " in said
    assert said.count(SELECTION) == 1


def test_audit_says_that_it_reads_a_cluster_anyway(tmp_path: Path) -> None:
    environment = {"KUBECONFIG": str(tmp_path / "none")}
    done = played(tmp_path, "-i", "n1,", "-e", "rdma_cluster=none", str(PLAYBOOKS / "audit.yml"), **environment)
    said = " ".join(done.stdout.split())
    assert "which this playbook reads although rdma_cluster is none" in said
    # Of the module, too, which is handed what the playbook has found.
    assert said.count("(named by the environment variable KUBECONFIG)") >= 2
    assert "named by rdma_kubeconfig" not in said


def test_a_context_that_is_not_there(run_module: Run, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    result = run_module(applyset, kubeconfig=str(path), context="prod", **SET)
    assert result["msg"].startswith(f"no connection to the cluster with kubeconfig {path}: ")
    assert "prod" in result["msg"]


def test_a_refused_token_is_told_with_server_and_user(run_module: Run, tmp_path: Path, server: str) -> None:
    path = kubeconfig(tmp_path / "config", server)
    result = run_module(applyset, kubeconfig=str(path), **SET)
    assert result["msg"] == (
        f"{server} does not accept user alice (context lab) of kubeconfig {path}: "
        f"expired, revoked, or of another cluster{SELECTION}"
    )
    result = run_module(applyset, host=server, api_key="of-yesterday", **SET)
    said = f"{server} does not accept option api_key: expired, revoked, or of another cluster{SELECTION}"
    assert result["msg"] == said


def test_a_server_that_does_not_answer(run_module: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "PATIENCE", 0.5)
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    result = run_module(applyset, kubeconfig=str(path), **SET)
    assert result["msg"].startswith("no connection to the cluster with user alice (context lab) of kubeconfig ")
    assert result["msg"].endswith(SELECTION)


def test_a_failure_does_not_print_the_objects(run_module: Run, tmp_path: Path) -> None:
    result = run_module(applyset, kubeconfig=str(tmp_path / "none"), **SET)
    assert "hunter2" not in json.dumps(result)
    assert result["invocation"]["module_args"]["name"] == "set"


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        ("#!/bin/sh\necho 'SSO session expired: run lab-login' >&2\nexit 3\n", "SSO session expired: run lab-login"),
        ("#!/bin/sh\necho no JSON\n", "failed to decode process output"),
        ("", "No such file or directory: "),
    ],
    ids=["fails", "answers nonsense", "missing"],
)
def test_a_plugin_that_fails_is_told_and_nobody_is_asked_as_nobody(
    run_module: Run, tmp_path: Path, server: str, plugin: str, said: str
) -> None:
    path = kubeconfig(tmp_path / "config", server)
    content = json.loads(path.read_text())
    api = "client.authentication.k8s.io/v1"
    content["users"][0]["user"] = {"exec": {"apiVersion": api, "command": "./login", "interactiveMode": "Never"}}
    path.write_text(json.dumps(content))
    if plugin:
        (tmp_path / "login").write_text(plugin)
        (tmp_path / "login").chmod(0o755)
    result = run_module(applyset, kubeconfig=str(path), **SET)
    assert result["msg"].startswith("no connection to the cluster with user alice (context lab) of kubeconfig ")
    assert said in result["msg"]
    assert result["msg"].endswith(SELECTION)


class Proxy(Unauthorized):
    """Answers everything itself, and notes as whom it was asked."""

    asked: ClassVar[set[Any]] = set()

    def do_GET(self) -> None:
        self.asked.add((self.path.partition("//")[2].partition("/")[0], self.headers.get("Proxy-Authorization")))
        super().do_GET()


@pytest.mark.parametrize("way", ["kubeconfig", "environment", "option"])
def test_a_proxy_is_told_the_password_of_its_url(
    run_module: Run, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kubeconfig(tmp_path / "config", "http://lab.invalid")
    options: dict[str, str] = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        # p@ss:word
        url = f"http://alice:p%40ss%3Aword@127.0.0.1:{found.server_address[1]}"
        if way == "kubeconfig":
            content = json.loads(path.read_text())
            content["clusters"][0]["cluster"]["proxy-url"] = url
            path.write_text(json.dumps(content))
        elif way == "environment":
            monkeypatch.setenv("http_proxy", url)
        else:
            options["proxy"] = url
        result = run_module(applyset, kubeconfig=str(path), **options, **SET)
        found.shutdown()
        thread.join()
    assert "does not accept user alice" in result["msg"], result
    basic = "Basic " + base64.b64encode(b"alice:p@ss:word").decode()
    assert Proxy.asked == {("lab.invalid", basic)}
