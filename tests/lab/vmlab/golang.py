# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Go, in the release that everything here is built with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional

from .progress import LabError, run

# Exactly this one: with Go 1.27 kube-openapi takes another JSON library, and `kubectl apply` fails on what is served.
# And one for all: with a second release Go's own packages, and what depends on them, would be compiled a second time.
RELEASE = "go1.26.8"
# Static programs. A compiler that collects its garbage less often takes a sixth less of the processor for Kubernetes,
# and one that writes no debug information, which the linker would drop, a fifth less.
ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -gcflags=all=-dwarf=false", "GOGC": "400"}
# Where go.dev says to put it.
_DIRECTORY = "/usr/local/go/bin"


def go(module: Path, *arguments: str, log: Optional[Path] = None, release: str = RELEASE, **environment: str) -> str:
    """Run ``go`` in the directory of a module and return its output; with ``log`` it goes to that file."""
    executable = shutil.which("go", path=os.pathsep.join([os.environ.get("PATH", ""), _DIRECTORY]))
    if executable is None:
        raise LabError("command go is missing: Debian package golang-go, 1.21 or newer")
    every = {**ENVIRONMENT, "GOTOOLCHAIN": release, **environment}
    settings = [f"{name}={value}" for name, value in every.items()]
    return run(["env", "-C", str(module), *settings, executable, *arguments], log=log)
