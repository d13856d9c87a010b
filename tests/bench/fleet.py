# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What each playbook costs on a large fleet in which nothing changes: time, CPU and memory, and in pings per node.

The hosts are copies of recorded nodes, as in ``prepare.py``, so CPU is that of the controller and of all nodes. Memory
is the largest sum of the proportional set sizes (PSS, proc(5)) of ansible-playbook and its workers. Modules, which run
on nodes elsewhere and as processes of other programs here, are left out. There is no cluster: ``site`` and
``provision`` write manifests. ``verify`` finds that links of recorded nodes are down, and so fails; that is no reason
to stop here.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "build" / "collections"))

from ansible_collections.zerocopy.rdma.tests.bench import prepare

PLAYBOOKS = ("facts", "drift", "provision", "verify", "site")
# ansible-playbook's exit status if hosts have failed.
HOSTS_FAILED = 2
SECONDS_BETWEEN_LOOKS = 1.0


def _processes(top: int) -> list[int]:
    """This process, and all below it."""
    found, waiting = [], [top]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _pss(pid: int) -> int:
    """Bytes of a process of the controller; none if it has ended or is a module's."""
    try:
        if b"ansible-playbook" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Memory(threading.Thread):
    """Looks at a process again and again until it has ended; ``most`` is in bytes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process, self._ended, self.most = process, threading.Event(), 0

    def run(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_LOOKS):
            self.most = max(self.most, sum(map(_pss, _processes(self._process.pid))))

    def end(self) -> int:
        self._ended.set()
        self.join()
        return self.most


def run(playbook: str, arguments: list[str], accepted: tuple[int, ...] = (0,)) -> dict[str, float]:
    """Seconds of a run, and its memory. Ends the program with any other exit status."""
    begin, used = time.monotonic(), prepare.cpu()
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(
            ["ansible-playbook", *arguments, playbook], env=prepare.environment(), stdout=said, stderr=said, text=True
        ) as process:
            memory = Memory(process)
            memory.start()
            status = process.wait()
            most = memory.end()
        said.seek(0)
        text = said.read()
    if status not in accepted:
        sys.exit(f"{text[-5000:]}\n{playbook} failed with exit status {status}")
    return {"wall": time.monotonic() - begin, "cpu": prepare.cpu() - used, "pss": most}


def measure(count: int, scratch: Path, playbooks: list[str], forks: int) -> dict[str, dict[str, float]]:
    """Figures of each playbook, and of ``ping``."""
    nodes = prepare.copies(prepare.prepared(scratch), scratch / "nodes", count)
    cluster = ["-e", f"rdma_manifests={scratch}/manifests", "-e", "rdma_cluster=none"]
    results = ["-e", f"rdma_artifacts={scratch}/artifacts"]
    arguments = ["-i", str(nodes), "--forks", str(forks), *cluster, *results]
    ping = prepare.ping_playbook(scratch)
    # The nodes are prepared; manifests that are not written yet would be a change.
    run(str(prepare.SITE.with_name("provision.yml")), arguments)
    figures = {}
    for name in ("ping", *playbooks):
        path = ping if name == "ping" else prepare.SITE.with_name(f"{name}.yml")
        figures[name] = run(str(path), arguments, (0, HOSTS_FAILED) if name == "verify" else (0,))
        told = figures[name]
        pings = told["cpu"] / figures["ping"]["cpu"]
        print(
            f"{count:5} {name:10} {told['wall']:7.0f} {told['cpu']:7.0f} {told['cpu'] / count * 1000:7.0f} "
            f"{pings:6.2f} {told['pss'] / 2**20:8.0f}",
            flush=True,
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[50, 400, 2000])
    parser.add_argument("--playbooks", nargs="+", choices=PLAYBOOKS, default=list(PLAYBOOKS))
    parser.add_argument("--forks", type=int, default=50)
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    print("nodes playbook    time s   CPU s ms/node  pings  PSS MiB")
    figures = {}
    for count in options.nodes:
        scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=CHECKOUT / "build"))
        try:
            figures[count] = measure(count, scratch, options.playbooks, options.forks)
        finally:
            shutil.rmtree(scratch)
    sizes = sorted(figures)
    for name in options.playbooks:
        costs = [figures[count][name]["cpu"] for count in sizes]
        slopes = [(costs[i + 1] - costs[i]) / (sizes[i + 1] - sizes[i]) * 1000 for i in range(len(sizes) - 1)]
        if slopes:
            print(f"{name}: {', '.join(f'{slope:.0f}' for slope in slopes)} ms of CPU for each further node")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
