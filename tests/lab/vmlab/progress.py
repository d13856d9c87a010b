# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Running commands with visible progress, and failures that say what to read next."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

_START = time.monotonic()
# Another place for progress, for callers that keep standard error to themselves until the end, as Ansible does.
_MIRROR = os.environ.get("ZEROCOPY_LAB_PROGRESS")

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LabError(Exception):
    """The lab cannot go on; the message is all a person needs."""


def say(text: str) -> None:
    """One line of progress, with the seconds since the tool started."""
    line = f"[{time.monotonic() - _START:6.1f}s] {text}"
    print(line, file=sys.stderr, flush=True)
    if _MIRROR:
        with open(_MIRROR, "a") as mirror:
            print(line, file=mirror)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Announce a piece of work and how long it took."""
    begin = time.monotonic()
    say(f"{text} ...")
    yield
    say(f"{text}: done in {time.monotonic() - begin:.1f} s")


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    if not path.exists():
        return f"(no {path})"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def run(argv: Sequence[str], *, log: Optional[Path] = None, stdin: Optional[str] = None) -> str:
    """Run a command that has to succeed and return its standard output; with ``log`` all output goes there."""
    if log is None:
        done = subprocess.run(argv, capture_output=True, text=True, input=stdin, check=False)
        if done.returncode:
            raise LabError(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        return done.stdout
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as sink:
        code = subprocess.call(argv, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
    if code:
        raise LabError(f"{argv[0]}: exit code {code}; the end of {log}:\n{tail(log)}")
    return ""


def holds_within(met: Callable[[], bool], *, seconds: float, waiting: Callable[[], None] = lambda: None) -> bool:
    """Poll until ``met`` holds and say whether it did in time; ``waiting`` is called every ten seconds."""
    begin = reported = time.monotonic()
    while not met():
        now = time.monotonic()
        if now - begin > seconds:
            return False
        if now - reported >= 10:
            reported = now
            waiting()
        time.sleep(0.3)
    return True


def await_condition(
    what: str, met: Callable[[], bool], *, seconds: float, note: Callable[[], str] = lambda: ""
) -> None:
    """Poll until ``met`` holds; report every ten seconds, fail after ``seconds``."""

    def report() -> None:
        last = [line for line in _ESCAPES.sub("", note()).splitlines() if line.strip()][-1:]
        say(f"{what}: waiting{': ' + last[0].strip() if last else ''}")

    if not holds_within(met, seconds=seconds, waiting=report):
        raise LabError(f"{what}: not within {seconds:.0f} s\n{note()}".rstrip())
