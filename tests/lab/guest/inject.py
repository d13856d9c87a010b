# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest, beside pod.py: what containers get from the NRI plugin of the strategy inject, over CRI.

    python3 inject.py containers HCA NETDEV   of pods that ask and of one that does not, also while the netdev is down
    python3 inject.py traffic PEER            the two nodes' pods write to each other: a server here without a PEER
    python3 inject.py troubles                the plugin is killed, hangs, and containerd is restarted
    python3 inject.py without                 what a container gets that asks when there is no NIC, or no plugin
    python3 inject.py undo                    takes the stand-in for NVIDIA's driver away

The answer is JSON: of each container its device nodes and variables, or why it was refused. NVIDIA's driver is a
stand-in: its files below /proc, which give GPUs their UUIDs and minor numbers.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pod

UNIT = "zerocopy-rdma-inject.service"
STATUS = Path("/run/zerocopy-rdma-inject/status.json")
ASKING = {"rdma.zerocopy.io/nics": "nearest"}
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
DRIVER = Path("/proc/driver/nvidia/gpus")
DISPLAY = re.compile("0x1234")
# Of devices that the plugin has set.
PREFIXES = ("NCCL_", "NVSHMEM_", "UCX_", "VLLM_")
SECONDS = 180
# Which of its device nodes it can open, and how much memory it may lock.
OPENED = "for f in /dev/infiniband/*; do (exec 3<>$f) && echo ${f##*/}; done; ulimit -l"
PORT = 18700


def run(*argv: str) -> str:
    """Run a command that has to succeed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def await_condition(what: str, met: Callable[[], Any]) -> Any:
    """Poll until it holds, or end with what is missing."""
    end = time.monotonic() + SECONDS
    while not met():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {SECONDS} s\n{run('journalctl', '--no-pager', '--lines=30', '--unit', UNIT)}")
        time.sleep(0.2)
    return met()


def status() -> Dict[str, Any]:
    """What the plugin says of itself; nothing while it is starting."""
    try:
        found: Dict[str, Any] = json.loads(STATUS.read_text())
    except (OSError, ValueError):
        return {}
    return found


def registered(but: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """Wait until it is registered, and not since the time of another status."""
    told: Dict[str, Any] = await_condition(
        "the plugin is registered", lambda: status().get("registered") and status() != but and status()
    )
    return told


def gpus() -> List[str]:
    """PCI addresses of the stand-ins for GPUs."""
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    found = sorted(path.parent.name for path in vendors if DISPLAY.match(path.read_text()))
    return [address for address in found if Path("/sys/bus/pci/devices", address, "class").read_text()[:6] == "0x0380"]


def drive() -> None:
    """Have what NVIDIA's driver shows of its GPUs; minor numbers run against the order of addresses."""
    if DRIVER.exists():
        return
    run("mount", "-t", "tmpfs", "tmpfs", "/proc/driver")
    for index, address in enumerate(gpus()):
        place = DRIVER / address
        place.mkdir(parents=True)
        text = f"Model: \t\t lab\nGPU UUID: \t {uuid(index)}\nDevice Minor: \t {len(gpus()) - 1 - index}\n"
        place.joinpath("information").write_text(text)
        os.mknod(f"/dev/nvidia{index}", 0o666 | 0o020000, os.makedev(1, 3))
    # The unit has a /proc of its own, with the mounts of the time when it started.
    before = status()
    run("systemctl", "restart", UNIT)
    registered(before)


def uuid(index: int) -> str:
    return f"GPU-{index}{index}{index}{index}0000-1111-2222-3333-444455556666"


class Pod:
    """A pod on the network of the node, in which containers are created and, with a script, run."""

    def __init__(self, name: str, annotations: Dict[str, str]) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        pod.remove(name, {})
        self._name, self._path = name, Path(self._scratch.name)
        self._sandbox = pod.succeeded(pod.run_sandbox(name, annotations, self._path))

    def __enter__(self) -> Pod:
        return self

    def __exit__(self, *_error: object) -> None:
        pod.remove(self._name, {})
        self._scratch.cleanup()

    def container(self, name: str, environment: Dict[str, str], script: str = "", device: str = "") -> Dict[str, Any]:
        """What it gets: names of device nodes, the plugin's variables and, of a script, what it printed."""
        config = pod.container_config(name, script or "sleep 1000", environment)
        if device:
            config["devices"] = [{"host_path": device, "container_path": device, "permissions": "rw"}]
        made = pod.created(self._sandbox, config, self._path)
        if made.returncode:
            return {"refused": made.stderr.strip().splitlines()[-1]}
        identity = made.stdout.strip()
        spec = json.loads(pod.must("inspect", identity))["info"]["runtimeSpec"]
        paths = [Path(entry["path"]) for entry in spec["linux"].get("devices") or []]
        variables = dict(entry.split("=", 1) for entry in spec["process"]["env"])
        return {
            "devices": sorted(path.name for path in paths if path.parent == Path("/dev/infiniband")),
            "variables": {key: value for key, value in variables.items() if key.startswith(PREFIXES)},
            **({"printed": pod.ended(self._name, name, identity)} if script else {}),
        }


