# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a run costs in which nothing is left to change: in pings of the same hosts, against community modules, against
an empty play with as many tasks, all in one run.

The hosts are copies of recorded nodes on this machine, reached by the local connection, all with the same forks. The
first run was on one node of each kind; the others are copies of these, so nothing is left to change. Ratios are of CPU
time, that of the controller and of the nodes together, which other work on the machine disturbs least.
``community.general`` works on ``/`` only, so its run has system directories of its own (private.sh), with a real
NetworkManager, ``nmcli`` and ``modprobe``. The time of the NetworkManager daemon is not counted.
``site.yml`` runs without a cluster; what it is compared with are as many ``debug`` tasks on each host.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
PREPARE = CHECKOUT / "playbooks/prepare.yml"
SITE = CHECKOUT / "playbooks/site.yml"
KINDS = {"v100": "v100-01", "a100": "a100-01", "h100": "h100-03"}
RAILS = {"v100": 2, "a100": 1, "h100": 4}


def inventory(directory: Path, hosts: dict[str, list[str]]) -> Path:
    """The inventory of the hosts of each group, whose trees are in ``directory``."""
    groups = {
        group: {
            "hosts": dict.fromkeys(names),
            # An address of its own would be another file on each node; an MTU is the same on all.
            "vars": {"rdma_links_mtu": 2044, "rdma_links_rails": RAILS[group], "bench_links": links(group)},
        }
        for group, names in hosts.items()
    }
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rdma_discover_root": f"{directory}/{{{{ inventory_hostname }}}}",
        "rdma_serial": "100%",
    }
    path = directory.with_suffix(".yml")
    path.write_text(yaml.safe_dump({"all": {"children": groups, "vars": variables}}))
    return path


def links(group: str) -> list[dict[str, object]]:
    """The same links for the community playbook, with addresses, which nmcli's module does not do without."""
    return [
        {"name": f"rail{rail}", "type": "infiniband", "addresses": [f"10.{rail}.0.1/16"], "transport_mode": "datagram"}
        for rail in range(RAILS[group])
    ]


def prepared(scratch: Path) -> Path:
    """One node of each group after its first run."""
    chosen = [f"--node={kind}" for kind in KINDS.values()]
    pristine = scratch / "first"
    script = [sys.executable, str(CHECKOUT / "tests/fleet/expand.py"), "--output", str(pristine), *chosen]
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    playbook(["-i", str(inventory(pristine, {group: [kind] for group, kind in KINDS.items()})), str(PREPARE)])
    return pristine


def copies(first: Path, directory: Path, count: int) -> Path:
    """The inventory of ``count`` copies of the prepared nodes."""
    hosts: dict[str, list[str]] = {group: [] for group in KINDS}
    groups = list(KINDS)
    for number in range(count):
        group = groups[number % len(groups)]
        host = f"{group}-{number // len(groups) + 1:04d}"
        hosts[group].append(host)
        # Files are replaced, never written in place, so copies can share them.
        shutil.copytree(first / KINDS[group], directory / host, symlinks=True, copy_function=os.link)
    return inventory(directory, hosts)


def environment() -> dict[str, str]:
    """That of ansible-playbook."""
    return {**os.environ, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}


def ping_playbook(scratch: Path) -> Path:
    """A playbook that only pings all hosts."""
    path = scratch / "ping.yml"
    path.write_text("- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n")
    return path


def cpu() -> float:
    """Seconds that the programs started from here have used, with all that these started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def playbook(arguments: list[str]) -> tuple[dict[str, float], int]:
    """Seconds of one run with the ``tasks`` of most hosts, and changed tasks. Ends the program when a host fails."""
    begin, used = time.monotonic(), cpu()
    done = subprocess.run(
        ["ansible-playbook", *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    spent: dict[str, float] = {"wall": time.monotonic() - begin, "cpu": cpu() - used}
    if done.returncode:
        sys.exit(f"{done.stdout[-5000:]}\nansible-playbook {' '.join(arguments)} failed")
    ran = [int(count) for count in re.findall(r" ok=(\d+) ", done.stdout)]
    spent["tasks"] = statistics.mode(ran)
    return spent, sum(int(count) for count in re.findall(r" changed=(\d+) ", done.stdout))


def unchanged(arguments: list[str]) -> dict[str, float]:
    """Seconds of a run. Ends the program when it changes something."""
    spent, changed = playbook(arguments)
    if changed:
        sys.exit(f"ansible-playbook {' '.join(arguments)}: the second run changed {changed} things")
    return spent


def private(arguments: list[str]) -> dict[str, float]:
    """The second of two runs by this program in an /etc of its own, so that both see the same one."""
    command = [str(HERE / "private.sh"), sys.executable, str(HERE / "prepare.py"), "--second-run", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(command)} failed")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(count: int, scratch: Path, community: bool, site: bool) -> dict[str, dict[str, float]]:
    """Seconds of the second run of each playbook on ``count`` hosts."""
    print(f"{count} nodes: preparing one of each kind, and copying", file=sys.stderr)
    common = ["-i", str(copies(prepared(scratch), scratch / "nodes", count))]
    runs = [
        ("ping", [*common, str(ping_playbook(scratch))], unchanged),
        ("prepare", [*common, str(PREPARE)], unchanged),
    ]
    if community:
        runs.append(("community", [*common, str(HERE / "community.yml")], private))
    spent = {}
    for name, arguments, run in runs:
        spent[name] = measured(count, name, run(arguments))
    if not site:
        return spent
    own = [*common, "-e", f"rdma_manifests={scratch}/manifests", "-e", "rdma_cluster=none"]
    playbook([*own, str(SITE)])
    spent["site"] = measured(count, "site", unchanged([*own, str(SITE)]))
    empty = scratch / "empty.yml"
    tasks = "    - ansible.builtin.debug:\n" * int(spent["site"]["tasks"])
    empty.write_text(f"- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}")
    spent["empty"] = measured(count, "empty", unchanged([*common, str(empty)]))
    return spent


def measured(count: int, name: str, spent: dict[str, float]) -> dict[str, float]:
    """The same, told as soon as it is known."""
    print(f"{count} nodes: {name} {spent['cpu']:.1f} s CPU, {spent['wall']:.1f} s", file=sys.stderr)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[50, 400, 1000])
    parser.add_argument("--community", type=int, default=50, help="up to how many nodes it is measured (%(default)s)")
    parser.add_argument("--site", type=int, default=400, help="up to how many nodes it is measured (%(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--second-run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.second_run:
        playbook(options.second_run)
        print(json.dumps(unchanged(options.second_run)))
        return
    print("CPU seconds of one run, and per node")
    print("nodes    ping  prepare  community  prepare in pings  community / prepare  prepare ms per node  site / empty")
    figures = {}
    for count in options.nodes:
        scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=CHECKOUT / "build"))
        try:
            spent = figures[count] = measure(count, scratch, count <= options.community, count <= options.site)
        finally:
            shutil.rmtree(scratch)
        ping, prepare = spent["ping"]["cpu"], spent["prepare"]["cpu"]
        community, site, empty = (spent.get(name, {"cpu": math.nan})["cpu"] for name in ("community", "site", "empty"))
        print(
            f"{count:5} {ping:7.1f} {prepare:8.1f} {community:10.1f} {prepare / ping:17.2f} {community / prepare:20.2f}"
            f" {prepare / count * 1000:20.0f} {site / empty:13.2f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
