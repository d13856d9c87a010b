# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: writes the raw answers of RDMA netlink (NETLINK_RDMA, nldev) to files, for unit tests.

    python3 record_nldev.py DIRECTORY

One file per request, the bytes of all answers in the order they came, NLMSG_DONE included.
"""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path
from typing import Dict, Iterator, Tuple

NETLINK_RDMA = 20
RDMA_NL_NLDEV = 5
CMD_GET, CMD_PORT_GET, CMD_SYS_GET = 1, 5, 6
ATTR_DEV_INDEX, ATTR_DEV_NAME = 1, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 0x1, 0x4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
HEADER = struct.Struct("=IHHII")


def messages(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """Split a buffer into netlink messages: type and payload."""
    offset = 0
    while offset < len(data):
        length, kind, _flags, _sequence, _pid = HEADER.unpack_from(data, offset)
        yield kind, data[offset + HEADER.size : offset + length]
        offset += (length + 3) & ~3


def request(command: int, flags: int, payload: bytes = b"") -> bytes:
    """Send one request and return everything the kernel answers, up to and including the end marker."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as link:
        link.bind((0, 0))
        kind = (RDMA_NL_NLDEV << 10) | command
        link.send(HEADER.pack(HEADER.size + len(payload), kind, NLM_F_REQUEST | flags, 1, 0) + payload)
        answer = b""
        while True:
            answer += link.recv(1 << 20)
            if any(kind in (NLMSG_DONE, NLMSG_ERROR) for kind, _payload in messages(answer)):
                return answer


def attribute(kind: int, value: bytes) -> bytes:
    """Encode one netlink attribute."""
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def devices(dump: bytes) -> Dict[int, str]:
    """Map index to name of every device in the dump of CMD_GET."""
    found = {}
    for kind, payload in messages(dump):
        if kind in (NLMSG_DONE, NLMSG_ERROR):
            continue
        index, name, offset = None, None, 0
        while offset < len(payload):
            length, attr = struct.unpack_from("=HH", payload, offset)
            value = payload[offset + 4 : offset + length]
            if attr == ATTR_DEV_INDEX:
                index = struct.unpack("=I", value)[0]
            elif attr == ATTR_DEV_NAME:
                name = value.rstrip(b"\0").decode()
            offset += (length + 3) & ~3
        if index is not None and name is not None:
            found[index] = name
    return found


def main() -> None:
    """Record devices, the ports of each device, and the system's network namespace mode."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    dump = request(CMD_GET, NLM_F_DUMP)
    (target / "dev_get.bin").write_bytes(dump)
    (target / "sys_get.bin").write_bytes(request(CMD_SYS_GET, NLM_F_ACK))
    for index, name in devices(dump).items():
        ports = request(CMD_PORT_GET, NLM_F_DUMP, attribute(ATTR_DEV_INDEX, struct.pack("=I", index)))
        (target / f"port_get-{name}.bin").write_bytes(ports)


if __name__ == "__main__":
    main()
