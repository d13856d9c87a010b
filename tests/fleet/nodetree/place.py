# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Gives every card of a description its PCI address, numbering buses depth first as firmware does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import models
from .spec import Description, DescriptionError, RootSpec


@dataclass
class Function:
    """One PCI function; ``kind`` is root-port, upstream, downstream, endpoint or vf."""

    address: str
    path: str
    part: models.Part
    kind: str
    name: str
    root: RootSpec
    parent: Function | None = None
    speed: float = 0
    width: int = 0
    secondary: int = 0
    subordinate: int = 0
    pf: Function | None = None
    vfs: list[Function] = field(default_factory=list)
    total_vfs: int = 0
    multi: bool = False

    @property
    def bridge(self) -> bool:
        return self.kind in ("root-port", "upstream", "downstream")

    @property
    def bus(self) -> int:
        return int(self.address[5:7], 16)


class Placer:
    def __init__(self, node: Description) -> None:
        self.node = node
        self.platform = models.PLATFORMS[node.platform]
        self.functions: list[Function] = []
        self.used: dict[str, str] = {}
        self.next_bus = 0

    def place(self) -> list[Function]:
        for root in self.node.pci:
            base = f"sys/devices/{root.under}/" if root.under else "sys/devices/"
            self.next_bus = int(root.root[5:], 16) + 1
            for index, slot in enumerate(root.below):
                if root.direct:
                    self._slot(root, slot, None, f"{base}pci{root.root}", int(root.root[5:], 16), index)
                else:
                    port = self._bridge(
                        root,
                        "root-port",
                        self.platform.root_port,
                        None,
                        f"{base}pci{root.root}",
                        int(root.root[5:], 16),
                        index + 1,
                    )
                    self._slot(root, slot, port, port.path, port.secondary, 0)
                    port.subordinate = self.next_bus - 1
        self._train_links()
        return self.functions

    def _add(self, function: Function) -> Function:
        if function.address in self.used:
            raise DescriptionError(
                f"{self.node.source}: pci: {function.address} is taken twice, by {self.used[function.address]} and "
                f"{function.name}; leave more bus numbers between the root complexes"
            )
        self.used[function.address] = function.name
        self.functions.append(function)
        return function

    def _bridge(
        self, root: RootSpec, kind: str, part: models.Part, parent: Function | None, path: str, bus: int, device: int
    ) -> Function:
        address = f"{root.root[:4]}:{bus:02x}:{device:02x}.0"
        secondary, self.next_bus = self.next_bus, self.next_bus + 1
        return self._add(Function(address, f"{path}/{address}", part, kind, kind, root, parent, secondary=secondary))

    def _slot(self, root: RootSpec, slot: Any, parent: Function | None, path: str, bus: int, device: int) -> None:
        if isinstance(slot, dict):
            upstream = self._bridge(root, "upstream", self.platform.upstream, parent, path, bus, device)
            inside = upstream.secondary
            for index, item in enumerate(slot["switch"]):
                port = self._bridge(
                    root, "downstream", self.platform.downstream, upstream, upstream.path, inside, index
                )
                self._slot(root, item, port, port.path, port.secondary, 0)
                port.subordinate = self.next_bus - 1
            upstream.subordinate = self.next_bus - 1
            return
        parts = [found for name in (slot if isinstance(slot, list) else [slot]) for found in self._parts(name)]
        card: list[Function] = []
        for name, part in parts:
            address = f"{root.root[:4]}:{bus:02x}:{device:02x}.{len(card)}"
            card.append(self._add(Function(address, f"{path}/{address}", part, "endpoint", name, root, parent)))
        for function in list(card):
            function.multi = len(card) > 1
            self._virtual_functions(function, card, path)

    def _parts(self, name: str) -> list[tuple[str, models.Part]]:
        if name == "gpu":
            gpu = models.GPUS[self.node.gpu]
            return [("gpu", gpu.part)] + ([("gpu-audio", models.GPU_AUDIO)] if gpu.audio else [])
        if name in models.OTHERS:
            return [(name, models.OTHERS[name])]
        if name in self.node.hcas:
            return [(name, models.HCAS[self.node.hcas[name].model].part)]
        return [(name, models.NICS[self.node.netdevs[name].card].part)]

    def _virtual_functions(self, pf: Function, card: list[Function], path: str) -> None:
        spec = self.node.hcas.get(pf.name)
        if spec is None:
            return
        pf.total_vfs = models.HCAS[spec.model].total_vfs if spec.total_vfs is None else spec.total_vfs
        for name, other in self.node.hcas.items():
            if other.vf_of != pf.name:
                continue
            # ARI: the 8 bits of device and function number count functions only.
            device, function = divmod(len(card), 8)
            address = f"{pf.address[:8]}{device:02x}.{function}"
            part = models.Part(
                pf.part.vendor,
                models.VF_DEVICES[pf.part.device],
                pf.part.klass,
                pf.part.driver,
                pf.part.speed,
                pf.part.width,
                pf.part.subsystem,
            )
            vf = self._add(Function(address, f"{path}/{address}", part, "vf", name, pf.root, pf.parent, pf=pf))
            card.append(vf)
            pf.vfs.append(vf)

    def _train_links(self) -> None:
        """A link runs at what both ends can do; a port shows the link to the card below it."""
        for function in self.functions:
            spec = self.node.hcas.get(function.name)
            function.speed = (spec.pcie_speed if spec else 0) or function.part.speed
            function.width = (spec.pcie_width if spec else 0) or function.part.width
            parent = function.parent
            if parent and parent.kind != "upstream" and function.part.width:
                function.speed = min(function.speed, parent.part.speed)
                parent.speed, parent.width = function.speed, function.width


def place(node: Description) -> list[Function]:
    return Placer(node).place()
