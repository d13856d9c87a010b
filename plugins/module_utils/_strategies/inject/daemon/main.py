# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command line of the daemon."""

from __future__ import annotations

import argparse
import os
import signal
import socket
from typing import List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import (
    configuration,
    daemon,
    status,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import (
    Configuration,
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import systemd

_SIGNALS = {int(signal.SIGTERM): "stop", int(signal.SIGINT): "stop", int(signal.SIGHUP): "reload"}
_WRONG = 78  # sysexits.h, EX_CONFIG


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="inject", description="Gives containers the RDMA devices beside their GPUs.")
    parser.add_argument("--config", default="/etc/zerocopy-rdma/inject.json", help="configuration (%(default)s)")
    parser.add_argument("--status", default="/run/zerocopy-rdma-inject/status.json", help="(%(default)s)")
    parser.add_argument("--root", default="/", help="where /sys, /proc and /dev are (%(default)s)")
    for key in configuration.KEYS:
        parser.add_argument("--" + key.replace("_", "-"), dest=key, help="instead of the file's")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Serve until SIGTERM or SIGINT; SIGHUP reads the configuration again."""
    options = _arguments(argv)
    given = {key: getattr(options, key) for key in configuration.KEYS if getattr(options, key) is not None}

    def load() -> Configuration:
        try:
            with open(options.config, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        except ValueError as error:
            raise ConfigurationError(f"{options.config} is not UTF-8: {error}") from error
        return configuration.read(text, os.environ, given)

    came: List[str] = []
    wake, waker = socket.socketpair()
    waker.setblocking(False)
    for number in _SIGNALS:
        signal.signal(number, lambda number, _frame: came.append(_SIGNALS[number]))
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)

    def asked() -> str:
        every, came[:] = list(came), []
        return "stop" if "stop" in every else "reload" if every else ""

    try:
        served = daemon.InjectDaemon(load, options.root, options.status, wake, asked)
    except (ConfigurationError, OSError) as error:
        status.log("info", "error", "the configuration is wrong", file=options.config, error=str(error))
        return _WRONG
    served.run(lambda: systemd.notify("READY=1"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
