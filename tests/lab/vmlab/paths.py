# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Where the lab keeps things: what is worth keeping in the cache, what dies with the lab under /run."""

from __future__ import annotations

import os
from pathlib import Path

NAME = os.environ.get("ZEROCOPY_LAB", "zerocopy-lab")
RUN = Path("/run") / NAME
NAMESPACE = NAME
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zerocopy-rdma" / "lab"
LOGS = CACHE / "logs"
SSH_KEY = CACHE / "id_ed25519"
SSH_CONFIG = RUN / "ssh_config"
# Ansible's control_path_dir in the scenario's inventory.
SSH_CONTROL = RUN / "ssh"


def node_dir(node: str) -> Path:
    """Directory of one running guest: pid file, serial console, QEMU's messages."""
    return RUN / node


def serial_log(node: str) -> Path:
    """File that holds the guest's serial console."""
    return node_dir(node) / "serial.log"


def pid_file(node: str) -> Path:
    """File QEMU writes its process id to."""
    return node_dir(node) / "pid"


def qemu_log(node: str) -> Path:
    """What the guest's QEMU complained about."""
    return node_dir(node) / "qemu.log"


def qmp_socket(node: str) -> Path:
    """Socket on which QEMU is told to save and restore."""
    return node_dir(node) / "qmp.sock"
