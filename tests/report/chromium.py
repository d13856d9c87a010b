# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Chromium without a window, driven by the DevTools protocol through a pipe, so that nothing but the browser is needed.

Debian's chromium-headless-shell is enough. https://chromedevtools.github.io/devtools-protocol/ has the methods.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import Any, Iterator

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PACKAGE = "chromium-headless-shell"
_PATIENCE = 60.0
_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    # It only ever opens a file that was written here a moment ago, and as root there is no sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    # Whatever it may look up, no name leads anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class BrowserError(Exception):
    """There is no browser, or it did not do as it was told."""


class Browser:
    """One page. ``events`` are all messages that were no answers, in the order they came."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._last = 0
        self._rest = b""
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _writable, _broken = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._answers, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser ended" if ready else f"no answer from the browser in {_PATIENCE:g} s")
            self._rest += data
        first, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(first)
        return found

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a method. Raises BrowserError."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters, **self._session}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        deadline = time.monotonic() + _PATIENCE
        while True:
            answer = self._message(deadline)
            if answer.get("id") != self._last:
                self.events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def event(self, method: str) -> None:
        """Waits until this event has come, or returns at once if it has."""
        deadline = time.monotonic() + _PATIENCE
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._message(deadline))

    def start(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression. Raises BrowserError."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"JavaScript: {answer['exceptionDetails']}")
        return answer["result"].get("value")


def program() -> str:
    """Path of the browser. Raises BrowserError."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path:
            return path
    raise BrowserError(f"no browser: none of {', '.join(PROGRAMS)} is here, Debian's package {PACKAGE} has one")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty page, ended afterwards."""
    theirs, commands = os.pipe()
    answers, also_theirs = os.pipe()
    # Higher than 4, so that one is not overwritten when the other is put in its place.
    reads, writes = (fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (theirs, also_theirs))
    os.close(theirs)
    os.close(also_theirs)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        shell = f'exec "$0" "$@" 3<&{reads} 4>&{writes}'
        command = ["bash", "-c", shell, program(), *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, pass_fds=(reads, writes), stderr=subprocess.DEVNULL)
        os.close(reads)
        os.close(writes)
        try:
            found = Browser(commands, answers)
            found.start()
            yield found
        finally:
            os.close(commands)
            os.close(answers)
            process.terminate()
            process.wait(_PATIENCE)
