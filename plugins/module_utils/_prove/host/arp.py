# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether another station on the wire has an address of this node: ARP probes as in RFC 5227, section 2.1.1.

Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Optional, Sequence

_ETHERNET = 1
_ARP = 0x0806
_BROADCAST = b"\xff" * 6
_REQUEST, _REPLY = 1, 2
_FRAME = struct.Struct("!6s6sHHHBBH6s4s6s4s")
_PROBES = 3
_EVERY = 0.3
_NET = "sys/class/net"


@dataclass(frozen=True)
class LocalAddress:
    """An IPv4 address that this node has on a netdev."""

    netdev: str
    address: str


def probe_frame(mac: bytes, address: str) -> bytes:
    """An ARP request for an address from nobody (sender address 0.0.0.0), so that no cache is changed by it."""
    wanted = socket.inet_aton(address)
    none = b"\0" * 4
    return _FRAME.pack(_BROADCAST, mac, _ARP, _ETHERNET, 0x0800, 6, 4, _REQUEST, mac, none, b"\0" * 6, wanted)


def claimant(frame: bytes, address: str, own: FrozenSet[bytes]) -> Optional[bytes]:
    """The MAC address of another station that says it has the address; probes of others count too (RFC 5227, 2.1.1)."""
    if len(frame) < _FRAME.size:
        return None
    fields = _FRAME.unpack(frame[: _FRAME.size])
    _to, _from, kind, hardware, _protocol, _hlen, _plen, operation, sender, sender_ip, _target, target_ip = fields
    if kind != _ARP or hardware != _ETHERNET or sender in own:
        return None
    wanted = socket.inet_aton(address)
    probing = operation == _REQUEST and sender_ip == b"\0" * 4 and target_ip == wanted
    return bytes(sender) if sender_ip == wanted or probing else None


def _text(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def own_macs() -> FrozenSet[bytes]:
    """MAC addresses of all netdevs of this network namespace: a node may answer itself through another port."""
    found = set()
    for name in os.listdir(os.path.join("/", _NET)):
        with contextlib.suppress(OSError, ValueError):
            found.add(bytes.fromhex(_text(f"/{_NET}/{name}/address").replace(":", "")))
    return frozenset(found)


def _probe(netdev: str, addresses: Sequence[str], own: FrozenSet[bytes]) -> Dict[str, bytes]:
    """Who else claims these addresses of one netdev. Raises OSError."""
    found: Dict[str, bytes] = {}
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ARP)) as wire:
        wire.bind((netdev, _ARP))
        mac = wire.getsockname()[4]
        for _time in range(_PROBES):
            for address in addresses:
                wire.send(probe_frame(mac, address))
            deadline = time.monotonic() + _EVERY
            while True:
                # Also while frames keep coming: in a broadcast storm there is always another.
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([wire], [], [], left)[0]:
                    break
                frame = wire.recv(2048)
                for address in addresses:
                    other = claimant(frame, address, own)
                    if other is not None:
                        found[address] = other
    return found


def probe_all(wanted: Sequence[LocalAddress]) -> List[Dict[str, Any]]:
    """For each address who else has it (``other``, ``None`` for nobody), or ``skipped`` with why it cannot be told."""
    results: List[Dict[str, Any]] = []
    own = own_macs()
    for netdev in dict.fromkeys(address.netdev for address in wanted):
        addresses = [address.address for address in wanted if address.netdev == netdev]
        skipped, found = "", {}
        try:
            if int(_text(f"/{_NET}/{netdev}/type")) != _ETHERNET:
                skipped = "ARP over InfiniBand cannot be probed"
            else:
                found = _probe(netdev, addresses, own)
        except OSError as error:
            skipped = error.strerror or str(error)
        for address in addresses:
            other = found.get(address)
            text = None if other is None else ":".join(f"{byte:02x}" for byte in other)
            results.append({"netdev": netdev, "address": address, "other": text, "skipped": skipped})
    return results
