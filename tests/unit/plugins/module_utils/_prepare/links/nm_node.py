# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A small node as files: one management NIC and RDMA NICs."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

ROUTES = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eno1\t00000000\t0101000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eno1\t0001000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
"""


class NodeTree:
    """Files of a node below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "sys/class/net").mkdir(parents=True)
        (root / "sys/class/infiniband").mkdir(parents=True)
        (root / "sys/bus/pci/devices").mkdir(parents=True)
        for directory in ("var/lib", "etc/NetworkManager/system-connections", "etc/sysctl.d", "etc/udev/rules.d"):
            (root / directory).mkdir(parents=True)
        self.write("proc/net/route", ROUTES)
        self.write("proc/net/ipv6_route", "")
        self.nic("0000:01:00.0", "eno1", "aa:00:00:00:00:01")
        self.nic("0000:81:00.0", "ens1np0", "b8:59:9f:3b:2b:88", hca="mlx5_0")
        self.nic("0000:82:00.0", "ens2np0", "b8:59:9f:3b:2b:89", hca="mlx5_1")

    def write(self, path: str, text: str) -> None:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, "utf-8")

    def nic(self, pci: str, name: Optional[str], mac: str, hca: Optional[str] = None) -> None:
        """A NIC with one port; ``name`` ``None`` while its netdev is elsewhere."""
        device = f"sys/devices/pci{pci[:7]}/{pci}"
        self.write(f"{device}/class", "0x020000\n")
        (self.root / "sys/bus/pci/devices" / pci).symlink_to(self.root / device)
        (self.root / device / "driver").symlink_to("../../../bus/pci/drivers/mlx5_core")
        ipoib = len(mac) > 17
        if name:
            net = f"{device}/net/{name}"
            self.write(f"{net}/address", mac + "\n")
            self.write(f"{net}/type", "32\n" if ipoib else "1\n")
            self.write(f"{net}/mtu", "1500\n")
            self.write(f"{net}/ifindex", f"{int(pci[5:7], 16)}\n")
            (self.root / "sys/class/net" / name).symlink_to(self.root / net)
            for key in ("arp_ignore", "arp_announce", "rp_filter"):
                self.write(f"proc/sys/net/ipv4/conf/{name}/{key}", "0\n")
        if hca:
            port = f"{device}/infiniband/{hca}/ports/1"
            octets = mac.split(":")
            eui = octets[-8:] if ipoib else [f"{int(octets[0], 16) ^ 2:02x}", *octets[1:3], "ff", "fe", *octets[3:]]
            low = ":".join("".join(eui[index : index + 2]) for index in range(0, 8, 2))
            self.write(f"{port}/link_layer", "InfiniBand\n" if ipoib else "Ethernet\n")
            self.write(f"{port}/state", "4: ACTIVE\n")
            self.write(f"{port}/gids/0", f"fe80:0000:0000:0000:{low}\n")
            self.write(f"{port}/gid_attrs/types/0", "IB/RoCE v1\n")
            if not ipoib:
                self.write(f"{port}/gid_attrs/ndevs/0", f"{name or 'eth0'}\n")
            link = self.root / "sys/class/infiniband" / hca
            link.symlink_to(self.root / device / "infiniband" / hca)
            (link / "device").symlink_to(self.root / device)

    def away(self, name: str) -> None:
        """The netdev is in a pod now."""
        link = self.root / "sys/class/net" / name
        directory = link.resolve()
        link.unlink()
        for path in sorted(directory.rglob("*"), reverse=True):
            path.unlink()
        directory.rmdir()
        directory.parent.rmdir()
