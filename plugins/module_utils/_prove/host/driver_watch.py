# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A node whose NIC driver is replaced by a container: what is in its way, and whether it does harm.

A user of such a container reported that it made the kernel repeat an error until the log had filled the system disk. So
the kernel's messages and the free space are watched, from before the driver is loaded until some time after. The
container creates a file when it is done (``entrypoint/internal/config`` of Mellanox/doca-driver-build).
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import units
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.kernel_log import KernelLog
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.live import modules_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import qos_live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import CONCERN, NOTES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

READY = "run/mellanox/drivers/.driver-ready"
VERSION = "sys/module/mlx5_core/version"
# Where images, pods, builds of the driver and logs are stored.
PATHS = ("/", "/var", "/var/lib", "/var/lib/containerd", "/var/lib/kubelet", "/var/log", "/var/opt")
MINUTE = 60.0
_INTERVAL = 1.0
_GIB = 1 << 30
_RSYSLOG = "rsyslog.service"
# By these rsyslog limits what the kernel makes it write: imklog's rate (since 8.35), or the size of a file. Neither is
# on unless it is set; imjournal, its other source, has a limit by default.
_LIMITS = re.compile(r"ratelimitinterval\W+[1-9]|rotation\.sizelimit\W+[1-9]|^\s*\$outchannel\s", re.I | re.M)


@dataclass(frozen=True)
class Limits:
    """When the watch ends early: if the kernel writes more than ``messages`` within a minute, if a file system has less
    than ``free`` GiB of free space, or if the driver is not ready after ``timeout`` seconds.

    ``watch`` is the number of seconds to watch after the driver is ready.
    """

    messages: int
    free: float
    timeout: float
    watch: float


@dataclass
class WatchResult:
    """The result of a watch. ``reason`` says why it ended early: ``log``, ``disk``, ``timeout``, ``gone``, or empty.

    ``messages`` is the number of kernel messages since the watch began, ``most`` that of the worst minute. ``free`` is
    the smallest free space that was seen, in GiB by path. ``version`` is that of mlx5_core, empty for the kernel's own
    driver. ``sequence`` is the number of the newest message.
    """

    reason: str = ""
    messages: int = 0
    most: int = 0
    free: Dict[str, float] = field(default_factory=dict)
    ready: bool = False
    version: str = ""
    sequence: int = -1


def free(root: str) -> Dict[str, float]:
    """The GiB that ordinary users can still write to each file system, by the first of PATHS that is on it."""
    found: Dict[str, float] = {}
    seen = set()
    for path in PATHS:
        full = os.path.join(root, path.lstrip("/"))
        try:
            device, space = os.stat(full).st_dev, os.statvfs(full)
        except OSError:
            continue
        if device not in seen:
            seen.add(device)
            found[path] = round(space.f_bavail * space.f_frsize / _GIB, 2)
    return found


def _unlimited(tree: Tree) -> bool:
    """Whether rsyslog runs and writes all kernel messages. (journald limits its files to a share of the disk.)"""
    if _RSYSLOG not in units.processes(tree, [_RSYSLOG]):
        return False
    files = ["etc/rsyslog.conf", *(f"etc/rsyslog.d/{name}" for name in tree.names("etc/rsyslog.d"))]
    lines = "\n".join(tree.text(name) or "" for name in files if name.endswith(".conf")).splitlines()
    said = "\n".join(line.partition("#")[0] for line in lines)
    return "imklog" in said and not _LIMITS.search(said)


def _driver(tree: Tree) -> Tuple[str, bool]:
    """The version of mlx5_core, and whether the driver is ready. The file alone may be that of an earlier container."""
    version = tree.text(VERSION) or ""
    return version, tree.exists(READY) and bool(version)


def measure(root: str) -> Dict[str, Any]:
    """What has to be known about a node before a driver is loaded there.

    ``free`` (:func:`free`), loaded ``modules`` with the number of their users, ``unlimited`` for an rsyslog that writes
    all kernel messages, ``version`` and ``ready`` of the driver, and what keeps its modules loaded (``made``).

    :raises HostError: the ledger is damaged.
    """
    tree = Tree(root)
    loaded = modules_of(tree.text("proc/modules") or "")
    version, ready = _driver(tree)
    return {
        "free": free(root),
        "modules": {name: found.references for name, found in loaded.items()},
        "unlimited": _unlimited(tree),
        "version": version,
        "ready": ready,
        "made": qos_live.made(tree, Ledger(Files(root), CONCERN, NOTES).notes.get("qos", {})),
    }


class Watch:
    """One watch of a node; ``clock`` and ``sleep`` are in seconds. Raises OSError if it has no readable kernel log."""

    def __init__(
        self,
        root: str,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._root, self._tree, self._limits = root, Tree(root), limits
        self._clock, self._sleep = clock, sleep
        self._minute: Deque[Tuple[float, int]] = deque()
        self.result = WatchResult()

    def run(self, since: Optional[int] = None) -> Dict[str, Any]:
        """Watch until the time is over or the watch ends early; returns :class:`WatchResult` as a dictionary.

        ``since`` is the sequence number of the last message that does not count, by default the newest one.
        """
        with KernelLog(self._root) as log:
            first = log.last() if since is None else since
            began = self._clock()
            self._minute.append((began, first))
            ready_at: Optional[float] = None
            while True:
                now = self._clock()
                self._look(log.last(), first, now)
                if self.result.ready and ready_at is None:
                    ready_at = now
                reason = self._reason(now, began, ready_at)
                if reason or (ready_at is not None and now - ready_at >= self._limits.watch):
                    self.result.reason = reason
                    return asdict(self.result)
                self._sleep(_INTERVAL)

    def _look(self, last: int, first: int, now: float) -> None:
        found, minute = self.result, self._minute
        minute.append((now, last))
        while now - minute[0][0] > MINUTE:
            minute.popleft()
        found.sequence, found.messages = last, last - first
        found.most = max(found.most, last - minute[0][1])
        for path, space in free(self._root).items():
            found.free[path] = min(space, found.free.get(path, space))
        found.version, found.ready = _driver(self._tree)

    def _reason(self, now: float, began: float, ready_at: Optional[float]) -> str:
        found, limits = self.result, self._limits
        if found.most > limits.messages:
            return "log"
        if any(space < limits.free for space in found.free.values()):
            return "disk"
        if ready_at is not None and not found.ready:
            return "gone"
        return "timeout" if ready_at is None and now - began >= limits.timeout else ""


def text(result: WatchResult, limits: Limits) -> str:
    """The reason in words, empty if there is none."""
    least: List[str] = [f"{path} {space} GiB" for path, space in result.free.items() if space < limits.free]
    texts = {
        "": "",
        "log": f"the kernel wrote {result.most} messages within a minute, more than {limits.messages}",
        "disk": f"free space fell below {limits.free:g} GiB ({', '.join(least)})",
        "gone": "the driver was ready and then was no longer ready",
        "timeout": f"the driver was not ready after {limits.timeout:g} s",
    }
    return texts[result.reason]


def watch(root: str, limits: Limits, since: Optional[int]) -> Dict[str, Any]:
    """The result of a watch, with its ``text``. Raises OSError if the kernel log cannot be read."""
    watching = Watch(root, limits)
    found = watching.run(since)
    return {**found, "text": text(watching.result, limits)}


def sequence(root: str) -> int:
    """The sequence number of the newest kernel message, -1 if there is none. Raises OSError if it cannot be read."""
    with KernelLog(root) as log:
        return log.last()
