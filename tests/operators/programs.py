# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Controllers that run as processes of this machine, beside the control plane."""

from __future__ import annotations

import base64
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from control_plane import lifecycle, processes
from vmlab.progress import await_condition, tail

SECONDS = 300


def port() -> int:
    """A port that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_server(what: str, number: int, log: Path) -> None:
    """Wait until a program listens on a port of loopback, and tell the end of its log where it does not."""

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", number)) == 0

    await_condition(what, listens, seconds=SECONDS, note=lambda: tail(log))


def client_config(plane: lifecycle.ControlPlane, number: int, path: str) -> dict[str, Any]:
    """How the API server reaches a webhook on loopback, where nobody routes Services."""
    ca = lifecycle.authority(plane.name).ca.certificate.read_bytes()
    return {"url": f"https://127.0.0.1:{number}{path}", "caBundle": base64.b64encode(ca).decode()}


@contextmanager
def process(argv: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """A program that is asked to end, and waited for."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    running = processes.spawn(["env", *settings, *argv], log, tied=True)
    try:
        yield
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(timeout=SECONDS)
        finally:
            running.kill()
            running.wait()
