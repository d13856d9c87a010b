# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which error counters of a port say that its link is bad, by the thresholds that the field uses.

Source: NVSentinel, NIC Health Monitor, "Link Counter Detection", appendix A (default counter thresholds). It compares
readings some seconds apart; one reading has only the average since the node booted, which is never above the true rate:
counters start at zero when the card does, at boot or earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree

# More than so many a second.
PER_SECOND = {
    "symbol_error": 10.0,
    "link_error_recovery": 5 / 60,
    "port_rcv_errors": 10.0,
    "port_xmit_discards": 100.0,
    "local_ack_timeout_err": 1.0,
}
# Any at all.
NEVER = ("excessive_buffer_overrun_errors", "local_link_integrity_errors")
_DAY, _HOUR = 86400.0, 3600.0


@dataclass
class Fault:
    """A counter above its threshold; ``limit`` is how many the time allows."""

    counter: str
    count: int
    limit: float


def faults(counters: Mapping[str, int], seconds: Optional[float]) -> List[Fault]:
    """Counters that grew too fast over ``seconds``; without them only those that must not grow at all are judged.

    The field takes any growth of ``link_downed`` for a fault. The count of one reading includes reboots and maintenance
    of the switch, so a link may go down once a day here.
    """
    limits = dict.fromkeys(NEVER, 0.0)
    if seconds is not None:
        # Errors while the link trains at boot are no rate.
        limits.update({name: rate * max(seconds, _HOUR) for name, rate in PER_SECOND.items()})
        limits["link_downed"] = max(seconds / _DAY, 1.0)
    return [
        Fault(name, counters[name], limit) for name, limit in sorted(limits.items()) if counters.get(name, 0) > limit
    ]


def grown_too_fast(grown: Mapping[str, int], seconds: float) -> List[Fault]:
    """Counters that grew too fast between two readings, ``seconds`` apart."""
    limits = {name: rate * seconds for name, rate in PER_SECOND.items()}
    limits.update(dict.fromkeys((*NEVER, "link_downed"), 0.0))
    return [Fault(name, grown[name], limit) for name, limit in sorted(limits.items()) if grown.get(name, 0) > limit]


def uptime(tree: Tree) -> Optional[float]:
    """Seconds since boot (proc_uptime(5))."""
    word = (tree.text("proc/uptime") or "").split(" ")[0]
    whole = word.split(".")[0]
    return float(whole) if whole.isascii() and whole.isdigit() and len(whole) < 12 else None
