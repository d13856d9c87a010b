# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the second run of prepare costs, in pings of the same hosts and against community modules, all in one run.

The hosts are copies of recorded nodes on this machine, reached by the local connection, all with the same forks. Each
playbook has run before, so nothing is left to change. Ratios are of CPU time, that of the controller and of the nodes
together, which other work on the machine disturbs least. ``community.general`` works on ``/`` only, so its run has an
``/etc`` of its own (private.sh) and stand-ins for ``nmcli`` and ``modprobe`` which cost less than the real ones.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
KINDS = ("v100-01", "a100-01", "h100-03")
SUBNETS = {"v100": "10.1.0.0/16", "a100": "10.2.0.0/16", "h100": "10.3.0.0/16"}
RAILS = {"v100": 2, "a100": 1, "h100": 4}


def expand(directory: Path, count: int) -> dict[str, object]:
    """Make ``count`` nodes and return their inventory."""
    chosen = [f"--node={kind}" for kind in KINDS]
    pristine = directory / "pristine"
    script = [sys.executable, str(CHECKOUT / "tests/fleet/expand.py"), "--output", str(pristine), *chosen]
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    groups: dict[str, dict[str, object]] = {}
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        group = kind.split("-")[0]
        host = f"{group}-{number // len(KINDS) + 1:04d}"
        # Files are replaced, never written in place, so copies can share them.
        shutil.copytree(pristine / kind, directory / "nodes" / host, symlinks=True, copy_function=os.link)
        entry = groups.setdefault(group, {"hosts": {}})
        entry["hosts"][host] = {"bench_links": [link(group, rail, number) for rail in range(RAILS[group])]}  # type: ignore[index]
        entry["vars"] = {"rdma_links_subnet": SUBNETS[group], "rdma_links_rails": RAILS[group]}
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rdma_discover_root": f"{directory}/nodes/{{{{ inventory_hostname }}}}",
        "rdma_serial": "100%",
    }
    return {"all": {"children": groups, "vars": variables}}


def link(group: str, rail: int, number: int) -> dict[str, object]:
    """What the community playbook is told about a link; the figures do not depend on the address."""
    address = f"10.{rail}.{number // 250}.{number % 250 + 1}/16"
    return {"name": f"rail{rail}", "type": "infiniband", "addresses": [address], "transport_mode": "datagram"}


def cpu() -> float:
    """Seconds that the programs started from here have used, with all that these started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def playbook(arguments: list[str]) -> tuple[dict[str, float], int]:
    """Seconds and changed tasks of one run. Ends the program when a host fails."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    begin, used = time.monotonic(), cpu()
    done = subprocess.run(
        ["ansible-playbook", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    spent = {"wall": time.monotonic() - begin, "cpu": cpu() - used}
    if done.returncode:
        sys.exit(f"{done.stdout[-5000:]}\nansible-playbook {' '.join(arguments)} failed")
    return spent, sum(int(count) for count in re.findall(r" changed=(\d+) ", done.stdout))


def second_run(arguments: list[str]) -> dict[str, float]:
    """Seconds of the second of two runs. Ends the program when that one still changes something."""
    playbook(arguments)
    spent, changed = playbook(arguments)
    if changed:
        sys.exit(f"ansible-playbook {' '.join(arguments)}: the second run changed {changed} things")
    return spent


def private(arguments: list[str]) -> dict[str, float]:
    """The same by this program in an /etc of its own, so that both runs see the same one."""
    command = [str(HERE / "private.sh"), sys.executable, str(HERE / "prepare.py"), "--second-run", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(command)} failed")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(count: int, scratch: Path, community: bool) -> dict[str, dict[str, float]]:
    """Seconds of the second run of each playbook on ``count`` hosts."""
    print(f"{count} nodes: expanding", file=sys.stderr)
    inventory = scratch / "inventory.yml"
    inventory.write_text(yaml.safe_dump(expand(scratch, count)))
    common = ["-i", str(inventory)]
    ping = scratch / "ping.yml"
    ping.write_text("- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n")
    prepare = [*common, str(CHECKOUT / "playbooks/prepare.yml")]
    runs = [("ping", [*common, str(ping)], second_run), ("prepare", prepare, second_run)]
    if community:
        runs.append(("community", [*common, str(HERE / "community.yml")], private))
    spent = {}
    for name, arguments, run in runs:
        spent[name] = run(arguments)
        print(f"{count} nodes: {name} {spent[name]['cpu']:.1f} s CPU, {spent[name]['wall']:.1f} s", file=sys.stderr)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[50, 200, 800])
    parser.add_argument("--community", type=int, default=200, help="up to how many nodes it is measured (%(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--second-run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.second_run:
        print(json.dumps(second_run(options.second_run)))
        return
    print("CPU seconds of one run, and per node")
    print("nodes     ping  prepare  community   prepare in pings   community / prepare   prepare ms per node")
    figures = {}
    for count in options.nodes:
        scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=CHECKOUT / "build"))
        try:
            spent = figures[count] = measure(count, scratch, count <= options.community)
        finally:
            shutil.rmtree(scratch)
        ping, prepare = spent["ping"]["cpu"], spent["prepare"]["cpu"]
        community = spent.get("community", {"cpu": math.nan})["cpu"]
        print(
            f"{count:5} {ping:8.1f} {prepare:8.1f} {community:10.1f} {prepare / ping:18.2f}"
            f" {community / prepare:21.2f} {prepare / count * 1000:21.0f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
