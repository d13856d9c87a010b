# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is built: NVIDIA's kubelet plugin and CDI hook from Go modules, the stand-ins for its library and nvidia-smi."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from vmlab import cache, tools
from vmlab.paths import LOGS
from vmlab.progress import run, step
from vmlab.tools import CTool, Tool

_HERE = Path(__file__).resolve().parent
_MODULE = "sigs.k8s.io/dra-driver-nvidia-gpu"
_CHART, _PRESTART = "deployments/helm/dra-driver-nvidia-gpu", "hack/kubelet-plugin-prestart.sh"


@dataclass(frozen=True)
class Release:
    """A version of the driver, and the directory of the Go module that pins it."""

    version: str
    module: str

    @property
    def plugin(self) -> Tool:
        return CTool("gpu-kubelet-plugin", self.module, f"{_MODULE}/cmd/gpu-kubelet-plugin")

    @property
    def hook(self) -> Tool:
        return CTool("nvidia-cdi-hook", self.module, "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook")

    def chart(self) -> Path:
        """The directory of the driver's Helm chart."""
        return tools.source_directory(self.plugin, _MODULE) / _CHART

    def prestart(self) -> bytes:
        """The script of the driver's init container."""
        return tools.source(self.plugin, _MODULE, _PRESTART)


# Which the collection deploys unless told otherwise.
CURRENT = Release("0.5.0", "gpu_driver/module")
OLDER = Release("0.4.1", "gpu_driver/module_0.4.1")
# Asks a driver what the kubelet asks.
KUBELET = Tool("lab-kubelet", CURRENT.module, "./kubelet")
TOOLS = (*(tool for release in (CURRENT, OLDER) for tool in (release.plugin, release.hook)), KUBELET)

_FLAGS = ("-std=gnu11", "-O2", "-s", "-Wall", "-Wextra", "-Werror")


def build_all() -> None:
    """Build what is not cached."""
    for tool in TOOLS:
        tools.build(tool)
    library()


def library() -> Path:
    """The stand-in for NVML (``libnvidia-ml.so.1``)."""
    return _compiled() / "libnvidia-ml.so"


def nvidia_smi() -> Path:
    """The stand-in for nvidia-smi."""
    return _compiled() / "nvidia-smi"


def _compiled() -> Path:
    sources = _HERE / "nvml"
    digest = hashlib.sha256(repr(_FLAGS).encode() + cache.content(sources))

    def compile_it(scratch: Path) -> None:
        program = sources / "nvidia-smi.c"
        parts = [str(path) for path in sorted(sources.glob("*.c")) if path != program]
        shared = ["-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", str(scratch / "libnvidia-ml.so")]
        with step("stand-ins for NVML and nvidia-smi: gcc"):
            run(["gcc", *_FLAGS, *shared, *parts], log=LOGS / "nvml.log")
            run(["gcc", *_FLAGS, "-o", str(scratch / "nvidia-smi"), str(program)], log=LOGS / "nvidia-smi.log")

    return cache.entry(f"nvml-{digest.hexdigest()[:12]}", compile_it)
