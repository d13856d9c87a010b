# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the NRI plugin of the strategy inject adds to CreateContainer, and how much memory it has, in one run.

The runtime is NRI's own side of it (tests/lab/nri_runtime), which containerd and CRI-O have built in. There are two,
one with the plugin and one without, that are asked in turn. The time is that of NRI's part of CreateContainer, so the
difference is what a kubelet waits longer. The node is a recorded one with 8 GPUs and 8 HCAs, so its files are those of
a disk: on hardware, the state of a port is asked of the NIC's firmware.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / place) for place in ("tests/lab", "tests/fleet", "build/collections")]

import expand
from vmlab import nri
from vmlab.nri import NriRuntime

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject import daemon_options

NODE = "h100-01"
# At most so many milliseconds more at the 99th percentile, and MiB resident.
MILLISECONDS, MEBIBYTES = 5.0, 30.0
POD = {"name": "vllm-0", "namespace": "llm", "linux": {"namespaces": [{"type": "pid"}]}}
# As many variables and mounts as pods of vLLM have.
CONTAINER = {
    "name": "main",
    "env": ["NVIDIA_VISIBLE_DEVICES=0,1", *(f"SERVICE_{n}_PORT=tcp://10.96.0.{n}:80" for n in range(100))],
    "mounts": [{"destination": f"/data/{n}", "type": "bind", "source": f"/var/lib/kubelet/{n}"} for n in range(20)],
}
ASKING = {**POD, "annotations": {"rdma.zerocopy.io/nics": "nearest"}}


def milliseconds(runtime: NriRuntime, pod: Dict[str, Any], devices: int) -> float:
    """Have a container created that has to get so many devices."""
    found = runtime.create(pod, CONTAINER)
    given = len((found.get("adjust") or {}).get("linux", {}).get("devices", []))
    if found.get("error") or given != devices:
        sys.exit(f"{given} devices instead of {devices}: {found}")
    return float(found["microseconds"]) / 1000


def percentile(values: List[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def memory(pid: int, what: str) -> float:
    """A value of /proc/<pid>/status in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024


def cpu_seconds(pid: int) -> float:
    # proc(5): utime and stime, counted from the command's name on.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def measure(scratch: Path, rounds: int) -> int:
    program = nri.program()
    expand.write(expand.load(CHECKOUT / f"tests/fleet/nodes/{NODE}.yml"), scratch / "node")
    plugin = scratch / "inject.pyz"
    plugin.write_bytes(daemon_options.program())
    without, with_it = (NriRuntime(program, scratch / f"{name}.sock") for name in ("without", "with"))
    argv = [sys.executable, "-I", str(plugin), "--config", str(scratch / "none"), "--root", str(scratch / "node")]
    argv += ["--socket", str(scratch / "with.sock"), "--status", str(scratch / "status.json"), "--log-level", "warning"]
    daemon = subprocess.Popen([*argv, "--metrics", str(scratch / "inject.prom")])
    try:
        with_it.await_event("synchronized")
        kinds = {
            "without the plugin": (without, ASKING, 0),
            "does not ask": (with_it, POD, 0),
            "asks for the nearest": (with_it, ASKING, 3),
        }
        spent: Dict[str, List[float]] = {kind: [] for kind in kinds}
        for _round in range(rounds):
            for kind, (runtime, pod, devices) in kinds.items():
                spent[kind].append(milliseconds(runtime, pod, devices))
        print(f"{'CreateContainer, ms':22} {'p50':>8} {'p99':>8} {'largest':>8}")
        for kind, values in spent.items():
            print(f"{kind:22} {percentile(values, 0.5):8.3f} {percentile(values, 0.99):8.3f} {max(values):8.3f}")
        more = percentile(spent["asks for the nearest"], 0.99) - percentile(spent["without the plugin"], 0.99)
        resident, most = memory(daemon.pid, "VmRSS"), memory(daemon.pid, "VmHWM")
        print(f"more at p99: {more:.3f} ms (at most {MILLISECONDS:g})")
        print(f"CPU of the plugin for each container: {cpu_seconds(daemon.pid) / (2 * rounds) * 1000:.3f} ms")
        print(f"resident: {resident:.1f} MiB, at most so far {most:.1f} MiB (at most {MEBIBYTES:g})")
        return 0 if more <= MILLISECONDS and most <= MEBIBYTES else 1
    finally:
        daemon.terminate()
        daemon.wait()
        for runtime in (without, with_it):
            runtime.kill()
            runtime.stop(10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000, help="containers of each kind (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        code = measure(Path(scratch), options.rounds)
        print(f"{options.rounds} containers of each kind, {time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
