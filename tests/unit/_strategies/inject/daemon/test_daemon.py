# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The daemon on a recorded node, asked over its socket as a runtime does; what is asked may be damaged."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import (
    configuration,
    daemon,
    hardware,
    messages,
    ttrpc,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.protobuf import bytes_field, text_field
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.systemd import notify
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    as_nobody,
    within_reach,
)

PLUGIN = "nri.pkg.api.v1alpha1.Plugin"
# Far above what a slow machine needs: until then a test waits for what does not come.
SECONDS = 120
NETWORK = bytes_field(5, text_field(1, "network"))


def create(annotations: Dict[str, str], visible: str, linux: bytes = b"") -> bytes:
    """A CreateContainerRequest for a pod with a network of its own."""
    noted = (bytes_field(6, text_field(1, key) + text_field(2, value)) for key, value in annotations.items())
    pod = text_field(2, "p") + text_field(4, "llm") + b"".join(noted) + bytes_field(8, NETWORK)
    variables = [text_field(8, f"NVIDIA_VISIBLE_DEVICES={visible}")] if visible else []
    container = b"".join([text_field(3, "main"), *variables, bytes_field(11, linux)])
    return bytes_field(1, pod) + bytes_field(2, container)


ASKING = create({"rdma.zerocopy.io/nics": "nearest"}, "0,3")
VALID = (
    ASKING,
    create({"rdma.zerocopy.io/nics.main": "mlx5_1,mlx5_2"}, ""),
    create({"devices.noderesource.dev/pod": '[{"path": "/dev/infiniband/uverbs5"}]'}, "GPU-0"),
    create({"devices.nri.io/container.main": "- path: /dev/infiniband/uverbs5\n  type: c\n"}, "MIG-1,all"),
    create({}, "", bytes_field(2, text_field(1, "/dev/nvidia3"))),
)


def request(method: str, payload: bytes, stream: int = 1) -> bytes:
    call = ttrpc.Call(PLUGIN, method, payload)
    return ttrpc.Message(ttrpc.TO_PLUGIN, stream, ttrpc.REQUEST, call.encoded()).encoded()


class Connection:
    """The runtime's end of a connection with the daemon."""

    def __init__(self, ours: socket.socket) -> None:
        ours.settimeout(SECONDS)
        self.socket, self._reader = ours, ttrpc.Reader()
        self._waiting: List[ttrpc.Message] = []

    def message(self) -> Optional[ttrpc.Message]:
        """The next one, ``None`` at the end."""
        while not self._waiting:
            data = self.socket.recv(1 << 16)
            if not data:
                return None
            self._waiting += self._reader.feed(data)
        return self._waiting.pop(0)

    def register(self) -> Connection:
        asked = self.message()
        assert asked is not None
        assert asked.connection == ttrpc.TO_RUNTIME
        taken = ttrpc.Message(ttrpc.TO_RUNTIME, asked.stream, ttrpc.RESPONSE, ttrpc.answer(b""))
        self.socket.sendall(taken.encoded())
        for method in ("Configure", "Synchronize"):
            assert self.ask(method, text_field(2, "containerd"))[1] == ""
        return self

    def ask(self, method: str, payload: bytes, stream: int = 1) -> Any:
        self.socket.sendall(request(method, payload, stream))
        told = self.message()
        assert told is not None
        assert (told.connection, told.stream, told.kind) == (ttrpc.TO_PLUGIN, stream, ttrpc.RESPONSE)
        return protobuf.submessage(told.payload, 2), ttrpc.error_of(told.payload)

    def devices(self, payload: bytes = ASKING) -> List[str]:
        answer, error = self.ask("CreateContainer", payload)
        assert error == ""
        linux = protobuf.submessage(protobuf.submessage(answer, 1), 6)
        return [protobuf.text(device, 1).rpartition("/")[2] for device in protobuf.submessages(linux, 1)]


