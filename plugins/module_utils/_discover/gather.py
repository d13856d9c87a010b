# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The discover room as one call: the RDMA facts of a node, from the information that its kernel exposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import (
    counters,
    ethtool,
    infiniband,
    interfaces,
    kernel_log,
    nvswitch,
    port_netdev,
    qos,
    routes,
    selection,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu as discover_gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import nldev as discover_nldev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci as discover_pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import system as discover_system
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import warnings as discover_warnings
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import GpuAffinity, Warn
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gpu, Hca, PciFunction, System
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import warning
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.write import plain

# Those that are sections of the facts.
_SECTIONS = ("hcas", "gpus", "affinity", "system")
SUBSETS = ("hcas", "counters", "qos", "kernel_log", "gpus", "affinity", "system")


@dataclass
class GatherOptions:
    """Options: which devices count as GPUs, which HCAs may be used, and which subsets of facts to gather."""

    gpu_vendors: Sequence[str] = discover_gpu.DEFAULT_VENDORS
    gpu_classes: Sequence[str] = discover_gpu.DEFAULT_CLASSES
    drivers: Sequence[str] = selection.DEFAULT_DRIVERS
    allow_software: bool = False
    subsets: Sequence[str] = SUBSETS


def subsets(requested: Sequence[str]) -> List[str]:
    """Resolve a ``gather_subset`` list: names add, ``!name`` takes away, ``all`` is everything.

    A list of exclusions only starts from everything. Raises ValueError naming the unknown subset.
    """
    chosen = set() if any(not name.startswith("!") for name in requested) else set(SUBSETS)
    for name in requested:
        bare = name.lstrip("!")
        if bare != "all" and bare not in SUBSETS:
            raise ValueError("gather_subset: {!r} is not one of all, {}".format(name, ", ".join(SUBSETS)))
        members = set(SUBSETS) if bare == "all" else {bare}
        chosen = chosen - members if name.startswith("!") else chosen | members
    return [name for name in SUBSETS if name in chosen]


def _acs(
    tree: Tree, gpus: Sequence[Gpu], hcas: Sequence[Hca], entries: Sequence[GpuAffinity]
) -> Dict[str, Optional[List[str]]]:
    """ACS of every bridge between a GPU and its nearest HCAs, where the path stays below a switch."""
    places = {hca.name: hca.pci for hca in hcas if hca.pci}
    found: Dict[str, Optional[List[str]]] = {}
    for gpu, entry in zip(gpus, entries):
        for name in entry.nearest:
            if entry.paths[name] in ("PIX", "PXB"):
                left, right, _shared = topology.bridges_between(gpu.pci, places[name])
                for address in left + right:
                    if address not in found:
                        found[address] = discover_pci.acs_flags(tree, address)
    return found


def _near(hcas: Sequence[Hca], entries: Sequence[GpuAffinity]) -> List[Tuple[Hca, PciFunction]]:
    """HCAs that a GPU should use, and where they are."""
    wanted = {name for entry in entries for name in entry.nearest}
    return [(hca, hca.pci) for hca in hcas if hca.name in wanted and hca.pci and not hca.software]


def _of_pairs(tree: Tree, gpus: Sequence[Gpu], hcas: Sequence[Hca], entries: Sequence[GpuAffinity]) -> System:
    """What decides how fast GPUs and their nearest HCAs reach each other."""
    system = System()
    acs = _acs(tree, gpus, hcas, entries)
    system.acs = {address: None if flags is None else bool(flags) for address, flags in acs.items()}
    system.acs_flags = {address: flags for address, flags in acs.items() if flags}
    near = _near(hcas, entries)
    for hca, function in near:
        own = hca.sriov.pf_address or function.address
        system.relaxed_ordering[function.address] = discover_pci.relaxed_ordering(tree, own)
    if gpus:
        functions = [*(gpu.pci for gpu in gpus), *(function for _hca, function in near)]
        system.virtual = discover_system.is_virtual(tree, functions)
    return system


def _without_cuda(tree: Tree, gpus: Sequence[Gpu], kernel: Optional[str]) -> List[Warn]:
    """ACS above a GPU, where that keeps CUDA from working."""
    if not discover_system.passthrough_breaks_acs(tree, kernel):
        return []
    bridges = dict.fromkeys(address for gpu in gpus for address in gpu.pci.pcie_path[:-1])
    on = [address for address in bridges if discover_pci.acs_redirects(tree, address)]
    return [warning(codes.ACS_WITHOUT_CUDA, on[0], kernel=kernel)] if on else []


def _netlink(live: bool, sources: Dict[str, str]) -> Optional[discover_nldev.Nldev]:
    if not live:
        return None
    try:
        reading = discover_nldev.read()
    except OSError as error:
        sources["netlink_unused"] = str(error)
        return None
    sources.update(port_netdevs="netlink", netns_mode="netlink")
    return reading


def _interfaces(tree: Tree, sources: Dict[str, str]) -> Optional[Mapping[str, interfaces.Interface]]:
    """Only of the running kernel: a recording has neither addresses nor the highest MTU there."""
    if not tree.live:
        return None
    try:
        found = interfaces.read(tree)
    except OSError:
        return None
    sources.update(addresses="netlink", max_mtu="netlink")
    return found


