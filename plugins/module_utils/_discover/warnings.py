# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a person should look at on one node, in words that name the device and the remedy."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.system import PROVIDERS, System
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    Excluded,
    Gpu,
    Hca,
    PciFunction,
    Port,
    Usable,
    Warn,
)

_FULL_IB_WIDTH = 4
_NAMED_AT_MOST = 4


def _ports(hcas: Sequence[Hca], wanted: Sequence[Tuple[str, int]]) -> Iterator[Tuple[Hca, Port, str]]:
    for hca in hcas:
        for port in hca.ports:
            if (hca.name, port.number) in wanted:
                yield hca, port, f"{hca.name}/{port.number}"


def _of_ports(hcas: Sequence[Hca], usable: Sequence[Usable], excluded: Sequence[Excluded]) -> Iterator[Warn]:
    down = [(e.hca, e.port) for e in excluded if [reason.code for reason in e.reasons] == ["port_down"]]
    up = [(entry.hca, entry.port) for entry in usable]
    for _hca, port, subject in _ports(hcas, down):
        if port.link_layer == "InfiniBand" and port.physical_state == "LinkUp":
            text = f"{subject} is cabled but {port.state}: no subnet manager answers on its fabric"
            yield Warn("no_subnet_manager", subject, text)
        else:
            others = ", ".join("{}/{}".format(*entry) for entry in up)
            instead = "{} {} up".format(others, "is" if len(up) == 1 else "are") if up else "no other port is up"
            state = port.physical_state or "physical state unknown"
            text = f"{subject} is {port.state} ({state}), {instead}: is its cable plugged in?"
            yield Warn("port_down", subject, text)
    for hca, port, subject in _ports(hcas, up):
        if port.link_layer == "InfiniBand" and port.sm_lid == 0:
            yield Warn("no_subnet_manager", subject, f"{subject} has SM LID 0: no subnet manager on its fabric")
        if port.rate_gbps and port.max_rate_gbps and port.rate_gbps < port.max_rate_gbps and not hca.software:
            text = f"{subject} runs at {port.rate_gbps:g} Gb/s, its maximum is {port.max_rate_gbps:g} Gb/s"
            yield Warn("rate_below_maximum", subject, text)
        if port.link_layer == "InfiniBand" and port.lanes and port.lanes < _FULL_IB_WIDTH:
            width = f"{port.rate_gbps or 0:g} Gb/s on {port.lanes} of {_FULL_IB_WIDTH} lanes"
            text = f"{subject} runs at {width}: a split cable, or a bad one"
            yield Warn("rate_below_maximum", subject, text)
        if port.umad is None or not port.umad.present:
            text = "{0} has no /dev/infiniband/umadN: load ib_umad, device plugins drop the port without it"
            yield Warn("umad_missing", subject, text.format(subject))
        link = hca.pcie_link
        if not hca.software and link and link.gbps and port.rate_gbps and link.gbps < port.rate_gbps:
            text = f"{subject} is a {port.rate_gbps:g} Gb/s port behind a PCIe link that carries {link.gbps:g} Gb/s"
            yield Warn("pcie_below_port_rate", subject, text)


def _of_devices(hcas: Sequence[Hca], names: Sequence[str]) -> Iterator[Warn]:
    for hca in hcas:
        link = hca.pcie_link
        if hca.name in names and not hca.software and link and link.degraded:
            now = f"{link.speed_gts or 0:g} GT/s x{link.width}"
            best = f"{link.max_speed_gts or 0:g} GT/s x{link.max_width}"
            text = f"{hca.name} has a PCIe link of {now}, the card can do {best}: check slot and riser"
            yield Warn("pcie_degraded", hca.name, text)
        if hca.name in names and (hca.uverbs is None or not hca.uverbs.present):
            text = f"{hca.name} has no /dev/infiniband/uverbsN: load ib_uverbs, nothing can use it without"
            yield Warn("uverbs_missing", hca.name, text)
    owners: Dict[str, List[str]] = {}
    for hca in hcas:
        for port in hca.ports:
            if port.netdev and not hca.software:
                owners.setdefault(port.netdev.name, []).append(f"{hca.name}/{port.number}")
    for netdev, subjects in owners.items():
        if len(subjects) > 1:
            text = "{} all claim netdev {}: sysfs contradicts itself".format(", ".join(subjects), netdev)
            yield Warn("netdev_claimed_twice", netdev, text)


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
            module = PROVIDERS[nic.driver]
            causes = f"{module} is not loaded, or it is in another RDMA network namespace"
            text = f"{nic.address} ({nic.driver}) has no RDMA device: {causes}"
            yield Warn("no_rdma_device", nic.address, text)


def _of_topology(hcas: Sequence[Hca], names: Sequence[str], gpus: Sequence[Gpu], system: System) -> Iterator[Warn]:
    redirecting = sorted(address for address, on in system.acs.items() if on)
    if redirecting:
        named = ", ".join(redirecting[:_NAMED_AT_MOST]) + (", ..." if len(redirecting) > _NAMED_AT_MOST else "")
        text = f"ACS sends GPU-NIC traffic up to the root complex on {len(redirecting)} bridge(s): {named}"
        yield Warn("acs_redirects", redirecting[0], text)
    places = [(f"GPU {gpu.index}", gpu.pci) for gpu in gpus]
    places += [(hca.name, hca.pci) for hca in hcas if hca.pci and hca.name in names]
    for label, pci in places:
        if pci.numa_node is None and len(system.numa_nodes) > 1:
            text = f"firmware gives no NUMA node for {label} ({pci.address}): its paths count as SYS"
            yield Warn("numa_unknown", label, text)


def unreadable(entries: Mapping[str, str]) -> List[Warn]:
    """A warning for each file the kernel refused or that held no sense; missing permission is listed elsewhere."""
    return [
        Warn("unreadable", path, f"{path} cannot be used: {reason}")
        for path, reason in sorted(entries.items())
        if reason != "permission"
    ]


def warnings(
    hcas: Sequence[Hca],
    gpus: Sequence[Gpu],
    nics: Sequence[PciFunction],
    usable: Sequence[Usable],
    excluded: Sequence[Excluded],
    drivers: Sequence[str],
    system: System,
) -> List[Warn]:
    """All warnings of a node, hardware first."""
    names = sorted({entry.hca for entry in usable})
    found = list(_of_ports(hcas, usable, excluded))
    found += _of_devices(hcas, names)
    found += _of_functions(hcas, nics, drivers)
    found += _of_topology(hcas, names, gpus, system)
    return found
