# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The lab's own network namespace: a bridge, a tap per guest, ssh into it, and no way out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .paths import NAMESPACE, RUN, SSH_CONFIG, SSH_CONTROL, SSH_KEY
from .progress import LabError, holds_within, run
from .topology import GATEWAY, MANAGEMENT, NODES, Node

_BRIDGE = "br0"


def exists() -> bool:
    """Whether the namespace is there."""
    return Path("/run/netns", NAMESPACE).exists()


def _links() -> set[str]:
    listing = run(["ip", "-n", NAMESPACE, "-br", "link", "show"])
    return {line.split()[0].split("@")[0] for line in listing.splitlines()}


def up() -> None:
    """Make what is missing of the namespace; its only links end in guests, so nothing in it reaches the world."""
    if not exists():
        run(["ip", "netns", "add", NAMESPACE])
    inside = ["ip", "-n", NAMESPACE]
    present = _links()
    run([*inside, "link", "set", "lo", "up"])
    if _BRIDGE not in present:
        run([*inside, "link", "add", _BRIDGE, "type", "bridge"])
        run([*inside, "address", "add", f"{GATEWAY}/{MANAGEMENT.prefixlen}", "dev", _BRIDGE])
        run([*inside, "link", "set", _BRIDGE, "up"])
    for node in NODES:
        if node.tap not in present:
            run(["ip", "netns", "exec", NAMESPACE, "ip", "tuntap", "add", node.tap, "mode", "tap"])
            run([*inside, "link", "set", node.tap, "master", _BRIDGE, "up"])


def down() -> None:
    """End every process inside the namespace, then remove it with all its links."""
    _end_ssh_masters()
    if not exists():
        return
    for sig in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids():
            with suppress(ProcessLookupError):
                os.kill(pid, sig)
        if holds_within(lambda: not pids(), seconds=10):
            break
    else:
        raise LabError(f"processes {pids()} in namespace {NAMESPACE} do not end")
    run(["ip", "netns", "delete", NAMESPACE])


def _end_ssh_masters() -> None:
    """End the shared connections of Ansible: a later lab would otherwise be spoken to through the dead ones."""
    for control in SSH_CONTROL.glob("*"):
        # One that has just ended by itself leaves its socket and refuses; there is nothing to end then.
        subprocess.run(["ssh", "-O", "exit", "-o", f"ControlPath={control}", "lab"], capture_output=True, check=False)


def pids() -> list[int]:
    """Return the processes that live in the namespace."""
    return [int(pid) for pid in run(["ip", "netns", "pids", NAMESPACE]).split()]


def write_ssh_config(host_keys: Mapping[Node, str]) -> None:
    """Write the configuration with which plain ``ssh``, ``scp`` and Ansible reach the guests from outside."""
    known_hosts = RUN / "known_hosts"
    known_hosts.write_text("".join(f"zerocopy-{node.name} {key}" for node, key in host_keys.items()))
    connect = Path(__file__).with_name("connect.py")
    lines = [
        "Host *",
        "  User root",
        f"  IdentityFile {SSH_KEY}",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {known_hosts}",
        "  StrictHostKeyChecking yes",
        "  LogLevel ERROR",
        "  ConnectTimeout 60",
        "  ServerAliveInterval 15",
        "  ServerAliveCountMax 8",
        "  ProxyUseFdpass yes",
        f"  ProxyCommand ip netns exec {NAMESPACE} {sys.executable} {connect} %h %p",
    ]
    for node in host_keys:
        lines += [f"Host {node.name}", f"  HostName {node.address}", f"  HostKeyAlias zerocopy-{node.name}"]
    SSH_CONFIG.write_text("\n".join(lines) + "\n")


def _ssh_command(node: str, *command: str) -> list[str]:
    return ["ssh", "-F", str(SSH_CONFIG), "-o", "BatchMode=yes", node, *command]


# ssh's own exit status, and no command's (ssh(1), "EXIT STATUS").
NO_ANSWER = 255


def ssh(node: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a guest and return what came of it."""
    return subprocess.run(_ssh_command(node, *command), capture_output=True, text=True, check=False)


def ssh_in_background(node: str, *command: str) -> subprocess.Popen[str]:
    """Start a command on a guest, all its output in one pipe."""
    return subprocess.Popen(_ssh_command(node, *command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
