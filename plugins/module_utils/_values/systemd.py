# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a program says to systemd, which started it: its state, and lines for the journal."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible


def notify(state: str) -> None:
    """Tell systemd, if it wants to know (sd_notify(3)) and has time."""
    target = os.environ.get("NOTIFY_SOCKET", "")
    if target:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)
            connection.connect("\0" + target[1:] if target.startswith("@") else target)
            connection.sendall(state.encode())


def log(message: str, **fields: object) -> None:
    """One line of JSON on standard error, which systemd stores."""
    sys.stderr.write(visible(json.dumps({"message": message, **fields}, ensure_ascii=False, default=str)) + "\n")
    sys.stderr.flush()
