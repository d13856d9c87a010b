# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""RDMA netlink (``NETLINK_RDMA``): the nldev messages for devices, ports and the netns mode.

Numbers are those of include/uapi/rdma/rdma_netlink.h (``enum rdma_nldev_attr``, ``enum rdma_nldev_command``). Only
requests that read are sent; none of them needs a privilege.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink

_NETLINK_RDMA = 20
_RDMA_NL_NLDEV = 5
_DEV_INDEX, _DEV_NAME, _PORT_INDEX, _NDEV_NAME, _NETNS_MODE = 1, 2, 3, 51, 66

CMD_GET = 1
CMD_PORT_GET = 5
CMD_SYS_GET = 6

_NETNS_MODES: Dict[Optional[int], str] = {0: "exclusive", 1: "shared"}


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


def interpret(ports: List[bytes], system: List[bytes]) -> Nldev:
    """A reading from the answers to CMD_PORT_GET (of all devices) and CMD_SYS_GET."""
    result = Nldev()
    for attrs in map(netlink.attributes, ports):
        netdev, port = netlink.text(attrs.get(_NDEV_NAME)), netlink.number(attrs.get(_PORT_INDEX))
        if netdev and port is not None:
            result.netdevs[netlink.text(attrs.get(_DEV_NAME)), port] = netdev
    for attrs in map(netlink.attributes, system):
        result.netns_mode = _NETNS_MODES.get(netlink.number(attrs.get(_NETNS_MODE)))
    return result


def read() -> Nldev:
    """Ask the running kernel. Raises OSError when it has no RDMA subsystem or refuses a request."""
    with netlink.open_socket(_NETLINK_RDMA) as sock:
        ports: List[bytes] = []
        for raw in netlink.ask(sock, request(CMD_GET, dump=True)):
            index = netlink.number(netlink.attributes(raw).get(_DEV_INDEX))
            ports.extend(netlink.ask(sock, request(CMD_PORT_GET, device=index, dump=True)))
        return interpret(ports, netlink.ask(sock, request(CMD_SYS_GET)))
