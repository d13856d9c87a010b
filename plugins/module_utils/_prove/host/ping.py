# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether packets of a size reach an address in one piece, by iputils' ping.

Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# Headers of an echo request: IPv4 20 or IPv6 40 bytes, ICMP 8.
_HEADERS = {4: 28, 6: 48}
_SMALL = 56
_COUNT = 2
_WAIT = 2
# More at once would compete with each other for the node's CPUs.
_AT_ONCE = 16

_SUMMARY = re.compile(r"^([0-9]+) packets transmitted, ([0-9]+) (?:packets )?received", re.MULTILINE)
_MTU_SAID = re.compile(r"mtu ?= ?([0-9]+)")
_COMPLAINT = re.compile(r"^(?:\S*ping: |From \S+ icmp_seq=[0-9]+ )(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class PathProbe:
    """``mtu`` is the size in bytes of the packets that should get through, IP header included.

    ``netdev`` is the one that sends them, ``None`` where the routes say which.
    """

    name: str
    source: str
    target: str
    mtu: int
    netdev: Optional[str] = None


@dataclass(frozen=True)
class PingResult:
    """``mtu`` is the MTU that the kernel or a router named because of which a packet did not get through."""

    sent: int = 0
    received: int = 0
    mtu: Optional[int] = None
    complaint: str = ""
    usable: bool = True


Ping = Callable[[PathProbe, int], PingResult]


def parse(text: str, status: int) -> PingResult:
    """What ping's output means. Without a summary line it never got as far as sending."""
    summary = _SUMMARY.search(text)
    said = _MTU_SAID.search(text)
    complaints = _COMPLAINT.findall(text)
    complaint = complaints[0].strip() if complaints else ""
    if summary is None:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        # A missing route is also an answer, but a ping without -M is not.
        complaint = complaint or (lines or [f"exit status {status}"])[0]
        return PingResult(complaint=complaint, usable="option" not in complaint)
    return PingResult(
        sent=int(summary.group(1)),
        received=int(summary.group(2)),
        mtu=int(said.group(1)) if said else None,
        complaint=complaint,
    )


def ping(probe: PathProbe, payload: int) -> PingResult:
    """Send a few packets that nothing may fragment."""
    argv = ["ping", "-n", "-c", str(_COUNT), "-i", "0.2", "-W", str(_WAIT), "-M", "do", "-s", str(payload)]
    # RoCE, too, sends from the netdev of its GID only (rdma_addr_find_l2_eth_by_grh in the kernel's addr.c).
    netdev = [] if probe.netdev is None else ["-I", probe.netdev]
    try:
        done = command.run([*argv, *netdev, "-I", probe.source, probe.target])
    except HostError as error:
        return PingResult(complaint=str(error), usable=False)
    if done.rc == command.NOT_INSTALLED:
        return PingResult(complaint=f"{done.reason} (package iputils-ping)", usable=False)
    return parse(done.err + done.out, done.rc)


def payload_of(probe: PathProbe) -> int:
    """Bytes of data in an echo request that makes a packet of the probe's MTU."""
    return probe.mtu - _HEADERS[6 if ":" in probe.target else 4]


def probe_one(probe: PathProbe, send: Ping = ping) -> Dict[str, Any]:
    """Whether the largest packet gets through and, where it does not, whether a small one does."""
    large = send(probe, payload_of(probe))
    small = large if large.received or not large.usable else send(probe, _SMALL)
    return {
        "name": probe.name,
        "usable": large.usable,
        "reached": small.received > 0,
        "whole": large.received > 0,
        "lost": large.sent - large.received if large.received else 0,
        "mtu_named": large.mtu,
        "complaint": small.complaint if not small.received else large.complaint,
    }


def probe_all(probes: Sequence[PathProbe], send: Ping = ping) -> List[Dict[str, Any]]:
    """All of them, some at a time, in their order."""
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return list(pool.map(lambda probe: probe_one(probe, send), probes))
