# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Other network namespaces, on the running kernel, in a process of their own."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import claims, look, namespaces, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import Known, Look
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Container, Pod, Pods
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import need_root

_NEW_NET = 0x40000000


def apart(act: Callable[[], Any]) -> Any:
    """What ``act`` returns in a process of its own, whose namespaces nobody else has."""
    reading, writing = os.pipe()
    if not os.fork():
        try:
            found: Any = act()
        except BaseException as error:
            found = repr(error)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(found, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pickle.load(pipe)
    os.wait()
    return found


@contextlib.contextmanager
def pod() -> Iterator[str]:
    """The path of a network namespace that a process holds, as a pod's sandbox does."""
    need_root()
    ready, told = os.pipe()
    held, release = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(release)
        ctypes.CDLL(None).unshare(_NEW_NET)
        os.write(told, b"1")
        os.read(held, 1)
        os._exit(0)
    os.read(ready, 1)
    try:
        yield f"/proc/{pid}/ns/net"
    finally:
        for descriptor in (ready, told, held, release):
            os.close(descriptor)
        os.waitpid(pid, 0)


def test_a_namespace_is_entered_and_left() -> None:
    with pod() as path:

        def act() -> Any:
            entering = namespaces.Namespaces()
            before = namespaces.inode("/proc/self/ns/net")
            with entering.inside(path):
                inside = namespaces.inode("/proc/self/ns/net")
                names = [link.name for link in namespaces.links()]
                with entering.sysfs():
                    shown = Tree("/").names("sys/class/net")
                again = Path("/sys/class/net").is_dir()
            return (
                inside == namespaces.inode(path),
                before == namespaces.inode("/proc/self/ns/net"),
                names,
                shown,
                again,
            )

        entered, left, names, shown, again = apart(act)
    # Some kernels have further netdevs in every namespace, for tunnels, which have an address in none.
    assert (entered, left, again) == (True, True, True)
    assert "lo" in names
    assert sorted(name for name in shown if name != "bonding_masters") == sorted(names)


def test_what_is_no_namespace_is_an_error(tmp_path: Path) -> None:
    need_root()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def act() -> Any:
        entering = namespaces.Namespaces()
        found = []
        for path in (str(fifo), str(tmp_path / "none"), "/proc/self/ns/uts"):
            try:
                with entering.inside(path):
                    found.append("entered")
            except OSError:
                found.append("refused")
        return found

    assert apart(act) == ["refused"] * 3


def test_a_look_enters_the_namespaces_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    with pod() as path:
        inode = namespaces.inode(path)
        listed = Pods({"s": Pod("vllm-0", "llm", path, inode)}, {"c": Container("main", "s", ("231:192",))}, 0)
        # A name that leads to another namespace by now, and one that leads nowhere.
        gone = {"t": Pod("old", "llm", path, 7), "u": Pod("older", "llm", "/run/netns/cni-none", 8)}
        monkeypatch.setattr(pods, "find", lambda _sockets: "/run/cri.sock")
        monkeypatch.setattr(pods, "read", lambda _path, _before: listed._replace(pods={**listed.pods, **gone}))
        monkeypatch.setattr(claims, "read", lambda: {("llm", "vllm-0", "main"): [claims.Claimed("nic", "d", "p", "e")]})

        def act() -> Any:
            said: Any = []
            Look(Configuration(directory="/d"), Known("/"), said.append, {"hca:mlx5_0"}).run()
            return said

        said = apart(act)
    assert isinstance(said, list), said
    begun = [message[1] for message in said if message[0] == "begin"]
    assert begun[:3] == [look.RUNTIME, look.KUBELET, look.HOST]
    assert f"netns:{inode}" in begun
    assert [message[1] for message in said if message[0] == "error"] == []
    heard = Known("/")
    for message in said:
        if message[0] not in ("begin", "end"):
            # As it comes out of the pipe.
            heard.heard(json.loads(json.dumps(message)))
    assert heard.pods.pods["s"] == listed.pods["s"]
    assert heard.pods.containers == listed.containers
    assert heard.claims == {("llm", "vllm-0", "main"): [claims.Claimed("nic", "d", "p", "e")]}
