# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The container runtimes that this collection knows, and which of them a node has."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import units
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import (
    ContainerRuntime,
    RuntimeLayout,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd.runtime import (
    Containerd,
    Rancher,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.crio.runtime import Crio

_ALL: Sequence[ContainerRuntime] = (
    Containerd(),
    Rancher("k3s", "k3s", ("k3s.service", "k3s-agent.service"), "data/current/bin", ("k3s", "ctr")),
    Rancher("rke2", "RKE2", ("rke2-server.service", "rke2-agent.service"), "bin", ()),
    Crio(),
)
RUNTIMES: Dict[str, ContainerRuntime] = {runtime.name: runtime for runtime in _ALL}
# Values of the option ``runtime``; ``NONE`` only where the node's files are restored.
CHOICES = ["auto", *RUNTIMES]
NONE = "none"


def of(layout: RuntimeLayout) -> ContainerRuntime:
    """The runtime that the layout is of."""
    return RUNTIMES[layout.runtime]


_UNIT_DIRECTORIES = (
    "/etc/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)


@dataclass(frozen=True)
class Daemon:
    """A running runtime: ``identity`` changes with every start, ``started`` is seconds since the epoch.

    ``arguments`` also has the options that its environment sets, before those of its command line.
    """

    pid: int
    identity: str
    started: float
    arguments: Tuple[str, ...]


def _unit_installed(files: Files, unit: str) -> bool:
    return any(files.exists(posixpath.join(directory, unit)) for directory in _UNIT_DIRECTORIES)


# Of Docker, which has no NRI. containerd runs below it, and pods are not its own.
_DOCKER = ("cri-docker.service", "cri-dockerd.service")
_ENABLED = ("multi-user.target.wants", "sockets.target.wants")


def _docker(files: Files) -> bool:
    """Whether cri-dockerd runs the pods of this node, or will."""
    if files.live:
        return bool(units.processes(Tree(files.root), _DOCKER))
    names = [unit for service in _DOCKER for unit in (service, service.replace(".service", ".socket"))]
    wanted = [name for directory in _ENABLED for name in files.names(f"/etc/systemd/system/{directory}")]
    return not set(names).isdisjoint(wanted)


def present(files: Files, name: str) -> bool:
    """Whether the node has the runtime, or traces of it."""
    runtime = RUNTIMES[name]
    unit = any(_unit_installed(files, unit) for unit in runtime.units)
    return unit or any(files.exists(trace) for trace in runtime.traces)


def _installed(files: Files) -> List[str]:
    return [name for name in RUNTIMES if present(files, name)]


def owner(paths: Sequence[str]) -> Optional[str]:
    """The runtime that has files of these paths; ``None`` where none of its usual places is among them, or several."""
    found = set()
    for name, runtime in RUNTIMES.items():
        layout = runtime.layout(runtime.units[0])
        places = [f"{place}/" for place in (layout.dropins, layout.specs)]
        places += [f"/etc/systemd/system/{unit}.d/" for unit in runtime.units]
        if any(path == layout.main or path.startswith(tuple(places)) for path in paths):
            found.add(name)
    return found.pop() if len(found) == 1 else None


def detect(files: Files, requested: str) -> RuntimeLayout:
    """The runtime to configure.

    A running one wins over one that is only installed; on a recorded node what is installed decides.

    :raises HostError: there is none, or several and ``requested`` is ``auto``.
    """
    every = [unit for runtime in RUNTIMES.values() for unit in runtime.units]
    up = units.processes(Tree(files.root), every) if files.live else {}
    if requested == NONE:
        raise HostError("rdma_runtime_flavour is none")
    if requested == "auto":
        if _docker(files):
            raise HostError(
                "runtime: cri-dockerd runs the pods of this node, and Docker has no NRI: let the kubelet use a runtime"
                " that has it, set rdma_runtime_flavour to that one if it does already, or to none"
            )
        running = [name for name, runtime in RUNTIMES.items() if not up.keys().isdisjoint(runtime.units)]
        found = running or _installed(files)
        if not running:
            brought = {name for other in found for name in RUNTIMES[other].brings}
            found = [name for name in found if name not in brought]
        if not found:
            titles = ", ".join(runtime.title for runtime in RUNTIMES.values())
            raise HostError(
                f"runtime: no container runtime found ({titles}): install it first, set rdma_runtime_flavour to the"
                " one that this node will have, or exclude this node with rdma_runtime_flavour: none"
            )
        if len(found) > 1:
            raise HostError(
                f"runtime: this node has {' and '.join(found)}: set rdma_runtime_flavour to the one that runs the pods"
            )
        requested = found[0]
    runtime = RUNTIMES[requested]
    running_units = [unit for unit in runtime.units if unit in up]
    installed = [unit for unit in runtime.units if _unit_installed(files, unit)]
    return runtime.layout((running_units or installed or runtime.units)[0])


def configured(layout: RuntimeLayout, daemon: Optional[Daemon]) -> RuntimeLayout:
    """The layout with the changes made by the command line and the environment of the running daemon."""
    return of(layout).configured(layout, daemon.arguments) if daemon else layout


def _of_environment(files: Files, pid: int, names: Mapping[str, str]) -> List[str]:
    """The options that these variables of a process's environment set. Only root may read the environment."""
    try:
        text = files.text(f"/proc/{pid}/environ") if names else ""
    except HostError:
        return []
    pairs = [entry.partition("=") for entry in (text or "").split("\0")]
    return [f"{names[name]}={value}" for name, _equals, value in pairs if name in names]


def daemon(files: Files, layout: RuntimeLayout) -> Optional[Daemon]:
    """The running daemon of the unit, found through its control group, or ``None``."""
    for pid in units.processes(Tree(files.root), [layout.unit]).get(layout.unit, []):
        try:
            if (files.text(f"/proc/{pid}/comm") or "").strip() != of(layout).process:
                continue
            stat = (files.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
            arguments = (files.text(f"/proc/{pid}/cmdline") or "").split("\0")
            # Before those of the command line, because the last one counts if an option is given twice.
            arguments[1:1] = _of_environment(files, pid, of(layout).environment)
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
