# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Quality of service of a port: how the NIC tells traffic apart, and what it does so that RoCE loses no packets.

``None`` is what the driver does not offer, or what nobody could read, as everywhere in facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import ranges

# States of ``Qos.dcb``. A netdev that is away may be in a pod; a recorded node is not asked.
OFFERED, NOT_OFFERED, AWAY, NOT_ASKED, REFUSED = "offered", "not_offered", "away", "not_asked", "refused"
DSCP, PCP, NONE = "dscp", "pcp", "none"
# Of a traffic class: IEEE 802.1Qaz, and what a vendor has made.
ALGORITHMS = ("strict", "cb_shaper", "ets", "vendor")
HOST, FIRMWARE = "host", "firmware"


def dscp_text(priorities: Sequence[int]) -> str:
    """A map of DSCPs in words, those with priority 0 left out."""
    by_priority: Dict[int, List[str]] = {}
    for dscp, priority in enumerate(priorities):
        if priority:
            by_priority.setdefault(priority, []).append(str(dscp))
    return ", ".join(f"{ranges(dscps)} to {priority}" for priority, dscps in sorted(by_priority.items())) or "all to 0"


@dataclass
class Ets:
    """Enhanced transmission selection (IEEE 802.1Qaz).

    ``traffic_classes`` has one for each priority; ``algorithms`` and ``bandwidth`` (percent, of those with ``ets``)
    have an entry for each traffic class.
    """

    traffic_classes: List[int] = field(default_factory=list)
    algorithms: List[str] = field(default_factory=list)
    bandwidth: List[int] = field(default_factory=list)

    def share(self, priority: int) -> int:
        """The percent that a priority has for itself, 0 without a share of its own."""
        known = [number for number in self.traffic_classes if number < min(len(self.algorithms), len(self.bandwidth))]
        if len(known) != len(self.traffic_classes) or not priority < len(known) or known.count(known[priority]) > 1:
            return 0
        own = known[priority]
        return self.bandwidth[own] if self.algorithms[own] == "ets" else 0

    def __str__(self) -> str:
        classes = zip(self.algorithms, self.bandwidth)
        shares = ", ".join(f"{word} {percent}" if word == "ets" else word for word, percent in classes)
        return f"traffic classes {', '.join(map(str, self.traffic_classes))} ({shares})"


@dataclass
class Buffers:
    """Receive buffers: that of each priority, and their sizes in bytes."""

    of_priorities: List[int] = field(default_factory=list)
    sizes: List[int] = field(default_factory=list)


@dataclass
class Congestion:
    """Congestion control of RoCE: priorities with CNPs sent (``notify``) and obeyed (``react``), and CNPs' marks."""

    notify: Optional[List[int]] = None
    react: Optional[List[int]] = None
    cnp_dscp: Optional[int] = None
    cnp_priority: Optional[int] = None


@dataclass
class Qos:
    """Of the netdev ``netdev``, which is a slave where the port's own is a bond.

    ``dcb`` says whether its driver offers Data Center Bridging, or why that is unknown. ``managed_by`` is ``host``, or
    ``firmware`` that agrees with the switch (DCBX). ``trust`` is by what received packets get their priority (``dscp``,
    ``pcp``, ``none``), ``dscp`` the priority of each of the 64 DSCPs (``None`` if none has one), ``pfc`` the priorities
    that are paused rather than lost. ``roce_tos`` is RDMA-CM's default type of service. Pauses are frames of each
    priority, ``cnp_sent``, ``cnp_handled`` and ``ecn_marked`` (received with a mark) are packets, all since the driver
    was loaded.
    """

    netdev: str = ""
    dcb: str = NOT_ASKED
    managed_by: Optional[str] = None
    trust: Optional[str] = None
    dscp: Optional[List[int]] = None
    pfc: Optional[List[int]] = None
    ets: Optional[Ets] = None
    buffers: Optional[Buffers] = None
    congestion: Optional[Congestion] = None
    roce_tos: Optional[int] = None
    pauses_sent: Optional[List[int]] = None
    pauses_received: Optional[List[int]] = None
    cnp_sent: Optional[int] = None
    cnp_handled: Optional[int] = None
    ecn_marked: Optional[int] = None
