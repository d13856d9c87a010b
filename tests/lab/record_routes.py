# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Writes the raw answers of rtnetlink about routes and policy rules to files, for unit tests.

    unshare --net python3 record_routes.py DIRECTORY

In the new network namespace are two pairs of veth with the addresses, routes and rules that the profiles of
``rdma_links`` give to two rails of one subnet, a route through a gateway, a blackhole, and a rule by destination.
In the file ``defaults`` are default routes as well: of two ways, in tables of their own, and one that refuses.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from pathlib import Path

COMMANDS = """
link add rail0 index 100 type veth peer name far0
link add rail1 index 102 type veth peer name far1
link set far0 up
link set far1 up
link set rail0 up
link set rail1 up
address add 10.4.0.1/16 dev rail0 metric 100
address add 10.4.128.1/16 dev rail1 metric 101
address add fd00:4::1/64 dev rail0 nodad
route add 10.4.0.0/16 dev rail0 src 10.4.0.1 table 100
route add 10.4.0.0/16 dev rail1 src 10.4.128.1 table 1001
rule add priority 2000 from 10.4.0.1 table 100
rule add priority 2000 from 10.4.128.1 table 1001
rule add priority 2001 from 10.4.0.1 to 10.9.0.0/16 table 100
rule add priority 2002 not from 10.4.0.1 table 100
route add 10.244.0.0/16 via 10.4.0.254 dev rail0
route add blackhole 10.245.0.0/16
"""
DEFAULTS = """
address add fd00:5::1/64 dev rail1 nodad
route add default nexthop via 10.4.0.254 dev rail0 nexthop via inet6 fd00:5::254 dev rail1
-6 route add default nexthop via fd00:4::254 dev rail0 nexthop via fd00:5::254 dev rail1
route add default via 10.4.0.253 dev rail0 table 100
-6 route add default via fd00:5::253 dev rail1 table 1001
route add unreachable default metric 4000
route add default dev rail1 metric 4001 table 253
"""
HEADER = struct.Struct("=IHHII")
REQUESTS = {"routes": 26, "rules": 34}
NLM_F_REQUEST_DUMP, NLMSG_ERROR, NLMSG_DONE = 0x301, 2, 3


def answers(kind: int) -> bytes:
    """Everything the kernel answers to a dump, up to and including the end marker."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.send(HEADER.pack(HEADER.size + 12, kind, NLM_F_REQUEST_DUMP, 1, 0) + bytes(12))
        found = b""
        while True:
            data = link.recv(1 << 16)
            found += data
            # The end marker may come with the last answers.
            while data:
                length, last = struct.unpack_from("=IH", data)
                data = data[length + 3 & ~3 :]
            if last in (NLMSG_ERROR, NLMSG_DONE):
                return found


def main() -> None:
    directory = Path(sys.argv[1])
    for command in COMMANDS.strip().splitlines():
        subprocess.run(["ip", *command.split()], check=True)
    for name, kind in REQUESTS.items():
        (directory / f"{name}.bin").write_bytes(answers(kind))
    for command in DEFAULTS.strip().splitlines():
        subprocess.run(["ip", *command.split()], check=True)
    (directory / "defaults.bin").write_bytes(answers(REQUESTS["routes"]))


if __name__ == "__main__":
    main()
