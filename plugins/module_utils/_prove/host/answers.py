# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What modules answer on a host, as far as it is compared with what others answered. What a node sends is input.

Only what has another shape is refused, and only this host is concerned by it. Texts and lists without a limit of their
own are not looked at here.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Type

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read

REMEDY = "Update the collection and verify again. If it happens again, report it with this text."


@dataclass
class _Change:
    kind: str
    name: str
    before: Any
    after: Any


@dataclass
class _Address:
    netdev: Optional[str]
    address: Optional[str]
    mtu: Optional[int]
    uuid: str

    def __post_init__(self) -> None:
        if self.address:
            ipaddress.ip_interface(self.address)


@dataclass
class _Link:
    name: str
    mac: Optional[str] = None
    addresses: Optional[List[_Address]] = None


@dataclass
class _Difference:
    before_header: str
    after_header: str
    before: str
    after: str


@dataclass
class _Daemon:
    unit: str
    service: Optional[str] = None
    changes: List[_Change] = field(default_factory=list)


@dataclass
class _Concern:
    changed: bool
    error: Any
    links: Optional[List[_Link]] = None
    exporter: Optional[_Daemon] = None
    attributes: Optional[_Daemon] = None
    lldpd: Optional[_Daemon] = None
    diff: Optional[List[_Difference]] = None
    changes: List[_Change] = field(default_factory=list)
    warnings: List[Any] = field(default_factory=list)
    reboot_reasons: List[Any] = field(default_factory=list)


@dataclass
class _Ping:
    name: str
    usable: bool
    reached: bool
    whole: bool
    lost: int
    complaint: str


@dataclass
class _Claim:
    netdev: str
    address: str
    other: Optional[str]
    skipped: str


@dataclass
class Reached:
    """Of ``rdma_reachability``; it has nothing of these where it failed."""

    pings: List[_Ping] = field(default_factory=list)
    addresses: List[_Claim] = field(default_factory=list)


@dataclass
class _Run:
    name: str
    ok: bool
    value: Optional[float] = None


@dataclass
class Runs:
    """Of ``rdma_bandwidth``; it has nothing of these where it failed."""

    results: List[_Run] = field(default_factory=list)


@dataclass
class _Round(Runs):
    round: int = 0


@dataclass
class Rounds:
    """Of ``rdma_bandwidth`` in each round with other hosts; the first has the number 0."""

    rounds: List[_Round]


def fault(kind: Type[Any], value: Any) -> str:
    """What is wrong with an answer of this kind, empty if nothing is."""
    try:
        read.typed(kind, value)
    # That of a value that is no address says nothing of its place.
    except ValueError as error:
        return str(error)
    return ""


def fault_of_comparison(result: Any) -> str:
    """The same of the comparison of the module ``node``, which may have failed."""
    if not isinstance(result, Mapping) or not isinstance(result.get("concerns", {}), Mapping):
        return "concerns is not a map"
    every = ((name, fault(_Concern, concern)) for name, concern in result.get("concerns", {}).items())
    return next((f"concerns.{name}.{wrong}" for name, wrong in every if wrong), "")
