# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which QEMU and which accelerator, and the command line of a guest."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import image, topology
from .paths import NAMESPACE, RUN, node_dir, pid_file, qemu_log, qmp_socket, serial_log
from .progress import holds_within, run, say
from .topology import Nic, Node

_BINARY = "qemu-system-x86_64"
# An emulated CPU has no time to lose. With two sockets the kernel does not trust the TSC, though here all CPUs read the
# same one, and asks the HPET instead: a device, which one CPU at a time may speak to, and a Go program asks the time
# incessantly. Every timer between two ticks costs such a device as well. Debian's kernel clears all memory that it
# allocates for itself, which takes a fifth of a boot. DAMON's figures are for nobody.
_EMULATED = "tsc=reliable highres=off nohz=off damon_stat.enabled=0 init_on_alloc=0"
_MEMORY_PER_NUMA_NODE = "1G"

# The mounts live in the mount namespace that "ip netns exec" makes, so they end with QEMU and never need cleaning up.
_ENTER_ROOT = """
set -e
root=$1; run=$2; image=$3; shift 3
for path in /dev /proc "$run" "$image"; do
  mkdir -p "$root$path"
  mount --rbind "$path" "$root$path"
done
exec chroot "$root" "$@"
"""


def _host_has_igb() -> bool:
    if not shutil.which(_BINARY):
        return False
    listing = subprocess.run([_BINARY, "-device", "help"], capture_output=True, text=True, check=False)
    return '"igb"' in listing.stdout


def _command_prefix(guest_image: Path) -> list[str]:
    """Return how to start QEMU inside the lab's namespace: the host's, or one from a newer Debian."""
    inside = ["ip", "netns", "exec", NAMESPACE]
    if _host_has_igb():
        return [*inside, _BINARY]
    root = image.qemu_root()
    return [*inside, "sh", "-c", _ENTER_ROOT, "enter-root", str(root), str(RUN), str(guest_image), _BINARY]


def accelerator(guest_image: Path) -> list[str]:
    """Return the accelerator arguments; KVM only when it gets the guest's kernel to its first line.

    /dev/kvm that opens proves nothing: in some virtual machines it does, and the guest dies in the decompressor.
    """
    wanted = os.environ.get("ZEROCOPY_LAB_ACCEL", "auto")
    kvm = ["-accel", "kvm", "-cpu", "host"]
    possible = wanted == "auto" and os.access("/dev/kvm", os.R_OK | os.W_OK)
    if wanted == "kvm" or (possible and _kvm_boots(kvm, guest_image)):
        say("accelerator: KVM")
        return kvm
    say("accelerator: TCG (no usable KVM), everything is slower")
    # Without SVM, udev does not load KVM.
    return ["-accel", "tcg,thread=multi", "-cpu", "qemu64,-svm,+ssse3,+sse4.1,+sse4.2,+popcnt"]


def _kvm_boots(kvm: list[str], guest_image: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=RUN) as scratch:
        serial = Path(scratch, "serial")
        serial.touch()
        argv = [*_command_prefix(guest_image), "-machine", "q35", *kvm, "-m", "256", "-nodefaults"]
        argv += ["-display", "none", "-no-reboot"]
        argv += ["-kernel", f"{guest_image}/vmlinuz", "-append", "console=ttyS0 earlyprintk=ttyS0"]
        argv += ["-serial", f"file:{serial}"]
        with Path(scratch, "messages").open("w+") as messages:
            process = subprocess.Popen(argv, stdout=messages, stderr=messages, stdin=subprocess.DEVNULL)

            def speaks() -> bool:
                return "Linux version" in serial.read_text(errors="replace")

            def decided() -> bool:
                failed = "KVM internal error" in Path(messages.name).read_text(errors="replace")
                return speaks() or failed or process.poll() is not None

            try:
                return holds_within(decided, seconds=20) and speaks()
            finally:
                process.kill()
                process.wait()


def start(node: Node, accel: list[str], guest_image: Path, nics: Sequence[Nic]) -> None:
    """Start one guest in the background; QEMU's own complaints come back as the error."""
    node_dir(node.name).mkdir(parents=True, exist_ok=True)
    serial_log(node.name).write_text("")
    kernel = "root=/dev/vda rw console=ttyS0 quiet mitigations=off systemd.show_status=true"
    kernel += f" systemd.hostname={node.name} {_EMULATED}"
    numa = []
    for number in (0, 1):
        numa += ["-object", f"memory-backend-ram,id=mem{number},size={_MEMORY_PER_NUMA_NODE}"]
        numa += ["-numa", f"node,nodeid={number},memdev=mem{number},cpus={number}"]
    run(
        [
            *_command_prefix(guest_image),
            *("-name", node.name, "-machine", "q35", *accel, "-m", "2G"),
            *("-smp", "2,sockets=2,cores=1,threads=1", *numa),
            *("-nodefaults", "-display", "none", "-daemonize", "-pidfile", str(pid_file(node.name))),
            # With it, messages of the daemon are kept as well.
            *("-D", str(qemu_log(node.name))),
            *("-qmp", f"unix:{qmp_socket(node.name)},server=on,wait=off"),
            *("-serial", f"file:{serial_log(node.name)}", "-kernel", f"{guest_image}/vmlinuz"),
            *("-initrd", f"{guest_image}/initrd", "-append", kernel),
            # snapshot=on: writes go to an unlinked temporary file, so the cached image stays pristine.
            *("-drive", f"file={guest_image}/disk.raw,format=raw,if=none,id=disk,snapshot=on"),
            *("-device", "virtio-blk-pci,drive=disk,bus=pcie.0", "-device", "virtio-rng-pci,bus=pcie.0"),
            *("-netdev", f"tap,id=management,ifname={node.tap},script=no,downscript=no"),
            *("-device", f"virtio-net-pci,netdev=management,mac={node.mac()},bus=pcie.0,romfile="),
            *topology.pcie_arguments(),
            *topology.fabric_arguments(node, str(RUN), nics),
        ]
    )
