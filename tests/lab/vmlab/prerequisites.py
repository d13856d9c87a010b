# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the host must have, and which Debian package brings it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from .progress import LabError, run, say, step

# A root shell started by su or cron often has neither sbin in PATH nor where go.dev says to put Go.
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/local/go/bin"])

COMMANDS = {
    "mmdebstrap": "mmdebstrap",
    "mkfs.ext4": "e2fsprogs",
    "ip": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "mount": "mount",
    "go": "golang-go",
    # For the control plane.
    "openssl": "openssl",
    "setpriv": "util-linux",
    # For NVIDIA's DRA driver, which is partly C; the package has the headers of the C library as well.
    "gcc": "build-essential",
    # For kernel modules.
    "unshare": "util-linux",
}

# The first that fetches by itself the version a go.mod asks for.
_OLDEST_GO = (1, 21)


def _go_version() -> tuple[int, ...]:
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    done = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, env=environment, check=False)
    return tuple(int(number) for number in re.findall(r"\d+", done.stdout)[:2])


def missing() -> dict[str, str]:
    """Map each command that is not there to the Debian package that has it."""
    return {command: package for command, package in COMMANDS.items() if not shutil.which(command, path=_PATH)}


def install() -> None:
    """Install what is missing with apt-get; nothing happens where all is there."""
    packages = sorted(set(missing().values()))
    if not packages:
        say("prerequisites: all present")
        return
    with step(f"apt-get install {' '.join(packages)}"):
        run(["apt-get", "-q", "update"])
        noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qy"]
        run([*noninteractive, "--no-install-recommends", "install", *packages])


def check() -> None:
    """Stop with one message that names everything the host lacks."""
    os.environ["PATH"] = _PATH
    problems = [f"command {command} is missing: Debian package {package}" for command, package in missing().items()]
    if "go" not in missing() and _go_version() < _OLDEST_GO:
        problems.append("Go is older than 1.21: Debian 12 has a newer one in bookworm-backports")
    if os.geteuid() != 0:
        problems.append("the lab needs root: it makes a network namespace, taps and a guest image")
    if not os.path.exists("/dev/net/tun"):
        problems.append("/dev/net/tun is missing: the kernel module tun is not loaded")
    if problems:
        raise LabError("\n".join([*problems, "install what is missing: python3 tests/lab/lab.py deps --install"]))
