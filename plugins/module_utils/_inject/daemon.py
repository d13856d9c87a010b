# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon: connects to the runtime again and again, answers, and reads its configuration when it is told to."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from typing import Callable, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.gather import GatherOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject import adjust, status
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.configuration import (
    Configuration,
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.hardware import Watched
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.messages import Adjustment, Container, Pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.session import (
    InjectionRefusedError,
    RegistrationError,
    Session,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.status import Status
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.ttrpc import WireError

# Seconds until the next try to connect, at first and at most.
_SOON, _LATE = 0.2, 5.0
# Of NRI's own time limit, 2 s by default, for a runtime that does not read.
_SEND_SECONDS = 2.0
_CHUNK = 1 << 16


class Daemon:
    """``wake`` becomes readable when a signal has come; ``asked`` then says which: ``stop``, ``reload`` or nothing."""

    def __init__(
        self,
        load: Callable[[], Configuration],
        root: str,
        status_path: str,
        wake: socket.socket,
        asked: Callable[[], str],
    ) -> None:
        self._load, self._root, self._path = load, root, status_path
        self._wake, self._asked = wake, asked
        self._config = load()
        self._status = Status(since=status.stamp(), loaded=status.stamp())
        self._watched = self._watch()
        self._socket: Optional[socket.socket] = None
        self._session: Optional[Session] = None
        self._wait, self._next = _SOON, 0.0
        self._told = self._unwritable = ""

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until a signal ends it; ``ready`` is called once, when it can be."""
        self._refresh()
        self._tell()
        ready()
        while True:
            sources: List[socket.socket] = [self._wake]
            if self._socket:
                sources.append(self._socket)
            left = None if self._socket else max(0.0, self._next - time.monotonic())
            readable = select.select(sources, [], [], left)[0]
            if self._wake in readable:
                self._wake.recv(_CHUNK)
                what = self._asked()
                if what == "stop":
                    return
                if what == "reload":
                    self._reload()
            if self._socket and self._session and self._socket in readable:
                self._hear(self._socket, self._session)
            elif not self._socket and time.monotonic() >= self._next:
                self._connect()
            self._tell()

    def _watch(self) -> Watched:
        config = self._config
        options = GatherOptions(config.gpu_vendors, config.gpu_classes, config.drivers, config.allow_software)
        return Watched(self._root, options, config.exclude)

    def _refresh(self) -> None:
        try:
            self._status.hardware = self._watched.now()
        except Exception as error:  # pylint: disable=broad-except
            self._log("error", "the hardware cannot be read", error=repr(error))

    def _reload(self) -> None:
        before = self._config
        self._status.loaded = status.stamp()
        try:
            self._config = self._load()
        except (ConfigurationError, OSError) as error:
            self._status.config_error = str(error)
            self._log("error", "the new configuration is wrong, so the old one stays", error=str(error))
            return
        self._status.config_error = None
        self._watched = self._watch()
        self._refresh()
        self._log("info", "the configuration was read again")
        again = (before.socket, before.name, before.index) != (
            self._config.socket,
            self._config.name,
            self._config.index,
        )
        if again:
            self._leave("the configuration asks for another connection")
            self._next = 0.0

    def _connect(self) -> None:
        session = Session(self._config.name, self._config.index, self._adjust, self._failed)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_SEND_SECONDS)
        try:
            connection.connect(self._config.socket)
            connection.sendall(session.begin())
        except OSError as error:
            connection.close()
            self._later()
            self._log("debug", "no runtime at the socket", socket=self._config.socket, error=str(error))
            return
        self._socket, self._session = connection, session

    def _later(self) -> None:
        self._next = time.monotonic() + self._wait
        self._wait = min(_LATE, self._wait * 2)

    def _leave(self, why: str) -> None:
        """End the connection; the next one begins without anything of it."""
        if self._socket:
            self._socket.close()
            self._log("info", "disconnected", reason=why)
        self._socket = self._session = None
        self._status.registered, self._status.runtime = False, None
        self._later()

    def _hear(self, connection: socket.socket, session: Session) -> None:
        try:
            data = connection.recv(_CHUNK)
            for answer in session.feed(data):
                connection.sendall(answer)
        except (RegistrationError, WireError, OSError) as error:
            self._log("error", "the runtime ends the connection, or does not take it", error=str(error))
            self._leave(str(error))
            return
        if not data or session.over:
            self._leave("the runtime has ended it")
        elif session.registered and not self._status.registered:
            self._status.registered, self._status.runtime = True, session.runtime
            self._wait = _SOON
            self._log("info", "registered", runtime=str(session.runtime))

    def _failed(self, error: Exception) -> None:
        self._log("error", "a container is created without a look at it", error=repr(error))

    def _adjust(self, pod: Pod, container: Container) -> Adjustment:
        wish = adjust.asked(pod, container, self._config)
        if wish is None:
            return Adjustment()
        place = f"{pod.namespace}/{pod.name}, container {container.name}"
        try:
            self._status.hardware = self._watched.now()
            given = adjust.given(wish, pod, container, self._config, self._status.hardware)
        except adjust.NothingFoundError as error:
            return self._missing(place, f"{wish.said}: {error}")
        except Exception as error:  # pylint: disable=broad-except
            # Without devices it would use TCP and not say so.
            return self._missing(place, f"{wish.said}: {error!r}")
        self._status.counts[status.INJECTED] += 1
        self._log("info", "injected", container=place, asked=wish.said, hcas=list(given.hcas))
        return given.adjustment

    def _missing(self, place: str, why: str) -> Adjustment:
        text = f"no RDMA devices for {place}: {why}"
        self._status.last_refusal = text
        if self._config.missing == "start":
            self._status.counts[status.WITHOUT] += 1
            self._log("warning", "started without devices", container=place, reason=why)
            return Adjustment()
        self._status.counts[status.REFUSED] += 1
        self._log("warning", "refused", container=place, reason=why)
        raise InjectionRefusedError(text)

    def _tell(self) -> None:
        """After the answers, which somebody waits for, and only what is new."""
        document = json.dumps(self._status.document())
        if document == self._told:
            return
        try:
            status.write(self._path, document + "\n")
            if self._config.metrics:
                status.write(self._config.metrics, self._status.metrics())
            self._told, self._unwritable = document, ""
        except OSError as error:
            if str(error) != self._unwritable:
                self._unwritable = str(error)
                self._log("error", "the status cannot be written", error=str(error))

    def _log(self, level: str, message: str, **fields: object) -> None:
        status.log(self._config.log_level, level, message, **fields)


def notify(state: str) -> None:
    """Tell systemd, if it waits for that (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.connect("\0" + address[1:] if address.startswith("@") else address)
            connection.sendall(state.encode())
