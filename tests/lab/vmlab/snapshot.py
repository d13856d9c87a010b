# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Guests as they were at a moment, memory and disk: kept by their QEMU, and gone with it."""

from __future__ import annotations

import time

from . import monitor, network
from .progress import LabError, step
from .topology import NODES

_TAG = "saved"


def save() -> None:
    """Keep every guest as it is now, instead of what was kept before. Raises LabError."""
    for node in NODES:
        with step(f"{node.name}: saving memory and disk"):
            monitor.command(node.name, f"savevm {_TAG}")


def restore() -> None:
    """Bring every guest back to where it was saved, with the time of now. Raises LabError."""
    for node in NODES:
        with step(f"{node.name}: back to where it was saved"):
            monitor.command(node.name, f"loadvm {_TAG}")
            done = network.ssh(node.name, f"date --set=@{time.time():.3f}")
        if done.returncode:
            raise LabError(f"{node.name} does not answer after that: {done.stderr}")
