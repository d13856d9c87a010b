# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a pod sees of a described node, for rdma-env.sh: a copy of its tree with an image, limits and device nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Sequence

SCRIPT = Path(__file__).resolve().parents[3] / "roles/rdma_workloads/files/rdma-env.sh"
PROVIDERS = "usr/lib/x86_64-linux-gnu/libibverbs"
# CAP_IPC_LOCK is bit 14; what Docker gives by default does not have it.
NO_IPC_LOCK, IPC_LOCK = "00000000a80425fb", "00000000a80465fb"


# The script reads nothing of these, and copying them takes longer than all tests.
_unread = shutil.ignore_patterns(
    "config",
    "counters",
    "hw_counters",
    "infiniband_mad",
    "misc",
    "module*",
    "pkeys",
    "statistics",
    "usr",
    "etc",
    "run",
    "uevent",
    "vendor",
    "revision",
    "subsystem_*",
    "current_link_*",
    "max_link_*",
    "vpd",
    "var",
    "boot",
)


@dataclass
class Done:
    """How the script ended, what it said, and what it set for the command."""

    status: int
    said: str
    variables: Dict[str, str]


@dataclass
class PodTree:
    root: Path
    shell: List[str]
    environment: Dict[str, str] = field(default_factory=dict)

    def write(self, path: str, text: str = "") -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.is_file():
            target.unlink()
        target.write_text(text)
        return target

    def image(self, *providers: str) -> None:
        """A system libibverbs with these providers."""
        self.write("usr/lib/x86_64-linux-gnu/libibverbs.so.1")
        for name in providers:
            self.write(f"{PROVIDERS}/lib{name}-rdmav34.so")

    def limits(self, soft: str = "unlimited", hard: str = "", capabilities: str = NO_IPC_LOCK) -> None:
        row = f"Max locked memory         {soft:<20} {hard or soft:<20} bytes     \n"
        self.write(
            "proc/self/limits", f"Limit                     Soft Limit           Hard Limit           Units\n{row}"
        )
        self.write("proc/self/status", f"Name:\tsh\nCapPrm:\t{capabilities}\nCapEff:\t{capabilities}\n")
        self.write("proc/self/uid_map", "         0          0 4294967295\n")

    def keep(self, *hcas: str) -> None:
        """The pod has the device nodes of these only; /sys shows all, as in RDMA netns mode shared."""
        for node in list((self.root / "dev/infiniband").iterdir()):
            link = self.root / "sys/class/infiniband_verbs" / node.name / "ibdev"
            if node.name.startswith("uverbs") and link.read_text().strip() not in hcas:
                node.unlink()

    def netdevs(self, *names: str) -> None:
        """Only these netdevs are in the pod's network namespace."""
        directory = self.root / "sys/class/net"
        for path in list(directory.iterdir()):
            if path.name not in names:
                path.unlink()

    def gpus(self, *minors: int) -> None:
        for minor in minors:
            self.write(f"dev/nvidia{minor}")

    def port(self, hca: str, number: int = 1) -> Path:
        return self.root / "sys/class/infiniband" / hca / "ports" / str(number)

    def gid(self, hca: str, index: int, gid: str, kind: str, netdev: str = "") -> None:
        base = self.port(hca)
        for path, text in (
            (f"gids/{index}", gid),
            (f"gid_attrs/types/{index}", kind),
            (f"gid_attrs/ndevs/{index}", netdev),
        ):
            target = base / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            if text:
                target.write_text(text + "\n")

    def run(self, *command: str, **environment: str) -> Done:
        own = {
            "PATH": os.environ["PATH"],
            "ZEROCOPY_RDMA_ROOT": str(self.root),
            "ZEROCOPY_RDMA_WAIT": "0",
            **self.environment,
            **environment,
        }
        argv = [*self.shell, str(SCRIPT), *(command or ("env",))]
        done = subprocess.run(argv, env=own, capture_output=True, text=True, check=False, timeout=600)
        pairs = [line.split("=", 1) for line in done.stdout.splitlines() if "=" in line]
        prefixes = ("NCCL_", "UCX_", "NVSHMEM_", "VLLM_")
        variables = {pair[0]: pair[1] for pair in pairs if pair[0].startswith(prefixes)}
        return Done(done.returncode, done.stderr, variables)


def make(node: Path, root: Path, shell: Sequence[str]) -> PodTree:
    """A pod which has everything of the node, in an image with mlx5, without a limit of locked memory."""
    shutil.copytree(node, root, symlinks=True, ignore=_unread)
    pod = PodTree(root, list(shell))
    pod.image("mlx5")
    pod.limits()
    return pod
