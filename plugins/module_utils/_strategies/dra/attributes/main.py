# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command line of the daemon."""

from __future__ import annotations

import argparse
import signal
from types import FrameType
from typing import NoReturn, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names, server
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import (
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import systemd

_WRONG = 78  # sysexits.h, EX_CONFIG


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="attributes", description="Attributes of NICs for DRANET's provider webhook.")
    parser.add_argument("--config", default="/etc/zerocopy-rdma/attributes.json", help="configuration (%(default)s)")
    parser.add_argument("--socket", default=names.SOCKET, help="where to listen (%(default)s)")
    return parser.parse_args(argv)


def _stopped(_number: int, _frame: Optional[FrameType]) -> NoReturn:
    raise SystemExit(0)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = _arguments(argv)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stopped)
    try:
        webhook = server.Webhook(options.socket, server.Source(options.config))
    except (ConfigurationError, OSError, ValueError) as error:
        systemd.log("the daemon cannot start", file=options.config, error=str(error))
        return _WRONG
    systemd.notify("READY=1")
    webhook.run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
