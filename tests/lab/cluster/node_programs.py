# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Programs of nodes that no Debian package brings, built from the Go modules beside this package."""

from __future__ import annotations

import subprocess
from pathlib import Path

from control_plane import programs
from vmlab import tools
from vmlab.tools import Tool

_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
CONTAINERD = tuple(
    Tool(name, "containerd", f"{_CONTAINERD}/{name}") for name in ("containerd", "containerd-shim-runc-v2", "ctr")
)
DRANET = Tool("dranet", "dranet", "sigs.k8s.io/dranet/cmd/dranet")
TOOLS = (*CONTAINERD, DRANET)


def build_all() -> None:
    """Build what is not cached, which needs the network that the lab's namespace does not have."""
    programs.build()
    programs.build_node()
    for tool in TOOLS:
        tools.build(tool)


def kubelet() -> Path:
    """The kubelet, of the version of the control plane."""
    return programs.build_node()["kubelet"]


def containerd() -> dict[str, Path]:
    """Map the names of the newer containerd's programs to where they are."""
    return {tool.name: tools.build(tool) for tool in CONTAINERD}


def containerd_default_config() -> str:
    """The configuration that the newer containerd says is its default."""
    argv = [str(containerd()["containerd"]), "config", "default"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
