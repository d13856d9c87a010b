# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether a guest that does not answer hangs, by what it prints on its serial console."""

from __future__ import annotations

import re
import time
from pathlib import Path

# systemd prints its first line after 20 s where a guest is emulated on an idle machine.
SILENT_SECONDS = 180
# A kernel that has lost the timer of a CPU goes on saying so for ever (Documentation/RCU/stallwarn.rst and
# Documentation/admin-guide/lockup-watchdogs.rst).
_COMPLAINT = re.compile(r"^\[[ .\d]*\] (?:rcu|watchdog): .*\n", re.MULTILINE)


class Watch:
    """A guest's console, from now on."""

    def __init__(self, console: Path) -> None:
        self._console = console
        self.anew()

    def anew(self) -> None:
        """Count from now on: the guest has answered, or has been reset."""
        self._said = self._words()
        self._at = time.monotonic()

    def hangs(self) -> bool:
        """Whether nothing but complaints of the kernel has come for so long that nothing will."""
        said = self._words()
        if said != self._said:
            self._said, self._at = said, time.monotonic()
        return time.monotonic() - self._at > SILENT_SECONDS

    def _words(self) -> int:
        return len(_COMPLAINT.sub("", self._console.read_text(errors="replace")))
