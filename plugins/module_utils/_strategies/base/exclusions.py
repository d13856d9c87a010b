# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""NICs that no pod may have, whatever its strategy: by the inventory, and by the facts of a group's nodes."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons, topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Reason
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import checked

EXCLUDE = "rdma_driver_exclude"

# Moved into a pod, the node would lose its own network with it.
_OF_THE_NODE = frozenset(
    (
        reasons.BOND,
        reasons.BOND_SLAVE,
        reasons.BRIDGE_PORT,
        reasons.DEFAULT_ROUTE,
        reasons.DEFAULT_ROUTE_UNKNOWN,
        reasons.ROCE_LAG,
        reasons.TEAM_PORT,
    )
)
_HARMLESS = reasons.PASSING | {reasons.VF}


def excluded(values: Mapping[str, Any]) -> List[str]:
    """PCI addresses that no pod may have, for whatever strategy. Raises PlanError."""
    return [checked(EXCLUDE, text, pci.address) for text in values[EXCLUDE]]


def of_lan(facts: Facts, given: Iterable[str]) -> List[str]:
    """Warnings of HCAs that a device plugin gives to pods, although those next to GPUs are of another kind."""
    kinds = topology.other_kind(facts)
    return [
        f"pods may get {name}, but {kinds[name][1]}: add its PCI address to {EXCLUDE}, unless pods should get it"
        for name in given
        if name in kinds
    ]


def _functions(facts: Facts) -> Iterator[Tuple[str, List[List[Reason]]]]:
    """PCI addresses with the reasons of each port."""
    every = facts.unmovable
    for hca, place in facts.placed:
        yield place.address, [every.get((hca.name, port.number), []) for port in hca.ports]


def _why(ports: Iterable[List[Reason]]) -> Dict[str, str]:
    return {reason.code: reason.text for port in ports for reason in port if reason.code not in _HARMLESS}


def why(facts: Facts) -> Dict[str, str]:
    """By PCI address why a NIC of this node may never be in a pod."""
    found: Dict[str, str] = {}
    for address, ports in _functions(facts):
        against = _why(ports)
        management = against.get(reasons.NVSWITCH_MANAGEMENT)
        if management is not None:
            found[address] = management
        elif all(any(reason.code in _OF_THE_NODE for reason in port) for port in ports) and ports:
            found[address] = next(text for code, text in against.items() if code in _OF_THE_NODE)
    return found


def of_group(nodes: Iterable[Facts]) -> List[str]:
    """PCI addresses that the driver of a group leaves out on all of its nodes.

    The nodes share one filter. Where an address is a bond's on one node and a NIC for workloads on another, it is the
    claims that leave out the former; a function that manages NVSwitches goes in any case.
    """
    excluded: Dict[str, None] = {}
    usable = set()
    management = set()
    for facts in nodes:
        excluded.update(dict.fromkeys(why(facts)))
        for address, ports in _functions(facts):
            if any(reasons.NVSWITCH_MANAGEMENT in {reason.code for reason in port} for port in ports):
                management.add(address)
            if any({reason.code for reason in port} <= _HARMLESS for port in ports):
                usable.add(address)
    return sorted((address for address in excluded if address in management or address not in usable), key=pci.order)
