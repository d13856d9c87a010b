# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Programs the guests' distributions do not have, built from the Go modules beside this package."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import cache, network
from .golang import ENVIRONMENT, RELEASE, go
from .paths import LOGS, SSH_CONFIG
from .progress import LabError, run, step
from .topology import Node

_HERE = Path(__file__).resolve().parents[1]
# Without paths of this machine, so the same sources give the same program wherever it is built.
_FLAGS = ("-trimpath", "-ldflags", "-s -w")
_GUEST_DIR = "/usr/local/bin"


@dataclass(frozen=True)
class Tool:
    """A program, the directory of the Go module that pins it, the package to build there, and the version of Go."""

    name: str
    module: str
    package: str
    toolchain: str = RELEASE

    @property
    def environment(self) -> Mapping[str, str]:
        """What Go is told beyond what holds for all."""
        return {}


@dataclass(frozen=True)
class CTool(Tool):
    """A program that is partly C and so needs the C library of this machine, or a newer one."""

    @property
    def environment(self) -> Mapping[str, str]:
        return {"CGO_ENABLED": "1"}


TOOLS = (
    Tool("crictl", "crictl", "sigs.k8s.io/cri-tools/cmd/crictl"),
    Tool("lab-nri", "nri", "."),
)


def key(tool: Tool) -> str:
    """Name under which the built program is cached."""
    told = repr((tool, _FLAGS, sorted({**ENVIRONMENT, **tool.environment}.items())))
    digest = hashlib.sha256(told.encode() + cache.content(_HERE / tool.module))
    return f"tool-{tool.name}-{digest.hexdigest()[:12]}"


def build(tool: Tool) -> Path:
    """Return the program, built if it is not cached."""

    def compile_it(scratch: Path) -> None:
        arguments = [*_FLAGS, "-o", str(scratch / tool.name), tool.package]
        with step(f"{tool.name}: go build"):
            log = LOGS / f"{tool.name}.log"
            go(_HERE / tool.module, "build", *arguments, log=log, release=tool.toolchain, **tool.environment)

    return cache.entry(key(tool), compile_it) / tool.name


def source(tool: Tool, module: str, path: str) -> bytes:
    """Return a file of the Go module that a tool is built from, as its publisher packs it into an image."""
    return (source_directory(tool, module) / path).read_bytes()


def source_directory(tool: Tool, module: str) -> Path:
    """Where Go keeps a module that a tool is built from."""
    # The program may be of another day's cache than the modules.
    go(_HERE / tool.module, "mod", "download", module, release=tool.toolchain)
    return Path(go(_HERE / tool.module, "list", "-m", "-f", "{{.Dir}}", module, release=tool.toolchain).strip())


def build_all() -> dict[str, Path]:
    """Map where each program belongs in a guest to where it is here."""
    return {f"{_GUEST_DIR}/{tool.name}": build(tool) for tool in TOOLS}


def install(node: Node) -> None:
    """Copy to the guest what it lacks or has in another version."""
    programs = build_all()
    # Fails when one is missing, and says on standard output what the others are.
    present = network.ssh(node.name, "sha256sum", *programs).stdout
    for target, program in programs.items():
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
        if f"{digest}  {target}" not in present:
            with step(f"{node.name}: copying {program.name}"):
                copy(node, program, target)


def copy(node: Node, program: Path, target: str) -> None:
    """Replace the file by renaming: one that is being executed cannot be written to."""
    run(["scp", "-q", "-F", str(SSH_CONFIG), "-o", "BatchMode=yes", str(program), f"{node.name}:{target}.new"])
    done = network.ssh(node.name, f"mv {target}.new {target}")
    if done.returncode:
        raise LabError(f"{node.name}: {target} cannot be replaced: {done.stderr}")
