# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The plugin's side of NRI as bytes. What the runtime sends is made here as api.proto and ttrpc's PROTOCOL.md say."""

from __future__ import annotations

import random
import struct

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import messages, ttrpc
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import (
    Adjustment,
    Container,
    Node,
    Pod,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.session import (
    InjectionRefusedError,
    RegistrationError,
    Session,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.protobuf import bytes_field, text_field

PLUGIN = "nri.pkg.api.v1alpha1.Plugin"
POD = (
    text_field(2, "vllm-0")
    + text_field(4, "llm")
    + bytes_field(6, text_field(1, "a") + text_field(2, "b"))
    + bytes_field(6, text_field(1, "empty"))
    + bytes_field(8, bytes_field(5, text_field(1, "pid")) + bytes_field(5, text_field(1, "network")))
)
CONTAINER = (
    text_field(3, "main")
    + text_field(8, "A=b=c")
    + text_field(8, "NVIDIA_VISIBLE_DEVICES=0")
    + bytes_field(9, text_field(1, "/data"))
    + bytes_field(11, bytes_field(2, text_field(1, "/dev/nvidia0")))
    + bytes_field(20, text_field(1, "nvidia.com/gpu=1"))
)
CREATE = bytes_field(1, POD) + bytes_field(2, CONTAINER)
SYNCHRONIZE = bytes_field(1, POD)


def request(method, payload, stream=1, service=PLUGIN):
    call = ttrpc.Call(service, method, payload)
    return ttrpc.Message(ttrpc.TO_PLUGIN, stream, ttrpc.REQUEST, call.encoded()).encoded()


def answers(session, data):
    """The payloads of the answers by stream, each with its error."""
    found = {}
    for raw in session.feed(data):
        (message,) = ttrpc.Reader().feed(raw)
        assert (message.connection, message.kind) == (ttrpc.TO_PLUGIN, ttrpc.RESPONSE)
        found[message.stream] = (protobuf.submessage(message.payload, 2), ttrpc.error_of(message.payload))
    return found


@pytest.fixture
def seen():
    return []


@pytest.fixture
def session(seen):
    def adjust(pod, container):
        seen.append((pod, container))
        if pod.name == "refused":
            raise InjectionRefusedError("no NIC is left")
        if pod.name == "broken":
            raise KeyError("a fault")
        return Adjustment([Node("/dev/infiniband/uverbs0", 231, 192)], {"UCX_NET_DEVICES": "mlx5_0:1"}, -1)

    return Session("zerocopy-rdma", "10", adjust, seen.append)


def test_what_it_sends_first(session):
    (message,) = ttrpc.Reader().feed(session.begin())
    call = ttrpc.call(message.payload)
    assert (message.connection, message.kind) == (2, 1)
    assert (call.service, call.method) == ("nri.pkg.api.v1alpha1.Runtime", "RegisterPlugin")
    assert list(protobuf.fields(call.payload)) == [(1, b"zerocopy-rdma"), (2, b"10")]


def test_it_is_registered_when_all_has_been_synchronized(session):
    configure = text_field(1, "") + text_field(2, "containerd") + text_field(3, "v2.4.2")
    answer, error = answers(session, request("Configure", configure))[1]
    # The bit of CREATE_CONTAINER.
    assert (list(protobuf.fields(answer)), error) == ([(2, 8)], "")
    assert (session.runtime.name, session.runtime.version) == ("containerd", "v2.4.2")
    more = answers(session, request("Synchronize", SYNCHRONIZE + protobuf.number_field(3, 1)))
    assert (more, session.registered) == ({1: (protobuf.number_field(2, 1), "")}, False)
    assert answers(session, request("Synchronize", SYNCHRONIZE)) == {1: (b"", "")}
    assert session.registered
    assert not session.over
    answers(session, request("Shutdown", b""))
    assert session.over


def test_a_container_is_read_and_adjusted_as_nri_says(session, seen):
    answer, error = answers(session, request("CreateContainer", CREATE, stream=7))[7]
    pod = Pod("vllm-0", "llm", {"a": "b", "empty": ""}, False)
    environment = {"A": "b=c", "NVIDIA_VISIBLE_DEVICES": "0"}
    assert seen == [(pod, Container("main", environment, ["/dev/nvidia0"], ["nvidia.com/gpu=1"], ["/data"]))]
    assert error == ""
    adjust = protobuf.submessage(answer, 1)
    assert [number for number, _value in protobuf.fields(adjust)] == [4, 6, 7]
    device = dict(protobuf.fields(protobuf.submessage(protobuf.submessage(adjust, 6), 1)))
    assert (device[1], device[2], device[3], device[4]) == (b"/dev/infiniband/uverbs0", b"c", 231, 192)
    variable = dict(protobuf.fields(protobuf.submessage(adjust, 4)))
    assert variable == {1: b"UCX_NET_DEVICES", 2: b"mlx5_0:1"}
    limit = dict(protobuf.fields(protobuf.submessage(adjust, 7)))
    assert limit == {1: b"RLIMIT_MEMLOCK", 2: 2**64 - 1, 3: 2**64 - 1}


def test_a_pod_without_a_network_namespace_is_on_the_host_network():
    pod = text_field(2, "p") + bytes_field(8, bytes_field(5, text_field(1, "pid")))
    assert messages.created(bytes_field(1, pod))[0].host_network
    # Nothing is known of this one.
    assert not messages.created(bytes_field(1, text_field(2, "p")))[0].host_network


def test_what_nothing_is_changed_in_has_an_empty_answer():
    assert Adjustment().encoded() == b""


def test_a_refusal_is_an_error_and_a_fault_is_none(session, seen):
    refused = bytes_field(1, text_field(2, "refused")) + bytes_field(2, CONTAINER)
    broken = bytes_field(1, text_field(2, "broken")) + bytes_field(2, CONTAINER)
    found = answers(session, request("CreateContainer", refused, 1) + request("CreateContainer", broken, 3))
    assert found == {1: (b"", "no NIC is left"), 3: (b"", "")}
    assert isinstance(seen[-1], KeyError)


@pytest.mark.parametrize(
    "call", [request("StateChange", b""), request("CreateContainer", CREATE, service="some.Other"), request("", b"")]
)
def test_what_it_does_not_know_is_answered(session, seen, call):
    answer, error = answers(session, call)[1]
    assert (answer, bool(error), seen) == (b"", True, [])


def test_a_runtime_that_does_not_take_it(session):
    message = ttrpc.Message(ttrpc.TO_RUNTIME, 1, ttrpc.RESPONSE, ttrpc.failure(2, "invalid plugin index"))
    with pytest.raises(RegistrationError, match="invalid plugin index"):
        list(session.feed(message.encoded()))


def test_bytes_may_come_in_any_portions_and_frames(session, seen):
    whole = request("CreateContainer", CREATE, 5)
    content = whole[8:]
    # NRI's multiplexer may cut a message into frames.
    frames = b"".join(struct.pack(">II", 1, len(part)) + part for part in (content[:7], content[7:30], content[30:]))
    for byte in frames[:-1]:
        assert list(session.feed(bytes([byte]))) == []
    assert len(list(session.feed(frames[-1:]))) == 1
    assert len(seen) == 1


@pytest.mark.parametrize("frame", [struct.pack(">II", 1, 1 << 30), struct.pack(">II", 1, 10) + b"\xff" * 10])
def test_lengths_beyond_the_protocols_end_the_connection(session, frame):
    with pytest.raises(ttrpc.WireError):
        list(session.feed(frame))


def test_what_is_for_no_connection_of_ours_is_dropped():
    reader = ttrpc.Reader()
    # The beginning of a message: its rest would be waited for on each of them.
    for connection in (0, 3, 2**32 - 1):
        assert list(reader.feed(struct.pack(">II", connection, 20) + struct.pack(">IIBB", 4 << 20, 1, 1, 0) * 2)) == []
    assert set(reader._by_connection) == {ttrpc.TO_PLUGIN, ttrpc.TO_RUNTIME}


@pytest.mark.parametrize("seed", range(20))
def test_mutated_messages_are_answered_or_end_the_connection(seed):
    """Every request whose frame and header are whole gets exactly one answer, whatever its payload says."""
    chance = random.Random(seed)
    for _count in range(100):
        asked = chance.choice(
            [CREATE, SYNCHRONIZE, ttrpc.Call(PLUGIN, "CreateContainer", CREATE).encoded(), CREATE[: len(CREATE) // 2]]
        )
        raw = bytearray(asked)
        for _change in range(chance.randint(1, 6)):
            place = chance.randrange(len(raw))
            what = chance.randrange(3)
            if what == 0:
                raw[place] = chance.randrange(256)
            elif what == 1:
                del raw[place : place + chance.randint(1, 9)]
            else:
                raw[place:place] = bytes(chance.randrange(256) for _byte in range(chance.randint(1, 9)))
            if not raw:
                raw = bytearray(b"\0")
        session = Session("n", "10", lambda _pod, _container: Adjustment(), lambda _error: None)
        payload = bytes(raw)
        whole = ttrpc.Call(PLUGIN, chance.choice(["CreateContainer", "Synchronize", "Configure"]), payload).encoded()
        for content in (payload, whole):
            message = ttrpc.Message(ttrpc.TO_PLUGIN, 9, ttrpc.REQUEST, content)
            assert len(answers(session, message.encoded())) == 1
