# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether a measured transfer used the intended path.

NIXL falls back to other transports and does not say so, and UCX splits a block between RDMA and TCP where both are
allowed: a port's counters grow then as well. So the row of UCX's table that moved the block is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.log import Case, ProtoTable, payload

TCP = "tcp"
_RC = "rc_"
_WORD = 4
# The largest path MTU of InfiniBand and RoCE (InfiniBand Architecture Specification, MTU): no packet has more data.
_PACKET = 4096
# Names of a port's counters in bytes' words, and in packets, by the initiator's direction.
_COUNTERS = {"WRITE": ("port_xmit_data", "sent_pkts"), "READ": ("port_rcv_data", "rcvd_pkts")}


@dataclass(frozen=True)
class Transport:
    """What carried a block: UCX's ``config``, and the HCAs in it, none over TCP.

    ``counted`` are the bytes that the ports' counters allow for at least, ``None`` where they have none that tells.
    """

    config: str
    devices: Tuple[str, ...] = ()
    counted: Optional[int] = None


class DishonestError(ValueError):
    """Why a measurement does not count as a result."""


def _hca(device: str) -> str:
    return device.partition(":")[0]


def _counted(counters: Mapping[str, int], operation: str, devices: Collection[str]) -> Optional[int]:
    data, packets = _COUNTERS[operation]
    own = {name: value for name, value in counters.items() if name.split("/")[0] in devices}
    for counter, factor in ((data, _WORD), (packets, _PACKET)):
        values = [value for name, value in own.items() if name.endswith(f"/{counter}")]
        if values:
            return sum(values) * factor
    return None


def _lanes(found: Sequence[ProtoTable], case: Case) -> Tuple[str, List[Tuple[str, str]]]:
    rows = payload(found, case.operation, case.bytes)
    lanes = [lane for _peer, row in rows for lane in row.lanes]
    config = "; ".join(dict.fromkeys(row.config for _peer, row in rows))
    return config, list(dict.fromkeys(lanes))


def judge(case: Case, found: Sequence[ProtoTable], allocated: Optional[Collection[str]]) -> Transport:
    """``allocated`` are the HCAs of the initiator's pod, ``None`` for one that has to use TCP.

    Raises DishonestError.
    """
    at = f"{case.operation} of {case.bytes} bytes"
    if not case.initiator.boot_id or case.initiator.boot_id == case.target.boot_id:
        raise DishonestError(f"{at}: both ends ran on one node, {case.initiator.node}")
    config, lanes = _lanes(found, case)
    if not lanes:
        raise DishonestError(f"{at}: UCX did not report which transport carried the data")
    if any(row.cut for _peer, row in payload(found, case.operation, case.bytes)):
        raise DishonestError(f"{at}: UCX reported the transport of only part of the data ({config})")
    near = [peer for peer, _row in payload(found, case.operation, case.bytes) if peer != "inter-node"]
    if near:
        raise DishonestError(f"{at}: UCX treated both ends as if they were on one node ({config})")
    if allocated is None:
        if any(transport != TCP for transport, _device in lanes):
            raise DishonestError(f"{at}: not only over TCP, but {config}")
        return Transport(config)
    if any(not transport.startswith(_RC) for transport, _device in lanes):
        why = "TCP was allowed" if any(transport == TCP for transport, _device in lanes) else "not RDMA (rc)"
        raise DishonestError(f"{at}: {why}: its data went over {config}")
    if any(row.emulated for _peer, row in payload(found, case.operation, case.bytes)):
        raise DishonestError(f"{at}: not RDMA: UCX emulated it in software ({config})")
    devices = tuple(dict.fromkeys(_hca(device) for _transport, device in lanes))
    foreign = [device for device in devices if device not in allocated]
    if foreign:
        has = ", ".join(sorted(allocated)) or "none"
        raise DishonestError(f"{at}: its data went over {config}, but the pod was given {has}")
    counted = _counted(case.counters, case.operation, devices)
    sent = case.bytes * case.iterations
    if counted is not None and counted < sent:
        raise DishonestError(
            f"{at}: {sent} bytes were sent, but the counters of {', '.join(devices)} grew by {counted}"
        )
    return Transport(config, devices, counted)
