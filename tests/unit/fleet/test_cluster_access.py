# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which cluster is meant, in kubectl's order, also in a pod that has a service account of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler
from typing import Any, Callable, Dict, Iterator, List, Mapping

import certifi
import pytest
from ansible import constants

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import kubeconfigs, selection
from ansible_collections.zerocopy.rdma.plugins.modules import node_labels
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_access
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

Run = Callable[..., Dict[str, Any]]
_OPERATOR = {"rdma_operator_network": True, "rdma_operator_network_version": "26.4.0"}
_IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}

# Every Python of the run finds the files of a service account in another directory.
_MOVED = """
import builtins, os, ssl
moved = lambda path: path.replace("/var/run/secrets/kubernetes.io/serviceaccount", os.environ["TEST_ACCOUNT"]) \\
    if isinstance(path, str) else path
opened, isfile, verify = builtins.open, os.path.isfile, ssl.SSLContext.load_verify_locations
builtins.open = lambda path, *rest, **named: opened(moved(path), *rest, **named)
os.path.isfile = lambda path: isfile(moved(path))
ssl.SSLContext.load_verify_locations = lambda self, cafile=None, *rest: verify(self, moved(cafile), *rest)
"""


def kubeconfig(path: Path, current: str = "lab", server: str = "https://lab:6443", **own: Any) -> str:
    """A file with one cluster, whose context and user have the name of the current context."""
    content = {
        "current-context": current,
        "contexts": [{"name": current, "context": {"cluster": current, "user": current}}],
        "clusters": [{"name": current, "cluster": {"server": server, **own}}],
        "users": [{"name": current, "user": {"token": f"of-{current}"}}],
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.fixture(name="environ")
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dict[str, str]:
    """The environment of a pod with a service account, and an empty home."""
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("of-the-pod")
    monkeypatch.setattr(selection, "SERVICE_ACCOUNT", str(account / "token"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    return dict(_IN_POD)


def selected(environ: Mapping[str, str], **params: Any) -> str:
    return selection.select(params, environ).server


def test_kubectl_s_order(tmp_path: Path, environ: Dict[str, str]) -> None:
    assert selected(environ) == "https://10.96.0.1:443"
    assert selected({**environ, "KUBERNETES_SERVICE_HOST": "fd00::1"}) == "https://[fd00::1]:443"
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\n")
    assert selected(environ) == "https://10.96.0.1:443"
    kubeconfig(tmp_path / ".kube" / "config", server="https://home/")
    assert selected(environ) == "https://home"
    environ["KUBECONFIG"] = kubeconfig(tmp_path / "a", server="https://a")
    assert selected(environ) == "https://a"
    environ["K8S_AUTH_KUBECONFIG"] = kubeconfig(tmp_path / "b", server="https://b")
    assert selected(environ) == "https://b"
    assert selected(environ, kubeconfig=kubeconfig(tmp_path / "c", server="https://c")) == "https://c"
    assert selected(environ, kubeconfig=kubeconfigs.merged([str(tmp_path / "a")])) == "https://a"
    assert selected(environ, host="https://d/", api_key="x") == "https://d"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"KUBECONFIG": "{}/none"}, "{}/none: no such file on {host} (named by the environment variable KUBECONFIG)"),
        ({"KUBECONFIG": "{}/empty"}, "{}/empty: No configuration found"),
        ({"K8S_AUTH_CONTEXT": "lab"}, "/.kube/config: no such file on {host} (the default)"),
        ({"KUBECONFIG": "{}/a", "K8S_AUTH_CONTEXT": "prod"}, "there is no context prod: there are lab"),
        ({"KUBECONFIG": "{}/list"}, "{}/list is not a kubeconfig"),
        ({"KUBECONFIG": "{}/bare"}, "no context is current, and none is chosen: there are lab"),
        ({"KUBECONFIG": ":"}, "kubeconfig ':': No configuration found"),
        ({"K8S_AUTH_KUBECONFIG": "::"}, "kubeconfig '::': No configuration found"),
        ({"KUBECONFIG": "{}/bytes"}, "{}/bytes has values that JSON has no form for"),
        ({"KUBECONFIG": "{}/aliases"}, "{}/aliases has aliases that stand for more than 10000 values"),
        ({"KUBECONFIG": "{}/two"}, "{}/two is not a kubeconfig"),
        ({"KUBECONFIG": "{}/deep"}, "{}/deep has values that are nested more than 100 levels deep (line 1)"),
        ({"KUBECONFIG": "{}/odd"}, "contexts is not a list of maps with a name and a context"),
    ],
)
def test_what_is_named_and_not_there_is_no_other_cluster(
    tmp_path: Path, environ: Dict[str, str], named: Dict[str, str], said: str
) -> None:
    kubeconfig(tmp_path / "a")
    (tmp_path / "empty").write_text("")
    (tmp_path / "list").write_text("[1]")
    (tmp_path / "two").write_text("---\n{}\n---\n{}\n")
    few = "".join(
        f"- &{name} [{', '.join([of] * 10)}]\n" for name, of in zip("bcdefg", ("x", "*b", "*c", "*d", "*e", "*f"))
    )
    (tmp_path / "aliases").write_text(f"clusters:\n{few}")
    (tmp_path / "bare").write_text('{"contexts": [{"name": "lab", "context": {"cluster": "lab"}}]}')
    (tmp_path / "bytes").write_text("users: [{name: lab, user: {token: !!binary aGVsbG8=}}]")
    (tmp_path / "deep").write_text("[" * 200)
    (tmp_path / "odd").write_text('{"contexts": {"lab": {}}}')
    environ.update({name: value.format(tmp_path) for name, value in named.items()})
    with pytest.raises(ValueError, match=r"\. rdma_kubeconfig and rdma_context select the cluster$") as raised:
        selection.select({}, environ)
    assert said.format(tmp_path, host=socket.gethostname()) in str(raised.value)
    # Handed to kubernetes.core, this finds no other cluster either.
    assert _cluster_access.found({"kubeconfig": "", "context": ""}, environ)["access"]["kubeconfig"]


