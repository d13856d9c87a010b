# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""PCI functions, netdevs, HCAs and device nodes: the attributes that facts read, at the places that sysfs has."""

from __future__ import annotations

import os
from typing import Iterable

import record_sysfs
from nodetree.tree import Content, Tree

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, netdev, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree as Source
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.pci import is_address

from . import binary
from .conceal import Conceal

_FUNCTION = (
    *("vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device", "numa_node", "irq"),
    *("current_link_speed", "current_link_width", "max_link_speed", "max_link_width"),
    *("sriov_totalvfs", "sriov_numvfs", "sriov_offset", "sriov_stride"),
    *("product_name", "unique_id", "secondary_bus_number", "subordinate_bus_number"),
)
_NETDEV = (
    *("address", "addr_len", "ifindex", "iflink", "type", "mtu", "operstate", "carrier", "flags"),
    *("dev_id", "dev_port", "phys_port_name", "parent", "pkey"),
    *("bonding/mode", "bonding/slaves", "bonding/active_slave"),
)
# Configuration space is read as a whole of bridges alone, as facts do: reading all of it can stop other cards.
_BRIDGE, _NETWORK, _HEADER = "0604", "02", 64
# ConnectX-7, the only one whose Vital Product Data facts read.
_WITH_VPD = ("15b3", "1021", "0207")
_LINKS = ("driver", "physfn", "iommu_group", "subsystem", "device", "master")
# What lspci needs to read a function; physical addresses are left out.
_RESOURCE = "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 7)
# The host's name is in it.
_LEFT_OUT = ("node_desc",)


class Devices:
    """Copies from ``source`` to ``out``."""

    def __init__(self, source: Source, out: Tree, conceal: Conceal) -> None:
        self._source, self._out, self._conceal = source, out, conceal

    def _link(self, path: str) -> None:
        try:
            target = os.readlink(os.path.join(self._source.root, path))
        except OSError:
            return
        # One that leads out of sysfs, as no link of the kernel does, would lead out of the recording.
        if not target.startswith("/"):
            self._out.raw_link(self._conceal.path(path), self._conceal.path(target))

    def _file(self, path: str, content: Content) -> None:
        self._out.file(self._conceal.path(path), content)

    def _directory(self, path: str) -> None:
        self._out.directory(self._conceal.path(path))

    def _attributes(self, directory: str, names: Iterable[str]) -> None:
        for name in names:
            # Reading the carrier of a netdev that is down is refused by design.
            raw = self._source.data(f"{directory}/{name}") if self._source.exists(f"{directory}/{name}") else None
            if raw is not None:
                self._file(f"{directory}/{name}", self._conceal.content(raw))

    def _class(self, name: str, entry: str) -> str:
        """Copies the link of a class and returns the path of its device, empty where there is none."""
        path = f"sys/class/{name}/{entry}"
        real = self._source.resolve(path)
        if not real or not self._source.names(real):
            return ""
        self._link(path)
        return real

    def functions(self) -> None:
        for address in filter(is_address, self._source.names(pci.DEVICES)):
            self._link(f"{pci.DEVICES}/{address}")
            directory = self._source.resolve(f"{pci.DEVICES}/{address}")
            if directory is None:
                continue
            found = pci.function(self._source, address)
            self._serial(self._source.text(f"{directory}/unique_id") or "")
            self._attributes(directory, _FUNCTION)
            for name in _LINKS:
                self._link(f"{directory}/{name}")
            self._file(f"{directory}/resource", _RESOURCE)
            if found is None:
                continue
            path = f"{directory}/config"
            whole = self._source.data(path) if found.class_id[:4] == _BRIDGE else None
            listed = pci.capability_space(self._source, address) if found.class_id[:2] == _NETWORK else None
            space = whole or listed or self._source.head(path, _HEADER)
            if space:
                self._file(path, binary.config_space(space, self._conceal))
            if (found.vendor_id, found.device_id, found.class_id[:4]) == _WITH_VPD:
                self._vpd(f"{directory}/vpd")

    def _vpd(self, path: str) -> None:
        raw = self._source.head(path, 4096)
        if not raw:
            return
        found = binary.vital_product_data(raw)
        if found is None:
            self._source.unreadable["/" + path] = "not understood"
            return
        data, serials = found
        for serial in serials:
            self._serial(serial)
        self._file(path, data)

    def _serial(self, text: str) -> None:
        if text:
            self._conceal.know({text: f"{len(self._conceal.words) + 1:0{len(text)}d}"})

    def iommu(self) -> None:
        groups = "sys/kernel/iommu_groups"
        if self._source.exists(groups):
            self._directory(groups)
        for group in self._source.names(groups):
            self._directory(f"{groups}/{group}")
            self._attributes(f"{groups}/{group}", ["type"])

    def netdevs(self) -> None:
        for name in self._source.names(netdev.CLASS):
            directory = self._class("net", name)
            if not directory:
                continue
            self._attributes(directory, _NETDEV)
            beside = [entry for entry in self._source.names(directory) if entry.startswith(("lower_", "upper_"))]
            for entry in (*_LINKS, *beside):
                self._link(f"{directory}/{entry}")
            for entry in ("bonding", "bridge"):
                if self._source.exists(f"{directory}/{entry}"):
                    self._directory(f"{directory}/{entry}")

    def hcas(self) -> None:
        for name in self._source.names(infiniband.CLASS):
            directory = self._class("infiniband", name)
            base = self._source.root.rstrip("/") + "/"
            for path in record_sysfs.walk(base + directory) if directory else ():
                inside = path[len(base) :]
                if os.path.islink(path):
                    self._link(inside)
                elif os.path.isdir(path):
                    self._directory(inside)
                elif os.path.basename(path) not in _LEFT_OUT:
                    self._attributes(os.path.dirname(inside), [os.path.basename(inside)])
        for kind in ("infiniband_verbs", "infiniband_mad", "infiniband_cm"):
            for entry in self._source.names(f"sys/class/{kind}"):
                directory = self._class(kind, entry)
                if directory:
                    self._attributes(directory, ["ibdev", "dev", "port", "abi_version"])
                    self._link(f"{directory}/device")
        directory = self._class("misc", "rdma_cm")
        if directory:
            self._attributes(directory, ["dev"])

    def nodes(self) -> None:
        """Names in ``/dev``; the files are empty."""
        for name in self._source.names("dev/infiniband"):
            self._file(f"dev/infiniband/{name}", b"")
        for name in self._source.names("dev"):
            if name.startswith("nvidia") and not self._source.names(f"dev/{name}"):
                self._file(f"dev/{name}", b"")


def record(source: Source, out: Tree, conceal: Conceal) -> None:
    """All devices. Netdevs come after functions and before HCAs, whose GUIDs are often made of their addresses."""
    devices = Devices(source, out, conceal)
    devices.functions()
    devices.iommu()
    devices.netdevs()
    devices.hcas()
    devices.nodes()
