# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How often the kernel's log reports a fault of a device, by the rules of :mod:`_discover.kernel_log`.

Nothing of a message's text is kept: only which device it is about, and which rule it matches.
"""

from __future__ import annotations

import errno
from typing import Dict, Mapping, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import PEERMEM_ERROR

# What is said of HCAs; the other one is of GPUDirect's module.
KINDS = tuple(rule.code for rule in kernel_log.RULES if rule.code != PEERMEM_ERROR)
# Those of which the kernel also says that they are over.
ENDING = tuple(rule.code for rule in kernel_log.RULES if rule.over)
# Messages of one look: what a flood leaves unread is read at the next one, or counted as lost.
_AT_MOST = 20000
# Devices and kinds; a kernel that names more of them has no such fleet of HCAs.
_MOST = 4096


class KernelFaults:
    """What was said since boot, as far as the kernel still has it when the exporter starts.

    ``counts`` is by PCI address (or ``kernel_log.PEERMEM``) and kind, also for devices that are no HCAs (yet).
    ``active`` are those that are not over. ``heard`` is whether there was any message.
    """

    def __init__(self, root: str) -> None:
        self.counts: Dict[Tuple[str, str], int] = {}
        self.active: Set[Tuple[str, str]] = set()
        self.heard = False
        self._root = root
        self._log: Optional[kernel_log.KernelLog] = None
        self._addresses: Dict[str, str] = {}
        self._left_out = 0

    @property
    def lost(self) -> int:
        """Messages that nobody has read."""
        return (self._log.lost if self._log else 0) + self._left_out

    def look(self, addresses: Mapping[str, str]) -> None:
        """Take in what was said since the last look; raises OSError where the log cannot be read.

        ``addresses`` are the PCI addresses of the host's netdevs, which is all that older kernels name. Names in the
        network namespace of a pod are the pod's choice, so none of them counts.
        """
        self._addresses.update(addresses)
        self._log = self._log or kernel_log.KernelLog(self._root, _AT_MOST)
        for _at, message in self._log.messages():
            self.heard = True
            device = kernel_log.device_of(message)
            if device is not None:
                self._take(self._addresses.get(device, device), message)
        if not self.heard:
            # As where a container has something else in its place.
            raise OSError(errno.ENODATA, "no message of a kernel", kernel_log.PATH)

    def _take(self, device: str, message: str) -> None:
        for code, over in kernel_log.faults(message):
            key = (device, code)
            if over:
                self.active.discard(key)
                continue
            if key in self.counts or len(self.counts) < _MOST:
                self.counts[key] = self.counts.get(key, 0) + 1
                self.active.add(key)
            else:
                self._left_out += 1
