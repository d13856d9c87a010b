# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A look in a child process, where something really hangs: a read from a FIFO that nobody writes to."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path
from typing import Any, Callable, List, Set

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import worker
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.worker import Tell, Worker


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_SILENCE", 0.3)


def whole(found: Worker) -> List[Any]:
    """All that one look says."""
    found.begin()
    said: List[Any] = []
    while found.descriptor is not None:
        select.select([found.descriptor], [], [], max(0.0, found.until - time.monotonic()))
        said += found.hear()
        if found.descriptor is not None and not found.see():
            break
    return said


def steps(hanging: str, names: str = "abc") -> Callable[[Tell, Set[str]], None]:
    def body(tell: Tell, skip: Set[str]) -> None:
        for name in names:
            if name in skip:
                continue
            tell([worker.BEGIN, name])
            if hanging and name == "b":
                # Open for writing as well, so that reading neither fails nor ends.
                os.read(os.open(hanging, os.O_RDWR), 1)
            tell(["found", name])

    return body


def test_what_hangs_is_left_out_and_the_rest_is_read(tmp_path: Path) -> None:
    fifo = str(tmp_path / "state")
    os.mkfifo(fifo)
    found = Worker(steps(fifo))
    said = [message[1] for message in whole(found) if message[0] == "found"]
    assert (said, found.hung, found.failed) == (["a", "c"], ["b"], "")


def test_what_always_fails_is_tried_ever_more_rarely() -> None:
    def body(tell: Tell, skip: Set[str]) -> None:
        for name in [name for name in "ab" if name not in skip]:
            tell([worker.BEGIN, name])
            if name == "a":
                raise ValueError("no")

    found = Worker(body)
    tried = []
    for number in range(16):
        whole(found)
        assert found.left_out == {"a"}
        tried += [number] if found.hung else []
    assert tried == [0, 1, 3, 7, 15]


def test_what_hung_is_tried_again(tmp_path: Path) -> None:
    fifo = str(tmp_path / "state")
    os.mkfifo(fifo)
    found = Worker(steps(fifo))
    whole(found)
    found._body = steps("")
    # The child was killed, and is gone at some moment.
    end = time.monotonic() + 30
    while "b" not in (said := [message[1] for message in whole(found) if message[0] == "found"]):
        assert time.monotonic() < end
    assert (said, found.hung, "b" in found.stuck.values()) == (["a", "b", "c"], [], False)


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        (lambda: os._exit(3), "the process that reads ended at b"),
        (lambda: os.kill(os.getpid(), 9), "the process that reads ended at b"),
        (lambda: int("no"), "b: ValueError"),
    ],
    ids=["exits", "is killed", "fails"],
)
def test_where_a_child_ends_early_the_rest_is_read_without(ends: Callable[[], Any], why: str) -> None:
    def body(tell: Tell, skip: Set[str]) -> None:
        for name in [name for name in "abc" if name not in skip]:
            tell([worker.BEGIN, name])
            if name == "b":
                ends()
            tell(["found", name])

    found = Worker(body)
    said = [message[1] for message in whole(found) if message[0] == "found"]
    assert (said, found.hung) == (["a", "c"], ["b"])
    assert found.failed.startswith(why)


def test_a_step_that_cannot_be_left_out_ends_the_look() -> None:
    def body(tell: Tell, _skip: Set[str]) -> None:
        tell([worker.BEGIN, "a"])
        raise ValueError("no")

    found = Worker(body)
    assert whole(found)[-1] == [worker.END]
    assert found.failed == "a: ValueError('no')"


def test_no_process_is_left(tmp_path: Path) -> None:
    fifo = str(tmp_path / "state")
    os.mkfifo(fifo)
    found = Worker(steps(fifo))
    found.begin()
    pid = found._pid
    found.stop()
    end = time.monotonic() + 30
    while found.stuck:
        found._reap()
        assert time.monotonic() < end
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
