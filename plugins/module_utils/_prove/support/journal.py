# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Logs of systemd's journal, of which anyone on the node may have written any amount.

``journalctl`` (systemd 219 and newer) gives the newest lines in the order of time.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections import deque
from typing import Deque, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command

# Lines of one log, bytes of it that are read at most, and seconds that this may take.
_LINES = 50_000
_READ_MOST = 1 << 28
_SECONDS = 60.0
_CHUNK = 1 << 16
# Other lines of a message are indented.
_MESSAGE = re.compile(rb"\n(?![ \t\n])")


class JournalError(Exception):
    """The journal cannot be read; the text says why."""


def arguments(root: str, hours: int, matches: Sequence[str]) -> List[str]:
    """The command for the messages of the last hours. Raises JournalError."""
    tool = command.find("journalctl")
    if not tool:
        raise JournalError("there is no journalctl")
    found = [tool, "--no-pager", "--quiet", "--utc", "--output=short-iso", f"--lines={_LINES}"]
    found.append(f"--since=-{hours}h")
    if root != "/":
        directory = os.path.join(root, "var/log/journal")
        if not os.path.isdir(directory):
            raise JournalError("the recorded node has no journal")
        found.append(f"--directory={directory}")
    return [*found, *matches]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started, which would keep its output open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def tail(argv: Sequence[str], most: int, seconds: float = _SECONDS, read_most: int = _READ_MOST) -> Tuple[str, str]:
    """The last bytes that a command prints, from the beginning of a line, and what is wrong with them.

    Raises JournalError.
    """
    parts: Deque[bytes] = deque()
    kept = read = 0
    with subprocess.Popen(  # noqa: S603  (a list, so no shell)
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=command.environment(),
        start_new_session=True,
    ) as process:
        late = threading.Event()

        def end() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            output = process.stdout
            while output is not None and read < read_most:
                part = output.read1(_CHUNK)  # type: ignore[attr-defined]  # of a BufferedReader
                if not part:
                    break
                parts.append(part)
                kept, read = kept + len(part), read + len(part)
                while kept - len(parts[0]) > most:
                    kept -= len(parts.popleft())
            is_full = read >= read_most
            if is_full:
                _kill(process)
            error = process.stderr.read(_CHUNK).decode("utf-8", "replace") if process.stderr else ""
            status = process.wait()
        finally:
            timer.cancel()
    text = b"".join(parts)
    if read > len(text) or len(text) > most:
        # A secret may have begun before: neither a line nor a message of several lines is cut.
        start = _MESSAGE.search(text, max(0, len(text) - most))
        text = text[start.end() :] if start else b""
    why = f"it did not end within {seconds:g} s" if late.is_set() else ""
    why = why or (f"more than {read_most >> 20} MiB" if is_full else "")
    if not text and (why or status):
        lines = error.strip().splitlines()
        raise JournalError(why or (lines[-1] if lines else f"exit status {status}"))
    lost = read - len(text)
    told = [f"{lost} older bytes left out" if lost else "", f"not read to its end: {why}" if why else ""]
    return text.decode("utf-8", "replace"), "; ".join(filter(None, told))
