# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How much a kernel says, by the sequence numbers of its messages (Documentation/ABI/testing/dev-kmsg).

Every message has the next number, so two numbers tell how many there were, also those that the ring buffer has lost.
"""

from __future__ import annotations

import os
import re
from typing import Optional

# A flood must not keep the reader for ever; what it leaves unread is counted at the next look.
_AT_MOST = 200000
_CHUNK = 1 << 16
_RECORD = re.compile(rb"(?m)^[0-9]+,([0-9]{1,19}),[^\n]*\n")


class KernelLog:
    """``/dev/kmsg`` below ``root``. The constructor and :meth:`last` raise OSError where it cannot be read."""

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
            self._take(found)
        return -1 if self._last is None else self._last

    def _take(self, found: bytes) -> None:
        whole, end, self._rest = (self._rest + found).rpartition(b"\n")
        for match in _RECORD.finditer(whole + end):
            self._last = int(match.group(1))
