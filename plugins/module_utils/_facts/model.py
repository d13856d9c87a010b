# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The nouns of the discover room: devices, and the node with them. ``write`` turns these into facts.

Units: rates and bandwidths in Gb/s (10^9 bit/s), MTU in bytes, PCI addresses as ``DDDD:BB:DD.F``
in lower case, identifiers (vendor, device, class) as lower-case hexadecimal without ``0x``.
``None`` always means "the node did not say", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import (
    Excluded,
    GpuAffinity,
    Reason,
    Usable,
    Warn,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Qos

# Of one text. A file of sysfs is one page at most.
MOST_CHARACTERS = 16384


@dataclass
class PcieLink:
    """Link of one PCIe function, from ``current_link_*`` and ``max_link_*`` (Documentation/ABI/testing/sysfs-bus-pci).

    The maximum is what both ends support: the card, and the slot. ``gbps`` and ``max_gbps`` are what the link carries
    after line coding (8b/10b up to 5 GT/s, 128b/130b above). ``degraded`` compares current with maximum; ``None`` when
    either is unknown, as on a VF or below an emulated root port.
    """

    speed_gts: Optional[float] = None
    width: Optional[int] = None
    max_speed_gts: Optional[float] = None
    max_width: Optional[int] = None
    gbps: Optional[float] = None
    max_gbps: Optional[float] = None
    degraded: Optional[bool] = None


@dataclass
class PciFunction:
    """One PCI function and where it sits.

    ``pcie_root`` is the root complex as Kubernetes' ``resource.kubernetes.io/pcieRoot`` names it (``pci0000:15``);
    ``pcie_path`` lists the PCI addresses from the root port down to the function itself.
    """

    address: str
    vendor_id: str
    device_id: str
    class_id: str
    driver: Optional[str] = None
    numa_node: Optional[int] = None
    pcie_root: Optional[str] = None
    pcie_path: List[str] = field(default_factory=list)


@dataclass
class Sriov:
    """SR-IOV role: ``pf``, ``vf`` or ``none``; ``pf_address`` is a VF's physical function.

    ``vf_offset`` and ``vf_stride`` of a PF tell the routing ids of its VFs (PCI Express Base Specification, 9.2.1.2).
    """

    role: str = "none"
    total_vfs: int = 0
    num_vfs: int = 0
    pf_address: Optional[str] = None
    vf_offset: Optional[int] = None
    vf_stride: Optional[int] = None


@dataclass
class CharDevice:
    """A character device; ``number`` is ``major:minor``, ``present`` whether ``path`` exists under ``/dev``."""

    name: str
    path: str
    number: Optional[str] = None
    present: bool = False


@dataclass
class Gid:
    """One used entry of a port's GID table; ``type`` is ``IB``, ``RoCE v1`` or ``RoCE v2`` (``None``: unreadable)."""

    index: int
    gid: str
    type: Optional[str] = None
    netdev: Optional[str] = None


@dataclass
class NetdevRoute:
    """A route without gateway: network, number of its table (254 is main), and the source address that it sets."""

    to: str
    table: int
    source: Optional[str] = None


@dataclass
class NetdevRule:
    """What ``source`` (with prefix length) sends is routed by this table."""

    source: str
    table: int


@dataclass
class Slave:
    """A slave of a bond; ``carrier`` is ``None`` where nobody has brought it up."""

    name: str
    carrier: Optional[bool] = None


@dataclass
class Netdev:
    """The network device of a port.

    ``present`` is false when the port names a netdev that the host's network namespace does not hold; ``bond`` whether
    it is itself a bond, ``slaves`` all of its slaves, ``slave`` the one that is on the HCA's own function, ``master``
    the bond, team, bridge or VRF it is enslaved to.
    ``source`` says what named it: ``netlink``, ``gid``, ``parent``, ``mac`` or ``device``. ``routes`` and ``rules`` are
    ``None`` where the kernel was not asked.
    """

    name: str
    source: str
    present: bool = True
    state: Optional[str] = None
    carrier: Optional[bool] = None
    mac: Optional[str] = None
    mtu: Optional[int] = None
    max_mtu: Optional[int] = None
    master: Optional[str] = None
    bond: bool = False
    slave: Optional[str] = None
    slaves: List[Slave] = field(default_factory=list)
    addresses: List[str] = field(default_factory=list)
    routes: Optional[List[NetdevRoute]] = None
    rules: Optional[List[NetdevRule]] = None


@dataclass
class Port:
    """One port of an HCA.

    ``state`` is the logical state (``DOWN``, ``INIT``, ``ARMED``, ``ACTIVE``), ``physical_state`` the link training
    state (``LinkUp``, ``Disabled``, ``Polling``, ...), ``link_layer`` ``InfiniBand`` or ``Ethernet``.
    ``max_rate_gbps`` is what the netdev's driver supports (ethtool), known only where netlink was used. ``qos`` is of
    Ethernet ports, where that subset was asked for.
    """

    number: int
    state: Optional[str] = None
    physical_state: Optional[str] = None
    link_layer: Optional[str] = None
    rate_gbps: Optional[float] = None
    max_rate_gbps: Optional[float] = None
    lanes: Optional[int] = None
    lid: Optional[int] = None
    sm_lid: Optional[int] = None
    pkeys: List[str] = field(default_factory=list)
    gids: List[Gid] = field(default_factory=list)
    roce_v2_gid_index: Optional[int] = None
    netdev: Optional[Netdev] = None
    umad: Optional[CharDevice] = None
    issm: Optional[CharDevice] = None
    error_counters: Dict[str, int] = field(default_factory=dict)
    qos: Optional[Qos] = None


@dataclass
class Hca:
    """One RDMA device.

    ``driver`` is the PCI driver (``mlx5_core``) or, for ``software`` devices, ``rxe`` or ``siw``. A software device
    reports the PCI function of the NIC below its netdev, through which its traffic goes; ``pci`` is ``None`` when there
    is no single one (bond, bridge, loopback).

    ``subdevice`` says that it is a part of another HCA, at PCI address ``parent``, and has no function of its own:
    ``sf`` is a sub-function, ``smi`` the management interface of one plane of a multi-plane HCA.
    """

    name: str
    driver: Optional[str] = None
    software: bool = False
    node_type: Optional[str] = None
    node_guid: Optional[str] = None
    firmware: Optional[str] = None
    board_id: Optional[str] = None
    pci: Optional[PciFunction] = None
    pcie_link: Optional[PcieLink] = None
    sriov: Sriov = field(default_factory=Sriov)
    subdevice: Optional[str] = None
    parent: Optional[str] = None
    uverbs: Optional[CharDevice] = None
    ucm: Optional[CharDevice] = None
    ports: List[Port] = field(default_factory=list)

    def has_layer(self, layer: Optional[str]) -> bool:
        """Whether one of its ports has this link layer; with ``None``, any HCA will do."""
        return layer is None or any(port.link_layer == layer for port in self.ports)


@dataclass
class Gpu:
    """One GPU.

    ``index`` is its position in PCI address order. ``nvidia-smi`` and CUDA_DEVICE_ORDER=PCI_BUS_ID have the same order
    but count only what is bound to the NVIDIA driver; where that differs, the warning ``gpu_index`` tells.
    """

    index: int
    pci: PciFunction
    model: Optional[str] = None
    uuid: Optional[str] = None
    pcie_link: Optional[PcieLink] = None


Limit = Union[int, str, None]


@dataclass
class Memlock:
    """RLIMIT_MEMLOCK in bytes (or ``unlimited``) of the running container runtime, which its containers inherit.

    A base runtime specification can override it per runtime handler.
    """

    runtime: str
    pid: int
    soft: Limit = None
    hard: Limit = None


@dataclass
class GpuDirect:
    """Ways for an HCA to reach GPU memory: the ``nvidia_peermem`` module's state, and dma-buf.

    ``dmabuf`` is ``None`` when the node does not tell; ``dmabuf_reason`` says what decided.
    """

    peermem: Optional[str] = None
    dmabuf: Optional[bool] = None
    dmabuf_reason: Optional[str] = None


@dataclass
class System:
    """``modules`` values are ``loaded``, ``builtin``, ``available``, ``missing`` or ``unknown`` (unreadable).

    ``iommu`` is ``off``, ``passthrough``, ``translated`` or ``mixed`` for the GPUs and HCAs, ``acs`` tells for each
    bridge between a GPU and an HCA whether Access Control Services redirect peer-to-peer traffic. ``versions`` are
    those of modules that have one of their own (``mlx5_core`` of OFED, ``nvidia``) and of ``rdma-core``. ``nri`` is
    whether a container runtime listens on NRI's socket, ``None`` when the kernel does not tell.

    By PCI address, ``iommu_modes`` has the first three words of ``iommu`` for each GPU and HCA, ``acs_flags`` the bits
    of each bridge that redirects (``ReqRedir``, ``CmpltRedir``, ``EgressCtrl``), ``relaxed_ordering`` whether a GPU's
    HCA may use PCIe relaxed ordering. ``kernel_parameters`` are the words of the kernel's command line about IOMMU and
    PCI, ``arch`` is as ``uname -m``, ``virtual`` whether the node is a virtual machine.
    """

    kernel: Optional[str] = None
    versions: Dict[str, str] = field(default_factory=dict)
    netns_mode: Optional[str] = None
    modules: Dict[str, str] = field(default_factory=dict)
    rdma_cm: Optional[CharDevice] = None
    gpudirect: GpuDirect = field(default_factory=GpuDirect)
    iommu: Optional[str] = None
    acs: Dict[str, Optional[bool]] = field(default_factory=dict)
    memlock: Optional[Memlock] = None
    numa_nodes: List[int] = field(default_factory=list)
    nri: Optional[bool] = None
    arch: Optional[str] = None
    virtual: Optional[bool] = None
    kernel_parameters: Optional[List[str]] = None
    iommu_modes: Dict[str, Optional[str]] = field(default_factory=dict)
    acs_flags: Dict[str, List[str]] = field(default_factory=dict)
    relaxed_ordering: Dict[str, Optional[bool]] = field(default_factory=dict)


@dataclass
class Facts:
    """All facts of one node. ``sent`` names the subsets that the node gave; the others are empty here.

    ``unreadable`` are files for which permission is missing, ``sources`` tells where each section came from.
    """

    signature: str = ""
    sources: Dict[str, str] = field(default_factory=dict)
    unreadable: List[str] = field(default_factory=list)
    warnings: List[Warn] = field(default_factory=list)
    usable: List[Usable] = field(default_factory=list)
    excluded: List[Excluded] = field(default_factory=list)
    hcas: List[Hca] = field(default_factory=list)
    gpus: List[Gpu] = field(default_factory=list)
    affinity: List[GpuAffinity] = field(default_factory=list)
    system: System = field(default_factory=System)
    sent: Tuple[str, ...] = ()

    @property
    def reasons(self) -> Dict[Tuple[str, int], List[Reason]]:
        """Why each excluded port is excluded."""
        return {(entry.hca, entry.port): entry.reasons for entry in self.excluded}

    @property
    def lags(self) -> List[Tuple[str, int]]:
        """Usable ports whose netdev is a bond (RoCE LAG)."""
        usable = {(entry.hca, entry.port) for entry in self.usable}
        every = [(hca, port) for hca in self.hcas for port in hca.ports if port.netdev and port.netdev.bond]
        return [(hca.name, port.number) for hca, port in every if (hca.name, port.number) in usable]

    @property
    def unmovable(self) -> Dict[Tuple[str, int], List[Reason]]:
        """Why a port gets no link of ours and cannot go into a pod, be it excluded or a usable bond."""
        netdevs = {(hca.name, port.number): port.netdev for hca in self.hcas for port in hca.ports}
        found = dict(self.reasons)
        for key in self.lags:
            netdev = netdevs[key]
            found[key] = [reasons.reason(reasons.ROCE_LAG, hca=key[0], netdev=netdev.name if netdev else None)]
        return found

    @property
    def placed(self) -> List[Tuple[Hca, PciFunction]]:
        """HCAs with a place in PCIe, and that place."""
        return [(hca, hca.pci) for hca in self.hcas if hca.pci]

    @property
    def available(self) -> List[Tuple[str, int]]:
        """Ports that are usable, or would be if no pod had them at the moment."""
        return [(entry.hca, entry.port) for entry in self.usable] + self.in_pod

    @property
    def unplaced_in_pods(self) -> List[str]:
        """HCAs in pods whose PCI function is unknown: Soft-RoCE has none but that of its netdev."""
        placed = {hca.name for hca, _pci in self.placed}
        away = [entry.hca for entry in self.excluded if reasons.IN_POD in {reason.code for reason in entry.reasons}]
        return [name for name in away if name not in placed]

    @property
    def in_pod(self) -> List[Tuple[str, int]]:
        """Ports that would be usable if no pod had them at the moment."""
        return [(entry.hca, entry.port) for entry in self.excluded if entry.only_in_pod]
