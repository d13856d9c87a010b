# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Which container runtime a node has, and where it keeps what."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files

FLAVOURS = ("containerd", "k3s", "rke2", "crio")
_UNITS: Dict[str, Tuple[str, ...]] = {
    "containerd": ("containerd.service",),
    "k3s": ("k3s.service", "k3s-agent.service"),
    "rke2": ("rke2-server.service", "rke2-agent.service"),
    "crio": ("crio.service",),
}
_UNIT_DIRECTORIES = (
    "/etc/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_TRACES = {
    "containerd": ("/etc/containerd", "/usr/bin/containerd", "/usr/local/bin/containerd"),
    "k3s": ("/var/lib/rancher/k3s/agent/etc/containerd",),
    "rke2": ("/var/lib/rancher/rke2/agent/etc/containerd",),
    "crio": ("/etc/crio", "/usr/bin/crio"),
}
_CGROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")


@dataclass(frozen=True)
class Layout:
    """Places of one runtime on one node.

    ``main`` is the file the runtime reads first; k3s and RKE2 make it from ``template`` at every start, elsewhere that
    is empty and the main file is the administrator's. ``dropins`` is where our own files go.
    """

    flavour: str
    unit: str
    main: str
    dropins: str
    specs: str
    socket: str
    binaries: Tuple[str, ...]
    ctr: Tuple[str, ...] = ("ctr",)
    generated: bool = False

    @property
    def process(self) -> str:
        return "crio" if self.flavour == "crio" else "containerd"


@dataclass(frozen=True)
class Daemon:
    """A running runtime: ``identity`` is different after every start, ``started`` is seconds since the epoch."""

    pid: int
    identity: str
    started: float
    arguments: Tuple[str, ...]


def _layout(flavour: str, unit: str) -> Layout:
    if flavour == "containerd":
        return Layout(
            flavour,
            unit,
            main="/etc/containerd/config.toml",
            dropins="/etc/containerd/conf.d",
            specs="/etc/containerd",
            socket="/run/containerd/containerd.sock",
            binaries=("/usr/bin/containerd", "/usr/local/bin/containerd"),
        )
    if flavour == "crio":
        return Layout(
            flavour,
            unit,
            main="/etc/crio/crio.conf",
            dropins="/etc/crio/crio.conf.d",
            specs="/etc/crio",
            socket="/var/run/crio/crio.sock",
            binaries=("/usr/bin/crio", "/usr/local/bin/crio"),
            ctr=(),
        )
    base = f"/var/lib/rancher/{flavour}"
    directory = f"{base}/agent/etc/containerd"
    tools = f"{base}/data/current/bin" if flavour == "k3s" else f"{base}/bin"
    return Layout(
        flavour,
        unit,
        main=f"{directory}/config.toml",
        dropins=directory,
        specs=directory,
        socket="/run/k3s/containerd/containerd.sock",
        binaries=(f"{tools}/containerd",),
        ctr=("k3s", "ctr") if flavour == "k3s" else (f"{tools}/ctr",),
        generated=True,
    )


def _unit_installed(files: Files, unit: str) -> bool:
    return any(files.exists(posixpath.join(directory, unit)) for directory in _UNIT_DIRECTORIES)


def _pids(files: Files, unit: str) -> List[int]:
    for parent in _CGROUPS:
        text = files.text(f"{parent}/{unit}/cgroup.procs") if files.exists(f"{parent}/{unit}/cgroup.procs") else None
        if text:
            return [int(word) for word in text.split()]
    return []


def _installed(files: Files) -> List[str]:
    found = []
    for flavour in FLAVOURS:
        units = any(_unit_installed(files, unit) for unit in _UNITS[flavour])
        if units or any(files.exists(trace) for trace in _TRACES[flavour]):
            found.append(flavour)
    return found


def detect(files: Files, requested: str, option: str = "runtime") -> Layout:
    """The runtime to configure.

    A running one wins over one that is only installed; on a recorded node what is installed decides.

    :raises HostError: there is none, or several and ``requested`` is ``auto``.
    """
    if requested == "auto":
        running = [name for name in FLAVOURS if files.live and any(_pids(files, unit) for unit in _UNITS[name])]
        found = running or _installed(files)
        # k3s and RKE2 bring their own containerd; traces of another one beside them do not run pods.
        if not running and len(found) > 1 and "containerd" in found:
            found.remove("containerd")
        if not found:
            raise HostError(
                f"{option}: no container runtime found (containerd, k3s, RKE2, CRI-O): install it first, name it"
                f" with {option}, or leave this node out with rdma_runtime_flavour: none"
            )
        if len(found) > 1:
            raise HostError(
                f"{option}: this node has {' and '.join(found)}: say with {option} (role: rdma_runtime_flavour) which"
                " one runs the pods"
            )
        requested = found[0]
    units = _UNITS[requested]
    running_units = [unit for unit in units if files.live and _pids(files, unit)]
    installed = [unit for unit in units if _unit_installed(files, unit)]
    return _layout(requested, (running_units or installed or list(units))[0])


def configured(layout: Layout, daemon: Optional[Daemon]) -> Layout:
    """The layout as the running daemon's own command line changes it."""
    if daemon is None or layout.flavour == "crio":
        return layout
    given = {}
    arguments = list(daemon.arguments[1:])
    while arguments:
        name, equals, value = arguments.pop(0).partition("=")
        if not equals and name in ("-c", "--config", "-a", "--address") and arguments:
            value = arguments.pop(0)
        given[name.lstrip("-")[:1]] = value
    main, socket = given.get("c"), given.get("a")
    layout = replace(layout, main=main) if main else layout
    return replace(layout, socket=socket) if socket else layout


def daemon(files: Files, layout: Layout) -> Optional[Daemon]:
    """The running runtime of the unit, found through its control group; ``None`` when there is none."""
    for pid in _pids(files, layout.unit):
        try:
            if (files.text(f"/proc/{pid}/comm") or "").strip() != layout.process:
                continue
            stat = (files.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
            arguments = (files.text(f"/proc/{pid}/cmdline") or "").split("\0")
            boot = (files.text("/proc/sys/kernel/random/boot_id") or "").strip()
            btime = next(
                int(line.split()[1])
                for line in (files.text("/proc/stat") or "").splitlines()
                if line.startswith("btime")
            )
        except (HostError, StopIteration):
            continue
        if len(stat) > 19:
            ticks = int(stat[19])
            return Daemon(pid, f"{boot}/{pid}/{ticks}", btime + ticks / 100, tuple(arguments))
    return None
