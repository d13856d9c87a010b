# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The Go modules that pin Kubernetes and etcd: one is committed of each, others are made when asked for."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from vmlab import cache
from vmlab.golang import RELEASE, go
from vmlab.progress import LabError, step

from .paths import CACHE, HERE, LOGS

ETCD = HERE / "etcd"
KUBERNETES = HERE / "kubernetes"
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
# What a node runs, for those who have one.
NODE_PROGRAMS = ("kubelet",)


def _pinned_version() -> str:
    found = re.search(r"k8s\.io/kubernetes v(\S+)", (KUBERNETES / "go.mod").read_text())
    if not found:
        raise LabError(f"{KUBERNETES}/go.mod requires no k8s.io/kubernetes")
    return found[1]


# Of Kubernetes, as the committed module has it.
VERSION = _pinned_version()
# The one that control planes and nodes get unless a caller says otherwise.
WANTED = os.environ.get("ZEROCOPY_KUBERNETES") or VERSION


def package(program: str) -> str:
    """Go package of one of ``PROGRAMS`` or ``NODE_PROGRAMS``."""
    return f"k8s.io/kubernetes/cmd/{program}"


def kubernetes(version: str) -> Path:
    """Directory of the module for a version: the committed one, or one made in the cache."""
    if version == VERSION:
        return KUBERNETES
    key = hashlib.sha256(repr((PROGRAMS, NODE_PROGRAMS, RELEASE)).encode()).hexdigest()[:12]
    return cache.entry(f"pins-{version}-{key}", lambda scratch: write_kubernetes(scratch, version), CACHE)


def write_kubernetes(directory: Path, version: str) -> None:
    """Make go.mod and go.sum for a version of Kubernetes, such as ``1.35.4``.

    Kubernetes finds the libraries of its own repository (``k8s.io/api`` and the like) by relative paths, which count in
    the main module only. Published under the same minor and patch as v0, they are named here instead.
    """
    if not re.fullmatch(r"1\.\d+\.\d+", version):
        raise LabError(f"{version!r} is no version of Kubernetes; right would be {VERSION}")
    with step(f"Kubernetes {version}: resolving Go modules"):
        (directory / "go.mod").write_text("module zerocopy/lab/kubernetes\n")
        (directory / "go.sum").unlink(missing_ok=True)
        downloaded = json.loads(go(directory, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"))
        (directory / "go.mod").write_text(_go_mod(version, Path(downloaded["GoMod"]).read_text()))
        # `go mod tidy` would download as well what only the tests of all these modules need.
        go(directory, "list", "-deps", "tool", log=LOGS / "go-list.log", GOFLAGS="-mod=mod")


def _go_mod(version: str, upstream: str) -> str:
    language = re.search(r"^go (\S+)$", upstream, re.MULTILINE)
    staging = re.findall(r"^\s(\S+) => \./staging/", upstream, re.MULTILINE)
    if not language or not staging:
        raise LabError(f"Kubernetes {version}: go.mod has no Go version or no staging modules")
    # The Go version also sets the GODEBUG defaults, which upstream has in its go.work.
    return "\n\n".join(
        [
            "module zerocopy/lab/kubernetes",
            f"go {language[1]}",
            _block("tool", [package(program) for program in sorted([*PROGRAMS, *NODE_PROGRAMS])]),
            f"require k8s.io/kubernetes v{version}",
            _block("replace", [f"{name} => {name} v0.{version.split('.', 1)[1]}" for name in staging]) + "\n",
        ]
    )


def _block(directive: str, lines: list[str]) -> str:
    return "\n".join([f"{directive} (", *[f"\t{line}" for line in lines], ")"])
