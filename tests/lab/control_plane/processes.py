# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The processes of an instance, found by what they were told to work on, so that no record of them can be wrong."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from vmlab.progress import LabError

# After SIGKILL only the kernel is slow, as when it writes back pages of a busy machine.
_END_SECONDS = 60
# All are Go programs that live for minutes and have memory to spare. Go's default is 100: with this, they take 30 %
# less of the processor, idle or busy.
_GO = {"GOGC": "400"}


def spawn(argv: Sequence[str], log: Path, *, tied: bool) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; when ``tied``, the kernel ends it with the thread that called this."""
    prefix = ["setpriv", "--pdeathsig", "KILL"] if tied else []
    with log.open("ab") as sink:
        return subprocess.Popen(
            [*prefix, *argv],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env={**os.environ, **_GO},
        )


def working_on(directory: Path, programs: Sequence[str]) -> list[int]:
    """Process ids of the programs that have a file below the directory in their arguments."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _works_on(entry, directory, programs)]


def _works_on(entry: Path, directory: Path, programs: Sequence[str]) -> bool:
    try:
        arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return os.path.basename(arguments[0]) in programs and any(f"{directory}/" in text for text in arguments)


def end(directory: Path, programs: Sequence[str]) -> None:
    """Kill them and wait until they are gone. What they hold goes with them, so nothing is lost by haste."""
    for pid in working_on(directory, programs):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            # Another process may have had that id when the handle was opened.
            if _works_on(Path("/proc") / str(pid), directory, programs):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                if not select.select([handle], [], [], _END_SECONDS)[0]:
                    raise LabError(f"process {pid} of {directory} does not end")
        finally:
            os.close(handle)
