# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kernel messages, and their number by sequence numbers (Documentation/ABI/testing/dev-kmsg).

Every message has the next number, so two numbers tell how many there were, also those that the ring buffer has lost.
"""

from __future__ import annotations

import os
import re
from typing import Iterator, Optional, Tuple

# A flood must not keep the reader for ever; what it leaves unread is counted at the next look.
_AT_MOST = 200000
_CHUNK = 1 << 16
_BATCH = 1 << 12
_RECORD = re.compile(rb"(?m)^[0-9]+,([0-9]{1,19}),[^\n]*\n")
# Only what the kernel itself says (facility 0): anyone with root's rights can write to its log.
_MESSAGE = re.compile(rb"(?m)^[0-7],[0-9]{1,19},([0-9]{1,19}),[^;\n]*;([^\n]*)\n")


class KernelLog:
    """``/dev/kmsg`` below ``root``. The constructor and all reading raise OSError where it cannot be read."""

    def __init__(self, root: str = "/") -> None:
        self._file = os.open(os.path.join(root, "dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._last: Optional[int] = None
        self._rest = b""

    def __enter__(self) -> KernelLog:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._file)

    def last(self) -> int:
        """The number of the newest message, -1 if there has been none."""
        for lines in self._read():
            for match in _RECORD.finditer(lines):
                self._last = int(match.group(1))
        return -1 if self._last is None else self._last

    def messages(self) -> Iterator[Tuple[float, str]]:
        """The messages of the kernel that are still there, with the seconds from boot to each, oldest first."""
        for lines in self._read():
            for match in _MESSAGE.finditer(lines):
                yield int(match.group(1)) / 1e6, match.group(2).decode("utf-8", "replace")

    def _read(self) -> Iterator[bytes]:
        """Whole lines, as far as there are any, many at a time: most messages are about something else."""
        for _turn in range(_AT_MOST):
            try:
                # The device gives one message at a time, a recorded log as much as fits.
                found = os.read(self._file, _CHUNK)
            except BlockingIOError:
                break
            except BrokenPipeError:
                # Messages were lost before they could be read; the next one says how many.
                continue
            if not found:
                break
            self._rest += found
            if len(self._rest) > _BATCH:
                yield self._whole()
        yield self._whole()

    def _whole(self) -> bytes:
        """The lines read so far, without an incomplete last line."""
        whole, end, self._rest = self._rest.rpartition(b"\n")
        return whole + end
