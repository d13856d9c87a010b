# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs in the lab's network namespace and hands on connections to the API server in it.

    ip netns exec NAMESPACE python3 relay.py DESCRIPTOR ADDRESS PORT

The socket it listens on was opened outside and is inherited, so it is on the loopback of the machine, where Ansible and
kubectl run. Guests cannot use it: it takes connections on one side only.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import suppress


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


async def _serve(listener: socket.socket, address: str, port: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                inner_reader, inner_writer = await asyncio.open_connection(address, port)
                try:
                    await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
                finally:
                    inner_writer.close()
        finally:
            writer.close()

    async with await asyncio.start_server(connected, sock=listener) as server:
        await server.serve_forever()


def main() -> None:
    """Serve until the namespace is taken down with all that runs in it."""
    descriptor, address, port = sys.argv[1:]
    asyncio.run(_serve(socket.socket(fileno=int(descriptor)), address, int(port)))


if __name__ == "__main__":
    main()