class Machine:
    """A node with a daemon, and the socket of a runtime."""

    def __init__(self, root: Path, directory: Path, metrics: Optional[Path] = None) -> None:
        self.socket, self.status = directory / "nri.sock", directory / "status.json"
        self.metrics = (metrics or directory) / "m.prom"
        self.config: Dict[str, Any] = {"socket": str(self.socket), "metrics": str(self.metrics)}
        self._theirs, self._wake = socket.socketpair()
        self._asked: List[str] = []
        self.ready = threading.Event()
        self.server = socket.socket(socket.AF_UNIX)
        self.server.settimeout(SECONDS)
        served = daemon.InjectDaemon(self._load, str(root), str(self.status), self._wake, self._asked.pop)
        self.thread = threading.Thread(target=served.run, args=(self.ready.set,), daemon=True)

    def _load(self) -> configuration.Configuration:
        return configuration.read(json.dumps(self.config), {}, {})

    def listen(self) -> None:
        self.server.bind(str(self.socket))
        self.server.listen()

    def accept(self) -> Connection:
        return Connection(self.server.accept()[0])

    def tell(self, what: str) -> None:
        self._asked.append(what)
        self._theirs.sendall(b"\0")

    def said(self, **wanted: Any) -> Dict[str, Any]:
        """What its status says as soon as it says this."""
        end = time.monotonic() + SECONDS
        found: Dict[str, Any] = {}
        while time.monotonic() < end:
            found = json.loads(self.status.read_text()) if self.status.exists() else {}
            if all(found.get(key) == value for key, value in wanted.items()):
                return found
            time.sleep(0.01)
        raise AssertionError(f"{wanted} is not in {found}")

    def stop(self) -> None:
        self.tell("stop")
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


