# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Verdicts that only the facts of all hosts together allow."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Dict, Iterator, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.facts import EXPECT
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Address
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

_PORTS = (
    "Find out what is missing or in another mode, or say how many ports these nodes should have "
    "(rdma_discover_expect_hcas)."
)

# A host, what of it is compared, and its value.
Entry = Tuple[HostEvidence, str, str]


def _duplicates(nodes: Sequence[HostEvidence]) -> Iterator[Check]:
    owners: Dict[Address, List[Entry]] = {}
    for node in nodes:
        for hca in node.known.hcas:
            for netdev in (port.netdev for port in hca.ports if port.netdev):
                for text in netdev.addresses:
                    # A node may spell an IPv6 address in another way.
                    address = ipaddress.ip_interface(text).ip
                    if not address.is_link_local and not address.is_loopback:
                        owners.setdefault(address, []).append((node, hca.name, netdev.name))
    for address, ends in owners.items():
        hosts = list(dict.fromkeys(node.host for node, _hca, _netdev in ends))
        if len(hosts) < 2:
            continue
        for node, name, own in ends:
            others = joined([host for host in hosts if host != node.host])
            text = f"{name} ({own}) has {address}, and so has {others}"
            remedy = "Give one of these ports another address (rdma_links_host_number, rdma_links_addresses)."
            evidence = {"address": str(address), "hosts": hosts}
            yield node.check("duplicate_address", "fail", name, text, remedy, "links", **evidence)


def odd(entries: Sequence[Entry]) -> Iterator[Tuple[HostEvidence, str, str, str, Dict[str, str]]]:
    """Node, subject and value of those that are not as most are, the usual value, and hosts by value."""
    counts = Counter(value for _node, _subject, value in entries)
    table = {
        value: fold([node.host for node, _subject, other in entries if other == value]) for value in sorted(counts)
    }
    usual = counts.most_common(1)[0][0]
    for node, subject, value in entries:
        if value != usual:
            yield node, subject, value, usual, table


def _drivers(node: HostEvidence) -> Dict[str, str]:
    """Versions of what moves data, as they are shown and compared."""
    system = node.known.system
    found = {"kernel": system.kernel, **system.versions}
    if node.known.gpus:
        peermem = "nvidia_peermem" if system.gpudirect.peermem in ("loaded", "builtin") else None
        found["GPUDirect"] = "DMA-BUF" if system.gpudirect.dmabuf else peermem
    return {name: version for name, version in found.items() if version}


def _drivers_of_fleet(nodes: Sequence[HostEvidence]) -> Iterator[Check]:
    own = {node.host: _drivers(node) for node in nodes}
    members: Dict[Tuple[str, str], List[Entry]] = {}
    for node in nodes:
        for name, version in own[node.host].items():
            members.setdefault((node.group, name), []).append((node, name, version))
    for (group, name), entries in members.items():
        for node, _name, version, usual, table in odd(entries):
            rows = "; ".join(f"{value}: {hosts}" for value, hosts in table.items())
            text = f"{name} is {version}, most of group {group} have {usual} ({rows})"
            remedy = "Use the same kernel and driver versions on all nodes of a group."
            yield node.check("drivers", "warn", name, text, remedy, hosts=table)
    for node in nodes:
        if own[node.host]:
            text = joined([f"{name} {version}" for name, version in own[node.host].items()], at_most=8)
            yield node.check("drivers", "pass", "", text, versions=own[node.host])


def _firmware(nodes: Sequence[HostEvidence]) -> Iterator[Check]:
    boards: Dict[Tuple[str, str], List[Entry]] = {}
    for node in nodes:
        for hca in node.known.hcas:
            if hca.board_id and hca.firmware:
                boards.setdefault((node.group, hca.board_id), []).append((node, hca.name, hca.firmware))
    for (group, board), entries in boards.items():
        for node, name, version, usual, table in odd(entries):
            text = f"{name} ({board}) has firmware {version}, most of group {group} have {usual}"
            remedy = "Use the same firmware version on all cards of the same model."
            yield node.check("firmware", "warn", name, text, remedy, hosts=table[version])


def _gpus(node: HostEvidence) -> Tuple[Tuple[str, int], ...]:
    """The number of its GPUs by device ID, which a node tells without their driver."""
    counts = Counter(f"{gpu.pci.vendor_id}:{gpu.pci.device_id}" for gpu in node.known.gpus)
    return tuple(sorted(counts.items()))


def _ports(nodes: Sequence[HostEvidence]) -> Iterator[Check]:
    """Nodes with other numbers of usable ports than those of their group that have the same GPUs.

    What a node has lost has no finding of its own there. Where the inventory says how many ports there should be, that
    is what counts.
    """
    alike: Dict[Tuple[str, Tuple[Tuple[str, int], ...]], List[HostEvidence]] = {}
    for node in nodes:
        if node.known.gpus:
            alike.setdefault((node.group, _gpus(node)), []).append(node)
    for (group, _own), members in alike.items():
        numbers = {node.host: len(node.known.available) for node in members}
        counts = Counter(numbers.values())
        # Of as many nodes the larger number, and none only where all have none: ports get lost, and do not grow.
        usual = max(counts, key=lambda number: (number > 0, counts[number], number))
        table = {str(each): fold([host for host, own in numbers.items() if own == each]) for each in sorted(counts)}
        rows = "; ".join(f"{each}: {hosts}" for each, hosts in table.items())
        for node in members:
            number = numbers[node.host]
            if number != usual and node.values.get(EXPECT + "hcas") is None:
                ports = f"{counted(number, 'port')} fit for workloads"
                text = f"{ports}; other nodes of group {group} with the same GPUs have {usual} ({rows})"
                yield node.check("ports", "warn", "", text, _PORTS, ports=number, hosts=table)


def of_fleet(nodes: Sequence[HostEvidence]) -> List[Check]:
    """Addresses that two hosts have, and what differs within a group."""
    return [*_duplicates(nodes), *_ports(nodes), *_firmware(nodes), *_drivers_of_fleet(nodes)]
