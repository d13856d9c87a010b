# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One verdict for each pair of a GPU and a NIC that it should use: what is between them, and what is in the way.

A verdict has six parts, each with a state (:data:`STATES`). Nothing is right because a fact is missing: its state is
then one of those that are ``impossible`` to judge.

Sources: NVIDIA, Developing a Linux Kernel Module using GPUDirect RDMA (CUDA documentation), section Supported Systems:
PCIe paths by the same classes, and IOMMU off or passing addresses through; Linux, drivers/pci/p2pdma.c: ACS redirection
sends peers' traffic to the root complex; PCI Express Base Specification 6.0, sections 6.12 (ACS), 7.5.3.4 (relaxed
ordering) and 9.3.5.4 (that a VF has the PF's); Linux 5.12, drivers/infiniband/hw/mlx5/mr.c: memory regions on dma-buf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import GpuAffinity
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gpu, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VERDICTS

PATH, ACS, IOMMU, ORDERING, MEMORY, LINK = "path", "acs", "iommu", "relaxed_ordering", "memory", "pcie_link"
PARTS = (PATH, ACS, IOMMU, ORDERING, MEMORY, LINK)

_PASS, _UNKNOWN, _WARN = "pass", "impossible", "warn"
_AWAY = "the facts have no place of one of the two in PCIe"
_GUEST = "{} on the host of this virtual machine"
_LOOK_THERE = "Look at the host of the virtual machine: what counts is set there."
_AS_ROOT = "Verify as root: others may not read PCI configuration space."
_NOT_TOLD = "whether this is a virtual machine, whose hypervisor would decide"


@dataclass(frozen=True)
class State:
    """Verdict and words of a state of a part; ``{about}`` are bridges or devices.

    ``text`` goes on after "not known:" where the verdict is ``impossible``, and stands alone otherwise.
    """

    verdict: str
    text: str
    remedy: str = ""


STATES: Mapping[str, Mapping[str, State]] = {
    PATH: {
        "PIX": State(_PASS, "PIX"),
        "PXB": State(_PASS, "PXB"),
        "PHB": State(_PASS, "PHB"),
        "NODE": State(_PASS, "NODE"),
        "SYS": State(
            _WARN,
            "the way leads over the link between two sockets (SYS), on which NVIDIA warns of low bandwidth",
            "Give this GPU a NIC of its own socket, or keep it out of workloads that use RDMA.",
        ),
        "numa_unknown": State(_UNKNOWN, "the path, as firmware reports no NUMA node for {about}"),
        "unknown": State(_UNKNOWN, f"the path, as {_AWAY}"),
    },
    ACS: {
        "off": State(_PASS, "no ACS redirection"),
        "no_switch": State(_PASS, "no PCIe switch whose ACS could redirect"),
        "on": State(_WARN, "ACS redirects their traffic to the root complex on {about}"),
        "guest": State(_UNKNOWN, _GUEST.format("ACS"), _LOOK_THERE),
        "machine_unknown": State(_UNKNOWN, f"ACS: {_NOT_TOLD}"),
        "unreadable": State(_UNKNOWN, "ACS of {about}", _AS_ROOT),
        "unknown": State(_UNKNOWN, f"ACS, as {_AWAY}"),
    },
    IOMMU: {
        "off": State(_PASS, "IOMMU off"),
        "passthrough": State(_PASS, "IOMMU in passthrough"),
        "translated": State(
            _WARN,
            "the IOMMU translates the addresses of {about}, while GPUDirect RDMA needs them equal for all devices",
        ),
        "translated_arm": State(_UNKNOWN, "what the translation of the SMMU costs on ARM, where it is usual"),
        "guest": State(_UNKNOWN, _GUEST.format("the IOMMU"), _LOOK_THERE),
        "machine_unknown": State(_UNKNOWN, f"IOMMU: {_NOT_TOLD}"),
        "unknown": State(_UNKNOWN, "how the IOMMU treats {about}"),
    },
    ORDERING: {
        "on": State(_PASS, "relaxed ordering on"),
        "off": State(
            _WARN,
            "PCIe relaxed ordering is off in {about}, so that its writes cannot pass each other",
            "Enable PCIe relaxed ordering in the firmware's setup; leave it off where the kernel log says that the root"
            " port has a fault with it.",
        ),
        "guest": State(_UNKNOWN, _GUEST.format("relaxed ordering"), _LOOK_THERE),
        "unknown": State(_UNKNOWN, "relaxed ordering of {about}", _AS_ROOT),
    },
    MEMORY: {
        "dmabuf": State(_PASS, "memory by DMA-BUF"),
        "peermem": State(_PASS, "memory by nvidia_peermem"),
        "none": State(
            _WARN,
            "no DMA-BUF ({about}) and no nvidia_peermem, so data is copied through the memory of the host",
            "Load nvidia_peermem (rdma_kernel_modules), or use Linux 5.12 or newer with the open modules of NVIDIA's"
            " driver (515 or newer).",
        ),
        "unknown": State(_UNKNOWN, "whether the NIC reaches the memory of the GPU (DMA-BUF: {about})"),
    },
    LINK: {
        "best": State(_PASS, "PCIe links at their best"),
        "degraded": State(
            _WARN,
            "a PCIe link below what card and slot support: {about}",
            "Reseat the card, and check its riser and the slot's width and speed.",
        ),
        "unknown": State(_UNKNOWN, "the PCIe link of {about}"),
    },
}

# NICs whose driver certainly has, or has not, a way to register memory on dma-buf (reg_user_mr_dmabuf).
_IMPORTS_DMABUF = {"mlx5_core": True, "mlx4_core": False}
_NVIDIA = "10de"
_LOADED = ("loaded", "builtin")


@dataclass(frozen=True)
class Part:
    """One part of a verdict; ``about`` names the bridges or devices that it is about."""

    name: str
    state: str
    about: Tuple[str, ...] = ()

    @property
    def known(self) -> State:
        return STATES[self.name][self.state]


@dataclass(frozen=True)
class PairVerdict:
    """A GPU and a NIC that it should use, with the parts in the order of PARTS."""

    gpu: int
    hca: str
    parts: Tuple[Part, ...]

    @property
    def name(self) -> str:
        return f"GPU {self.gpu}/{self.hca}"

    @property
    def verdict(self) -> str:
        """The worst of the parts; one that is not known is worse than all that are right."""
        return max((part.known.verdict for part in self.parts), key=VERDICTS.index)


@dataclass
class _Pair:
    """What the facts have of a pair; ``gpu`` and ``hca`` are ``None`` where they are not there."""

    facts: Facts
    entry: GpuAffinity
    name: str
    gpu: Optional[Gpu]
    hca: Optional[Hca]
    # Of a VF, the HCA of its PF, if that is here.
    card: Optional[Hca]

    @property
    def kind(self) -> Optional[str]:
        return self.entry.paths.get(self.name)


def _path(pair: _Pair) -> Part:
    if pair.kind is None or not pair.gpu or not pair.hca or not pair.hca.pci:
        return Part(PATH, "unknown")
    ends = ((f"GPU {pair.entry.gpu}", pair.gpu.pci), (pair.name, pair.hca.pci))
    lost = tuple(name for name, function in ends if function.numa_node is None)
    return Part(PATH, "numa_unknown", lost) if pair.kind == "SYS" and lost else Part(PATH, pair.kind)


def _acs(pair: _Pair) -> Part:
    system = pair.facts.system
    if system.virtual:
        return Part(ACS, "guest")
    if pair.kind is None or not pair.gpu or not pair.hca or not pair.hca.pci:
        return Part(ACS, "unknown")
    bridges: Sequence[str] = ()
    if pair.kind in ("PIX", "PXB"):
        left, right, _shared = topology.bridges_between(pair.gpu.pci, pair.hca.pci)
        bridges = left + right
    on = [bridge for bridge in bridges if system.acs.get(bridge)]
    if on:
        flags = {bridge: system.acs_flags.get(bridge) for bridge in on}
        return Part(ACS, "on", tuple(f"{bridge} ({', '.join(flags[bridge] or ['bits unknown'])})" for bridge in on))
    unread = tuple(bridge for bridge in bridges if system.acs.get(bridge) is None)
    if unread:
        return Part(ACS, "unreadable", unread)
    if system.virtual is None:
        return Part(ACS, "machine_unknown")
    return Part(ACS, "off" if bridges else "no_switch")


def _iommu(pair: _Pair) -> Part:
    system = pair.facts.system
    if system.virtual:
        return Part(IOMMU, "guest")
    places = {f"GPU {pair.entry.gpu}": pair.gpu and pair.gpu.pci, pair.name: pair.hca and pair.hca.pci}
    # Facts of earlier versions have one mode for all devices, or say that they differ.
    modes = {
        name: system.iommu_modes.get(function.address, system.iommu) if function else None
        for name, function in places.items()
    }
    translated = tuple(name for name, mode in modes.items() if mode == "translated")
    unknown = tuple(name for name, mode in modes.items() if mode not in ("off", "passthrough"))
    if translated:
        return Part(IOMMU, "translated_arm" if system.arch == "aarch64" else "translated", translated)
    if unknown:
        return Part(IOMMU, "unknown", unknown)
    if system.virtual is None:
        return Part(IOMMU, "machine_unknown")
    return Part(IOMMU, "passthrough" if "passthrough" in modes.values() else "off")


def _ordering(pair: _Pair) -> Part:
    system = pair.facts.system
    if system.virtual:
        # A VF that a guest has looks like a device of its own, and its bit is reserved.
        return Part(ORDERING, "guest")
    function = pair.hca.pci if pair.hca else None
    on = system.relaxed_ordering.get(function.address) if function and system.virtual is not None else None
    return Part(ORDERING, "unknown" if on is None else "on" if on else "off", (pair.name,))


def _memory(pair: _Pair) -> Part:
    ways = pair.facts.system.gpudirect
    nvidia = pair.gpu is not None and pair.gpu.pci.vendor_id == _NVIDIA
    driver = pair.hca.driver if pair.hca else None
    takes = _IMPORTS_DMABUF.get(driver or "")
    why = ways.dmabuf_reason or "the facts do not tell"
    if ways.dmabuf and takes:
        return Part(MEMORY, "dmabuf")
    if nvidia and ways.peermem in _LOADED:
        return Part(MEMORY, "peermem")
    if ways.dmabuf and takes is None:
        why = f"it is not known whether {driver or 'the driver of the NIC'} takes it"
    elif ways.dmabuf:
        why = f"{driver} does not take it"
    # What AMD's driver registers with OFED shows nowhere in sysfs.
    lacking = nvidia and ways.peermem in ("available", "missing")
    return Part(MEMORY, "none" if lacking and (ways.dmabuf is False or takes is False) else "unknown", (why,))


def _link(pair: _Pair) -> Part:
    """Of the GPU the width alone is judged: while idle, it lowers its speed to save power."""
    of_gpu = pair.gpu.pcie_link if pair.gpu else None
    hca = pair.card or pair.hca
    of_nic = hca.pcie_link if hca else None
    narrow = of_gpu and of_gpu.width and of_gpu.max_width and of_gpu.width < of_gpu.max_width
    bad = []
    if narrow and of_gpu:
        bad.append(f"GPU {pair.entry.gpu} (x{of_gpu.width} of x{of_gpu.max_width})")
    if hca and of_nic and of_nic.degraded:
        now, best = f"{of_nic.speed_gts or 0:g} GT/s x{of_nic.width}", f"{of_nic.max_speed_gts or 0:g} GT/s"
        bad.append(f"{hca.name} ({now} of {best} x{of_nic.max_width})")
    if bad:
        return Part(LINK, "degraded", tuple(bad))
    unknown = []
    if not (of_gpu and of_gpu.width and of_gpu.max_width):
        unknown.append(f"GPU {pair.entry.gpu}")
    if not of_nic or of_nic.degraded is None:
        unknown.append(pair.name)
    return Part(LINK, "unknown" if unknown else "best", tuple(unknown))


_JUDGES = (_path, _acs, _iommu, _ordering, _memory, _link)


def of_facts(facts: Facts) -> List[PairVerdict]:
    """The verdict of each pair, in the order of GPUs; the pairs are those of ``nearest`` in the facts."""
    gpus = {gpu.index: gpu for gpu in facts.gpus}
    hcas: Dict[str, Hca] = {hca.name: hca for hca in facts.hcas}
    by_place = {hca.pci.address: hca for hca in facts.hcas if hca.pci and hca.sriov.role == "pf"}
    found = []
    for entry in facts.affinity:
        for name in dict.fromkeys(entry.nearest):
            hca = hcas.get(name)
            card = by_place.get(hca.sriov.pf_address or "") if hca else None
            pair = _Pair(facts, entry, name, gpus.get(entry.gpu), hca, card)
            found.append(PairVerdict(entry.gpu, name, tuple(judge(pair) for judge in _JUDGES)))
    return found
