# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The node's GPUs and HCAs: read once by the discover room, and again when ports have changed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.gather import GatherOptions, observe
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import CharDevice, Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Node

_CLASS = "sys/class/infiniband"
# Of modules that may be loaded after the daemon has started: ib_uverbs, ib_umad, rdma_ucm and the driver of GPUs.
_APPEARING = (
    *("sys/class/infiniband_verbs", "sys/class/infiniband_mad", "sys/class/misc"),
    *("sys/bus/pci/drivers/nvidia", "proc/driver/nvidia/gpus"),
)
_SUBSETS = ("hcas", "gpus", "affinity", "system")
_ACTIVE = "ACTIVE"
_NUMBERS = re.compile("([0-9]{1,9}):([0-9]{1,9})")


@dataclass(frozen=True)
class GpuPlace:
    """A GPU. ``index`` is that of ``nvidia-smi``, ``minor`` that of ``/dev/nvidia0``; ``None`` where it has none."""

    address: str
    index: Optional[int]
    minor: Optional[int]
    uuid: str
    nearest: Sequence[str]


@dataclass(frozen=True)
class PortPlace:
    """A port that is up. ``gid_index`` is that of its RoCE v2 GID, ``None`` on InfiniBand or without one."""

    number: int
    ethernet: bool
    gid_index: Optional[int]


@dataclass(frozen=True)
class HcaPlace:
    """An HCA, with its ports that are up and that workloads may use, and its character devices."""

    name: str
    address: str
    ports: Sequence[PortPlace]
    verbs: Optional[Node]
    management: Sequence[Node] = ()


@dataclass(frozen=True)
class Hardware:
    """What containers can get. ``manager`` is ``/dev/infiniband/rdma_cm``."""

    gpus: Sequence[GpuPlace] = ()
    hcas: Mapping[str, HcaPlace] = field(default_factory=dict)
    manager: Optional[Node] = None

    def node(self, path: str) -> Optional[Node]:
        """The device with this path, of any HCA."""
        every = [self.manager, *(node for hca in self.hcas.values() for node in (hca.verbs, *hca.management))]
        return {node.path: node for node in every if node}.get(path)


def _node(device: Optional[CharDevice]) -> Optional[Node]:
    numbers = _NUMBERS.fullmatch((device.number if device else None) or "")
    return Node(device.path, int(numbers.group(1)), int(numbers.group(2))) if device and numbers else None


def _hca(hca: Hca, usable: Sequence[Tuple[str, int]]) -> HcaPlace:
    management = [_node(device) for port in hca.ports for device in (port.umad, port.issm)]
    return HcaPlace(
        hca.name,
        hca.pci.address if hca.pci else "",
        [
            PortPlace(port.number, port.link_layer == "Ethernet", port.roce_v2_gid_index)
            for port in hca.ports
            if port.state == _ACTIVE and (hca.name, port.number) in usable
        ],
        _node(hca.uverbs),
        [node for node in management if node],
    )


def _minor(tree: Tree, address: str) -> Optional[int]:
    # NVIDIA driver README, "Using the /proc File System Interface".
    text = tree.text(f"proc/driver/nvidia/gpus/{address}/information") or ""
    found = re.search(r"^Device Minor:\s*(\d{1,5})\s*$", text, re.MULTILINE)
    return int(found.group(1)) if found else None


def _gpus(tree: Tree, facts: Facts) -> List[GpuPlace]:
    nearest = {entry.address: entry.nearest for entry in facts.affinity}
    # nvidia-smi counts those that its driver has; where it has none, they are counted as the facts do.
    bound = [gpu.pci.address for gpu in facts.gpus if gpu.pci.driver == "nvidia"]
    counted = bound or [gpu.pci.address for gpu in facts.gpus]
    return [
        GpuPlace(
            address,
            counted.index(address) if address in counted else None,
            _minor(tree, address),
            gpu.uuid or "",
            nearest.get(address, ()),
        )
        for gpu in facts.gpus
        for address in [gpu.pci.address]
    ]


def read(root: str, options: GatherOptions, exclude: Sequence[str], layer: Optional[str] = None) -> Hardware:
    """The hardware below ``root``. ``exclude`` are names or PCI addresses of HCAs that no container gets.

    ``layer`` is the link layer of those that it gets, ``None`` for any.
    """
    facts = observe(root, options)
    usable = [(entry.hca, entry.port) for entry in facts.usable]
    hcas = [_hca(hca, usable) for hca in facts.hcas if hca.has_layer(layer)]
    return Hardware(
        _gpus(Tree(root), facts),
        {hca.name: hca for hca in hcas if not {hca.name, hca.address} & set(exclude)},
        _node(facts.system.rdma_cm),
    )


class Watched:
    """The hardware as it is now: a look at what changes often tells whether to read everything again."""

    def __init__(self, root: str, options: GatherOptions, exclude: Sequence[str], layer: Optional[str] = None) -> None:
        self._root, self._exclude, self._layer = root, exclude, layer
        self._options = GatherOptions(
            options.gpu_vendors, options.gpu_classes, options.drivers, options.allow_software, _SUBSETS
        )
        # The state seen before reading, and the hardware read: one object, because two threads may access it.
        self._known: Tuple[Optional[Dict[str, Any]], Hardware] = (None, Hardware())

    def now(self) -> Hardware:
        """The hardware. If nothing has changed, this reads only a few small files for each port."""
        return self.renew() if self.changed() else self._known[1]

    def changed(self) -> bool:
        """Whether the hardware has changed since it was last read."""
        before, found = self._known
        return {**self._seen(), **self._gids(found)} != before

    def renew(self) -> Hardware:
        """The hardware, always read again: no small file shows that the host has begun to use a NIC."""
        # Before all else is read: what changes meanwhile shows the next time.
        seen = self._seen()
        found = read(self._root, self._options, self._exclude, self._layer)
        self._known = ({**seen, **self._gids(found)}, found)
        return found

    def _seen(self) -> Dict[str, Any]:
        """States of ports, and names of devices that appear with a driver."""
        found: Dict[str, Any] = {name: _listed(os.path.join(self._root, name)) for name in _APPEARING}
        base = os.path.join(self._root, _CLASS)
        for name in _listed(base):
            for number in _listed(f"{base}/{name}/ports"):
                found[f"{name}/{number}"] = _content(f"{base}/{name}/ports/{number}/state")
        return found

    def _gids(self, found: Hardware) -> Dict[str, str]:
        """The GIDs that containers are told the index of: they move when the netdev gets other addresses."""
        places = [
            f"{hca.name}/ports/{port.number}/gids/{port.gid_index}"
            for hca in found.hcas.values()
            for port in hca.ports
            if port.gid_index is not None
        ]
        return {place: _content(os.path.join(self._root, _CLASS, place)) for place in places}


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100)
    except OSError:
        return ""


def _listed(directory: str) -> List[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
