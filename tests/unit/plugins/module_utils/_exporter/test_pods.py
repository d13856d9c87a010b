# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Pods, from what a containerd really sent (tests/unit/fixtures/exporter), and from answers that none sends."""

from __future__ import annotations

import base64
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import grpc
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import claims, namespaces, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import (
    Configuration,
    ConfigurationError,
    read,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import Known, Look
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "exporter"
RECORDED = {
    name: base64.b64decode(text) for name, text in json.loads((FIXTURES / "containerd-1.7.24.json").read_text()).items()
}
NOTHING = Pods({}, {})


def _frame(kind: int, flags: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + b"\0\0\0\1" + payload


def answered(message: bytes) -> bytes:
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return _frame(1, 4, b"\x88") + _frame(0, 0, body) + _frame(1, 5, b"\x88")


def recorded(request: bytes) -> bytes:
    """The recorded answer to a request, by its method and the ID in it; an error where there is none."""
    for name, answer in RECORDED.items():
        method, _slash, identity = name.partition("/")
        if method.encode() in request and identity.encode() in request:
            return answered(answer)
    return _frame(1, 5, b"\x88")


@pytest.fixture(autouse=True)
def _namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the recorded node."""
    monkeypatch.setattr(namespaces, "inode", lambda _path: 4026532352)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[[Callable[[bytes], bytes]], str]]:
    """A server on a Unix socket that answers each request so; the path of the socket."""
    servers: List[socket.socket] = []

    def serve(answer: Callable[[bytes], bytes]) -> str:
        path = str(tmp_path / "cri.sock")
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        servers.append(server)
        server.bind(path)
        server.listen(64)

        def run() -> None:
            while True:
                try:
                    connection = server.accept()[0]
                    with connection:
                        connection.sendall(answer(connection.recv(1 << 16)))
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(1 << 16):
                            pass
                except OSError:
                    if server.fileno() < 0:
                        return

        threading.Thread(target=run, daemon=True).start()
        return path

    yield serve
    for server in servers:
        server.close()


def test_pods_and_containers_of_a_real_node(served: Any) -> None:
    found = pods.read(served(recorded), NOTHING)
    names = {pod.name: pod.netns for pod in found.pods.values()}
    assert names["plain-trixie"] == "/var/run/netns/cni-c4c4c4b0-2997-198d-66d4-726d84e16940"
    # It is on the host's network.
    assert names["dranet-trixie-mbpsl"] == ""
    containers = {container.name: container for container in found.containers.values()}
    assert containers["main"].devices == ()
    dranet = containers["dranet"]
    assert (dranet.privileged, "231:192" in dranet.devices, "1:3" in dranet.devices) == (True, True, False)
    # Those of which the runtime did not tell have ended since they were listed.
    assert (set(names), set(containers), found.unknown) == (
        {"plain-trixie", "dranet-trixie-mbpsl"},
        {"main", "dranet"},
        2,
    )


def test_a_pod_whose_namespace_is_not_there_yet_is_asked_about_again(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = served(recorded)
    with monkeypatch.context() as early:
        early.setattr(namespaces, "inode", os.stat)
        found = pods.read(path, NOTHING)
    assert {pod.name for pod in found.pods.values()} == {"dranet-trixie-mbpsl"}
    assert {pod.name for pod in pods.read(path, found).pods.values()} == {"dranet-trixie-mbpsl", "plain-trixie"}


def test_what_is_known_is_not_asked_about_again(served: Any) -> None:
    asked: List[bytes] = []

    def answer(request: bytes) -> bytes:
        asked.append(request)
        return recorded(request)

    path = served(answer)
    found = pods.read(path, NOTHING)
    first = len(asked)
    assert pods.read(path, found) == found
    # Both lists, and about those that were not there.
    assert len(asked) - first == 2 + found.unknown


def test_a_node_full_of_new_pods_is_asked_about_in_parts(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "_MOST_NEW", 1)
    path = served(recorded)
    found = NOTHING
    for _look in range(6):
        found = pods.read(path, found)
    assert len(found.pods) >= 1
    assert found.unknown > 0


HOSTILE = {
    "not HTTP/2": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "no protobuf": answered(b"\xff" * 64),
    "larger than any": _frame(0, 0, b"")[:0] + b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 64,
    "nothing": b"",
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_answer_is_said(raw: bytes, served: Any) -> None:
    path = served(lambda _request: raw)
    with pytest.raises(pods.RuntimeSilentError, match=r"cri\.sock"):
        pods.read(path, NOTHING)
    with pytest.raises(claims.KubeletSilentError):
        claims.read(path)


def test_an_answer_that_never_ends_is_given_up(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc, "_LARGEST", 1 << 16)
    path = served(lambda _request: _frame(0, 0, b"x" * 16384) * 1000)
    with pytest.raises(pods.RuntimeSilentError, match="larger than 65536 bytes"):
        pods.read(path, NOTHING)


DEEP = '{"runtimeSpec":' + "[" * 100000


@pytest.mark.parametrize(
    "information",
    [
        *("", "null", "[]", "7", "{", DEEP, '{"runtimeSpec": 1}', '{"runtimeSpec": {"linux": []}}'),
        '{"runtimeSpec": {"linux": {"namespaces": {"type": "network"}, "devices": "x"}}}',
        '{"runtimeSpec": {"linux": {"namespaces": [7, {"type": "network", "path": "relative"}], "devices": [[], {}]}}}',
        '{"runtimeSpec": {"linux": {"namespaces": [{"type": "network", "path": "/a\\u0000b"}]}}}',
        '{"runtimeSpec": {"linux": {"devices": [{"major": "231", "minor": 192}, {"major": 231, "minor": null}]}}}',
    ],
    ids=range(12),
)
def test_information_of_another_form_says_nothing(information: str, served: Any) -> None:
    def answer(request: bytes) -> bytes:
        if b"Status" in request:
            entry = protobuf.text_field(1, "info") + protobuf.text_field(2, information)
            return answered(protobuf.bytes_field(2, entry))
        return recorded(request)

    found = pods.read(served(answer), NOTHING)
    assert {(pod.netns, pod.inode) for pod in found.pods.values()} == {("", 0)}
    assert {container.devices for container in found.containers.values()} == {()}


def test_claims_of_a_container() -> None:
    device = (
        protobuf.text_field(2, "dra.net") + protobuf.text_field(3, "node") + protobuf.text_field(4, "pci-0000-3b-00-0")
    )
    resource = protobuf.text_field(2, "nic") + protobuf.text_field(3, "llm") + protobuf.bytes_field(4, device)
    container = protobuf.text_field(1, "main") + protobuf.bytes_field(5, resource)
    pod = protobuf.text_field(1, "vllm-0") + protobuf.text_field(2, "llm") + protobuf.bytes_field(3, container)
    found = claims.interpret(protobuf.bytes_field(1, pod), {})
    assert found == {("llm", "vllm-0", "main"): [claims.Claimed("nic", "dra.net", "node", "pci-0000-3b-00-0")]}
    # Of the recorded node, no container has a claim.
    assert claims.interpret(RECORDED["kubelet"], {}) == {}


def kubelets(claim: str, *devices: bytes) -> bytes:
    """What the kubelet answers about a pod with a claim."""
    resource = protobuf.text_field(2, claim) + protobuf.text_field(3, "llm")
    resource += b"".join(protobuf.bytes_field(4, device) for device in devices)
    container = protobuf.text_field(1, "main") + protobuf.bytes_field(5, resource)
    pod = protobuf.text_field(1, "vllm-0") + protobuf.text_field(2, "llm") + protobuf.bytes_field(3, container)
    return protobuf.bytes_field(1, pod)


def checkpoint(claim: str, **devices: Any) -> bytes:
    """As the kubelet writes it, with the devices that each driver has named."""
    states = {driver.replace("_", "."): {"Devices": named} for driver, named in devices.items()}
    claims_of = [{"ClaimUID": "1", "ClaimName": claim, "Namespace": "llm", "PodUIDs": {"2": {}}, "DriverState": states}]
    data = {"kind": "DRACheckpoint", "apiVersion": "checkpoint.dra.kubelet.k8s.io/v1", "ClaimInfoStateList": claims_of}
    return json.dumps({"Data": json.dumps(data), "Checksum": 1}).encode()


def test_what_a_kubelet_has_written() -> None:
    assert claims.without_devices((FIXTURES / "kubelet-1.37.2-claims.json").read_bytes()) == {
        ("default", "near-trixie-nics-bzjjj"): ["dra.net"],
        ("default", "far-trixie-nics-chgn6"): ["dra.net"],
        ("default", "gpu-trixie-nics-hqdk9"): [],
    }


def test_a_driver_that_names_no_devices(served: Any, tmp_path: Path) -> None:
    gpu = protobuf.text_field(2, "gpu.nvidia.com") + protobuf.text_field(3, "node") + protobuf.text_field(4, "gpu-0")
    path = served(lambda _request: answered(kubelets("pair", gpu)))
    state = tmp_path / "dra_manager_state"
    named = claims.Claimed("pair", "gpu.nvidia.com", "node", "gpu-0")
    assert claims.read(path, str(state)) == {("llm", "vllm-0", "main"): [named]}
    state.write_bytes(checkpoint("pair", dra_net=None, gpu_nvidia_com=[{"PoolName": "node", "DeviceName": "gpu-0"}]))
    silent = claims.Claimed("pair", "dra.net", "", "")
    assert claims.read(path, str(state)) == {("llm", "vllm-0", "main"): [named, silent]}
    # What another claim has says nothing about this one.
    state.write_bytes(checkpoint("other", dra_net=None))
    assert claims.read(path, str(state)) == {("llm", "vllm-0", "main"): [named]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"Data": 7}',
        b'{"Data": "{}"}',
        b"[" * 100000,
        b'{"Data": "{\\"ClaimInfoStateList\\": [7]}"}',
        b"\xff",
    ],
    ids=range(8),
)
def test_a_checkpoint_of_another_form_is_said(content: bytes, served: Any, tmp_path: Path) -> None:
    path = served(lambda _request: answered(kubelets("nic")))
    state = tmp_path / "dra_manager_state"
    state.write_bytes(content)
    with pytest.raises(claims.KubeletSilentError, match="dra_manager_state"):
        claims.read(path, str(state))


def test_the_runtime_that_is_configured_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the first that listens, as a containerd does beside that of k3s."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    asked: List[str] = []

    def ask(path: str, before: Pods) -> Pods:
        asked.append(path)
        return NOTHING

    monkeypatch.setattr(pods, "SOCKETS", (first, second))
    monkeypatch.setattr(pods, "read", ask)
    with socket.socket(socket.AF_UNIX) as usual, socket.socket(socket.AF_UNIX) as another:
        usual.bind(first)
        another.bind(second)
        for configured in ("", second):
            Look(Configuration(directory="/d", runtime_socket=configured), Known("/"), print, set())._pods()
    assert asked == [first, second]
    said: List[Any] = []
    Look(Configuration(directory="/d", runtime_socket="/run/gone.sock"), Known("/"), said.append, set())._pods()
    assert said == [["error", "runtime", "no container runtime listens on /run/gone.sock"]]
    with pytest.raises(ConfigurationError, match=r"runtime_socket is 'own\.sock', it must be an absolute path"):
        read('{"directory": "/d", "runtime_socket": "own.sock"}')
