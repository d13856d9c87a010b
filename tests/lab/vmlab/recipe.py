# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The guest image's recipe: packages, and the files laid over the root before they are installed."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from .topology import GATEWAY, NICS, NODES, Nic

# igb came with QEMU 8.
QEMU_SUITE = "trixie"
# A suite before its release has a Release file that expires within days; a mirror that lags behind serves an old one.
APT_OPTIONS = {"forky": ('Acquire::Check-Valid-Until "false"',)}
DISK_SIZE = "6G"
UNPRIVILEGED = "plain"
BARE_PYTHON = "/opt/bare-python"

# An emulated processor takes seconds to compile what Ansible sends with each module. Only the guests' own Python begins
# with this; the directories are those of the checkout, from which the file knows where to keep what it compiles.
_COMPILED = Path(__file__).parents[2] / "compiled/sitecustomize.py"
_COMPILED_DIRECTORY = "opt/lab/tests/compiled"

PACKAGES = [
    "linux-image-amd64",
    "initramfs-tools",
    "zstd",
    "systemd",
    "systemd-sysv",
    "udev",
    "dbus",
    "kmod",
    "openssh-server",
    "sudo",
    "network-manager",
    "iproute2",
    "iputils-ping",
    "ethtool",
    "python3",
    "python3-venv",
    "python3-apt",
    "python3-pyroute2",
    "rdma-core",
    "ibverbs-utils",
    "ibverbs-providers",
    "infiniband-diags",
    "perftest",
    "ibsim-utils",
    "libumad2sim0",
    "opensm",
    "pciutils",
    "hwloc-nox",
    "numactl",
    "containerd",
    "runc",
    "containernetworking-plugins",
    "busybox-static",
    "iputils-arping",
]

QEMU_PACKAGES = ("qemu-system-x86", "ipxe-qemu", "seabios")

# Units that would change or slow down a guest behind the tests' back.
_MASKED = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "NetworkManager-wait-online.service",
    "opensm.service",
    "systemd-timesyncd.service",
]

_NETWORK_MANAGER = """\
# A fabric NIC without a profile stays untouched: no surprise DHCP on a rail.
[main]
no-auto-default=*
"""

_INITRAMFS_MODULES = "virtio_pci\nvirtio_blk\next4\n"

_SSHD = "PermitRootLogin prohibit-password\nUseDNS no\n"


def _rename(nic: Nic) -> str:
    addresses = " ".join(node.mac(nic.number) for node in NODES)
    return f"[Match]\nPermanentMACAddress={addresses}\n\n[Link]\nName={nic.role}\nMACAddressPolicy=persistent\n"


def _profile(address: str, mac: str) -> str:
    return (
        "[connection]\nid=management\ntype=ethernet\nautoconnect=true\n\n"
        f"[ethernet]\nmac-address={mac}\n\n"
        # Else NetworkManager numbers it in the order in which devices come up at a boot, those of a bond among them.
        f"[ipv4]\nmethod=manual\naddress1={address}/24,{GATEWAY}\nroute-metric=100\n\n"
        "[ipv6]\nmethod=link-local\nroute-metric=100\n"
    )


def files(public_key: str) -> dict[str, tuple[int, str]]:
    """Map each path to its mode and content; the guests tell themselves apart by the management NIC's MAC address."""
    tree = {
        "etc/initramfs-tools/conf.d/lab": (0o644, "MODULES=list\nCOMPRESS=zstd\n"),
        "etc/initramfs-tools/modules": (0o644, _INITRAMFS_MODULES),
        "etc/NetworkManager/conf.d/lab.conf": (0o644, _NETWORK_MANAGER),
        "etc/ssh/sshd_config.d/lab.conf": (0o644, _SSHD),
        "etc/modprobe.d/lab.conf": (0o644, "options bonding max_bonds=0\n"),
        "etc/fstab": (0o644, "/dev/vda / ext4 defaults,noatime 0 1\n"),
        "etc/hosts": (0o644, "127.0.0.1 localhost\n" + "".join(f"{n.address} {n.name}\n" for n in NODES)),
        # What a kubelet is told by its --container-runtime-endpoint.
        "etc/crictl.yaml": (0o644, "runtime-endpoint: unix:///run/containerd/containerd.sock\ntimeout: 30\n"),
        "root/.ssh/authorized_keys": (0o600, public_key),
        "etc/skel/.ssh/authorized_keys": (0o600, public_key),
        # Under another name, as Debian has a sitecustomize of its own.
        f"{_COMPILED_DIRECTORY}/keep_compiled.py": (0o644, _COMPILED.read_text()),
        "usr/lib/python3/dist-packages/keep_compiled.pth": (0o644, f"/{_COMPILED_DIRECTORY}\nimport keep_compiled\n"),
    }
    # One rail renamed as admins do it, the others under the names the kernel's PCI address gives them.
    tree["etc/systemd/network/10-rail0.link"] = (0o644, _rename(NICS[0]))
    for node in NODES:
        path = f"etc/NetworkManager/system-connections/management-{node.name}.nmconnection"
        tree[path] = (0o600, _profile(node.address, node.mac()))
    return tree


# The bare Python is how a node without pyroute2 looks: standard library only.
HOOKS = (
    f'chroot "$1" useradd --create-home --shell /bin/bash {UNPRIVILEGED}',
    f'chroot "$1" python3 -m venv --without-pip {BARE_PYTHON}',
    'rm -f "$1/etc/hostname"; : > "$1/etc/machine-id"',
)


def release(suite: str) -> str:
    """The release of a suite, which for one of backports is what they are for."""
    return suite.split("-")[0]


def packages(suite: str) -> list[str]:
    """What is installed; from backports it is the kernel alone."""
    kernel = PACKAGES[0]
    return PACKAGES if suite == release(suite) else [f"{kernel}/{suite}", *PACKAGES[1:]]


def setup_hooks(suite: str) -> list[str]:
    """What a suite needs before packages are looked for."""
    line = f"deb http://deb.debian.org/debian {suite} main"
    return [] if suite == release(suite) else [f'echo "{line}" > "$1/etc/apt/sources.list.d/{suite}.list"']


def overlay(public_key: str) -> bytes:
    """Return the files as a tar archive, byte for byte the same for the same recipe."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, (mode, text) in sorted(files(public_key).items()):
            entry = tarfile.TarInfo(path)
            entry.mode = mode
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        for unit in _MASKED:
            link = tarfile.TarInfo(f"etc/systemd/system/{unit}")
            link.type = tarfile.SYMTYPE
            link.linkname = "/dev/null"
            archive.addfile(link)
    return buffer.getvalue()


def guest_key(suite: str, public_key: str) -> str:
    """Name under which the finished image is cached."""
    digest = hashlib.sha256(overlay(public_key))
    digest.update(repr((suite, DISK_SIZE, packages(suite), HOOKS)).encode())
    return f"guest-{suite}-{digest.hexdigest()[:12]}"


def qemu_key() -> str:
    """Name under which the QEMU root is cached."""
    return f"qemu-{QEMU_SUITE}-{hashlib.sha256(repr(QEMU_PACKAGES).encode()).hexdigest()[:12]}"
