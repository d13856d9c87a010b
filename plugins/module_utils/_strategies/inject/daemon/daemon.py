# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon: connects to the runtime again and again, answers, and reads its configuration when it is told to."""

from __future__ import annotations

import json
import math
import select
import socket
import threading
import time
from dataclasses import asdict, dataclass
from typing import Callable, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.gather import GatherOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import adjust, output, status
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import (
    ANY_LAYER,
    Configuration,
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import Watched
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import (
    Adjustment,
    Container,
    Pod,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.session import (
    InjectionRefusedError,
    RegistrationError,
    Session,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.status import Status
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.ttrpc import WireError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.systemd import notify

# Seconds until the next try to connect: what is created until then gets nothing. Longer only after a refusal.
_SOON, _LATE = 0.2, 5.0
# Seconds that those who start after the daemon, such as a kubelet, wait until it is registered.
_READY = 10.0
# Seconds between two signs of life, which systemd waits 60 for.
_BEAT = 5.0
# Seconds until what has happened is in the status file.
_TELL = 0.2
# How much longer than a look the time to the next one is at least.
_SHARE = 20
# Seconds between two looks at what no file of Watched shows.
_RENEW = 30.0
# Of NRI's own time limit, 2 s by default, for a runtime that does not read.
_SEND_SECONDS = 2.0
_CHUNK = 1 << 16
# Characters of a reason, which may have what a pod's owner wrote: it goes into events, the log and the status.
_LONGEST_REASON = 1000


@dataclass(frozen=True)
class _Became:
    """What becomes of a container (a kind of status), and how the log says it."""

    kind: str
    level: str
    message: str
    fields: Mapping[str, object]


class InjectDaemon:
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
        # When to do what next, on the monotonic clock: connect (never while connected), look at all, write the status.
        self._next, self._renew, self._due = 0.0, math.inf, math.inf
        self._wait = _SOON
        self._told = self._unwritable = ""
        self._became: Optional[_Became] = None

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until a signal ends it; ``ready`` is called once, when it is registered or there is nobody to ask."""
        self._refresh()
        self._tell()
        patience = time.monotonic() + _READY
        while True:
            notify("WATCHDOG=1")
            sources = [self._wake, *([self._socket] if self._socket else [])]
            until = min(time.monotonic() + _BEAT, self._renew, self._due, self._next, patience)
            readable = select.select(sources, [], [], max(0.0, until - time.monotonic()))[0]
            if self._wake in readable:
                self._wake.recv(_CHUNK)
                what = self._asked()
                if what == "stop":
                    self._tell()
                    output.remove(self._config.metrics)
                    return
                if what == "reload":
                    self._reload()
            if self._socket and self._session and self._socket in readable:
                self._hear(self._socket, self._session)
            elif time.monotonic() >= self._next:
                self._connect()
            if readable:
                self._due = min(self._due, time.monotonic() + _TELL)
            # What changes while nobody asks has been read when somebody does.
            idle = not readable and self._renew < math.inf
            if time.monotonic() >= self._renew or (idle and self._watched.changed()):
                self._renew = math.inf
                threading.Thread(target=self._refresh, daemon=True).start()
            given_up = not self._socket or time.monotonic() >= patience
            if patience < math.inf and (self._status.registered or given_up):
                self._tell()
                ready()
                patience = math.inf
            if time.monotonic() >= self._due:
                self._tell()

    def _watch(self) -> Watched:
        config = self._config
        options = GatherOptions(config.gpu_vendors, config.gpu_classes, config.drivers, config.allow_software)
        layer = None if config.link_layer == ANY_LAYER else config.link_layer
        return Watched(self._root, options, config.exclude, layer)

    def _refresh(self) -> None:
        """Look at all there is; beside the answers, since it takes seconds on a busy node with long GID tables."""
        began, watched = time.monotonic(), self._watched
        try:
            found = watched.renew()
            # Another configuration may have been read meanwhile.
            if watched is self._watched:
                self._status.hardware = found
        # Whatever it is, requests are still answered, from what was read last.
        except Exception as error:  # pylint: disable=broad-except
            self._log("error", "the hardware cannot be read", error=repr(error))
        self._due = began
        self._renew = time.monotonic() + max(_RENEW, _SHARE * (time.monotonic() - began))

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
        if before.metrics != self._config.metrics:
            output.remove(before.metrics)
        self._watched = self._watch()
        self._refresh()
        self._log("info", "the configuration was read again")
        again = (before.socket, before.name, before.index) != (
            self._config.socket,
            self._config.name,
            self._config.index,
        )
        if again:
            self._leave("the configuration has another socket, name or index", 0.0)

    def _connect(self) -> None:
        session = Session(self._config.name, self._config.index, self._adjust, self._failed)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_SEND_SECONDS)
        try:
            if not unix_file.is_roots(self._config.socket):
                raise ConnectionRefusedError("nothing listens on it, or it is not root's")
            connection.connect(self._config.socket)
            connection.sendall(session.begin())
        except OSError as error:
            connection.close()
            self._next = time.monotonic() + _SOON
            self._log("debug", "no runtime at the socket", socket=self._config.socket, error=str(error))
            return
        self._socket, self._session, self._next = connection, session, math.inf

    def _leave(self, why: str, wait: Optional[float] = None) -> None:
        """End the connection; the next one begins without anything of it, after ``wait`` seconds.

        Without ``wait`` this one failed, and the next may as well.
        """
        if self._socket:
            self._socket.close()
            self._log("info", "disconnected", reason=why)
        self._socket = self._session = None
        self._status.registered, self._status.runtime = False, None
        self._next = time.monotonic() + (self._wait if wait is None else wait)
        self._wait = min(_LATE, self._wait * 2) if wait is None else _SOON

    def _hear(self, connection: socket.socket, session: Session) -> None:
        try:
            data = connection.recv(_CHUNK)
            for answer in session.feed(data):
                self._send(connection, answer)
        except (RegistrationError, WireError, OSError) as error:
            self._log("error", "the runtime ended the connection or rejected the plugin", error=str(error))
            self._leave(str(error))
            return
        if not data or session.over:
            self._leave("the runtime has ended the connection", _SOON if session.registered else None)
        elif session.registered and not self._status.registered:
            self._status.registered, self._status.runtime = True, session.runtime
            self._log("info", "registered", runtime=asdict(session.runtime) if session.runtime else None)

    def _send(self, connection: socket.socket, answer: bytes) -> None:
        """Send an answer, and only then say what became of the container: a runtime that has given up heeds none."""
        became, self._became = self._became, None
        try:
            connection.sendall(answer)
        except OSError:
            if became:
                self._status.counts[status.LATE] += 1
                fields = {**became.fields, "meant": became.kind}
                self._log("error", "answered too late, so the container starts without devices", **fields)
            raise
        if became:
            self._status.counts[became.kind] += 1
            self._log(became.level, became.message, **became.fields)

    def _failed(self, error: Exception) -> None:
        self._log("error", "a container is created without being examined", error=repr(error))

    def _adjust(self, pod: Pod, container: Container) -> Adjustment:
        wish = adjust.asked(pod, container, self._config)
        if wish is None:
            return Adjustment()
        place = f"{pod.namespace}/{pod.name}, container {container.name}"
        if adjust.beside_nothing(wish, container):
            self._log("info", "nothing to inject", container=place, asked=wish.said, reason="it has no GPU")
            return Adjustment()
        try:
            self._status.hardware = self._watched.now()
            given = adjust.given(wish, pod, container, self._config, self._status.hardware)
        except adjust.NothingFoundError as error:
            return self._missing(place, f"{wish.said}: {error}")
        except Exception as error:  # pylint: disable=broad-except
            # Without devices it would use TCP and not say so.
            return self._missing(place, f"{wish.said}: {error!r}")
        fields = {"container": place, "asked": wish.said, "hcas": list(given.hcas)}
        self._became = _Became(status.INJECTED, "info", "injected", fields)
        return given.adjustment

    def _missing(self, place: str, why: str) -> Adjustment:
        why = why if len(why) <= _LONGEST_REASON else why[:_LONGEST_REASON] + " ..."
        text = f"no RDMA devices for {place}: {why}"
        self._status.last_refusal = text
        fields = {"container": place, "reason": why}
        if self._config.missing == "start":
            self._became = _Became(status.WITHOUT, "warning", "started without devices", fields)
            return Adjustment()
        self._became = _Became(status.REFUSED, "warning", "refused", fields)
        raise InjectionRefusedError(text)

    def _tell(self) -> None:
        """Write what is new; not with each answer, because somebody waits for the next one."""
        self._due = math.inf
        document = json.dumps(self._status.document())
        if document == self._told:
            return
        try:
            output.write(self._path, document + "\n", 0o600)
            if self._config.metrics:
                output.write(self._config.metrics, self._status.metrics())
            self._told, self._unwritable = document, ""
        except OSError as error:
            if str(error) != self._unwritable:
                self._unwritable = str(error)
                self._log("error", "the status cannot be written", error=str(error))

    def _log(self, level: str, message: str, **fields: object) -> None:
        status.log(self._config.log_level, level, message, **fields)