def observe(root: str, options: GatherOptions) -> Facts:
    """The RDMA facts of the node whose files are below ``root``; never raises for what it finds there.

    With another root than ``/`` nothing of the running machine is asked, so netlink is not used either.
    """
    tree = Tree(root)
    sources = dict.fromkeys(("hcas", "port_netdevs", "gpus", "affinity", "system", "netns_mode"), "sysfs")
    sources["addresses"] = "procfs"
    nldev = _netlink(tree.live, sources)
    netdevs = _interfaces(tree, sources)
    hcas = infiniband.hcas(tree, "counters" in options.subsets)
    port_netdev.attach(tree, hcas, nldev, netdevs, routes.read(tree))
    classes = discover_pci.classes(tree)
    functions = discover_pci.functions(tree, classes, {"02", "03", *(code[:2] for code in options.gpu_classes)})
    nics = [pci for pci in functions if pci.class_id[:2] == "02"]
    gpus = discover_gpu.gpus(tree, functions, options.gpu_vendors, options.gpu_classes)
    managing = nvswitch.managing(tree, classes, functions, hcas)
    usable, excluded = selection.select(tree, hcas, options.drivers, options.allow_software, managing, netdevs)
    if tree.live:
        _add_max_rates(hcas)
    if "qos" in options.subsets:
        qos.attach(tree, hcas)

    numa_nodes = discover_system.numa_nodes(tree)
    distances = discover_system.numa_distances(tree, numa_nodes)
    assignable, passing = selection.assignable(usable, excluded), selection.passing(excluded)
    affinity = topology.affinity(gpus, hcas, assignable, len(numa_nodes), distances, passing)
    netns_mode = nldev.netns_mode if nldev else discover_system.netns_mode(tree)
    system = _of_pairs(tree, gpus, hcas, affinity) if "affinity" in options.subsets else System()
    system.numa_nodes, system.netns_mode = numa_nodes, netns_mode
    if "system" in options.subsets:
        system.kernel = discover_system.kernel_release(tree)
        needed = discover_system.needed_modules(hcas, gpus, [nic.driver for nic in nics if nic.driver])
        system.modules = discover_system.module_states(tree, needed, system.kernel)
        system.versions = discover_system.versions(tree)
        system.rdma_cm = discover_system.rdma_cm(tree)
        system.gpudirect = discover_system.gpudirect(tree, gpus, system.kernel, system.modules)
        places = [gpu.pci.address for gpu in gpus] + [hca.pci.address for hca in hcas if hca.pci]
        modes = discover_system.iommu_modes(tree, places)
        system.iommu = discover_system.iommu_mode(modes)
        wanted = {gpu.pci.address for gpu in gpus} | {function.address for _hca, function in _near(hcas, affinity)}
        system.iommu_modes = {address: mode for address, mode in modes.items() if gpus and address in wanted}
        system.kernel_parameters = discover_system.kernel_parameters(tree)
        system.arch = discover_system.architecture(tree)
        system.memlock = discover_system.memlock(tree)
        system.nri = discover_system.nri(tree)

    displays = [pci for pci in functions if pci.class_id[:2] == "03"]
    seconds = counters.uptime(tree) if "counters" in options.subsets else None
    others = discover_gpu.others(functions, options.gpu_vendors, options.gpu_classes)
    warnings = discover_warnings.warnings(
        hcas, gpus, nics, usable, excluded, options.drivers, system, displays, seconds, others
    )
    if "system" in options.subsets:
        warnings += _without_cuda(tree, gpus, system.kernel)
    if "kernel_log" in options.subsets:
        said = kernel_log.warnings(tree, kernel_log.subjects(hcas, nics, options.drivers))
        if said is not None:
            sources["kernel_log"] = "kmsg"
            warnings += said
    warnings += discover_warnings.unreadable(tree.unreadable)
    return Facts(
        signature=topology.signature(gpus, hcas, len(numa_nodes)),
        sources=sources,
        unreadable=sorted(path for path, reason in tree.unreadable.items() if reason == "permission"),
        warnings=warnings,
        usable=usable,
        excluded=excluded,
        hcas=hcas,
        gpus=gpus,
        affinity=affinity,
        system=system,
        sent=tuple(name for name in _SECTIONS if name in options.subsets),
    )


def gather(root: str = "/", options: Optional[GatherOptions] = None) -> Dict[str, Any]:
    """What :func:`observe` finds as JSON, with the sections that were asked for."""
    found = observe(root, options or GatherOptions())
    left_out = {"sent", *_SECTIONS} - {*found.sent}
    written: Dict[str, Any] = plain({name: value for name, value in vars(found).items() if name not in left_out})
    return written


def _add_max_rates(hcas: Sequence[Hca]) -> None:
    ports = [port for hca in hcas for port in hca.ports if port.netdev and port.netdev.present]
    rates = ethtool.max_rates(sorted({port.netdev.name for port in ports if port.netdev}))
    for port in ports:
        port.max_rate_gbps = rates.get(port.netdev.name) if port.netdev else None
