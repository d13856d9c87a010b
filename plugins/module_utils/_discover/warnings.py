# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a person should look at on one node."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.system import PROVIDERS
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons, topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded, Usable, Warn
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Gpu, Hca, PciFunction, Port, System
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import warning

_FULL_IB_WIDTH = 4


def _ports(hcas: Sequence[Hca], wanted: Sequence[Tuple[str, int]]) -> Iterator[Tuple[Hca, Port, str]]:
    for hca in hcas:
        for port in hca.ports:
            if (hca.name, port.number) in wanted:
                yield hca, port, f"{hca.name}/{port.number}"


def _obstacles(entry: Excluded) -> Set[str]:
    # Where the PCI function is unknown, as in a recording, a port that is down is still worth a warning.
    return {reason.code for reason in entry.reasons} - {reasons.PCI_UNKNOWN}


def _of_ports(hcas: Sequence[Hca], usable: Sequence[Usable], excluded: Sequence[Excluded]) -> Iterator[Warn]:
    down = [(e.hca, e.port) for e in excluded if _obstacles(e) == {reasons.PORT_DOWN}]
    up = [(entry.hca, entry.port) for entry in usable]
    for _hca, port, subject in _ports(hcas, down):
        if port.link_layer == "InfiniBand" and port.physical_state == "LinkUp":
            yield warning(codes.NO_SUBNET_MANAGER, subject, state=port.state or "unknown")
        else:
            others = ["{}/{}".format(*entry) for entry in up]
            physical = port.physical_state
            yield warning(codes.PORT_DOWN, subject, up=others, state=port.state, physical_state=physical)
    for hca, port, subject in _ports(hcas, up):
        if port.link_layer == "InfiniBand" and port.sm_lid == 0:
            yield warning(codes.NO_SUBNET_MANAGER, subject)
        rate, best = port.rate_gbps, port.max_rate_gbps
        if rate and best and rate < best and not hca.software:
            yield warning(codes.RATE_BELOW_MAXIMUM, subject, rate_gbps=rate, max_rate_gbps=best)
        if port.link_layer == "InfiniBand" and port.lanes and port.lanes < _FULL_IB_WIDTH:
            lanes = {"lanes": port.lanes, "max_lanes": _FULL_IB_WIDTH}
            yield warning(codes.RATE_BELOW_MAXIMUM, subject, rate_gbps=rate, **lanes)
        if port.umad is None or not port.umad.present:
            yield warning(codes.UMAD_MISSING, subject)
        link = hca.pcie_link
        if not hca.software and link and link.gbps and rate and link.gbps < rate:
            yield warning(codes.PCIE_BELOW_PORT_RATE, subject, rate_gbps=rate, pcie_gbps=link.gbps)


def _below_twins(hcas: Sequence[Hca], usable: Sequence[Usable]) -> Iterator[Warn]:
    """InfiniBand ports slower than that of an equal card (PSID) of the node: nothing else in sysfs has their speed."""
    up = [(entry.hca, entry.port) for entry in usable]
    alike: Dict[Tuple[str, int], List[Tuple[float, str, Port]]] = {}
    for hca, port, subject in _ports(hcas, up):
        if port.link_layer == "InfiniBand" and hca.board_id and hca.sriov.role != "vf" and port.rate_gbps:
            alike.setdefault((hca.board_id, port.number), []).append((port.rate_gbps, subject, port))
    for twins in alike.values():
        best, twin, _port = max(twins, key=lambda entry: entry[0])
        for rate, subject, port in twins:
            # Missing lanes have a warning of their own.
            if rate < best and (port.lanes or _FULL_IB_WIDTH) >= _FULL_IB_WIDTH:
                yield warning(codes.RATE_BELOW_MAXIMUM, subject, rate_gbps=rate, max_rate_gbps=best, twin=twin)


def _of_counters(hcas: Sequence[Hca], usable: Sequence[Usable], seconds: Optional[float]) -> Iterator[Warn]:
    for hca, port, subject in _ports(hcas, [(entry.hca, entry.port) for entry in usable]):
        # The thresholds are for cables; Soft-RoCE counts each time that its netdev was down.
        for fault in [] if hca.software else counters.faults(port.error_counters, seconds):
            yield warning(codes.LINK_ERRORS, subject, counter=fault.counter, count=fault.count, limit=fault.limit)


def _of_indices(gpus: Sequence[Gpu], displays: Sequence[PciFunction]) -> Iterator[Warn]:
    """The first GPU that nvidia-smi numbers differently: it counts what is bound to its driver, in PCI order."""
    counted = [pci.address for pci in displays if pci.driver == "nvidia"]
    for gpu in gpus if counted else ():
        index = counted.index(gpu.pci.address) if gpu.pci.address in counted else None
        if index != gpu.index:
            yield warning(codes.GPU_INDEX, f"GPU {gpu.index}", nvidia_smi=index)
            return


