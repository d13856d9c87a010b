# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""RDMA netlink (``NETLINK_RDMA``): the nldev messages for devices, ports and the netns mode.

pyroute2 has no RDMA family, so the message tables are declared here on its classes. Numbers and types are those of
include/uapi/rdma/rdma_netlink.h (``enum rdma_nldev_attr``, ``enum rdma_nldev_command``). Only requests that read
are sent; none of them needs a privilege.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple

try:
    from pyroute2.netlink import nlmsg

    HAS_PYROUTE2 = True
except ImportError:
    nlmsg = object
    HAS_PYROUTE2 = False

NETLINK_RDMA = 20

_RDMA_NL_NLDEV = 5
CMD_GET = 1
CMD_PORT_GET = 5
CMD_SYS_GET = 6

_NLM_F_REQUEST = 0x1
_NLM_F_ACK = 0x4
_NLM_F_DUMP = 0x300
_NLMSG_ERROR = 2
_NLMSG_DONE = 3
_HEADER = struct.Struct("=IHHII")
_DEV_INDEX = 1

_NETNS_MODES = {0: "exclusive", 1: "shared"}


class NldevMessage(nlmsg):  # type: ignore[misc]  # pyroute2 is optional and ships no type information
    """One nldev message. pyroute2 indexes ``nla_map`` by attribute number when each entry names its own."""

    prefix = "RDMA_NLDEV_"
    nla_map = (
        (1, "RDMA_NLDEV_ATTR_DEV_INDEX", "uint32"),
        (2, "RDMA_NLDEV_ATTR_DEV_NAME", "asciiz"),
        (3, "RDMA_NLDEV_ATTR_PORT_INDEX", "uint32"),
        (5, "RDMA_NLDEV_ATTR_FW_VERSION", "asciiz"),
        (6, "RDMA_NLDEV_ATTR_NODE_GUID", "uint64"),
        (9, "RDMA_NLDEV_ATTR_LID", "uint32"),
        (10, "RDMA_NLDEV_ATTR_SM_LID", "uint32"),
        (12, "RDMA_NLDEV_ATTR_PORT_STATE", "uint8"),
        (13, "RDMA_NLDEV_ATTR_PORT_PHYS_STATE", "uint8"),
        (14, "RDMA_NLDEV_ATTR_DEV_NODE_TYPE", "uint8"),
        (50, "RDMA_NLDEV_ATTR_NDEV_INDEX", "uint32"),
        (51, "RDMA_NLDEV_ATTR_NDEV_NAME", "asciiz"),
        (66, "RDMA_NLDEV_SYS_ATTR_NETNS_MODE", "uint8"),
        (67, "RDMA_NLDEV_ATTR_DEV_PROTOCOL", "asciiz"),
    )


class NldevError(Exception):
    """The kernel has no RDMA netlink or refused a request."""


@dataclass
class Nldev:
    """One reading: netdev name by (device name, port number), and the netns mode in the words of ``rdma system``.

    The kernel tells a port's netdev only when it is in the caller's network namespace.
    """

    netdevs: Dict[Tuple[str, int], str] = field(default_factory=dict)
    netns_mode: Optional[str] = None


def request(command: int, sequence: int, device: Optional[int] = None, dump: bool = False) -> bytes:
    """An encoded nldev request."""
    body = b"" if device is None else struct.pack("=HHI", 8, _DEV_INDEX, device)
    flags = _NLM_F_REQUEST | (_NLM_F_DUMP if dump else _NLM_F_ACK)
    return _HEADER.pack(_HEADER.size + len(body), (_RDMA_NL_NLDEV << 10) | command, flags, sequence, 0) + body


def split(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """Netlink messages in a received buffer, as (type, whole message)."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind = struct.unpack_from("=IH", data, offset)
        if length < _HEADER.size:
            return
        yield kind, data[offset : offset + length]
        offset += (length + 3) & ~3


def attributes(message: bytes) -> Dict[str, Any]:
    """Attributes of one nldev message by name, decoded by pyroute2; unknown ones are left out."""
    decoded = NldevMessage(message)
    decoded.decode()
    return {name: value for name, value in decoded["attrs"] if name in _KNOWN}


_KNOWN = frozenset(entry[1] for entry in NldevMessage.nla_map)


def interpret(ports: List[bytes], system: List[bytes]) -> Nldev:
    """A reading from the answers to CMD_PORT_GET (of all devices) and CMD_SYS_GET."""
    result = Nldev()
    for attrs in map(attributes, ports):
        netdev = attrs.get("RDMA_NLDEV_ATTR_NDEV_NAME")
        if netdev:
            key = (attrs["RDMA_NLDEV_ATTR_DEV_NAME"], attrs["RDMA_NLDEV_ATTR_PORT_INDEX"])
            result.netdevs[key] = netdev
    for attrs in map(attributes, system):
        result.netns_mode = _NETNS_MODES.get(attrs.get("RDMA_NLDEV_SYS_ATTR_NETNS_MODE", -1))
    return result


def _ask(sock: socket.socket, message: bytes) -> List[bytes]:
    sock.send(message)
    answers: List[bytes] = []
    while True:
        for kind, raw in split(sock.recv(65536)):
            if kind == _NLMSG_DONE:
                return answers
            if kind == _NLMSG_ERROR:
                (code,) = struct.unpack_from("=i", raw, _HEADER.size)
                if code:
                    raise OSError(-code, "RDMA netlink request refused")
                return answers
            answers.append(raw)


def read() -> Nldev:
    """Ask the running kernel.

    Raises NldevError when pyroute2 is missing or the kernel has no RDMA subsystem.
    """
    if not HAS_PYROUTE2:
        raise NldevError("pyroute2 is not installed")
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as sock:
            sock.settimeout(5)
            devices = _ask(sock, request(CMD_GET, 1, dump=True))
            ports: List[bytes] = []
            for sequence, raw in enumerate(devices, 2):
                index = attributes(raw)["RDMA_NLDEV_ATTR_DEV_INDEX"]
                ports.extend(_ask(sock, request(CMD_PORT_GET, sequence, device=index, dump=True)))
            system = _ask(sock, request(CMD_SYS_GET, len(devices) + 2))
            return interpret(ports, system)
    except (OSError, KeyError) as error:
        raise NldevError(str(error)) from error
