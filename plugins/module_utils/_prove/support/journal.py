# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Logs of systemd's journal, of which anyone on the node may have written any amount.

``journalctl`` (systemd 219 and newer) prints the newest message first, and is ended when there is enough. It gets no
``--lines``: with ``--since`` many versions, such as 252, print the oldest messages then, and no hint of others.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from typing import List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command

_SECONDS = 60.0
_CHUNK = 1 << 16
# Other lines of a message are indented.
_BETWEEN = re.compile(rb"\n(?=[^ \t\n])")
_WHOLE = re.compile(rb".*\n(?=[^ \t\n])", re.DOTALL)


class JournalError(Exception):
    """The journal cannot be read; the text says why."""


def arguments(root: str, hours: int, matches: Sequence[str]) -> List[str]:
    """The command for the messages of the last hours, the newest one first. Raises JournalError."""
    tool = command.find("journalctl")
    if not tool:
        raise JournalError("there is no journalctl")
    found = [tool, "--no-pager", "--quiet", "--utc", "--output=short-iso", "--reverse"]
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


def newest(argv: Sequence[str], most: int, seconds: float = _SECONDS) -> Tuple[str, str]:
    """The first messages that a command prints, of together at most so many bytes, the last one first.

    Also what is wrong with them. Raises JournalError.
    """
    read = bytearray()
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
            while output is not None and len(read) <= most:
                part = output.read1(_CHUNK)  # type: ignore[attr-defined]  # of a BufferedReader
                if not part:
                    break
                read += part
            is_full = len(read) > most
            if is_full:
                _kill(process)
            error = process.stderr.read(_CHUNK).decode("utf-8", "replace") if process.stderr else ""
            status = process.wait()
        finally:
            timer.cancel()
    why = f"more than {most} bytes" if is_full else f"it did not end within {seconds:g} s" if late.is_set() else ""
    text = bytes(read)
    if is_full:
        # A secret may end after this: neither a line nor a message of several lines is cut.
        whole = _WHOLE.match(text, 0, most + 1)
        text = whole[0] if whole else b""
    elif why:
        text = text[: text.rfind(b"\n") + 1]
    if not text and (why or status):
        lines = error.strip().splitlines()
        raise JournalError(why or (lines[-1] if lines else f"exit status {status}"))
    messages = _BETWEEN.split(text[:-1] if text.endswith(b"\n") else text)
    text = b"".join(message + b"\n" for message in reversed(messages)) if text else b""
    return text.decode("utf-8", "replace"), f"older messages left out: {why}" if why else ""
