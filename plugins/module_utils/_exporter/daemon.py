# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The exporter's loop: begins a look at each interval, hears what it finds, and publishes."""

from __future__ import annotations

import math
import select
import socket
import time
from typing import Callable, List, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import look, text, worker
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration, address
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import History
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.kernel_faults import KernelFaults
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import Known
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.publish import Listener, Textfile
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.worker import Tell, Worker
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.systemd import log, notify

# Seconds between two signs of life, which systemd waits 60 for.
_BEAT = 5.0
# Of the interval, for a look with everything that has to be tried again.
_SHARE = 0.8
# Seconds for which pods are still told of while the runtime says nothing, as when it is restarted.
_PATIENCE = 300.0
_SOURCES = (look.RUNTIME, look.KUBELET)


class Exporter:
    """``wake`` becomes readable when a signal has come that ends it."""

    def __init__(self, config: Configuration, root: str, wake: socket.socket) -> None:
        """Raises OSError if the address cannot be listened on."""
        self._config, self._wake = config, wake
        self._known, self._history, self._kernel = Known(root), History(), KernelFaults(root)
        self._listener = Listener(address(config.listen)) if config.listen else None
        self._textfile = Textfile(config.directory) if config.directory else None
        self._worker = Worker(self._look)
        self._next, self._began, self._looks, self._hung = time.monotonic(), math.inf, 0, 0
        self._answered = {name: time.monotonic() for name in _SOURCES}
        self._told: Set[str] = set()
        self._published, self._unwritable = False, ""

    def run(self, ready: Callable[[], None], looks: float = math.inf) -> None:
        """Serve until a signal comes, or after so many looks. ``ready`` is called when the first one is published."""
        while self._looks < looks:
            notify("WATCHDOG=1")
            if time.monotonic() >= self._next and self._worker.descriptor is None:
                self._begin()
            if self._wake.fileno() in self._wait():
                break
            for message in self._worker.hear():
                if message[0] == worker.END:
                    self._end()
                else:
                    self._known.heard(message)
            if self._worker.descriptor is not None and time.monotonic() > self._began + self._config.interval * _SHARE:
                self._worker.stop()
                self._end()
            elif self._worker.descriptor is not None and not self._worker.see():
                self._end()
            if self._published:
                ready()
                ready, self._published = _nothing, False
        self._worker.stop()
        if self._textfile:
            self._textfile.remove()

    def _look(self, tell: Tell, skip: Set[str]) -> None:
        look.Look(self._config, self._known, tell, skip).run()

    def _begin(self) -> None:
        now = time.monotonic()
        # Not one more for each that came too late.
        self._next = max(self._next, now - self._config.interval) + self._config.interval
        self._began = now
        self._known.begin()
        self._worker.begin()

    def _wait(self) -> List[int]:
        now = time.monotonic()
        until = min(self._next if self._worker.descriptor is None else self._worker.until, now + _BEAT)
        if self._worker.descriptor is not None:
            until = min(until, self._began + self._config.interval * _SHARE)
        reading, writing = self._listener.waiting() if self._listener else ([], [])
        sources = [self._wake.fileno(), *([self._worker.descriptor] if self._worker.descriptor is not None else [])]
        readable, writable, _failed = select.select([*sources, *reading], writing, [], max(0.0, until - now))
        if self._listener:
            self._listener.ready(readable, writable)
        return readable

    def _end(self) -> None:
        """Publish what a look has found, also if it did not come to its end."""
        self._looks += 1
        self._hung += len(self._worker.hung)
        hung = self._worker.left_out
        self._hear_kernel()
        self._sources(hung)
        unread = {
            name for name in self._history.devices if f"hca:{name}" in hung or (name not in self._known.hcas and hung)
        }
        self._history.look(self._known.hcas, unread)
        self._tell(hung)
        try:
            self._publish(self._metrics(hung))
            self._published, self._unwritable = True, ""
        except OSError as error:
            if str(error) != self._unwritable:
                self._unwritable = str(error)
                log("the metrics cannot be written", error=str(error))

    def _hear_kernel(self) -> None:
        # Reading it never hangs, so it needs no process of its own.
        try:
            self._kernel.look(self._known.addresses())
        except OSError as error:
            self._known.errors[look.KERNEL_LOG] = str(error)

    def _sources(self, hung: Set[str]) -> None:
        now = time.monotonic()
        for name in _SOURCES:
            if name not in self._known.errors and name not in hung:
                self._answered[name] = now
        if now - self._answered[look.RUNTIME] > _PATIENCE:
            self._known.pods = Pods({}, {})
        if now - self._answered[look.KUBELET] > _PATIENCE:
            self._known.claims = {}

    def _tell(self, hung: Set[str]) -> None:
        said = {f"{name}: {error}" for name, error in self._known.errors.items()} | {f"{name} hangs" for name in hung}
        if self._worker.failed:
            said.add(self._worker.failed)
        for problem in sorted(said - self._told):
            log("a source has a problem", problem=problem)
        for problem in sorted(self._told - said):
            log("a problem is over", problem=problem)
        self._told = said

    def _metrics(self, hung: Set[str]) -> str:
        metrics = text.Metrics()
        text.of_node(metrics, self._config)
        text.of_hcas(metrics, self._config, self._known, self._history)
        text.of_presence(metrics, self._config, self._known, self._history)
        if self._kernel.heard:
            text.of_kernel(metrics, self._config, self._known, self._history, self._kernel)
        prefix = "rdma_exporter_"
        metrics.add(f"{prefix}last_look_timestamp_seconds", "When the last look ended.", round(time.time(), 3))
        seconds = round(time.monotonic() - self._began, 4)
        metrics.add(f"{prefix}look_seconds", "How long the last look took.", seconds)
        metrics.add(f"{prefix}looks_total", "Looks since the exporter started.", self._looks)
        metrics.add(f"{prefix}hung_total", "Reads that hung or failed.", self._hung)
        for name in sorted(hung):
            metrics.add(f"{prefix}hung", "What hung or failed, and is left out.", 1, (("step", name),))
        for name in (*_SOURCES, look.KERNEL_LOG):
            up = name not in self._known.errors and name not in hung
            metrics.add(f"{prefix}source_up", "Whether a source has answered.", up, (("source", name),))
        lost = "Messages of the kernel that were overwritten before the exporter could read them."
        metrics.add(f"{prefix}kernel_messages_lost_total", lost, self._kernel.lost)
        metrics.add(f"{prefix}pods", "Pods of the node.", len(self._known.pods.pods))
        unknown = "Pods and containers whose namespaces and devices are not known yet."
        metrics.add(f"{prefix}pods_unknown", unknown, self._known.pods.unknown)
        return metrics.text()

    def _publish(self, content: str) -> None:
        if self._listener:
            self._listener.write(content)
        if self._textfile:
            self._textfile.write(content)


def _nothing() -> None:
    """Whoever waits for the first look does so no longer."""
