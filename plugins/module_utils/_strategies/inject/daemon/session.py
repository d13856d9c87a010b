# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin's side of one connection to a runtime: bytes in, bytes out.

It registers, and is then called; NRI's order is that of containerd/nri 0.12, pkg/adaptation/plugin.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterator, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import messages, ttrpc
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import (
    Adjustment,
    Container,
    Pod,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.ttrpc import Call, Message
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.protobuf import ProtobufError

_SERVICE = "nri.pkg.api.v1alpha1."
# Bits of the events that the plugin wants, CREATE_CONTAINER alone (api.proto, Event).
_EVENTS = 1 << (4 - 1)
_STREAM = 1


class RegistrationError(Exception):
    """The runtime rejects the plugin."""


class InjectionRefusedError(Exception):
    """A container must not be created. The text is for whoever reads the events of its pod."""


@dataclass(frozen=True)
class Runtime:
    """Name and version that the container runtime reports."""

    name: str
    version: str


class Session:
    """One connection, from registration to its end.

    ``adjust`` is asked about each container. What it raises, other than InjectionRefusedError, is given to ``failed``,
    and the container is created without devices.
    """

    def __init__(
        self,
        name: str,
        index: str,
        adjust: Callable[[Pod, Container], Adjustment],
        failed: Callable[[Exception], None],
    ) -> None:
        self._name, self._index, self._adjust, self._failed = name, index, adjust, failed
        self._reader = ttrpc.Reader()
        self.runtime: Optional[Runtime] = None
        self.registered = False
        self.over = False

    def begin(self) -> bytes:
        """The first message to send."""
        wish = protobuf.text_field(1, self._name) + protobuf.text_field(2, self._index)
        request = Call(_SERVICE + "Runtime", "RegisterPlugin", wish)
        return Message(ttrpc.TO_RUNTIME, _STREAM, ttrpc.REQUEST, request.encoded()).encoded()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The answers to what has come, each to be sent before the next. Raises RegistrationError and WireError."""
        return (answer for message in self._reader.feed(data) for answer in self._answers(message))

    def _answers(self, message: Message) -> List[bytes]:
        if message.connection == ttrpc.TO_RUNTIME:
            self._heard(message)
            return []
        if message.kind != ttrpc.REQUEST:
            return []
        reply = Message(ttrpc.TO_PLUGIN, message.stream, ttrpc.RESPONSE, self._reply(message.payload))
        return [reply.encoded()]

    def _heard(self, message: Message) -> None:
        if message.kind != ttrpc.RESPONSE or message.stream != _STREAM:
            return
        try:
            error = ttrpc.error_of(message.payload)
        except ProtobufError as wrong:
            raise RegistrationError(f"the runtime's answer is invalid: {wrong}") from wrong
        if error:
            raise RegistrationError(error)

    def _reply(self, payload: bytes) -> bytes:
        try:
            call = ttrpc.call(payload)
            methods = {
                "Configure": self._configure,
                "Synchronize": self._synchronize,
                "CreateContainer": self._create,
                "Shutdown": self._shutdown,
            }
            if call.service != _SERVICE + "Plugin" or call.method not in methods:
                return ttrpc.failure(ttrpc.UNIMPLEMENTED, f"{call.service}/{call.method}")
            return ttrpc.answer(methods[call.method](call.payload))
        except ProtobufError as error:
            return ttrpc.failure(ttrpc.INVALID_ARGUMENT, str(error))
        except InjectionRefusedError as refusal:
            return ttrpc.failure(ttrpc.FAILED_PRECONDITION, str(refusal))

    def _configure(self, message: bytes) -> bytes:
        self.runtime = Runtime(protobuf.text(message, 2), protobuf.text(message, 3))
        return protobuf.number_field(2, _EVENTS)

    def _synchronize(self, message: bytes) -> bytes:
        # Containers that run already stay as they are.
        more = protobuf.integer(message, 3)
        self.registered = self.registered or not more
        return protobuf.number_field(2, more)

    def _create(self, message: bytes) -> bytes:
        pod, container = messages.created(message)
        try:
            return self._adjust(pod, container).encoded()
        except InjectionRefusedError:
            raise
        except Exception as error:  # pylint: disable=broad-except
            # A fault here must not keep pods from starting.
            self._failed(error)
            return b""

    def _shutdown(self, _message: bytes) -> bytes:
        self.over = True
        return b""
