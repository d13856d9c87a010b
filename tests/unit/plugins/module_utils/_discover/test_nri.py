# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import Callable, Iterator, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import system, unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.system import nri
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import unix_socket
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    as_nobody,
    within_reach,
)

# /proc/net/unix of a guest with containerd 2.1.9 (kernel 7.2).
HEADER = "Num       RefCount Protocol Flags    Type St Inode Path\n"
CONTAINERD = "0000000065e7b5a7: 00000002 00000000 00010000 0001 01  4229 /run/containerd/containerd.sock\n"
LISTENS = "0000000073bc65a0: 00000002 00000000 00010000 0001 01  4225 /var/run/nri/nri.sock\n"
CONNECTED = "00000000a55e9b06: 00000003 00000000 00000000 0001 03  4311 /var/run/nri/nri.sock\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER + CONTAINERD + LISTENS + CONNECTED, True),
        (HEADER + LISTENS.replace("/var/run", "/run"), True),
        (HEADER + CONTAINERD, False),
        (HEADER + CONNECTED, False),
        (HEADER + LISTENS.replace("/var/run/nri", "/elsewhere"), False),
        (HEADER + LISTENS.replace("00010000", "no-number"), False),
        (None, None),
    ],
)
def test_who_listens_on_the_socket_of_nri(tmp_path: Path, text: Optional[str], expected: Optional[bool]) -> None:
    if text is not None:
        (tmp_path / "proc/net").mkdir(parents=True)
        (tmp_path / "proc/net/unix").write_text(text)
    assert nri(Tree(str(tmp_path))) is expected


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of root that everybody may look into, as /run is."""
    with within_reach() as directory:
        yield directory


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as made:
        yield made


def on(path: Path, monkeypatch: pytest.MonkeyPatch) -> List[Optional[bool]]:
    """What facts, the wait for the runtime and the plugin's service take for NRI, if its socket has this path."""
    monkeypatch.setattr(system, "_NRI_SOCKETS", (str(path),))
    return [nri(Tree()), unix_socket.listening(Files(), str(path)), unix_socket.accepts(str(path))]


def listen(server: socket.socket, path: Path) -> Callable[[], None]:
    def begin() -> None:
        server.bind(str(path))
        server.listen()

    return begin


def called(server: socket.socket) -> bool:
    """Whether somebody has connected."""
    server.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        server.accept()[0].close()
        return True
    return False


def test_the_runtimes_socket_is_that_of_root(
    place: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "nri/nri.sock"
    path.parent.mkdir(mode=0o700)
    listen(server, path)()
    assert on(path, monkeypatch) == [True, True, True]
    # By the links of root, such as /var/run.
    (place / "var").symlink_to("nri")
    (place / "run").symlink_to(place / "var")
    with socket.socket(socket.AF_UNIX) as other:
        path.unlink()
        listen(other, place / "run/nri.sock")()
        assert on(place / "run/nri.sock", monkeypatch) == [True, True, True]
    # Nobody listens there any more.
    assert on(place / "run/nri.sock", monkeypatch) == [False, False, False]


def test_a_listener_of_a_local_user_is_not_nri(
    place: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the admin has let the user make it, or where the directory of the runtime is not there."""
    path = place / "nri/nri.sock"
    path.parent.mkdir()
    path.parent.chmod(0o777)
    assert as_nobody(listen(server, path)) is None
    assert (path.stat().st_uid, str(path) in Path("/proc/net/unix").read_text()) == (NOBODY, True)
    assert on(path, monkeypatch) == [False, False, False]
    assert not called(server)


def test_what_a_local_user_puts_in_the_place_of_the_socket_is_not_nri(
    place: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listener is root's; a link to it, a file and nothing at all have taken its name."""
    path, moved = place / "nri/nri.sock", place / "moved.sock"
    path.parent.mkdir()
    listen(server, path)()
    path.rename(moved)
    path.parent.chmod(0o777)
    assert on(path, monkeypatch) == [False, False, False]
    as_nobody(lambda: path.symlink_to(moved))
    assert on(path, monkeypatch) == [False, False, False]
    as_nobody(path.unlink)
    as_nobody(lambda: path.write_text("") and None)
    assert on(path, monkeypatch) == [False, False, False]
    assert not called(server)


@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o1777, True), (0o777, False)])
def test_a_directory_in_which_others_replace_files_holds_nothing_of_root(
    mode: int, trusted: bool, place: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "a/nri/nri.sock"
    path.parent.mkdir(parents=True)
    listen(server, path)()
    path.parent.parent.chmod(mode)
    assert on(path, monkeypatch) == [trusted] * 3


def test_a_name_in_a_file_system_of_ones_own_is_not_nri(
    place: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod with hostNetwork is root in its own files, and the kernel's table has its sockets as well."""
    path, inner = place / "nri.sock", place / "pod"
    (inner / str(place)[1:]).mkdir(parents=True)
    child = os.fork()
    if child == 0:
        try:
            os.chroot(inner)
            listen(server, path)()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert str(path) in Path("/proc/net/unix").read_text()
    assert on(path, monkeypatch) == [False, False, False]
    # An old file of root does not make it one.
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(path))
        assert unix_file.is_bound(str(path))
    assert on(path, monkeypatch) == [False, False, False]
    assert not called(server)


def test_who_may_not_look_cannot_tell(place: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place / "nri/nri.sock"
    path.parent.mkdir(mode=0o700)
    listen(server, path)()
    monkeypatch.setattr(system, "_NRI_SOCKETS", (str(path),))
    assert as_nobody(lambda: nri(Tree())) is None
    path.parent.chmod(0o755)
    path.chmod(0o666)
    assert as_nobody(lambda: nri(Tree())) is True


def test_asking_reaches_nobody(place: Path, server: socket.socket) -> None:
    listen(server, place / "nri.sock")()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(place / "other.sock"))
        assert not unix_file.is_bound(str(place / "other.sock"))
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(1)
    assert unix_file.is_bound(str(place / "nri.sock"))
    assert not called(server)
