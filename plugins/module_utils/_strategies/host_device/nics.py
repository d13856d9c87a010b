# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which NICs of a node are for pods, each with its PCI address and the rail that it is.

What can be handed out is read from ``pkg/netdevice`` of sriov-network-device-plugin v3.11.0, and ``host-device`` of the
CNI plugins v1.9.1: the plugin leaves out a NIC that has VFs, and CNI moves the first netdev of a PCI function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import PASSING
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.ports import PORTS, Candidate, ports, rails_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci

# By rail the PCI addresses of its NICs; with one network for all of them there is one rail.
Pools = Mapping[int, Sequence[str]]
# Says of an HCA and the number of its usable port what is against handing it out.
Against = Callable[[Hca, int], Optional[str]]


@dataclass
class NodeNics:
    """``hcas`` are by rail the names of what pods get, ``others`` the PCI addresses of all HCAs not in ``pools``.

    ``left_out`` says why a usable one is not handed out. ``vfs`` have the number of VFs of each NIC in ``pools`` where
    pods get its VFs instead of itself.
    """

    pools: Dict[int, List[str]] = field(default_factory=dict)
    hcas: Dict[int, List[str]] = field(default_factory=dict)
    others: Set[str] = field(default_factory=set)
    left_out: List[str] = field(default_factory=list)
    vfs: Dict[str, int] = field(default_factory=dict)

    def number(self, rail: int) -> int:
        """How many pods can have one of this rail at the same time."""
        return sum(self.vfs.get(address, 1) for address in self.pools.get(rail, ()))


def layers(facts: Facts) -> Set[str]:
    """The link layers of the ports that are usable, or would be if no pod had them."""
    available = set(facts.available)
    every = [(hca, port) for hca in facts.hcas for port in hca.ports if (hca.name, port.number) in available]
    return {port.link_layer for hca, port in every if port.link_layer and not hca.software}


def barred(hca: Hca, facts: Facts, exclude: Sequence[str]) -> Optional[str]:
    """Why neither the HCA of a usable port nor a VF of it is for pods, empty where that is intended."""
    if hca.pci is None or hca.software:
        return f"{hca.name} is a software device, which the device plugin cannot find"
    if hca.pci.address in exclude:
        return ""
    for port in hca.ports:
        kept = [
            reason.text for reason in facts.unmovable.get((hca.name, port.number), []) if reason.code not in PASSING
        ]
        if kept:
            return f"{hca.name} is not given to pods because of its port {port.number}: {kept[0]}"
    return None


def _against(hca: Hca, number: int, facts: Facts, exclude: Sequence[str]) -> Optional[str]:
    """Why no pod can get the NIC of a usable port: empty if that is intended, ``None`` if pods can get it."""
    why = barred(hca, facts, exclude)
    if why is not None:
        return why
    if hca.sriov.num_vfs:
        return f"{hca.name} has VFs, so the device plugin does not offer the NIC itself"
    if (hca.name, number) in facts.in_pod:
        return None
    netdevs = sorted((port.netdev.name, port.number) for port in hca.ports if port.netdev and port.netdev.present)
    if not netdevs:
        return f"{hca.name} has no netdev that could be moved into a pod: load ib_ipoib"
    if netdevs[0][1] != number:
        name, other = netdevs[0]
        return f"port {number} of {hca.name} is not given to pods: CNI would move {name}, the netdev of port {other}"
    return None


def _candidates(
    host: str, values: Mapping[str, Any], facts: Facts, rails: int, layer: str
) -> Dict[int, List[Candidate]]:
    every = ports(facts)
    if rails == 1:
        return {0: every}
    planned = host_links.addresses(host, values) if host_links.asked(values) else {}
    texts = {rail: str(address.ip) for rail, address in planned.items()}
    found = rails_of(values.get(PORTS) or [], every, rails, texts, False, layer)
    return {rail: [port] for rail, port in found.items()}


def nics(
    host: str, values: Mapping[str, Any], facts: Facts, rails: int, layer: str, exclude: Sequence[str]
) -> NodeNics:
    """The NICs of a node for this number of rails. Raises PlanError.

    NICs in pods at the moment are among them: the plugin does not need their netdevs, and without them it would tell
    the kubelet that they are gone.
    """
    return chosen(host, values, facts, rails, layer, lambda hca, number: _against(hca, number, facts, exclude))


def chosen(host: str, values: Mapping[str, Any], facts: Facts, rails: int, layer: str, against: Against) -> NodeNics:
    """The NICs of a node that pods can get. Raises PlanError."""
    found = NodeNics()
    available, hcas = set(facts.available), {hca.name: hca for hca in facts.hcas}
    for rail, candidates in _candidates(host, values, facts, rails, layer).items():
        of_rail: Dict[str, str] = {}
        for port in candidates:
            if (port.hca, port.number) not in available:
                if rails > 1:
                    found.left_out.append(f"rail {rail} is {port.name}, which is not usable")
                continue
            if port.link_layer != layer:
                continue
            why = against(hcas[port.hca], port.number)
            if why is None and port.pci:
                of_rail[port.pci] = port.hca
            elif why:
                found.left_out.append(why)
        if of_rail:
            found.pools[rail] = sorted(of_rail, key=pci.order)
            found.hcas[rail] = [of_rail[address] for address in found.pools[rail]]
    taken = {address for addresses in found.pools.values() for address in addresses}
    found.others = {place.address for _hca, place in facts.placed} - taken
    return found


def union(nodes: Sequence[NodeNics]) -> Dict[int, List[str]]:
    """What one configuration for these nodes has by rail."""
    found: Dict[int, Set[str]] = {}
    for node in nodes:
        for rail, addresses in node.pools.items():
            found.setdefault(rail, set()).update(addresses)
    return {rail: sorted(found[rail], key=pci.order) for rail in sorted(found)}


def _fits(pools: Pools, node: NodeNics) -> bool:
    for rail, addresses in pools.items():
        elsewhere = {address for own, several in node.pools.items() if own != rail for address in several}
        if not (node.others | elsewhere).isdisjoint(addresses):
            return False
    return True


def shapes(nodes: Mapping[str, NodeNics]) -> List[List[str]]:
    """The nodes in as few parts as there have to be configurations: one, or one for each set of PCI addresses.

    With VFs always one for each set: the plugin waits for all VFs of its configuration.
    """
    if not nodes:
        return []
    whole = union(list(nodes.values()))
    if all(_fits(whole, node) and not node.vfs for node in nodes.values()):
        return [list(nodes)]
    parts: Dict[str, List[str]] = {}
    for host, node in nodes.items():
        parts.setdefault(repr((union([node]), sorted(node.vfs.items()))), []).append(host)
    return list(parts.values())
