# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The programs of a control plane, built from the pinned Go modules and cached."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from vmlab import cache
from vmlab.golang import go
from vmlab.progress import step

from . import pins
from .paths import CACHE, LOGS

_STRIP = "-s -w"


def build(version: str = pins.WANTED) -> dict[str, Path]:
    """Map the name of each program of a control plane to where it is, built if it is not cached."""
    return {
        **_module("etcd", pins.ETCD, {"etcd": "go.etcd.io/etcd/server/v3"}, _STRIP),
        **_kubernetes(f"kubernetes-{version}", version, pins.PROGRAMS),
    }


def build_node(version: str = pins.WANTED) -> dict[str, Path]:
    """Map the name of each program of a node to where it is, built if it is not cached."""
    return _kubernetes(f"node-{version}", version, pins.NODE_PROGRAMS)


def _kubernetes(name: str, version: str, programs: Sequence[str]) -> dict[str, Path]:
    major, minor, _patch = version.split(".")
    # Without these the servers call themselves v0.0.0-master, and clients refuse to work with them.
    stamp = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    flags = [_STRIP, *[f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamp.items()]]
    packages = {program: pins.package(program) for program in programs}
    return _module(name, pins.kubernetes(version), packages, " ".join(flags))


def _module(name: str, source: Path, packages: Mapping[str, str], ldflags: str) -> dict[str, Path]:
    """Build the packages of one Go module: one has the name that its key says, several have those names already."""

    def compile_them(scratch: Path) -> None:
        # All at once: one look at thousands of packages, and while one program is linked, the others are compiled.
        output = scratch / next(iter(packages)) if len(packages) == 1 else f"{scratch}/"
        flags = ["-trimpath", "-ldflags", ldflags, "-o", str(output)]
        with step(f"{name}: go build {' '.join(packages)}"):
            go(source, "build", *flags, *packages.values(), log=LOGS / f"{name}.log")

    digest = hashlib.sha256(repr((sorted(packages.items()), ldflags)).encode())
    for path in (source / "go.mod", source / "go.sum"):
        digest.update(path.read_bytes())
    directory = cache.entry(f"{name}-{digest.hexdigest()[:12]}", compile_them, CACHE)
    return {program: directory / program for program in packages}
