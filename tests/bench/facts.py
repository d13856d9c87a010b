# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What ``rdma_facts`` costs, as a ratio to ``ansible.builtin.ping`` and to the usual way, on one host in one run.

The usual way is a task each for ``ibv_devinfo``, ``rdma link``, ``lspci -vv`` and ``ip -j addr``. Every candidate runs
in a loop inside one play; the same play without iterations is subtracted, so that what remains is the cost per call.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

USUAL = ("ibv_devinfo -v", "rdma link show", "lspci -vv", "ip -j addr")


def candidates(facts_options: dict[str, object]) -> dict[str, list[dict[str, object]]]:
    """Tasks of each candidate by name."""
    commands = [{"ansible.builtin.command": {"cmd": command}, "changed_when": False} for command in USUAL]
    return {
        "ansible.builtin.ping": [{"ansible.builtin.ping": {}}],
        "zerocopy.rdma.rdma_facts": [{"zerocopy.rdma.rdma_facts": facts_options}],
        "the usual four tasks": list(commands),
    }


def seconds(inventory: str, host: str, tasks: list[dict[str, object]], calls: int) -> float:
    """Wall time of a play with ``calls`` rounds of the tasks. Raises CalledProcessError when the play fails."""
    looped = [dict(task, loop=list(range(calls))) for task in tasks]
    play = [{"hosts": host, "gather_facts": False, "tasks": looped}]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "bench.yml")
        path.write_text(yaml.safe_dump(play))
        begin = time.monotonic()
        done = subprocess.run(
            ["ansible-playbook", "-i", inventory, str(path)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{done.stdout}\n{done.stderr}\nthe play failed on {host}")
        return time.monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inventory", default="localhost,")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--calls", type=int, default=5, help="calls per play")
    parser.add_argument("--rounds", type=int, default=3, help="plays per candidate, interleaved")
    options = parser.parse_args()
    spent: dict[str, list[float]] = {}
    for number in range(options.rounds):
        for name, tasks in candidates({}).items():
            print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr)
            empty = seconds(options.inventory, options.host, tasks, 0)
            full = seconds(options.inventory, options.host, tasks, options.calls)
            spent.setdefault(name, []).append((full - empty) / options.calls)
    medians = {name: statistics.median(values) for name, values in spent.items()}
    facts = medians["zerocopy.rdma.rdma_facts"]
    print(f"host {options.host}, median of {options.rounds} rounds of {options.calls} calls")
    for name, median in medians.items():
        low, high = min(spent[name]), max(spent[name])
        print(f"{name:28} {median:6.2f} s  ({low:.2f} to {high:.2f})  rdma_facts takes {facts / median:5.2f} x this")


if __name__ == "__main__":
    main()
