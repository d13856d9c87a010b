# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The command line of the cluster; see README.md of the lab."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# Beside another lab that may run, unless told otherwise.
os.environ.setdefault("ZEROCOPY_LAB", "zerocopy-cluster")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vmlab import lifecycle as guests
from vmlab import prerequisites, topology
from vmlab.progress import LabError

from cluster import benchmark_image, gpus, lifecycle, plugins


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cluster", description="The lab's guests as nodes of a Kubernetes cluster.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start guests and a control plane")
    roles = [nic.role for nic in topology.NICS]
    up.add_argument("--nic", action="append", default=[], choices=roles, help="one more NIC of the guests")
    commands.add_parser("plugins", help="build images of device plugins, and give the guests what those need")
    commands.add_parser("benchmark", help="build the image of the benchmark and print the path of its archive")
    commands.add_parser("join", help="make the guests nodes and wait until they are ready")
    commands.add_parser("gpus", help="give the nodes what NVIDIA's DRA driver needs")
    commands.add_parser("down", help="stop and remove everything")
    return parser.parse_args()


def main() -> int:
    """Run the command; a failure is one message that names the log to read, not a traceback."""
    options = _arguments()
    try:
        prerequisites.check()
        steps = {"plugins": plugins.bring, "join": lifecycle.join, "gpus": gpus.bring, "down": lifecycle.down}
        if options.command == "benchmark":
            print(benchmark_image.archive())
        elif options.command == "up":
            lifecycle.up(options.nic)
        else:
            steps[options.command]()
    except LabError as error:
        print(f"cluster {options.command}: {error}", file=sys.stderr)
        print(guests.logs_on_failure(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
