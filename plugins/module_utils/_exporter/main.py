# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command line of the exporter."""

from __future__ import annotations

import argparse
import gc
import math
import signal
import socket
from typing import Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import configuration, daemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import systemd

_WRONG = 78  # sysexits.h, EX_CONFIG


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="exporter", description="Metrics of RDMA ports, and of the pods that hold them."
    )
    parser.add_argument("--config", default="/etc/zerocopy-rdma/exporter.json", help="configuration (%(default)s)")
    parser.add_argument("--root", default="/", help="where /sys is (%(default)s)")
    parser.add_argument("--looks", type=float, default=math.inf, help="end after so many looks")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = _arguments(argv)
    wake, waker = socket.socketpair()
    waker.setblocking(False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    try:
        with open(options.config, encoding="utf-8") as file:
            config = configuration.read(file.read())
        exporter = daemon.Exporter(config, options.root, wake)
    except (configuration.ConfigurationError, OSError, ValueError) as error:
        systemd.log("the exporter cannot start", file=options.config, error=str(error))
        return _WRONG
    # What is there now stays: children do not copy it by counting its references.
    gc.collect()
    gc.freeze()
    exporter.run(lambda: systemd.notify("READY=1"), options.looks)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
