# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Debian's ibsim, opensm, infiniband-diags and lldpd in namespaces of their own; needs root and mmdebstrap."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from vmlab import cache, image
from vmlab.paths import LOGS
from vmlab.progress import step

_HERE = Path(__file__).resolve().parent
_CHECKOUT = _HERE.parents[1]
_PACKAGES = (
    *("ibsim-utils", "opensm", "infiniband-diags", "lldpd", "iproute2", "python3"),
    # What a root that is only extracted gets neither from dependencies nor from scripts of packages.
    *("base-files", "coreutils", "dash", "grep", "mount", "util-linux"),
)
_MERGED = 'for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name"; ln -s "usr/$name" "$1/$name"; done'
_SUITE = os.environ.get("ZEROCOPY_SUITE", "bookworm")
# Far above what a slow machine needs: until then a script waits for what does not come.
_SECONDS = 300


def root() -> Path:
    """Debian's files, made once."""

    def build(scratch: Path) -> None:
        with step(f"root with ibsim and lldpd: Debian {_SUITE} (mmdebstrap)"):
            log, hook = LOGS / f"cabling-{_SUITE}.log", f"--setup-hook={_MERGED}"
            image.bootstrap(_SUITE, scratch / "root", _PACKAGES, log, hook, variant="extract")

    key = hashlib.sha256(repr((_PACKAGES, _MERGED)).encode()).hexdigest()[:12]
    return cache.entry(f"cabling-{_SUITE}-{key}", build) / "root"


def run(script: str, given: str = "") -> Any:
    """What a script of this directory prints as JSON, as root of such a machine; ``given`` is its standard input."""
    namespaces = ["--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--propagation=private"]
    boot = [str(_HERE / "boot.sh"), str(root()), str(_CHECKOUT), script]
    done = subprocess.run(
        ["unshare", *namespaces, *boot],
        input=given,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return json.loads(done.stdout)
