# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A synthesised node for the bench of the exporter: HCAs in sysfs, pods with network namespaces, and who tells of them.

HCAs are copies of a recorded one (tests/fleet/nodes). The runtime and the kubelet are played: they speak gRPC on Unix
sockets, with messages of the size that a node full of pods of vLLM has. Needs root, and a mount namespace of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf

RUNTIME, KUBELET = Path("/run/containerd/containerd.sock"), Path("/var/lib/kubelet/pod-resources/kubelet.sock")
CONTAINERS = 2
_NEW_NET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _frame(kind: int, flags: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + b"\0\0\0\1" + payload


def _answered(message: bytes) -> bytes:
    """An answer of gRPC in HTTP/2: headers, data in frames of at most 16 KiB, trailers."""
    body = b"\0" + len(message).to_bytes(4, "big") + message
    parts = [body[at : at + 16384] for at in range(0, len(body), 16384)]
    settings = b"\0\0\0\4\0\0\0\0\0"
    return settings + _frame(1, 4, b"\x88") + b"".join(_frame(0, 0, part) for part in parts) + _frame(1, 5, b"\x88")


class Played:
    """A server on a Unix socket: ``answer`` takes what a client has sent."""

    def __init__(self, path: Path, answer: Callable[[bytes], bytes]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        self._socket.listen(16)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection = self._socket.accept()[0]
            with connection:
                connection.sendall(_answered(self._answer(connection.recv(1 << 16))))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass


def _text(number: int, value: str) -> bytes:
    return protobuf.text_field(number, value)


def _map(number: int, values: dict[str, str]) -> bytes:
    return b"".join(protobuf.bytes_field(number, _text(1, key) + _text(2, value)) for key, value in values.items())


LABELS = {f"app.kubernetes.io/{n}": f"value-of-a-usual-length-{n}" for n in range(8)}
NOTES = {f"example.com/annotation-{n}": "x" * 200 for n in range(6)}


def _metadata(name: str, more: bytes = b"") -> bytes:
    return protobuf.bytes_field(2, _text(1, name) + more)


def sandboxes(pods: int) -> bytes:
    return b"".join(
        protobuf.bytes_field(
            1,
            _text(1, f"{n:064x}")
            + _metadata(f"vllm-{n}", _text(2, "uid") + _text(3, "llm"))
            + _map(5, {**LABELS, **NOTES}),
        )
        for n in range(pods)
    )


def containers(pods: int) -> bytes:
    return b"".join(
        protobuf.bytes_field(
            1,
            _text(1, f"{c:032x}{n:032x}")
            + _text(2, f"{n:064x}")
            + protobuf.bytes_field(3, _text(1, f"container-{c}"))
            + protobuf.number_field(6, 1)
            + _map(8, LABELS)
            + _map(9, NOTES),
        )
        for n in range(pods)
        for c in range(CONTAINERS)
    )


def _information(request: bytes, hcas: int) -> bytes:
    """Verbose information of about 20 KiB, as containerd's is."""
    number = int(request.split(b"\x0a\x40", 1)[1][32:64], 16)
    devices = [{"path": f"/dev/infiniband/uverbs{number % hcas}", "major": 231, "minor": 192 + number % hcas}]
    spec = {
        "process": {"env": [f"SERVICE_{n}_PORT=tcp://10.96.0.{n}:80" for n in range(200)]},
        "mounts": [{"destination": f"/data/{n}", "source": f"/var/lib/kubelet/{n}" * 4} for n in range(60)],
        "linux": {
            "namespaces": [{"type": "pid"}, {"type": "network", "path": f"/run/netns/cni-{number}"}],
            "devices": devices,
        },
    }
    return _map(2, {"info": json.dumps({"pid": 1, "config": {}, "runtimeSpec": spec})})


def runtime(pods: int, hcas: int) -> Callable[[bytes], bytes]:
    lists = {b"ListPodSandbox": sandboxes(pods), b"ListContainers": containers(pods)}

    def answer(request: bytes) -> bytes:
        return next((listed for name, listed in lists.items() if name in request), None) or _information(request, hcas)

    return answer


def kubelet(pods: int) -> Callable[[bytes], bytes]:
    def claimed(n: int, c: int) -> bytes:
        device = _text(2, "dra.net") + _text(3, "node") + _text(4, f"pci-0000-{n % 16:02x}-00-0")
        resource = _text(2, f"vllm-{n}-nic-{c}") + _text(3, "llm") + protobuf.bytes_field(4, device)
        return protobuf.bytes_field(3, _text(1, f"container-{c}") + protobuf.bytes_field(5, resource))

    listed = b"".join(
        protobuf.bytes_field(
            1, _text(1, f"vllm-{n}") + _text(2, "llm") + b"".join(claimed(n, c) for c in range(CONTAINERS))
        )
        for n in range(pods)
    )
    return lambda _request: listed


def netns(pods: int) -> None:
    """A network namespace for each pod, mounted where a runtime mounts it."""
    directory = Path("/run/netns")
    directory.mkdir(exist_ok=True)
    for number in range(pods):
        path = directory / f"cni-{number}"
        path.touch()
        if not os.fork():
            # It ends at once; the mount keeps the namespace.
            failed = _libc.unshare(_NEW_NET) or _libc.mount(b"/proc/self/ns/net", bytes(path), None, 4096, None)
            os._exit(1 if failed else 0)
        if os.wait()[1]:
            raise SystemExit(f"{path}: no network namespace")


def hcas(recorded: Path, root: Path, number: int) -> None:
    """A tree with so many HCAs, as ``/sys`` has it: those of a recorded node, and copies of them on their functions."""
    shutil.copytree(recorded / "sys", root, symlinks=True)
    base = root / "class/infiniband"
    names = sorted(os.listdir(base))
    for place in range(len(names), number):
        source = (base / names[place % len(names)]).resolve()
        shutil.copytree(source, source.parent / f"mlx5_{place}", symlinks=True)
        beside = (source.parent / f"mlx5_{place}").relative_to(root)
        (base / f"mlx5_{place}").symlink_to(Path("../..") / beside)


def mount(what: str, where: str, *options: str) -> None:
    subprocess.run(["mount", *options, what, where], check=True)
