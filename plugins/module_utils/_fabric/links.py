# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Links of a fabric and neighbours of ports. What switches say of themselves is other people's text, so it is cut."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import List, Optional

# Of a name or an identifier. A node description has 64 bytes (InfiniBand), a value of LLDP 255 (IEEE 802.1AB).
MOST_CHARACTERS = 256
_WIDTH, _SPEED = re.compile("[0-9]{1,3}X"), re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")
# What a managed switch calls itself: MF0;<name>:<model>/U1. In a director switch, the part after the model tells its
# leaves apart, so that it stays.
_MANAGED = re.compile(r"MF0;(?P<name>[^:]+):[^/]+/U1")


def cut(text: str) -> str:
    """At most MOST_CHARACTERS of a text, without blanks around it."""
    return text.strip()[:MOST_CHARACTERS]


def guid(text: str) -> str:
    """A GUID in hexadecimal digits, with or without ``0x``, as ``0x`` and 16 digits."""
    return f"0x{int(text, 16):016x}"


def switch_name(description: str) -> str:
    """The name of a switch in its node description, which is what people call it."""
    managed = _MANAGED.fullmatch(description)
    return managed["name"] if managed else description


@dataclass(frozen=True)
class FabricLink:
    """One end of a link that is up.

    ``guid`` is that of the port for an HCA, and of the node for a switch. ``width`` (``4X``) and ``speed`` of a lane in
    Gb/s are those it runs at, ``could`` what both ends can do beyond that (``4X``, ``25.78125 Gbps``). ``state`` is
    ``Initialize`` as long as no subnet manager has set the port up, and empty where the source does not tell.
    """

    guid: str
    name: str
    port: int
    state: str
    width: str
    speed: str
    peer_guid: str
    peer: str
    peer_port: int
    could: List[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not (_WIDTH.fullmatch(self.width) and _SPEED.fullmatch(self.speed)):
            raise ValueError(f"width and speed are {self.width[:20]!r} and {self.speed[:20]!r}")

    @property
    def gbps(self) -> float:
        """Lanes times the speed of one, before line coding."""
        return int(self.width.rstrip("X")) * float(self.speed)


@dataclass(frozen=True)
class LldpNeighbour:
    """Who spoke last on a netdev. ``speed`` is the other end's operational MAU type, in lldpd's words."""

    netdev: str
    chassis: str
    name: str
    port: str
    description: str = ""
    speed: str = ""


@dataclass(frozen=True)
class Neighbour:
    """What is at the other end of a port's cable.

    ``id`` is the GUID of an InfiniBand switch or the chassis ID of an Ethernet switch, ``switch`` its name, and
    ``port`` the number or name of its port. ``description`` and ``alias`` are other names of these. ``link`` is how the
    link runs, as the source says it. ``host`` is set where the other end is no switch but a port of this host.
    """

    switch: str
    id: str
    port: str
    link: str = ""
    description: str = ""
    alias: str = ""
    host: Optional[str] = None

    @property
    def where(self) -> str:
        """``leaf-4/12``."""
        return f"{self.switch}/{self.port}"
