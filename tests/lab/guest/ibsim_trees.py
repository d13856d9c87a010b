# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: an InfiniBand fabric simulated by ibsim, as sysfs trees before and after the real opensm.

    python3 ibsim_trees.py DIRECTORY

Leaves ``before-node1``, ``before-node2``, ``after-node1`` and ``after-node2`` in the directory, each with the tree the
facts can be gathered from (``sys/class/infiniband``) and what ``ibstat`` said at that moment (``ibstat.txt``).
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict

FABRIC = """\
Switch 8 "leaf"
[1] "node1"[1]
[2] "node2"[1]

Hca 1 "node1"
[1] "leaf"[1]

Hca 1 "node2"
[1] "leaf"[2]
"""
NODES = ("node1", "node2")
READY = "Network simulator ready."
SECONDS = 60


def environment(node: str) -> Dict[str, str]:
    """Environment in which a program sees the simulated node's HCA instead of this machine's."""
    library = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]
    return {**os.environ, "LD_PRELOAD": library, "SIM_HOST": node}


def capture(node: str, scratch: str, target: Path) -> None:
    """Copy the tree umad2sim makes: it lives as long as the process that has the library loaded."""
    # The library makes the tree at the first look at /sys, before that call returns.
    look = "import os; print(os.listdir('/sys/class/infiniband'), flush=True); input()"
    holder = [sys.executable, "-c", look]
    with subprocess.Popen(
        holder, cwd=scratch, env=environment(node), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes to the process that holds the tree")
        process.stdout.readline()
        shutil.copytree(Path(scratch, f"sys-{process.pid}"), target)
        process.stdin.write("\n")
    ibstat = subprocess.run(
        ["ibstat"], cwd=scratch, env=environment(node), capture_output=True, text=True, timeout=SECONDS, check=True
    )
    (target / "ibstat.txt").write_text(ibstat.stdout)
    for ports in target.glob("sys/class/infiniband/*/ports/*"):
        # The simulator's tree is that of kernels before 2.6.37, which had no Ethernet ports to tell apart.
        (ports / "link_layer").write_text("InfiniBand\n")


def main() -> None:
    """Run the fabric, capture every node, let opensm configure it, capture again."""
    out = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["IBSIM_SOCKNAME"] = scratch.replace("/", "-")
        Path(scratch, "fabric").write_text(FABRIC)
        command = ["ibsim", "-s", "-N", "16", "-P", "64", "-L", "16", "fabric"]
        # ibsim ends when its standard input does, so the pipe stays open until everything is captured.
        with subprocess.Popen(
            command, cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as simulator:
            try:
                if simulator.stdout is None or not any(READY in line for line in simulator.stdout):
                    sys.exit("ibsim ended before its fabric was ready")
                for node in NODES:
                    capture(node, scratch, out / f"before-{node}")
                subprocess.run(
                    ["opensm", "--once", "--log_file", f"{scratch}/opensm.log"],
                    cwd=scratch,
                    env=environment(NODES[0]),
                    stdout=subprocess.DEVNULL,
                    timeout=SECONDS,
                    check=True,
                )
                for node in NODES:
                    capture(node, scratch, out / f"after-{node}")
            finally:
                simulator.kill()


if __name__ == "__main__":
    main()
