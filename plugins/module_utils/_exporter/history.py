# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What only several looks show: how often a link went down, and whether an HCA is gone."""

from __future__ import annotations

import time
from typing import Dict, Mapping, NamedTuple, Optional, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.ports import Reading

ACTIVE = 4
# An HCA that some looks in a row have not found, of which one may have come while its driver was loaded again.
LOOKS = 3
# Seconds for which one that is gone is still told of, unless the plan names it.
_REMEMBERED = 3600.0


class Seen(NamedTuple):
    """Of a port at one look: where it was, and what counts its downs, ``None`` where nothing does."""

    place: int
    active: bool
    link_downed: Optional[int]
    downs: Optional[int]


class Device(NamedTuple):
    """Of an HCA: its PCI function, how many looks in a row did not find it, and when it was seen last."""

    pci: str
    missed: int
    seen: float


def went_down(before: Seen, now: Seen) -> int:
    """How often a link went down between two looks, as far as it can be told.

    A move into a pod takes the netdev down as well, and a counter that is smaller was reset: neither counts.
    """
    if before.place != now.place:
        return 0
    found = [int(before.active and not now.active)]
    for earlier, later in ((before.link_downed, now.link_downed), (before.downs, now.downs)):
        if earlier is not None and later is not None:
            found.append(max(0, later - earlier))
    return max(found)


class History:
    """Since the exporter started. ``flaps`` is by HCA and port."""

    def __init__(self) -> None:
        self.flaps: Dict[str, Dict[str, int]] = {}
        self.devices: Dict[str, Device] = {}
        self._seen: Dict[str, Dict[str, Seen]] = {}

    def port(self, name: str, number: str, now: Seen) -> None:
        """Take in what one look has seen of a port."""
        seen, flaps = self._seen.setdefault(name, {}), self.flaps.setdefault(name, {})
        flaps[number] = flaps.get(number, 0) + (went_down(seen[number], now) if number in seen else 0)
        seen[number] = now

    def look(self, found: Mapping[str, Reading], unread: Set[str]) -> None:
        """Take in which HCAs one look has found; of those in ``unread`` it could not tell."""
        now = time.monotonic()
        for name, reading in found.items():
            self.devices[name] = Device(str(reading["pci"]), 0, now)
        taken = {device.pci for name, device in self.devices.items() if name in found and device.pci}
        for name, device in list(self.devices.items()):
            if name in found or name in unread:
                continue
            # Another name for the same function: udev has renamed it.
            if device.pci in taken or now - device.seen > _REMEMBERED:
                self._forget(name)
            else:
                self.devices[name] = device._replace(missed=device.missed + 1)

    def _forget(self, name: str) -> None:
        for table in (self.devices, self.flaps, self._seen):
            table.pop(name, None)

    def present(self, name: str, functions: Set[str]) -> bool:
        """Whether an HCA is there: one in a place where no look leads, such as a namespace of no pod, is not gone."""
        device = self.devices[name]
        return device.missed < LOOKS or device.pci in functions
