# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Counters that only the driver of a netdev has, as ``ethtool -S`` shows them: pauses and what the port discards.

Source: include/uapi/linux/ethtool.h. The names are those of drivers: mlx5 (drivers/net/ethernet/mellanox/mlx5/core,
en_stats.c), bnxt_en (bnxt_ethtool.c), ice (ice_ethtool.c), ionic (ionic_stats.c). None of these requests needs a
privilege.
"""

from __future__ import annotations

import fcntl
import re
import socket
import struct
from array import array
from typing import Dict, List, NamedTuple, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.pci import is_address

_SIOCETHTOOL = 0x8946
_DRIVER, _STRINGS, _STATS = 0x03, 0x1B, 0x1D
_OF_STATS = 1
_WIDTH = 32
_BUS, _NUMBER, _DRIVER_SIZE = 100, 180, 196
# The kernel writes as many as the driver has at this moment, which may be more than it had a moment ago.
_ROOM, _MOST = 1024, 1 << 14

_KNOWN = (
    ("pfc", re.compile(r"(?P<direction>rx|tx)_prio(?P<priority>[0-7])_pause")),
    ("pfc", re.compile(r"(?P<direction>rx|tx)_pfc_ena_frames_pri(?P<priority>[0-7])")),
    ("pfc", re.compile(r"(?P<direction>rx|tx)_priority_(?P<priority>[0-7])_xoff(?:\.nic)?")),
    ("pfc", re.compile(r"frames_(?P<direction>rx|tx)_pripause_(?P<priority>[0-7])")),
    ("pause", re.compile(r"(?P<direction>rx|tx)_(?:pause_ctrl_phy|pause_frames)")),
    ("pause", re.compile(r"link_xoff_(?P<direction>rx|tx)(?:\.nic)?")),
    ("pause", re.compile(r"frames_(?P<direction>rx|tx)_pause")),
    ("discards", re.compile(r"(?P<direction>rx|tx)_discards_phy")),
    ("discards", re.compile(r"(?P<direction>rx|tx)_total_discard_pkts")),
)


class Stat(NamedTuple):
    """Where a counter stands among those of its driver, and what it counts; ``priority`` is empty for all of them."""

    place: int
    kind: str
    direction: str
    priority: str


def _ask(sock: socket.socket, name: str, buffer: array[int]) -> None:
    """Have the kernel fill the buffer, which begins with the command. Raises OSError."""
    request = struct.pack("16sP", name.encode("utf-8", "replace")[:15], buffer.buffer_info()[0])
    fcntl.ioctl(sock, _SIOCETHTOOL, request)


def _open() -> socket.socket:
    # Any socket will do, and this one is of no network.
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def _driver(sock: socket.socket, name: str) -> bytes:
    buffer = array("B", struct.pack("=I", _DRIVER) + bytes(_DRIVER_SIZE))
    _ask(sock, name, buffer)
    return buffer.tobytes()


def bus_address(name: str) -> str:
    """The PCI address that the driver of a netdev says, empty where it says none."""
    try:
        with _open() as sock:
            raw = _driver(sock, name)
    except OSError:
        return ""
    text = raw[_BUS : _BUS + _WIDTH].split(b"\0")[0].decode("ascii", "replace")
    return text if is_address(text) else ""


def known(names: List[str]) -> List[Stat]:
    """Those of a driver's counters that are exported."""
    found: List[Stat] = []
    for place, name in enumerate(names):
        for kind, pattern in _KNOWN:
            match = pattern.fullmatch(name)
            if match:
                parts = match.groupdict()
                found.append(Stat(place, kind, parts["direction"], parts.get("priority") or ""))
                break
    return found


def _names(sock: socket.socket, name: str, number: int) -> List[str]:
    buffer = array("B", struct.pack("=III", _STRINGS, _OF_STATS, number) + bytes(_WIDTH * (2 * number + _ROOM)))
    _ask(sock, name, buffer)
    raw = buffer.tobytes()
    number = min(struct.unpack_from("=I", raw, 8)[0], number)
    entries = (raw[12 + _WIDTH * at : 12 + _WIDTH * (at + 1)] for at in range(number))
    return [entry.split(b"\0")[0].decode("ascii", "replace") for entry in entries]


class Reading(NamedTuple):
    """``stats`` says where the values stand in the answers of a driver that has ``number`` of them."""

    number: int
    stats: List[Stat]
    values: List[int]


def read(name: str, before: Optional[Reading] = None) -> Optional[Reading]:
    """The counters of a netdev; ``before`` is an earlier reading of it, without which their names are read first."""
    try:
        with _open() as sock:
            number = struct.unpack_from("=I", _driver(sock, name), _NUMBER)[0]
            if not 0 < number <= _MOST:
                return None
            stats = before.stats if before and before.number == number else known(_names(sock, name, number))
            if not stats:
                return Reading(number, [], [])
            buffer = array("B", struct.pack("=II", _STATS, number) + bytes(8 * (2 * number + _ROOM)))
            _ask(sock, name, buffer)
    except OSError:
        return None
    raw = buffer.tobytes()
    return Reading(number, stats, [struct.unpack_from("=Q", raw, 8 + 8 * stat.place)[0] for stat in stats])


def samples(reading: Reading) -> Dict[str, int]:
    """By ``kind/direction/priority``, since a driver may have one thing under two names, in which case one counts."""
    found: Dict[str, int] = {}
    for stat, value in zip(reading.stats, reading.values):
        found.setdefault(f"{stat.kind}/{stat.direction}/{stat.priority}", value)
    return found
