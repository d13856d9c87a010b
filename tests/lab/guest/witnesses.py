# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest as root: asks the usual tools what the node has and prints their answers as one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Dict

COMMANDS = {
    "rdma_dev": "rdma -j dev show",
    "rdma_link": "rdma -j link show",
    "rdma_system": "rdma -j system show",
    "ibv_devinfo": "ibv_devinfo -v",
    "lspci": "lspci -D -nn -k -vmm",
    "lspci_verbose": "lspci -D -vv",
    "lstopo": "lstopo --of xml --whole-io",
    "ip_link": "ip -j -d link show",
    "ip_addr": "ip -j address show",
    "ip_route": "ip -j route show default",
    "ip_route6": "ip -j -6 route show default",
    "lsmod": "lsmod",
    "kernel": "uname -r",
    "devices": "ls -lL /dev/infiniband /dev/infiniband/by-ibdev",
    "by_ibdev": "ls -l /dev/infiniband/by-ibdev",
}


def main() -> int:
    """Ask every tool; one that fails makes the whole collection fail, for a silent witness proves nothing."""
    answers: Dict[str, str] = {}
    for name, command in COMMANDS.items():
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(command.split(), capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            print(f"{command}: exit code {done.returncode}: {done.stderr}", file=sys.stderr)
            return 1
        answers[name] = done.stdout
    json.dump(answers, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