@pytest.fixture
def machine(root_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setattr(daemon, "_SOON", 0.01)
    monkeypatch.setattr(daemon, "_LATE", 0.01)
    found = Machine(root_of("h100-01"), tmp_path)
    yield found
    if found.thread.is_alive():
        found.stop()
    found.server.close()


def test_who_starts_after_it_finds_it_registered(machine: Machine) -> None:
    machine.listen()
    machine.thread.start()
    connection = machine.accept()
    # It has sent its name, and waits for the runtime.
    asked = connection.message()
    assert asked is not None
    assert not machine.ready.is_set()
    taken = ttrpc.Message(ttrpc.TO_RUNTIME, asked.stream, ttrpc.RESPONSE, ttrpc.answer(b""))
    connection.socket.sendall(taken.encoded())
    connection.ask("Configure", text_field(2, "containerd"))
    connection.ask("Synchronize", b"")
    assert machine.ready.wait(SECONDS)
    assert connection.devices() == ["uverbs0", "uverbs3", "rdma_cm"]


class SlowLooks(NamedTuple):
    threads: List[threading.Thread]
    begun: threading.Event
    done: threading.Event


@pytest.fixture(name="looks")
def make_looks(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> SlowLooks:
    """Looks at all of the node that last until the test ends them."""
    renew, looks = hardware.Watched.renew, SlowLooks([], threading.Event(), threading.Event())

    def slow(watched: hardware.Watched) -> hardware.Hardware:
        if threading.current_thread() is not machine.thread:
            looks.threads.append(threading.current_thread())
            looks.begun.set()
            assert looks.done.wait(SECONDS)
        return renew(watched)

    monkeypatch.setattr(hardware.Watched, "renew", slow)
    monkeypatch.setattr(daemon, "_RENEW", 0.0)
    machine.listen()
    machine.thread.start()
    return looks


def test_a_look_at_all_keeps_nobody_waiting(machine: Machine, looks: SlowLooks) -> None:
    connection = machine.accept().register()
    assert looks.begun.wait(SECONDS)
    assert connection.devices() == ["uverbs0", "uverbs3", "rdma_cm"]
    looks.done.set()


def test_a_look_of_an_old_configuration_is_forgotten(
    machine: Machine, looks: SlowLooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = machine.accept().register()
    assert looks.begun.wait(SECONDS)
    monkeypatch.setattr(daemon, "_RENEW", 1000.0)
    machine.config["exclude"] = ["mlx5_0"]
    loaded = machine.said()["loaded"]
    machine.tell("reload")
    while machine.said()["loaded"] == loaded:
        connection.ask("CreateContainer", create({}, ""))
    looks.done.set()
    looks.threads[0].join(SECONDS)
    # Its status is due now, so it is written before the second answer.
    for _answer in range(2):
        connection.ask("CreateContainer", create({}, ""))
    assert "mlx5_0" not in machine.said()["hcas"]


def test_what_changes_is_read_before_anybody_asks(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, root_of: Callable[[str], Path]
) -> None:
    monkeypatch.setattr(daemon, "_BEAT", 0.01)
    state = root_of("h100-01") / "sys/class/infiniband/mlx5_5/ports/1/state"
    before = state.read_text()
    machine.thread.start()
    assert machine.ready.wait(SECONDS)
    end = time.monotonic() + SECONDS
    try:
        state.write_text("1: DOWN\n")
        while machine.said()["hcas"]["mlx5_5"]["state"] != "DOWN":
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        state.write_text(before)


def test_nobody_waits_for_a_runtime_without_nri(machine: Machine) -> None:
    machine.thread.start()
    assert machine.ready.wait(SECONDS)
    machine.listen()
    assert machine.accept().register().devices()


def test_it_comes_back_after_each_end_and_refusal(machine: Machine) -> None:
    machine.listen()
    machine.thread.start()
    machine.accept().register().socket.close()
    # A runtime that does not take it, and one that hangs up at once.
    refusing = machine.accept()
    asked = refusing.message()
    assert asked is not None
    refusal = ttrpc.Message(ttrpc.TO_RUNTIME, asked.stream, ttrpc.RESPONSE, ttrpc.failure(2, "no"))
    refusing.socket.sendall(refusal.encoded())
    assert refusing.message() is None
    machine.accept().socket.close()
    assert machine.accept().register().devices()


def test_an_answer_that_nobody_takes_is_no_injection(machine: Machine) -> None:
    machine.listen()
    machine.thread.start()
    connection = machine.accept().register()
    # As a runtime does whose patience has ended.
    connection.socket.shutdown(socket.SHUT_RD)
    connection.socket.sendall(request("CreateContainer", ASKING))
    again = machine.accept().register()
    again.devices()
    assert machine.said(late=1, injected=1)["refused"] == 0


def test_systemd_hears_that_it_is_ready_and_alive(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(machine.socket.with_name("notify.sock"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(SECONDS)
        systemd.bind(path)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        notify("READY=1")
        assert systemd.recv(100) == b"READY=1"
        machine.thread.start()
        assert systemd.recv(100) == b"WATCHDOG=1"
    # It does not end with systemd's socket.
    machine.listen()
    assert machine.accept().register().devices()


def test_metrics_end_with_the_daemon_and_with_the_configuration(machine: Machine) -> None:
    machine.listen()
    machine.thread.start()
    connection = machine.accept().register()
    connection.devices()
    machine.said(injected=1)
    # The metrics are written after the status.
    connection.devices()
    machine.said(injected=2)
    assert 'containers_total{result="injected"}' in machine.metrics.read_text()
    other = machine.metrics.with_name("other.prom")
    machine.config["metrics"] = str(other)
    machine.tell("reload")
    connection.devices()
    machine.said(injected=3)
    assert not machine.metrics.exists()
    machine.stop()
    assert not other.exists()


def mutated(chance: random.Random, whole: bytes) -> bytes:
    raw = bytearray(whole)
    for _change in range(chance.randint(1, 5)):
        place, what = chance.randrange(len(raw) + 1), chance.randrange(4)
        if what == 0 and place < len(raw):
            raw[place] = chance.randrange(256)
        elif what == 1:
            del raw[place : place + chance.randint(1, 9)]
        elif what == 2:
            raw[place:place] = chance.randbytes(chance.randint(1, 9))
        else:
            raw[place:place] = raw[: chance.randrange(len(raw) + 1)]
    return bytes(raw)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_messages_are_answered_and_never_end_it(machine: Machine, seed: int) -> None:
    """A request in a whole frame has exactly one answer, and other containers are served after each."""
    chance = random.Random(seed)
    machine.listen()
    machine.thread.start()
    connection = machine.accept().register()
    for stream in range(1, 121, 2):
        payload = mutated(chance, chance.choice(VALID))
        call = ttrpc.Call(PLUGIN, chance.choice(["CreateContainer", "CreateContainer", "Synchronize"]), payload)
        content = call.encoded() if chance.random() < 0.7 else mutated(chance, call.encoded())
        connection.socket.sendall(ttrpc.Message(ttrpc.TO_PLUGIN, stream, ttrpc.REQUEST, content).encoded())
        told = connection.message()
        if told is None:
            # A mutation that asks it to end (Shutdown): it comes back.
            connection = machine.accept().register()
            continue
        assert (told.stream, told.kind) == (stream, ttrpc.RESPONSE)
        assert connection.devices() == ["uverbs0", "uverbs3", "rdma_cm"]
    machine.said(registered=True)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_frames_end_no_more_than_the_connection(machine: Machine, seed: int) -> None:
    chance = random.Random(seed)
    machine.listen()
    machine.thread.start()
    for _connection in range(15):
        connection = machine.accept()
        if chance.random() < 0.8:
            connection.register()
        frames = b"".join(request("CreateContainer", chance.choice(VALID), stream) for stream in (1, 3, 5))
        connection.socket.sendall(mutated(chance, frames))
        # Without the end, it would rightly wait for the rest of what a length announces.
        connection.socket.shutdown(socket.SHUT_WR)
        while connection.message():
            pass
        connection.socket.close()
    assert machine.accept().register().devices() == ["uverbs0", "uverbs3", "rdma_cm"]


def test_the_longest_message_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod's owner decides on the number of variables: what it costs is in proportion to that."""
    read = protobuf._varint
    count = 0

    def counted(message: bytes, at: int) -> Any:
        nonlocal count
        count += 1
        return read(message, at)

    monkeypatch.setattr(protobuf, "_varint", counted)
    variables = 10000
    messages.created(bytes_field(2, text_field(8, "A=1") * variables))
    # Number and length of each field.
    assert count <= 2 * variables + 10


def test_a_refusal_is_no_longer_than_anybody_reads(machine: Machine) -> None:
    machine.listen()
    machine.thread.start()
    connection = machine.accept().register()
    asked = {"rdma.zerocopy.io/nics": ",".join(f"mlx5_{number}" for number in range(20000))}
    unknown = create({"rdma.zerocopy.io/nics": "nearest"}, "GPU" * 50000)
    for payload, end in ((create(asked, ""), " ..."), (unknown, "in the annotation rdma.zerocopy.io/nics instead")):
        answer, error = connection.ask("CreateContainer", payload)
        assert answer == b""
        assert error.startswith("no RDMA devices for llm/p, container main: rdma.zerocopy.io/nics: ")
        assert len(error) < 1100
        assert error.endswith(end)


def test_annotations_of_any_depth_say_nothing(machine: Machine) -> None:
    machine.listen()
    machine.thread.start()
    connection = machine.accept().register()
    deep = create({"devices.noderesource.dev/pod": "[" * 200000}, "0")
    assert connection.ask("CreateContainer", deep) == (b"", "")
    assert struct.calcsize(">II") + len(deep) < 4 << 20


@pytest.mark.parametrize("name", ["m.prom", "m.prom.tmp"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_the_owner_of_the_directory_of_metrics_gets_no_further(
    root_of: Callable[[str], Path], name: str, kind: str
) -> None:
    with within_reach() as top:
        secret, theirs = top / "secret", top / "exporter"
        secret.write_text("root's\n")
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        machine = Machine(root_of("h100-01"), top, theirs)
        trap = theirs / name
        assert as_nobody(lambda: trap.symlink_to(secret) if kind == "link" else os.mkfifo(trap)) is None
        machine.listen()
        machine.thread.start()
        machine.accept().register()
        machine.said(registered=True)
        machine.stop()
        assert secret.read_text() == "root's\n"
        assert list(theirs.iterdir()) == []
        assert machine.status.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("value", ["hunter2", "0,hunter2", "GPU-hunter2", "nvidia.com/gpu=hunter2"])
def test_what_a_tenant_has_in_the_environment_is_for_nobody_else(
    machine: Machine, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    """Its value may be of a Secret, which those who read events, the status or the log may not see."""
    machine.listen()
    machine.thread.start()
    connection = machine.accept().register()
    _answer, error = connection.ask("CreateContainer", create({"rdma.zerocopy.io/nics": "nearest"}, value))
    assert "of unknown form of the container cannot be identified" in error
    machine.said(refused=1)
    machine.stop()
    for text in (error, machine.status.read_text(), capsys.readouterr().err):
        assert "hunter2" not in text
    assert machine.status.stat().st_mode & 0o777 == 0o600


def test_it_talks_to_no_stranger(root_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is taken for the runtime would hear of it, and could have it answer for pods that do not exist."""
    monkeypatch.setattr(daemon, "_SOON", 0.01)
    with within_reach() as place, socket.socket(socket.AF_UNIX) as theirs:
        place.chmod(0o777)
        machine = Machine(root_of("h100-01"), place)

        def listen() -> None:
            theirs.bind(str(machine.socket))
            theirs.listen()

        assert as_nobody(listen) is None
        theirs.setblocking(False)
        machine.thread.start()
        # It has tried.
        assert machine.ready.wait(SECONDS)
        with pytest.raises(BlockingIOError):
            theirs.accept()
        machine.socket.unlink()
        place.chmod(0o755)
        machine.listen()
        connection = machine.accept().register()
        machine.said(registered=True)
        machine.stop()
        connection.socket.close()
        machine.server.close()


def test_its_log_steers_no_terminal(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    name = "cri\x1b[2J\x9b\u202e\u200b\u2028o"
    machine.listen()
    machine.thread.start()
    connection = machine.accept()
    asked = connection.message()
    assert asked is not None
    taken = ttrpc.Message(ttrpc.TO_RUNTIME, asked.stream, ttrpc.RESPONSE, ttrpc.answer(b""))
    connection.socket.sendall(taken.encoded())
    connection.ask("Configure", text_field(2, name))
    connection.ask("Synchronize", b"")
    machine.said(registered=True)
    machine.stop()
    said = capsys.readouterr().err
    assert {ascii(char) for char in said if not char.isprintable()} == {ascii("\n")}
    names = [(json.loads(line).get("runtime") or {}).get("name") for line in said.splitlines()]
    # As it is, for programs.
    assert name in names
