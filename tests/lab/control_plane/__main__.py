# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The command line of the control plane; see README.md beside it."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vmlab.progress import LabError, say

from control_plane import lifecycle, pins, programs
from control_plane.components import APIS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="control_plane", description="A real Kubernetes control plane on loopback.")
    commands = parser.add_subparsers(dest="command", required=True)
    kubernetes = argparse.ArgumentParser(add_help=False)
    kubernetes.add_argument("--version", default=pins.WANTED, help="of Kubernetes (%(default)s)")
    instance = argparse.ArgumentParser(add_help=False)
    instance.add_argument("--api", choices=APIS, default="v1", help="version of resource.k8s.io (%(default)s)")
    instance.add_argument("--audit", action="store_true", help="log requests to audit.log beside the kubeconfig")
    name = argparse.ArgumentParser(add_help=False)
    name.add_argument("--name", default="default", help="of the control plane, for several at once (%(default)s)")
    commands.add_parser("build", parents=[kubernetes], help="build the programs that are not cached")
    started = [kubernetes, instance, name]
    up = commands.add_parser("up", parents=started, help="start it and print its kubeconfig's path")
    up.add_argument("--address", help="where real nodes reach it, on port 443 (default: nodes are objects only)")
    down = commands.add_parser("down", parents=[name], help="stop it and remove its data")
    down.add_argument("--all", action="store_true", help="all there are, also what a killed run left")
    run = commands.add_parser("run", parents=[kubernetes, instance], help="run a command with it, then stop it")
    run.add_argument("argv", nargs="+", metavar="command", help="finds KUBECONFIG and kubectl in its environment")
    commands.add_parser("pin", parents=[kubernetes], help="make another version the committed one")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    if options.command == "build":
        for program, path in programs.build(options.version).items():
            say(f"{program}: {path}")
    elif options.command == "up":
        settings = {"version": options.version, "api": options.api, "audit": options.audit, "address": options.address}
        plane = lifecycle.up(options.name, **settings)
        say(f"kubectl: {plane.kubectl}")
        print(plane.kubeconfig)
    elif options.command == "down":
        for name in lifecycle.names() if options.all else [options.name]:
            lifecycle.down(name)
    elif options.command == "run":
        return _run_with(options)
    elif options.command == "pin":
        pins.write_kubernetes(pins.KUBERNETES, options.version)
    return 0


def _run_with(options: argparse.Namespace) -> int:
    settings = {"version": options.version, "api": options.api, "audit": options.audit}
    with lifecycle.running(f"run-{os.getpid()}", **settings) as plane:
        path = f"{plane.kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "PATH": path}
        return subprocess.call(["setpriv", "--pdeathsig", "TERM", *options.argv], env=environment)


def _terminate(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def main() -> int:
    """Run the command; a failure is one message, not a traceback."""
    signal.signal(signal.SIGTERM, _terminate)
    options = _arguments()
    try:
        return _run(options)
    except LabError as error:
        print(f"control_plane {options.command}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
