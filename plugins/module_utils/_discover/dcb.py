# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Data Center Bridging of a netdev: what its driver answers to DCB netlink (include/uapi/linux/dcbnl.h).

Only requests that read are sent; these need no privilege (``dcb_doit`` in net/dcb/dcbnl.c).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import socket
import struct
from typing import List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Buffers, Ets, Qos

NETLINK_ROUTE = 0
_RTM_GETDCB, _IEEE_GET = 78, 21
_ATTR_IFNAME, _ATTR_IEEE, _ATTR_DCBX = 1, 13, 14
_ETS, _PFC, _APP_TABLE, _BUFFER, _TRUST_TABLE = 1, 2, 3, 10, 11
# struct dcbmsg, behind the netlink header; the beginning of struct ieee_ets; struct ieee_pfc, dcbnl_buffer, dcb_app.
_DCBMSG, _IEEE_ETS = struct.Struct("=BBH"), struct.Struct("=3x8s8x8s8s")
_IEEE_PFC, _DCBNL_BUFFER, _APP = struct.Struct("=xB6x8Q8Q"), struct.Struct("=8B8I4x"), struct.Struct("=BBH")
_SEL_DSCP, _SEL_PCP = 5, 255
_DSCPS = 64
_DCBX_HOST = 0x01

# include/uapi/linux/sockios.h, ethtool.h
_SIOCETHTOOL, _GSSET_INFO, _GSTATS, _SS_STATS = 0x8946, 0x37, 0x1D, 1
_SPARE = 4096


def request(netdev: str) -> bytes:
    """An encoded request for all IEEE 802.1Qaz settings of a netdev."""
    name = netdev.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(name), _ATTR_IFNAME) + name
    body = _DCBMSG.pack(0, _IEEE_GET, 0) + attribute + bytes(-len(attribute) % 4)
    return netlink.request(_RTM_GETDCB, netlink.NLM_F_ACK, body)


def _ets(raw: bytes) -> Optional[Ets]:
    if len(raw) < _IEEE_ETS.size:
        return None
    bandwidth, algorithms, classes = _IEEE_ETS.unpack_from(raw)
    # IEEE_8021QAZ_TSA_STRICT, _CB_SHAPER, _ETS and _VENDOR, which is 255.
    words = [qos.ALGORITHMS[min(number, 3)] for number in algorithms]
    return Ets(list(classes), words, list(bandwidth))


def _dscp(raw: bytes) -> Optional[List[int]]:
    """The priority of each DSCP: 0 without an entry, and of several the highest."""
    found: Optional[List[int]] = None
    for _kind, value in netlink.each(raw, 0):
        selector, priority, dscp = _APP.unpack_from(value) if len(value) >= _APP.size else (0, 0, 0)
        if selector == _SEL_DSCP and dscp < _DSCPS:
            found = found or [0] * _DSCPS
            found[dscp] = max(priority, found[dscp])
    return found


def _trust(table: Optional[bytes], dscp: Optional[List[int]]) -> str:
    """Drivers without a table of their own (before Linux 6.2 all) trust DSCP once it has a priority in the APP table.

    So do mlx5 (``mlx5e_dcbnl_ieee_setapp``), ice and mlxsw; without one they trust the VLAN tag.
    """
    if table is None:
        return qos.DSCP if dscp else qos.PCP
    selectors = [value[0] for _kind, value in netlink.each(table, 0) if value]
    words = [{_SEL_DSCP: qos.DSCP, _SEL_PCP: qos.PCP}.get(selector) for selector in selectors]
    return next((word for word in words if word), qos.NONE)


def interpret(netdev: str, raw: bytes) -> Qos:
    """The settings in one answer, with its netlink header."""
    outer = netlink.attributes(raw, _DCBMSG.size)
    inner = netlink.attributes_at(outer.get(_ATTR_IEEE, b""), 0)
    found = Qos(netdev=netdev, dscp=_dscp(inner.get(_APP_TABLE, b"")), ets=_ets(inner.get(_ETS, b"")))
    pfc, buffer = inner.get(_PFC, b""), inner.get(_BUFFER, b"")
    if len(pfc) >= _IEEE_PFC.size:
        enabled, *frames = _IEEE_PFC.unpack_from(pfc)
        found.pfc = [priority for priority in range(8) if enabled >> priority & 1]
        found.pauses_sent, found.pauses_received = frames[:8], frames[8:]
    if len(buffer) >= _DCBNL_BUFFER.size:
        numbers: List[int] = list(_DCBNL_BUFFER.unpack_from(buffer))
        found.buffers = Buffers(numbers[:8], numbers[8:])
    if not (found.ets or found.dscp or found.pfc is not None):
        # Operations for the standard before IEEE's (CEE) only.
        return Qos(netdev=netdev, dcb=qos.NOT_OFFERED)
    found.dcb, found.trust = qos.OFFERED, _trust(inner.get(_TRUST_TABLE), found.dscp)
    dcbx = netlink.number(outer.get(_ATTR_DCBX))
    if dcbx is not None:
        found.managed_by = qos.HOST if dcbx & _DCBX_HOST else qos.FIRMWARE
    return found


def _refresh(sock: socket.socket, netdev: str) -> None:
    """Have the driver read its statistics.

    mlx5 answers DCB netlink with the pauses that it read last, and it reads those of priorities for ethtool alone
    (``MLX5E_DEFINE_STATS_GRP(per_prio, 0)`` in en_stats.c).
    """

    def call(buffer: ctypes.Array) -> None:  # type: ignore[type-arg]  # not a generic type in Python 3.8
        fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, struct.pack("16sP16x", netdev.encode(), ctypes.addressof(buffer)))

    # struct ethtool_sset_info with one count, struct ethtool_stats.
    info = ctypes.create_string_buffer(struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _SS_STATS, 0))
    call(info)
    mask, number = struct.unpack_from("=QI", info.raw, 8)
    if mask:
        # The kernel writes as many as there are by then, whatever the room for them.
        statistics = ctypes.create_string_buffer(8 + 16 * number + _SPARE)
        struct.pack_into("=II", statistics, 0, _GSTATS, number)
        call(statistics)


def _ask(sock: socket.socket, netdev: str) -> Qos:
    try:
        answers = netlink.ask(sock, request(netdev))
    except OSError as error:
        # EOPNOTSUPP is also what a kernel without CONFIG_DCB says.
        states = {errno.EOPNOTSUPP: qos.NOT_OFFERED, errno.ENODEV: qos.AWAY}
        return Qos(netdev=netdev, dcb=states.get(error.errno or 0, qos.REFUSED))
    return interpret(netdev, answers[0]) if answers else Qos(netdev=netdev, dcb=qos.REFUSED)


def read(sock: socket.socket, netdev: str) -> Qos:
    """What the driver of a netdev says; ``sock`` is one of NETLINK_ROUTE. Never raises."""
    found = _ask(sock, netdev)
    if found.pauses_sent is None:
        return found
    # A driver without statistics has no newer pauses either.
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        _refresh(plain, netdev)
    return _ask(sock, netdev)