def test_of_several_files_the_first_current_context_counts(tmp_path: Path, environ: Dict[str, str]) -> None:
    (tmp_path / "other").mkdir()
    authority = {"certificate-authority": "ca.crt"}
    first = kubeconfig(tmp_path / "a", "lab", "https://lab")
    second = kubeconfig(tmp_path / "other" / "b", "prod", "https://prod", **authority)
    environ["KUBECONFIG"] = os.pathsep.join([str(tmp_path / "none"), first, second])
    found = _cluster_access.found({"kubeconfig": "", "context": ""}, environ)
    assert found["text"].startswith("https://lab with user lab (context lab) of kubeconfig ")
    assert found["access"]["context"] == "lab"
    # Helm's module opens one file.
    one = Path(found["access"]["kubeconfig"])
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    content = json.loads(one.read_text())
    assert [each["name"] for each in content["clusters"]] == ["lab", "prod"]
    assert content["clusters"][1]["cluster"]["certificate-authority"] == str(tmp_path / "other" / "ca.crt")
    # What some tools write is no date to kubectl.
    (tmp_path / "none").write_text(
        "users: [{name: old, user: {auth-provider: {config: {expiry: 2026-11-27T10:00:00Z}}}}]"
    )
    found = _cluster_access.found({"kubeconfig": "", "context": ""}, environ)
    assert "2026-11-27T10:00:00Z" in Path(found["access"]["kubeconfig"]).read_text()
    # What kubectl config use-context writes where the first file is new.
    (tmp_path / "none").write_text("current-context: prod\n")
    assert selected(environ) == "https://prod"


