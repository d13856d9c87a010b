# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Debian's Prometheus and Alertmanager, unpacked: nothing is installed, and no service starts."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from vmlab import cache
from vmlab.paths import LOGS
from vmlab.progress import LabError, run, step

_PACKAGES = ("prometheus", "prometheus-alertmanager")
# Far above what a slow machine needs.
_SECONDS = 300


def _download(scratch: Path) -> None:
    """With lists of packages of its own where the machine has none, or old ones."""
    state, log = scratch / "apt", LOGS / "monitoring.log"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True)
    own = [f"-oDir::State::lists={state / 'lists'}", f"-oDir::Cache={state}"]
    # Only root can become the user who usually downloads, and that one may not write here.
    command = ["env", "--chdir", str(scratch), "apt-get", "-q", "-oAPT::Sandbox::User=root"]
    try:
        run([*command, "download", *_PACKAGES], log=log)
    except LabError:
        run([*command, *own, "update"], log=log)
        run([*command, *own, "download", *_PACKAGES], log=log)
    shutil.rmtree(state)


def _root() -> Path:
    """Their files, unpacked once."""

    def build(scratch: Path) -> None:
        with step(f"{' and '.join(_PACKAGES)} (apt-get download)"):
            _download(scratch)
            for package in scratch.glob("*.deb"):
                run(["dpkg-deb", "--extract", str(package), str(scratch / "root")])
                package.unlink()

    release = Path("/etc/os-release").read_bytes()
    return cache.entry(f"monitoring-{hashlib.sha256(repr((_PACKAGES, release)).encode()).hexdigest()[:12]}", build)


def program(name: str) -> str:
    """The path of one of their programs."""
    return str(_root() / "root" / "usr" / "bin" / name)


def in_its_place(name: str) -> list[str]:
    """The beginning of a command that runs one of them where it finds files of its package at their paths.

    This is a mount of its own, and the machine has none of these files.
    """
    place = 'mount --bind "$1" /usr/share && shift && exec "$@"'
    # Without root, as root of a user namespace.
    own = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "--propagation=private"]
    return [*own, "sh", "-c", place, "sh", str(_root() / "root" / "usr" / "share"), program(name)]


def promtool(*arguments: str | os.PathLike[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """What promtool says."""
    command = [program("promtool"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False, **more)
