# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the exporter costs a node: CPU and memory, with 16 HCAs and 200 pods at an interval of 15 seconds.

The program is the one that prepare installs. Below it everything is synthesised (``exporter_node``): sysfs is that of a
recorded node on a disk, so a driver that asks its NIC's firmware for a counter takes longer, and network namespaces
have nothing but their loopback. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / place) for place in ("tests/fleet", "build/collections")]

import expand

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import daemons
from ansible_collections.zerocopy.rdma.tests.bench import exporter_node

NODE = "h100-01"
INTERVAL = 15
# Shares of a core in percent, and MiB.
SHARE, MEBIBYTES = 1.0, 25.0
_PRIVATE = "ZEROCOPY_RDMA_BENCH_EXPORTER"


def cpu_seconds(pid: int) -> float:
    """Of a process and its children that have ended (proc(5), fields 14 to 17)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """MiB that a process and its children have, what they share counted once."""
    total = 0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in [str(pid), *children]:
        try:
            text = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int((re.search(r"^Pss: +([0-9]+)", text, re.M) or [0, 0])[1])
    return total / 1024


def value(path: Path, metric: str) -> float:
    found = re.search(rf"^{metric} (\S+)$", path.read_text() if path.exists() else "", re.M)
    return float(found[1]) if found else -1


def measure(scratch: Path, options: argparse.Namespace) -> int:
    expand.write(expand.load(CHECKOUT / f"tests/fleet/nodes/{NODE}.yml"), scratch / "node")
    exporter_node.hcas(scratch / "node", scratch / "sys", options.hcas)
    for place in ("/run", "/var/lib"):
        exporter_node.mount("tmpfs", place, "-t", "tmpfs")
    exporter_node.Played(exporter_node.RUNTIME, exporter_node.runtime(options.pods, options.hcas))
    exporter_node.Played(exporter_node.KUBELET, exporter_node.kubelet(options.pods))
    exporter_node.netns(options.pods)
    exporter_node.mount(str(scratch / "sys"), "/sys", "--bind")
    program, config, written = scratch / "exporter.pyz", scratch / "exporter.json", scratch / "zerocopy_rdma.prom"
    program.write_bytes(daemons.programs()[daemons.EXPORTER]())
    config.write_text(json.dumps({"directory": str(scratch), "interval": options.interval}))
    process = subprocess.Popen([sys.executable, "-I", str(program), "--config", str(config)])
    try:
        # Looks at which it still asks about pods that it did not know are those of its start.
        while value(written, "rdma_exporter_pods") != options.pods or value(written, "rdma_exporter_pods_unknown"):
            if process.poll() is not None:
                sys.exit("the exporter has ended")
            time.sleep(0.1)
        start, first, most, longest = cpu_seconds(process.pid), value(written, "rdma_exporter_looks_total"), 0.0, 0.0
        print(f"CPU until all pods are known: {start:.2f} s, {first:.0f} looks")
        while (looks := value(written, "rdma_exporter_looks_total") - first) < options.looks:
            most = max(most, resident(process.pid))
            longest = max(longest, value(written, "rdma_exporter_look_seconds"))
            time.sleep(0.02)
        each = (cpu_seconds(process.pid) - start) / looks
        share = each / INTERVAL * 100
        text = written.read_text()
        held = len(re.findall("^rdma_port_pod_info", text, re.M))
        print(
            f"{options.hcas} HCAs, {options.pods} pods: {len(text.splitlines())} lines, {held} of pods that hold a port"
        )
        print(f"CPU of a look: {each * 1000:.1f} ms, {share:.2f} % of a core at {INTERVAL} s (at most {SHARE:g})")
        print(f"longest look: {longest:.3f} s")
        print(f"resident, with the process that reads: {most:.1f} MiB (at most {MEBIBYTES:g})")
        return 0 if share <= SHARE and most <= MEBIBYTES and held else 1
    finally:
        process.terminate()
        process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcas", type=int, default=16, help="(%(default)s)")
    parser.add_argument("--pods", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--looks", type=int, default=8, help="that are measured (%(default)s)")
    parser.add_argument("--interval", type=int, default=5, help="seconds between two looks (%(default)s)")
    options = parser.parse_args()
    if _PRIVATE not in os.environ:
        # What is mounted is seen by nobody else, and goes with the process.
        private = ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv]
        return subprocess.run(private, env={**os.environ, _PRIVATE: "1"}, check=False).returncode
    with tempfile.TemporaryDirectory() as scratch:
        return measure(Path(scratch), options)


if __name__ == "__main__":
    sys.exit(main())