def containers(hca: str, netdev: str) -> Dict[str, Any]:
    """One, two and all GPUs by index, UUID and device node, who has none, who does not ask; then without a NIC."""
    drive()
    found: Dict[str, Any] = {}
    with Pod("asks", ASKING) as asks:
        found["one"] = asks.container("one", {VISIBLE: "0"}, OPENED)
        found["two"] = asks.container("two", {VISIBLE: "0,2", "UCX_NET_DEVICES": "own"})
        found["all"] = asks.container("all", {VISIBLE: "all"})
        found["uuid"] = asks.container("uuid", {VISIBLE: f"{uuid(1)},{uuid(2)}"})
        found["node"] = asks.container("node", {}, device="/dev/nvidia0")
        found["sidecar"] = asks.container("sidecar", {})
        run("ip", "link", "set", netdev, "down")
        found["down"] = asks.container("down", {VISIBLE: "0"})
        with Pod("named", {"rdma.zerocopy.io/nics": hca}) as named:
            found["named"] = named.container("named", {})
            run("ip", "link", "set", netdev, "up")
            port = Path("/sys/class/infiniband", hca, "ports/1/state")
            await_condition(f"{hca} is up", lambda: "ACTIVE" in port.read_text())
            await_condition(f"{netdev} has its address", lambda: "inet " in run("ip", "-4", "address", "show", netdev))
            found["up"] = named.container("up", {})
    with Pod("plain", {}) as plain:
        found["plain"] = plain.container("plain", {VISIBLE: "0"})
    return found


def traffic(peer: str) -> Dict[str, Any]:
    """Write with the device and the GID that the plugin has told the container, and nothing else."""
    # An emulated guest may take longer to answer than the 67 ms of perftest, which gives up after seven of them.
    test = f'ib_write_bw -d "${{UCX_NET_DEVICES%%:*}}" -x "$NCCL_IB_GID_INDEX" -p {PORT} -u 20 -F -n 20 -s 65536'
    # Until the server listens, its port refuses.
    script = f"for n in $(seq 60); do {test} {peer} && exit 0; sleep 2; done; exit 1" if peer else f"timeout 150 {test}"
    with Pod("traffic", ASKING) as asks:
        return asks.container("traffic", {VISIBLE: "0"}, script)


def troubles() -> Dict[str, Any]:
    """Each time what a container gets meanwhile and after it, and what the plugin counts."""
    found: Dict[str, Any] = {}
    with Pod("asks", ASKING) as asks:
        before = registered()
        os.kill(before["pid"], signal.SIGKILL)
        registered(before)
        found["after-kill"] = asks.container("after-kill", {VISIBLE: "0"})

        before = registered()
        os.kill(before["pid"], signal.SIGSTOP)
        found["hanging"] = asks.container("hanging", {VISIBLE: "0"})
        os.kill(before["pid"], signal.SIGCONT)
        await_condition("it knows that it was late", lambda: status().get("late") and status().get("registered"))
        found["after-hang"] = asks.container("after-hang", {VISIBLE: "0"})

        before = registered()
        run("systemctl", "restart", "containerd")
        await_condition("containerd answers", lambda: pod.crictl("version").returncode == 0)
        after = registered()
        found["same"] = after["pid"] == before["pid"]
        found["after-restart"] = asks.container("after-restart", {VISIBLE: "0"})
    found["status"] = await_condition("it has told of all", lambda: status().get("injected") and status())
    return found


def without() -> Dict[str, Any]:
    """What a container gets that asks for nothing that is there, and what the plugin says of it."""
    before = status()
    with Pod("asks", ASKING) as asks:
        found = {"without": asks.container("without", {VISIBLE: "0"})}
    if before:
        await_condition("the plugin has told of it", lambda: status() != before)
    return {**found, "status": status()}


def undo() -> Dict[str, Any]:
    """Take the stand-in for NVIDIA's driver away."""
    if DRIVER.exists():
        run("umount", "/proc/driver")
    for index in range(len(gpus())):
        Path(f"/dev/nvidia{index}").unlink()
    return {}


def main() -> None:
    """Do what the command line asks for and print the answer."""
    commands: Dict[str, Callable[..., Dict[str, Any]]] = {
        "containers": containers,
        "traffic": lambda peer="": traffic(peer),
        "troubles": troubles,
        "without": without,
        "undo": undo,
    }
    print(json.dumps(commands[sys.argv[1]](*sys.argv[2:])))


if __name__ == "__main__":
    main()
