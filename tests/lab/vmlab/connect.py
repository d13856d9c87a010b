# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""ssh's ProxyCommand: runs inside the lab's network namespace, connects, and hands the socket back to ssh."""

from __future__ import annotations

import socket
import sys


def main() -> int:
    """Connect to the address and port given and pass the connected socket over standard output."""
    host, port = sys.argv[1], int(sys.argv[2])
    try:
        connection = socket.create_connection((host, port), timeout=60)
    except OSError as error:
        print(f"{host}:{port}: {error}", file=sys.stderr)
        return 1
    connection.settimeout(None)
    with socket.socket(fileno=1) as channel:
        socket.send_fds(channel, [b"\0"], [connection.fileno()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
