# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A look in a child process, since a file of sysfs can hang: no signal ends a driver's wait for its firmware.

The child says what it begins and what it has found, line by line. If it falls silent it is killed, what it was at is
left out, and another child does the rest, as where the child fails. What hangs is tried again once its child is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from typing import Any, Callable, Dict, List, Optional, Set

Message = List[Any]
Tell = Callable[[Message], None]
# Takes what to leave out.
Body = Callable[[Tell, Set[str]], None]

BEGIN, END = "begin", "end"
_FAILED = "failed"
# Seconds without a word.
_SILENCE = 2.5
# Of so many looks, one tries again what never comes to its end.
_RAREST = 32
_CHUNK = 1 << 16
_LONGEST = 1 << 23


def _talk(body: Body, skip: Set[str], descriptor: int) -> None:
    with os.fdopen(descriptor, "wb") as pipe:

        def tell(message: Message) -> None:
            pipe.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            # What comes next may hang.
            if message[0] == BEGIN:
                pipe.flush()

        try:
            body(tell, skip)
        except Exception as error:  # pylint: disable=broad-except
            # Whatever it is, the next look is a new process.
            tell([_FAILED, repr(error)])
        else:
            tell([END])


class Worker:
    """One look at a time. ``stuck`` are the steps that hang, by the process that hangs in each."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._pid = 0
        self._pipe: Optional[int] = None
        self._rest = b""
        self._at = ""
        self._heard = 0.0
        self._done: Set[str] = set()
        # How often in a row a step did not come to its end, and the looks for which it is left out.
        self._failures: Dict[str, int] = {}
        self._resting: Dict[str, int] = {}
        self.stuck: Dict[int, str] = {}
        self.hung: List[str] = []
        self.failed = ""

    @property
    def descriptor(self) -> Optional[int]:
        """What becomes readable when the child has said something; ``None`` between two looks."""
        return self._pipe

    @property
    def until(self) -> float:
        """When to see to a child that says nothing."""
        return self._heard + _SILENCE

    @property
    def left_out(self) -> Set[str]:
        """The steps of which a look has nothing."""
        return {*self.hung, *self.stuck.values(), *self._resting} - {""}

    def begin(self) -> None:
        """Begin a look."""
        self._reap()
        self._resting = {step: looks - 1 for step, looks in self._resting.items() if looks > 1}
        self._done, self.hung, self.failed = set(), [], ""
        self._fork()

    def _fork(self) -> None:
        reader, writer = os.pipe()
        skip = self._done | self.left_out
        self._pid = os.fork()
        if not self._pid:
            code = 1
            try:
                os.close(reader)
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                    signal.signal(number, signal.SIG_DFL)
                _talk(self._body, skip, writer)
                code = 0
            finally:
                os._exit(code)
        os.close(writer)
        os.set_blocking(reader, False)
        self._pipe, self._rest, self._at, self._heard = reader, b"", "", time.monotonic()

    def hear(self) -> List[Message]:
        """What the child has said since, as far as it is complete. The last message of a look is END."""
        if self._pipe is None:
            return []
        found: List[Message] = []
        while True:
            try:
                data = os.read(self._pipe, _CHUNK)
            except BlockingIOError:
                return found
            if not data:
                if not self._ended():
                    found.append([END])
                return found
            self._heard = time.monotonic()
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                message: Message = json.loads(line)
                if message[0] == _FAILED:
                    self.failed = f"{self._at or 'the beginning'}: {message[1]}"
                    continue
                if message[0] == BEGIN:
                    if self._at:
                        self._done.add(self._at)
                        self._failures.pop(self._at, None)
                    self._at = message[1]
                found.append(message)
            if len(self._rest) > _LONGEST:
                self.failed = f"too much was said at {self._at}"
                self._leave(kill=True)
                return [*found, [END]]
            if found and found[-1][0] == END:
                self._leave(kill=False)
                return found

    def see(self) -> bool:
        """See to a child that has been silent for too long. Whether the look goes on."""
        if self._pipe is None or time.monotonic() < self.until:
            return self._pipe is not None
        self.stuck[self._pid] = self._at
        self._leave(kill=True)
        return self._without()

    def _ended(self) -> bool:
        """See to a child that has ended before its time. Whether the look goes on."""
        self.failed = self.failed or f"the process that reads ended at {self._at or 'its beginning'}"
        self._leave(kill=False)
        return self._without()

    def _without(self) -> bool:
        """Go on without the step that did not come to its end, unless it was tried without before."""
        again = bool(self._at) and self._at not in self.hung
        self.hung.append(self._at)
        times = self._failures.get(self._at, 0)
        self._failures[self._at] = times + 1
        # Tried again at the next look, then ever more rarely: each try costs the time until it is given up.
        self._resting[self._at] = min(2**times, _RAREST)
        if again:
            self._fork()
        return again

    def stop(self) -> None:
        """End the look, whatever is missing of it."""
        if self._pipe is not None:
            if self._at:
                self.hung.append(self._at)
                self.stuck[self._pid] = self._at
            self._leave(kill=True)

    def _leave(self, kill: bool) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if kill:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self.stuck.setdefault(self._pid, "")
        self._pid = 0
        self._reap()

    def _reap(self) -> None:
        """Forget the children that have ended."""
        for pid in list(self.stuck):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            del self.stuck[pid]