def _of_devices(hcas: Sequence[Hca], names: Sequence[str]) -> Iterator[Warn]:
    for hca in hcas:
        link = hca.pcie_link
        if hca.name in names and not hca.software and link and link.degraded:
            yield warning(
                codes.PCIE_DEGRADED,
                hca.name,
                speed_gts=link.speed_gts,
                width=link.width,
                max_speed_gts=link.max_speed_gts,
                max_width=link.max_width,
            )
        if hca.name in names and (hca.uverbs is None or not hca.uverbs.present):
            yield warning(codes.UVERBS_MISSING, hca.name)
    owners: Dict[str, List[str]] = {}
    for hca in hcas:
        for port in hca.ports:
            if port.netdev and not hca.software:
                owners.setdefault(port.netdev.name, []).append(f"{hca.name}/{port.number}")
    for netdev, subjects in owners.items():
        if len(subjects) > 1:
            yield warning(codes.NETDEV_CLAIMED_TWICE, netdev, ports=subjects)


def _of_functions(hcas: Sequence[Hca], nics: Sequence[PciFunction], drivers: Sequence[str]) -> Iterator[Warn]:
    physical = [(hca, hca.pci.address) for hca in hcas if hca.pci and not hca.software]
    known = {address for _hca, address in physical}
    # RoCE LAG: one RDMA device on the first function of a card serves the ports of all its functions.
    bonded = {address[:-1] for hca, address in physical if any(port.netdev and port.netdev.bond for port in hca.ports)}
    for nic in nics:
        if (
            nic.address not in known
            and nic.address[:-1] not in bonded
            and nic.driver in drivers
            and nic.driver in PROVIDERS
        ):
            yield warning(codes.NO_RDMA_DEVICE, nic.address, driver=nic.driver, module=PROVIDERS[nic.driver])


def _of_others(
    usable: Sequence[Usable], excluded: Sequence[Excluded], hcas: Sequence[Hca], others: Mapping[str, List[PciFunction]]
) -> Iterator[Warn]:
    """What the options of discover leave out although workloads may want it."""
    for vendor, functions in others.items():
        yield warning(codes.OTHER_GPUS, functions[0].address, vendor=vendor, count=len(functions))
    every = [(entry.hca, {found.code for found in entry.reasons}) for entry in excluded]
    known = {*(entry.hca for entry in usable), *(name for name, against in every if against <= reasons.PASSING)}
    fit = [name for name, against in every if against == {reasons.DRIVER_NOT_ALLOWED}]
    if known - topology.lan({*known, *fit}, hcas):
        # Beside HCAs for workloads, these are LAN ports.
        return
    drivers = sorted({hca.driver for hca in hcas if hca.name in fit and hca.driver})
    if drivers:
        names = list(dict.fromkeys(fit))
        yield warning(codes.OTHER_DRIVERS, names[0], hcas=names, drivers=drivers)


def _of_topology(hcas: Sequence[Hca], names: Sequence[str], gpus: Sequence[Gpu], system: System) -> Iterator[Warn]:
    redirecting = sorted(address for address, on in system.acs.items() if on)
    if redirecting:
        yield warning(codes.ACS_REDIRECTS, redirecting[0], bridges=redirecting)
    places = [(f"GPU {gpu.index}", gpu.pci) for gpu in gpus]
    places += [(hca.name, hca.pci) for hca in hcas if hca.pci and hca.name in names]
    for label, pci in places:
        if pci.numa_node is None and len(system.numa_nodes) > 1:
            yield warning(codes.NUMA_UNKNOWN, label, address=pci.address)


def of_hcas(hcas: Sequence[Hca], usable: Sequence[Usable], excluded: Sequence[Excluded]) -> List[Warn]:
    """What the ports and PCIe links of these HCAs alone say, wherever they are."""
    found = list(_of_ports(hcas, usable, excluded))
    found += _below_twins(hcas, usable)
    return found + list(_of_devices(hcas, sorted({hca.name for hca in hcas})))


def unreadable(entries: Mapping[str, str]) -> List[Warn]:
    """A warning for each file the kernel refused or that held no sense; missing permission is listed elsewhere."""
    return [warning(codes.UNREADABLE, path, reason=why) for path, why in sorted(entries.items()) if why != "permission"]


def warnings(
    hcas: Sequence[Hca],
    gpus: Sequence[Gpu],
    nics: Sequence[PciFunction],
    usable: Sequence[Usable],
    excluded: Sequence[Excluded],
    drivers: Sequence[str],
    system: System,
    displays: Sequence[PciFunction] = (),
    seconds: Optional[float] = None,
    others: Optional[Mapping[str, List[PciFunction]]] = None,
) -> List[Warn]:
    """All warnings of a node, hardware first.

    ``displays`` are all display functions of the node, GPU or not; ``seconds`` is how long the node has been up.
    ``others`` are by vendor accelerators that do not count as GPUs.
    """
    names = sorted({entry.hca for entry in usable})
    found = list(_of_ports(hcas, usable, excluded))
    found += _below_twins(hcas, usable)
    found += _of_counters(hcas, usable, seconds)
    found += _of_devices(hcas, names)
    found += _of_functions(hcas, nics, drivers)
    found += _of_indices(gpus, displays)
    found += _of_others(usable, excluded, hcas, others or {})
    found += _of_topology(hcas, names, gpus, system)
    return found
