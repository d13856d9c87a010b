# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The container image of NVIDIA's DRA driver, with what its chart and its init container run there.

NVIDIA builds its own from gcr.io/distroless/cc (deployments/container/Dockerfile); bash, the C library and the programs
that the scripts call are those of this machine here. Programs for compute domains, MPS and the webhook are not in it.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from guest import container_image
from vmlab import cache, tools
from vmlab.progress import LabError

from . import container
from .programs import Release

_NAME = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"
_PROGRAMS = ("basename", "bash", "date", "env", "find", "head", "ln", "ls", "sleep")


def name(release: Release) -> str:
    """The name by which the chart asks for it."""
    return f"{_NAME}:v{release.version}"


def files(release: Release) -> dict[str, bytes]:
    """Map the paths in the image to what is there."""
    own = {"usr/bin/gpu-kubelet-plugin": release.plugin, "usr/bin/nvidia-cdi-hook": release.hook}
    paths = {path: tools.build(tool) for path, tool in own.items()}
    paths.update({f"usr/bin/{command}": _program(command) for command in _PROGRAMS})
    found = container.with_libraries(paths)
    found["usr/bin/kubelet-plugin-prestart.sh"] = release.prestart()
    return found


def _program(command: str) -> Path:
    found = shutil.which(command)
    if found is None:
        raise LabError(f"command {command} is missing: the image of NVIDIA's DRA driver needs it")
    return Path(found)


def archive(release: Release) -> Path:
    """Return the archive with the image."""
    content = container_image.layer(files(release))

    def pack(scratch: Path) -> None:
        container_image.archive(scratch / "image.tar", [name(release)], content, ["bash"])

    recipe = hashlib.sha256(Path(container_image.__file__).read_bytes() + name(release).encode() + content)
    return cache.entry(f"image-gpu-driver-{recipe.hexdigest()[:12]}", pack) / "image.tar"
