# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a node description may say. Every key of the YAML is a field here; README.md explains them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class DescriptionError(ValueError):
    """A description that cannot be expanded; the message names file, key and what would be right."""


@dataclass
class RootSpec:
    """One PCIe root complex; ``under`` is where firmware hangs it below /sys/devices, as Hyper-V does."""

    root: str
    below: list[Any] = field(default_factory=list)
    numa: int = -1
    direct: bool = False
    under: str = ""


@dataclass
class PortSpec:
    state: str = "ACTIVE"
    phys_state: str = ""
    link_layer: str = ""
    rate: float = 0
    lid: int | None = None
    sm_lid: int | None = None
    counters: dict[str, int] = field(default_factory=dict)


@dataclass
class HcaSpec:
    model: str = ""
    vf_of: str = ""
    lag: str = ""
    above: str = ""
    ports: list[PortSpec] = field(default_factory=lambda: [PortSpec()])
    pcie_width: int = 0
    pcie_speed: float = 0
    total_vfs: int | None = None


@dataclass
class NetdevSpec:
    card: str = ""
    hca: str = ""
    bond: list[str] = field(default_factory=list)
    bond_mode: str = "802.3ad 4"
    bridge: list[str] = field(default_factory=list)
    vlan: str = ""
    vlan_id: int = 0
    port: int = 1
    mtu: int = 0
    state: str = "up"
    mac: str = ""
    addresses: list[str] = field(default_factory=list)
    in_pod: bool = False


@dataclass
class RouteSpec:
    via: str
    dev: str
    metric: int = 100


@dataclass
class ModulesSpec:
    unloaded: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    builtin: list[str] = field(default_factory=list)


@dataclass
class NvidiaSpec:
    version: str = "550.90.07"
    open: bool = False


@dataclass
class RuntimeSpec:
    unit: str = "containerd.service"
    processes: list[str] = field(default_factory=lambda: ["containerd"])
    memlock: int | str = 8388608
    config: str = ""


@dataclass
class Description:
    """One node. ``host`` is the file's name without ``.yml``."""

    host: str
    source: str
    synthesised_from: str = ""
    recorded_from: str = ""
    platform: str = "icelake"
    kernel: str = "6.8.0-45-generic"
    gpu: str = ""
    nodes_per_socket: int = 1
    pci: list[RootSpec] = field(default_factory=list)
    hcas: dict[str, HcaSpec] = field(default_factory=dict)
    netdevs: dict[str, NetdevSpec] = field(default_factory=dict)
    default_routes: list[RouteSpec] = field(default_factory=list)
    acs: bool = False
    relaxed_ordering: bool = True
    iommu: str = "off"
    rdma_netns: str = "shared"
    modules: ModulesSpec = field(default_factory=ModulesSpec)
    nvidia: NvidiaSpec = field(default_factory=NvidiaSpec)
    runtime: RuntimeSpec = field(default_factory=RuntimeSpec)
