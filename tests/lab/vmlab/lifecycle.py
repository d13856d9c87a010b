# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The life of the lab: up, down, status."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import image, monitor, network, prerequisites, qemu, tools
from .console import SILENT_SECONDS, Watch
from .paths import CACHE, LOGS, NAME, RUN, SSH_CONFIG, pid_file, qemu_log, serial_log
from .progress import LabError, await_condition, say, step, tail
from .topology import NICS, NODES, Nic, Node

# Half a minute with KVM; ten with TCG on a machine that does something else too.
_BOOT_SECONDS = 900
# QEMU itself may die under a guest that boots, and the kernel of an emulated guest may hang. That says nothing about
# what is tried afterwards.
_STARTS = 3
_HANGS = f"nothing new on the console for {SILENT_SECONDS} s, and no answer over ssh"


@contextmanager
def _locked() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{NAME}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def running(node: Node) -> bool:
    """Whether the guest's QEMU lives: a pid file alone may be left from a killed run, or name a stranger."""
    if not network.exists() or not pid_file(node.name).exists():
        return False
    text = pid_file(node.name).read_text().strip()
    return text.isdigit() and int(text) in network.pids()


def up(nodes: Sequence[Node] = NODES, nics: Sequence[Nic] = NICS) -> None:
    """Start what is not running, with these NICs, and wait until every guest answers over ssh."""
    prerequisites.check()
    with _locked():
        images = {node: image.guest_image(node.suite) for node in nodes}
        tools.build_all()
        RUN.mkdir(mode=0o755, exist_ok=True)
        network.up()
        network.write_ssh_config({node: (path / "host_key.pub").read_text() for node, path in images.items()})
        for starts in range(1, _STARTS + 1):
            _start(nodes, images, nics)
            try:
                for node in nodes:
                    with step(f"{node.name}: until it has booted and answers over ssh"):
                        _await_boot(node)
                break
            except _QemuEndedError as failure:
                if starts == _STARTS:
                    raise
                say(str(failure))
        for node in nodes:
            tools.install(node)


class _QemuEndedError(LabError):
    """The QEMU of a guest that boots is no more, or has been ended because the guest hung."""


def _start(nodes: Sequence[Node], images: Mapping[Node, Path], nics: Sequence[Nic]) -> None:
    to_start = [node for node in nodes if not running(node)]
    if not to_start:
        return
    accel = qemu.accelerator(images[to_start[0]])
    for node in to_start:
        with step(f"{node.name} (Debian {node.suite}): starting QEMU"):
            qemu.start(node, accel, images[node], nics)


def _await_boot(node: Node) -> None:
    console, messages = serial_log(node.name), qemu_log(node.name)
    watch = Watch(console)

    def booted() -> bool:
        if not running(node):
            said = f"{messages}: {tail(messages) or '(empty)'}\nthe end of {console}:\n{tail(console) or '(empty)'}"
            raise _QemuEndedError(f"{node.name}: QEMU ended\n{said}")
        # A running systemd job queue means units are still starting: NetworkManager may not have seen every NIC.
        answer = network.ssh(node.name, "systemctl is-system-running --wait")
        if answer.returncode != network.NO_ANSWER:
            watch.anew()
        elif watch.hangs():
            os.kill(int(pid_file(node.name).read_text()), signal.SIGKILL)
            await_condition(f"{node.name}: end of QEMU", lambda: not running(node), seconds=60)
            raise _QemuEndedError(f"{node.name}: {_HANGS}\nthe end of {console}:\n{tail(console) or '(empty)'}")
        if answer.stdout.strip() == "degraded":
            failed = network.ssh(node.name, "systemctl --failed --no-legend --plain").stdout
            raise LabError(f"{node.name}: units failed at boot:\n{failed}")
        return answer.stdout.strip() == "running"

    await_condition(f"{node.name}: ssh", booted, seconds=_BOOT_SECONDS, note=lambda: tail(console))


def _boot_id(node: Node) -> str:
    """Return what the kernel calls this boot, empty while the guest does not answer."""
    return network.ssh(node.name, "cat /proc/sys/kernel/random/boot_id").stdout.strip()


def reboot(node: Node) -> None:
    """Reboot a guest as an admin does and wait until it answers from another boot whose services have all started."""
    before = _boot_id(node)
    if not before:
        raise LabError(f"{node.name} does not answer over ssh, so it cannot be told to reboot")
    console = serial_log(node.name)
    watch = Watch(console)

    def anew() -> bool:
        now = _boot_id(node)
        # A kernel may hang after ssh's first answer as well.
        state = network.ssh(node.name, "systemctl is-system-running --wait") if now not in ("", before) else None
        if now and (state is None or state.returncode != network.NO_ANSWER):
            watch.anew()
        elif watch.hangs():
            say(f"{node.name}: {_HANGS}; it is reset. The end of {console}:\n{tail(console)}")
            monitor.command(node.name, "system_reset")
            watch.anew()
        return state is not None and state.stdout.strip() in ("running", "degraded")

    with step(f"{node.name}: reboot, until all services have started"):
        # The connection may end before the answer is out.
        network.ssh(node.name, "systemctl reboot")
        await_condition(
            f"{node.name}: reboot", anew, seconds=SILENT_SECONDS + _BOOT_SECONDS, note=lambda: tail(console)
        )


def down() -> None:
    """Stop and remove everything, whatever state a failure or a kill has left; the consoles are kept as logs."""
    with _locked(), step("lab down"):
        network.down()
        for node in NODES:
            if node_started(node):
                LOGS.mkdir(parents=True, exist_ok=True)
                shutil.copy(serial_log(node.name), LOGS / f"{NAME}-{node.name}-console.log")
        if RUN.exists():
            shutil.rmtree(RUN)


def status() -> int:
    """Print one line per guest; the exit code says whether all of them run."""
    alive = [running(node) for node in NODES]
    for node, lives in zip(NODES, alive):
        print(f"{node.name}  {node.address}  {'running' if lives else 'down'}  console {serial_log(node.name)}")
    print(f"namespace {NAME}: {'present' if network.exists() else 'absent'}; ssh -F {SSH_CONFIG} NODE")
    return 0 if all(alive) else 1


def logs_on_failure() -> str:
    """Return where to look when a guest misbehaves."""
    return "\n".join(f"{node.name}: serial console in {serial_log(node.name)}" for node in NODES if node_started(node))


def node_started(node: Node) -> bool:
    """Whether the guest was ever started in this lab."""
    return serial_log(node.name).exists()
