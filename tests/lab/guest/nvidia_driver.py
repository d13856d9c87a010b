# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest at boot: a stand-in for what NVIDIA's kernel driver shows of GPUs, which are QEMU's display devices.

    python3 nvidia_driver.py up     device nodes, /proc/driver/nvidia, and what the stand-in for NVML tells of the GPUs
    python3 nvidia_driver.py down   takes device nodes and /proc/driver/nvidia away

Running it again changes nothing. ../gpu_driver has the libraries and programs, README.md there what is real. Tests
import this file for the GPUs of recorded nodes.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import List, NamedTuple

# No version that NVIDIA has released. NVIDIA's toolkit finds the libraries of the driver by it.
VERSION = "580.0.0"
CUDA = 13000
# A power of two that no real GPU has as a name; the memory is that of the name.
NAME = "stand-in of the lab 8GB"
MEBIBYTES = 8192
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# GPUs of the lab: display controllers (not VGA) of QEMU's vendor.
VENDOR, DISPLAY = "0x1234", "0x0380"
# Character devices of the driver, by the minor number. Nothing answers there: whoever opens one gets ENXIO.
MAJOR = 195
CONTROL = {"nvidiactl": 255, "nvidia-modeset": 254, "nvidia-uvm": 253, "nvidia-uvm-tools": 252}
# With 1, NVIDIA's CDI hook would mount a copy over the file in each container, whose own /proc does not have it.
PARAMS = "ModifyDeviceFiles: 0\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
_WORLD = uuid.UUID("5f0e2b4c-3a55-4c0e-8d3f-6a5b1c2d7e90")


class Gpu(NamedTuple):
    """What is told of a GPU. ``architecture`` is NVML's number, ``capability`` CUDA's ``major.minor``."""

    minor: int
    address: str
    device: str
    uuid: str
    mebibytes: int = MEBIBYTES
    architecture: int = 9
    capability: str = "9.0"
    name: str = NAME


def gpus(host: str, root: Path = Path("/")) -> List[Gpu]:
    """The stand-ins of this machine in the order on the bus, with UUIDs that are the same at every boot."""
    found: List[Gpu] = []
    for place in sorted((root / "sys/bus/pci/devices").glob("*")):
        if place.joinpath("vendor").read_text().strip() == VENDOR and _of_class(place):
            device = place.joinpath("device").read_text().strip()[2:] + VENDOR[2:]
            own = uuid.uuid5(_WORLD, host + "/" + place.name)
            found.append(Gpu(len(found), place.name, device, "GPU-" + str(own)))
    return found


def _of_class(place: Path) -> bool:
    return place.joinpath("class").read_text().startswith(DISPLAY)


def describe(root: Path, every: List[Gpu], version: str = VERSION, cuda: int = CUDA) -> None:
    """Write what the stand-in for NVML reads.

    It is where NVIDIA's toolkit finds the firmware of GPUs, which it gives to every container with a GPU.
    """
    lines = ["# Stand-in of the lab of zerocopy.rdma, no firmware.", f"cuda {cuda}"]
    for gpu in every:
        fields = [gpu.minor, gpu.address, gpu.device, gpu.uuid, gpu.mebibytes, gpu.architecture, gpu.capability]
        lines.append(" ".join(["gpu", *map(str, fields), gpu.name]))
    place = root / "lib/firmware/nvidia" / version
    place.mkdir(parents=True, exist_ok=True)
    place.joinpath("gsp_lab.bin").write_text("\n".join(lines) + "\n")


def make_nodes(root: Path, every: List[Gpu]) -> None:
    """Make the character devices of the driver."""
    (root / "dev").mkdir(parents=True, exist_ok=True)
    for name, minor in {**CONTROL, **{"nvidia" + str(gpu.minor): gpu.minor for gpu in every}}.items():
        path = root / "dev" / name
        if not path.exists():
            os.mknod(str(path), 0o666 | stat.S_IFCHR, os.makedev(MAJOR, minor))
            path.chmod(0o666)


def link(root: Path, version: str = VERSION) -> None:
    """Make the link by which programs find the library."""
    path = root / LIBRARIES / "libnvidia-ml.so.1"
    if not path.is_symlink():
        path.symlink_to("libnvidia-ml.so." + version)


def show(proc: Path, every: List[Gpu]) -> None:
    """Write what the driver shows below ``/proc/driver/nvidia``."""
    nvidia = proc / "driver/nvidia"
    for gpu in every:
        place = nvidia / "gpus" / gpu.address
        place.mkdir(parents=True, exist_ok=True)
        text = "Model: \t\t {}\nGPU UUID: \t {}\nBus Type: \t PCIe\nBus Location: \t {}\nDevice Minor: \t {}\n"
        place.joinpath("information").write_text(text.format(gpu.name, gpu.uuid, gpu.address, gpu.minor))
    nvidia.joinpath("params").write_text(PARAMS)
    nvidia.joinpath("version").write_text(f"NVRM version: stand-in of the lab  {VERSION}\n")


def up() -> None:
    """All of it, on the machine that this runs on."""
    root = Path("/")
    every = gpus(Path("/proc/sys/kernel/hostname").read_text().strip())
    describe(root, every)
    make_nodes(root, every)
    link(root)
    # What is appended here is an event of a GPU.
    Path("/run/lab-gpu").mkdir(exist_ok=True)
    run("ldconfig")
    # No directory can be made in procfs.
    if not Path("/proc/driver/nvidia").exists():
        run("mount", "-t", "tmpfs", "-o", "mode=755", "stand-in", "/proc/driver")
    show(Path("/proc"), every)


def down() -> None:
    """The device nodes and what is mounted over ``/proc/driver``; files that only the programs read stay."""
    for path in Path("/dev").glob("nvidia*"):
        path.unlink()
    if Path("/proc/driver/nvidia").exists():
        run("umount", "/proc/driver")


def run(*argv: str) -> None:
    """Run a command that has to succeed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit("{}: exit code {}\n{}".format(" ".join(argv), done.returncode, done.stdout))


if __name__ == "__main__":
    {"up": up, "down": down}[sys.argv[1]]()
