# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which NICs of a node pods can have, each with its PCI address and the rail that it is.

What can be handed out is read from ``pkg/netdevice`` of sriov-network-device-plugin v3.11.0, and ``host-device`` of the
CNI plugins v1.9.1: the plugin leaves out a NIC that has VFs, and CNI moves the first netdev of a PCI function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import PASSING
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links.ports import PORTS, Candidate, ports, rails_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.natural import natural_key

# By rail the PCI addresses of its NICs; with one network for all of them there is one rail.
Pools = Mapping[int, Sequence[str]]


@dataclass
class NodeNics:
    """``hcas`` are the names of those in ``pools``, ``others`` the PCI addresses of all other HCAs.

    ``left_out`` says why a usable one is not handed out.
    """

    pools: Dict[int, List[str]] = field(default_factory=dict)
    hcas: Dict[int, List[str]] = field(default_factory=dict)
    others: Set[str] = field(default_factory=set)
    left_out: List[str] = field(default_factory=list)


def layers(facts: Facts) -> Set[str]:
    """The link layers of the ports that are usable, or would be if no pod had them."""
    available = set(facts.available)
    every = [(hca, port) for hca in facts.hcas for port in hca.ports if (hca.name, port.number) in available]
    return {port.link_layer for hca, port in every if port.link_layer and not hca.software}


def _against(hca: Hca, number: int, facts: Facts, exclude: Sequence[str]) -> Optional[str]:
    """Why no pod can have the NIC of a usable port, empty where that is intended; ``None`` if it can."""
    if hca.pci is None or hca.software:
        return f"{hca.name} is a software device, which the plugin does not find"
    if hca.pci.address in exclude:
        return ""
    if hca.sriov.num_vfs:
        return f"{hca.name} has VFs, and then the plugin does not hand out the NIC itself"
    reasons = facts.reasons
    for port in hca.ports:
        kept = [reason.text for reason in reasons.get((hca.name, port.number), []) if reason.code not in PASSING]
        if kept:
            return f"{hca.name} would come with its port {port.number}, which no pod may have: {kept[0]}"
    if (hca.name, number) in facts.in_pod:
        return None
    netdevs = sorted((port.netdev.name, port.number) for port in hca.ports if port.netdev and port.netdev.present)
    if not netdevs:
        return f"{hca.name} has no netdev that could be moved into a pod: load ib_ipoib"
    if netdevs[0][1] != number:
        return f"port {number} of {hca.name} cannot be handed out: CNI would move {netdevs[0][0]}, which is another one"
    return None


def _candidates(host: str, values: Mapping[str, Any], facts: Facts, rails: int) -> Dict[int, List[Candidate]]:
    every = ports(facts)
    if rails == 1:
        return {0: every}
    planned = links_plan.addresses(host, values) if links_plan.asked(values) else {}
    texts = {rail: str(address.ip) for rail, address in planned.items()}
    return {rail: [port] for rail, port in rails_of(values.get(PORTS) or [], every, rails, texts, False).items()}


def nics(
    host: str, values: Mapping[str, Any], facts: Facts, rails: int, layer: str, exclude: Sequence[str]
) -> NodeNics:
    """The NICs of a node for this number of rails. Raises PlanError.

    NICs in pods at the moment are among them: the plugin does not need their netdevs, and without them it would tell
    the kubelet that they are gone.
    """
    found = NodeNics()
    available, hcas = set(facts.available), {hca.name: hca for hca in facts.hcas}
    for rail, candidates in _candidates(host, values, facts, rails).items():
        chosen: Dict[str, str] = {}
        for port in candidates:
            if (port.hca, port.number) not in available:
                if rails > 1:
                    found.left_out.append(f"rail {rail} is {port.name}, which is not usable")
                continue
            if port.link_layer != layer:
                continue
            why = _against(hcas[port.hca], port.number, facts, exclude)
            if why is None and port.pci:
                chosen[port.pci] = port.hca
            elif why:
                found.left_out.append(why)
        if chosen:
            found.pools[rail] = sorted(chosen, key=natural_key)
            found.hcas[rail] = [chosen[address] for address in found.pools[rail]]
    taken = {address for addresses in found.pools.values() for address in addresses}
    found.others = {pci.address for _hca, pci in facts.placed} - taken
    return found


def union(nodes: Sequence[NodeNics]) -> Dict[int, List[str]]:
    """What one configuration for these nodes has by rail."""
    found: Dict[int, Set[str]] = {}
    for node in nodes:
        for rail, addresses in node.pools.items():
            found.setdefault(rail, set()).update(addresses)
    return {rail: sorted(found[rail], key=natural_key) for rail in sorted(found)}


def _fits(pools: Pools, node: NodeNics) -> bool:
    for rail, addresses in pools.items():
        elsewhere = {address for own, several in node.pools.items() if own != rail for address in several}
        if not (node.others | elsewhere).isdisjoint(addresses):
            return False
    return True


def shapes(nodes: Mapping[str, NodeNics]) -> List[List[str]]:
    """The nodes in as few parts as there have to be configurations: one, or one for each set of PCI addresses."""
    if not nodes:
        return []
    whole = union(list(nodes.values()))
    if all(_fits(whole, node) for node in nodes.values()):
        return [list(nodes)]
    parts: Dict[str, List[str]] = {}
    for host, node in nodes.items():
        parts.setdefault(repr(union([node])), []).append(host)
    return list(parts.values())
