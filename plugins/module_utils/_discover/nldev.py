# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""RDMA netlink (``NETLINK_RDMA``): the nldev messages for devices, ports and the netns mode.

pyroute2 has no RDMA family, so the message table is declared here on its message class. Numbers and types are those of
include/uapi/rdma/rdma_netlink.h (``enum rdma_nldev_attr``, ``enum rdma_nldev_command``). Only requests that read
are sent; none of them needs a privilege.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.pyroute2_parts import HAS_PYROUTE2, nlmsg

_NETLINK_RDMA = 20
_RDMA_NL_NLDEV = 5
_DEV_INDEX = 1

CMD_GET = 1
CMD_PORT_GET = 5
CMD_SYS_GET = 6

_NETNS_MODES = {0: "exclusive", 1: "shared"}


class NldevMessage(nlmsg):  # type: ignore[misc]  # pyroute2 is optional and ships no type information
    """One nldev message. pyroute2 indexes ``nla_map`` by attribute number when each entry names its own."""

    prefix = "RDMA_NLDEV_"
    fields = ()
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


def request(command: int, device: Optional[int] = None, dump: bool = False) -> bytes:
    """An encoded nldev request, for all devices or the one with this index."""
    body = b"" if device is None else struct.pack("=HHI", 8, _DEV_INDEX, device)
    flags = netlink.NLM_F_DUMP if dump else netlink.NLM_F_ACK
    return netlink.request((_RDMA_NL_NLDEV << 10) | command, flags, body)


def attributes(raw: bytes) -> Dict[str, Any]:
    """Attributes of one nldev message by name."""
    return netlink.decode(NldevMessage, raw)


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


def read() -> Nldev:
    """Ask the running kernel.

    Raises NldevError when pyroute2 is missing or the kernel has no RDMA subsystem.
    """
    if not HAS_PYROUTE2:
        raise NldevError("pyroute2 is not installed")
    try:
        with netlink.open_socket(_NETLINK_RDMA) as sock:
            ports: List[bytes] = []
            for raw in netlink.ask(sock, request(CMD_GET, dump=True)):
                index = attributes(raw)["RDMA_NLDEV_ATTR_DEV_INDEX"]
                ports.extend(netlink.ask(sock, request(CMD_PORT_GET, device=index, dump=True)))
            return interpret(ports, netlink.ask(sock, request(CMD_SYS_GET)))
    except (OSError, KeyError) as error:
        raise NldevError(str(error)) from error
