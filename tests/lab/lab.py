# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The lab's command line; see README.md beside it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cluster import gpus, node_programs, plugins
from gpu_driver import programs
from vmlab import cache, image, kernel_module, lifecycle, prerequisites, snapshot, tools, topology
from vmlab.paths import CACHE, SSH_CONFIG
from vmlab.progress import LabError, say


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lab.py", description="QEMU guests with NUMA, PCIe switches and SR-IOV.")
    commands = parser.add_subparsers(dest="command", required=True)
    deps = commands.add_parser("deps", help="say which Debian packages the host lacks")
    deps.add_argument("--install", action="store_true", help="install them with apt-get")
    build = commands.add_parser("image", help="build the guest images and tools that are not cached")
    build.add_argument("--prune", action="store_true", help="also remove those of older recipes")
    commands.add_parser("up", help="start the guests and wait for ssh")
    commands.add_parser("down", help="stop and remove everything")
    reboot = commands.add_parser("reboot", help="reboot a node and wait until it has booted again")
    reboot.add_argument("node")
    module = commands.add_parser("module", help="load a kernel module of the lab on a node, now and at every boot")
    module.add_argument("node")
    module.add_argument("name")
    module.add_argument("option", nargs="*", help="as modprobe takes them")
    commands.add_parser("save", help="keep memory and disks of the guests as they are now")
    commands.add_parser("restore", help="bring the guests back to where they were saved")
    commands.add_parser("status", help="show what runs")
    ssh = commands.add_parser("ssh", help="open a shell on a node, or run a command there")
    ssh.add_argument("node")
    ssh.add_argument("remote", nargs=argparse.REMAINDER, metavar="command")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    if options.command == "deps":
        if options.install:
            prerequisites.install()
        prerequisites.check()
    elif options.command == "image":
        prerequisites.check()
        for node in topology.NODES:
            say(f"{node.name}: {image.guest_image(node.suite)}")
        for program in tools.build_all().values():
            say(f"{program.name}: {program}")
        every = (*tools.TOOLS, *node_programs.TOOLS, *plugins.TOOLS, *programs.TOOLS, gpus.HELM)
        keep = image.keys() | {tools.key(tool) for tool in every}
        for name in cache.prune(keep, "guest", "qemu", "tool") if options.prune else []:
            say(f"removed {CACHE / name}")
    elif options.command == "up":
        lifecycle.up()
    elif options.command == "down":
        lifecycle.down()
    elif options.command == "reboot":
        lifecycle.reboot(topology.node(options.node))
    elif options.command == "module":
        kernel_module.install(options.name, topology.node(options.node), " ".join(options.option))
    elif options.command == "save":
        snapshot.save()
    elif options.command == "restore":
        snapshot.restore()
    elif options.command == "status":
        return lifecycle.status()
    elif options.command == "ssh":
        os.execvp("ssh", ["ssh", "-F", str(SSH_CONFIG), topology.node(options.node).name, *options.remote])
    return 0


def main() -> int:
    """Run the command; a failure is one message that names the log to read, not a traceback."""
    options = _arguments()
    try:
        return _run(options)
    except LabError as error:
        print(f"lab.py {options.command}: {error}", file=sys.stderr)
        hint = lifecycle.logs_on_failure()
        if hint:
            print(hint, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
