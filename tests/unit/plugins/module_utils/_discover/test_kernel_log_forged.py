# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A local user's process crashes, and the kernel writes its name and that of its file into the log of this machine."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import platform
import resource
import time
from pathlib import Path
from typing import List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    as_nobody,
    need_root,
    within_reach,
)

NAMES = {"0000:66:00.0": "mlx5_0"}
# movb $0, 0
WRITES_TO_ZERO = b"\xc6\x04\x25\x00\x00\x00\x00\x00"
PR_SET_NAME = 15


def _crash(name: bytes, file: Path) -> None:
    # A signal that is handled is not logged.
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    file.write_bytes(WRITES_TO_ZERO)
    with file.open("r+b") as opened:
        code = mmap.mmap(opened.fileno(), len(WRITES_TO_ZERO), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def _crashed_as_nobody(name: bytes, file: Path) -> None:
    child = os.fork()
    if child == 0:
        _crash(name, file)
        os._exit(0)
    os.waitpid(child, 0)


def _lines(text: str) -> List[str]:
    with kernel_log.KernelLog() as log:
        return [message for _at, message in log.messages() if text in message]


def _reported() -> List[str]:
    return [f"{found.code} {found.fields['message']}" for found in kernel_log.warnings(Tree("/"), NAMES) or []]


@pytest.mark.parametrize(
    ("name", "file"),
    [(b"nvidia-peermem ", "ERROR"), (b"x 0000:66:00.0:", "has Cold reset is required: synd 0x8")],
)
def test_a_crash_with_chosen_names_says_nothing_of_an_hca(name: bytes, file: str) -> None:
    need_root()
    if platform.machine() != "x86_64" or not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("needs x86_64 and the kernel log of this machine; CI runs this in a guest that has both")
    before = _reported()
    with within_reach() as top:
        os.chmod(top, 0o777)
        # A name of its own, because the log keeps earlier ones.
        mark = f"{file} {os.getpid()}"
        as_nobody(lambda: _crashed_as_nobody(name, top / mark))
        end = time.monotonic() + 5
        while not _lines(mark) and time.monotonic() < end:
            time.sleep(0.05)
    if not _lines(mark):
        pytest.skip("this kernel writes no line about crashes (debug.exception-trace)")
    assert _lines(mark)[0].startswith(name.decode())
    assert _reported() == before
