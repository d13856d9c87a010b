# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Synthesised answers of DCB netlink: the structures of include/uapi/linux/dcbnl.h (Linux 6.1), laid out by ctypes.

No kernel here has a driver with DCB. ``CONNECTX`` has the settings of a real ConnectX that
https://github.com/att/netarbiter shows (nvmf/OUTPUTSAMPLE.setup-nic-lossless-layer3.sh.md, of ``mlnx_qos``); counters
and buffers, which it does not show, are made up.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

_U8, _U16, _U32, _U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
_NLA_F_NESTED = 0x8000


class IeeeEts(ctypes.Structure):
    _fields_ = [
        *((name, _U8) for name in ("willing", "ets_cap", "cbs")),
        *((name, _U8 * 8) for name in ("tc_tx_bw", "tc_rx_bw", "tc_tsa", "prio_tc")),
        *((name, _U8 * 8) for name in ("tc_reco_bw", "tc_reco_tsa", "reco_prio_tc")),
    ]


class IeeePfc(ctypes.Structure):
    _fields_ = [
        *((name, _U8) for name in ("pfc_cap", "pfc_en", "mbc")),
        ("delay", _U16),
        ("requests", _U64 * 8),
        ("indications", _U64 * 8),
    ]


class DcbnlBuffer(ctypes.Structure):
    _fields_ = [("prio2buffer", _U8 * 8), ("buffer_size", _U32 * 8), ("total_size", _U32)]


class DcbApp(ctypes.Structure):
    _fields_ = [("selector", _U8), ("priority", _U8), ("protocol", _U16)]


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _filled(kind: Any, values: Mapping[str, Any]) -> bytes:
    found = kind()
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            getattr(found, name)[: len(value)] = value
        else:
            setattr(found, name, value)
    return bytes(found)


def message(
    ets: Optional[Mapping[str, Any]] = None,
    pfc: Optional[Mapping[str, Any]] = None,
    buffer: Optional[Mapping[str, Any]] = None,
    apps: Sequence[Tuple[int, int, int]] = (),
    trust: Optional[Sequence[int]] = None,
    dcbx: Optional[int] = None,
) -> bytes:
    """The answer to DCB_CMD_IEEE_GET, as ``dcbnl_ieee_fill`` makes it. ``apps`` are (selector, priority, protocol)."""
    entries = [attribute(1, bytes(DcbApp(*app))) for app in apps]
    inner = [attribute(1, _filled(IeeeEts, ets))] if ets is not None else []
    inner += [attribute(2, _filled(IeeePfc, pfc))] if pfc is not None else []
    inner += [attribute(10, _filled(DcbnlBuffer, buffer))] if buffer is not None else []
    # The kernel begins the table whether there are entries or not.
    inner.append(attribute(3, b"".join(entries)))
    if trust is not None:
        inner.append(attribute(11, b"".join(attribute(1, bytes([selector])) for selector in trust)))
    outer = [attribute(1, b"ens1np0\0"), attribute(13 | _NLA_F_NESTED, b"".join(inner))]
    outer += [attribute(14, bytes([dcbx]))] if dcbx is not None else []
    body = struct.pack("=BBH", 0, 21, 0) + b"".join(outer)
    return struct.pack("=IHHII", 16 + len(body), 78, 0, 1, 0) + body


# DCB_CAP_DCBX_HOST, _VER_CEE and _VER_IEEE.
CONNECTX: Dict[str, Any] = {
    "ets": {"ets_cap": 8, "tc_tx_bw": [100] * 8, "tc_tsa": [255] * 8, "prio_tc": [1, 0, 2, 3, 4, 5, 6, 7]},
    "pfc": {"pfc_cap": 8, "pfc_en": 1 << 3, "delay": 7, "requests": [0, 0, 0, 12], "indications": [0, 0, 0, 1 << 40]},
    "buffer": {"prio2buffer": [0, 0, 0, 1], "buffer_size": [20352, 242176], "total_size": 262144},
    "apps": [(5, dscp // 8, dscp) for dscp in range(64)],
    "dcbx": 0x0D,
}
PRIORITIES: List[int] = [dscp // 8 for dscp in range(64)]
