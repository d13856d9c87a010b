# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: writes the part of sysfs, procfs and /dev that the facts read to a tar archive, for unit tests.

    python3 record_sysfs.py FILE.tar.gz

Attributes that cannot be read are left out; RECORDING.txt in the archive names the kernel and lists them. Of a GID
table (1024 entries with Soft-RoCE, all but a few empty) only the first 16 are kept, and those in use.
Device nodes become empty files, so that anyone can unpack it.
"""

from __future__ import annotations

import io
import os
import platform
import sys
import tarfile
from typing import Iterator, List

ROOTS = [
    "/sys/class/infiniband",
    "/sys/class/infiniband_verbs",
    "/sys/class/infiniband_mad",
    "/sys/class/infiniband_cm",
    "/sys/class/net",
    "/sys/class/misc/rdma_cm",
    "/sys/bus/pci/devices",
    "/sys/devices/virtual/infiniband",
    "/sys/devices/virtual/infiniband_verbs",
    "/sys/devices/virtual/infiniband_mad",
    "/sys/devices/virtual/misc/rdma_cm",
    "/sys/devices/virtual/net",
    "/sys/module/ib_core",
    "/sys/module/ib_uverbs",
    "/sys/module/ib_umad",
    "/sys/module/rdma_cm",
    "/sys/module/rdma_ucm",
    "/sys/module/rdma_rxe",
    "/sys/module/ib_ipoib",
    "/sys/module/igb",
    "/sys/module/e1000e",
    "/sys/module/nvidia_peermem",
    "/sys/class/iommu",
    "/sys/kernel/iommu_groups",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/node1/cpulist",
    "/proc/net/route",
    "/proc/net/ipv6_route",
    "/proc/net/if_inet6",
    "/proc/net/fib_trie",
    "/proc/net/bonding",
    "/proc/net/vlan",
    "/proc/cmdline",
    "/proc/modules",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/hostname",
    "/dev/infiniband",
]

# Device BARs and ROMs have side effects or size; the rest is bulk nobody asks for.
SKIPPED_NAMES = ("rom", "vpd", "remove", "rescan", "reset", "uevent")
SKIPPED_PREFIXES = ("resource", "ata", "wakeup")
SKIPPED_DIRECTORIES = (
    "power",
    "queues",
    "msi_irqs",
    "drm",
    "graphics",
    "sections",
    "notes",
    "trace",
    "drivers",
    "holders",
)
GID_ENTRIES = 16
LIMIT = 65536


def pci_roots() -> List[str]:
    """Return the root complexes of the PCI tree."""
    return [f"/sys/devices/{name}" for name in sorted(os.listdir("/sys/devices")) if name.startswith("pci")]


def beyond_gids(path: str) -> bool:
    """Whether the path is a GID table entry beyond those that are kept."""
    folder, name = os.path.split(path)
    port, attributes, _kind = folder.partition("/gid_attrs/")
    table = port + "/gids" if attributes else folder
    if not table.endswith("/gids") or not name.isdigit() or int(name) < GID_ENTRIES:
        return False
    try:
        with open(os.path.join(table, name), encoding="ascii") as handle:
            return not handle.read().strip("0:\n")
    except OSError:
        return True


def walk(path: str) -> Iterator[str]:
    """Yield the path and everything below it that is worth recording; links are not followed."""
    yield path
    if os.path.islink(path) or not os.path.isdir(path):
        return
    for name in sorted(os.listdir(path)):
        child = os.path.join(path, name)
        if os.path.isdir(child) and not os.path.islink(child):
            if name not in SKIPPED_DIRECTORIES and not name.startswith(SKIPPED_PREFIXES):
                yield from walk(child)
        elif name not in SKIPPED_NAMES and not name.startswith(SKIPPED_PREFIXES) and not beyond_gids(child):
            yield child


def main() -> None:
    """Write the archive."""
    unreadable: List[str] = []
    with tarfile.open(sys.argv[1], "w:gz", format=tarfile.PAX_FORMAT, compresslevel=9) as archive:

        def add(path: str, content: bytes) -> None:
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.mode = (os.stat(path).st_mode & 0o777) if os.path.exists(path) else 0o644
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))

        for root in [*ROOTS, *pci_roots()]:
            for path in walk(root) if os.path.lexists(root) else ():
                if os.path.islink(path):
                    entry = tarfile.TarInfo(path.lstrip("/"))
                    entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
                    archive.addfile(entry)
                elif os.path.isdir(path):
                    entry = tarfile.TarInfo(path.lstrip("/"))
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(entry)
                elif path.startswith("/dev/"):
                    add(path, b"")
                else:
                    try:
                        with open(path, "rb") as handle:
                            add(path, handle.read(LIMIT))
                    except OSError as error:
                        unreadable.append(f"{path}: {error.strerror}")
        kernel = f"{platform.release()} ({platform.version()})"
        note = f"Recorded on kernel {kernel}.\n\nNot readable:\n" + "\n".join(unreadable)
        entry = tarfile.TarInfo("RECORDING.txt")
        entry.size = len(note.encode()) + 1
        archive.addfile(entry, io.BytesIO(note.encode() + b"\n"))


if __name__ == "__main__":
    main()