def test_the_options_of_one_file(tmp_path: Path, environ: Dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    found = _cluster_access.found({"kubeconfig": "~/a", "context": ""}, environ)
    assert found["access"] == {"kubeconfig": str(tmp_path / "a"), "context": "lab"}
    assert _cluster_access.found({"kubeconfig": "a", "context": ""}, environ) == found
    own = _cluster_access.found({"kubeconfig": "", "context": ""}, environ)
    assert own == {"access": {}, "text": "https://10.96.0.1:443 with the pod's service account"}


@pytest.mark.parametrize("variable", ["K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "K8S_AUTH_CERT_FILE", "K8S_AUTH_PASSWORD"])
def test_two_answers_to_one_question_are_refused(tmp_path: Path, environ: Dict[str, str], variable: str) -> None:
    environ.update({variable: "https://other", "KUBECONFIG": kubeconfig(tmp_path / "a")})
    for given in ({"kubeconfig": "", "context": "lab"}, {"kubeconfig": str(tmp_path / "a"), "context": ""}):
        with pytest.raises(ValueError, match=f"^Nothing was changed. rdma_.* and the environment .* {variable} mean"):
            _cluster_access.found(given, environ)
    assert _cluster_access.found({"kubeconfig": "", "context": ""}, environ)["access"]["context"] == "lab"


class Answering(BaseHTTPRequestHandler):
    """Knows nobody, and notes who has asked."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append(str(self.headers.get("Authorization")))
        body = json.dumps({"kind": "Status", "message": "Unauthorized", "code": 401}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self, handler: Any) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.seen: List[str] = []
        self.reached = 0

    def get_request(self) -> Any:
        self.reached += 1
        return super().get_request()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextlib.contextmanager
def serving(handler: Any = Answering) -> Iterator[Server]:
    with Server(handler) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


@pytest.fixture(name="stack")
def make_stack() -> Iterator[contextlib.ExitStack]:
    stack = contextlib.ExitStack()
    try:
        yield stack
    finally:
        stack.close()


@pytest.fixture(name="server")
def serve(stack: contextlib.ExitStack) -> Server:
    return stack.enter_context(serving())


@pytest.fixture(name="pod")
def simulate_pod(tmp_path: Path, stack: contextlib.ExitStack) -> Any:
    """A function that plays a playbook in a pod, and says how often the pod's own API server was reached meanwhile."""
    account, moved = tmp_path / "account", tmp_path / "site"
    account.mkdir()
    moved.mkdir()
    (account / "token").write_text("of-the-pod")
    helm = moved / "helm"
    helm.write_text("#!/bin/sh\necho v3.19.0\n")
    helm.chmod(0o755)
    shutil.copy(certifi.where(), account / "ca.crt")
    (moved / "sitecustomize.py").write_text(_MOVED)
    # It closes every connection.
    own = stack.enter_context(serving(BaseRequestHandler))
    environment = {
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "HOME": str(tmp_path),
        "PATH": f"{moved}{os.pathsep}{os.environ['PATH']}",
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(own.server_address[1]),
        "PYTHONPATH": str(moved),
        "TEST_ACCOUNT": str(account),
    }

    def play(playbook: str, *arguments: str, **more: str) -> Any:
        done = played(tmp_path, *arguments, str(PLAYBOOKS / playbook), **environment, **more)
        return json.loads(done.stdout[done.stdout.index("{\n") :]), own.reached

    return play


# Reached by a module of this collection, and by one of kubernetes.core.
@pytest.mark.parametrize(("playbook", "variables"), [("audit.yml", {}), ("operators.yml", _OPERATOR)])
def test_in_a_pod_nothing_reaches_its_own_cluster(
    pod: Any, server: Server, tmp_path: Path, playbook: str, variables: Dict[str, Any]
) -> None:
    config = kubeconfig(tmp_path / "a", server=server.url)
    told, reached = pod(playbook, "-i", "n1,", "-e", json.dumps(variables), KUBECONFIG=config)
    assert reached == 0
    assert set(server.seen) == {"Bearer of-lab"}
    tasks = [(one["task"]["name"], one["hosts"]) for play in told["plays"] for one in play["tasks"]]
    (shown,) = [hosts["n1"]["msg"] for name, hosts in tasks if name == "Show the cluster"]
    assert shown == [f"Cluster: {server.url} with user lab (context lab) of kubeconfig {config}"]


def test_the_audit_has_the_named_cluster_where_provision_has_none(pod: Any, server: Server, tmp_path: Path) -> None:
    named = {"rdma_cluster": "none", "rdma_kubeconfig": kubeconfig(tmp_path / "a", server=server.url)}
    _told, reached = pod("audit.yml", "-i", "n1,", "-e", json.dumps(named))
    assert (reached, set(server.seen)) == (0, {"Bearer of-lab"})


HOSTS = """
all:
  vars: {ansible_connection: local, rdma_kubeconfig: /nowhere, rdma_strategy: no strategy at all}
  children:
    a: {hosts: {n1: }, vars: {rdma_context: a}}
    b: {hosts: {n2: , n3: }, vars: {rdma_context: b}}
"""


@pytest.mark.parametrize("playbook", ["teardown", "support_bundle"])
def test_hosts_of_two_clusters_are_refused(tmp_path: Path, playbook: str) -> None:
    """That of the first host would be asked, and nodes of the other one changed whatever its pods do."""
    (tmp_path / "hosts.yml").write_text(HOSTS)
    done = played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / f"{playbook}.yml"))
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert (
        "Nothing was changed. Fix this first: n[1-3]: rdma_context is 'a' on n1; 'b' on n[2-3]: it must be the same on "
        "all hosts"
    ) in said
    # What else is wrong with the inventory is no reason not to be removed, or not to be looked into.
    assert "rdma_strategy" not in said.partition("Nothing was changed.")[2]


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ({}, {"rdma_cluster": "kubernetes", "rdma_context": "", "rdma_kubeconfig": None}, ""),
        ({"rdma_context": 5}, {"rdma_context": "5"}, ""),
        ({"rdma_hosts": "n1"}, {"rdma_serial": "no number"}, ""),
        ({"rdma_cluster": "none"}, {}, "n[1-2]: rdma_cluster is 'none' on n1; 'kubernetes' on n2: it must be the same"),
        ({}, {"rdma_kubeconfig": "/b"}, "n[1-2]: rdma_kubeconfig is not set on n1; '/b' on n2: it must be the same"),
        ({"rdma_context": "a"}, {"rdma_context": ["b"]}, "n2: rdma_context is ['b']"),
        ({"rdma_cluster": "no"}, {"rdma_cluster": "none"}, "n1: rdma_cluster is 'no'"),
    ],
)
def test_what_makes_hosts_be_in_one_cluster(first: Dict[str, Any], second: Dict[str, Any], problem: str) -> None:
    found = _cluster_access.problems(["n1", "n2"], {"n1": first, "n2": second, "n3": {"rdma_context": "other"}})
    assert len(found) == bool(problem)
    assert "".join(found).startswith(problem)


def test_a_module_alone_keeps_the_order(
    run_module: Run, tmp_path: Path, server: Server, environ: Dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**environ, "KUBECONFIG": kubeconfig(tmp_path / "a", server=server.url)}.items():
        monkeypatch.setenv(name, value)
    result = run_module(node_labels, nodes={"n1": {"x": "y"}})
    assert result["msg"].startswith(f"{server.url} does not accept user lab (context lab) of kubeconfig "), result
    assert set(server.seen) == {"Bearer of-lab"}
