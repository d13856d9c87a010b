# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which NICs of a node have VFs for pods, and how many: those there are, or those that the links are going to have.

sriov-network-device-plugin v3.11.0 takes VFs by their PF and their number (``rootDevices``, ``pkg/resources``), so they
need not be there yet.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import PASSING, VF
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.exclusions import EXCLUDE
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import nics
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.nics import NodeNics
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import is_link_local
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong


def of_pf(facts: Facts, pf: Optional[str]) -> Iterator[Hca]:
    """The VFs of a NIC that are HCAs already."""
    return (hca for hca in facts.hcas if hca.sriov.role == "vf" and hca.sriov.pf_address == pf)


def _of_host(vf: Hca, facts: Facts, exclude: Sequence[str]) -> Optional[str]:
    """Why the host needs a VF."""
    if vf.pci and vf.pci.address in exclude:
        return f"{EXCLUDE} has {vf.pci.address}"
    for port in vf.ports:
        reasons = facts.reasons.get((vf.name, port.number), [])
        kept = [reason.text for reason in reasons if reason.code not in PASSING | {VF}]
        if kept:
            return kept[0]
        given = [text for text in (port.netdev.addresses if port.netdev else ()) if not is_link_local(text)]
        if given and port.netdev:
            return f"{port.netdev.name} has {', '.join(given)}"
    return None


def _numbers(host: str, values: Mapping[str, Any], facts: Facts) -> Dict[str, int]:
    """How many VFs each NIC has, or is going to have, by its PCI address. Raises PlanError."""
    found = {pci.address: hca.sriov.num_vfs for hca, pci in facts.placed if hca.sriov.num_vfs}
    number = values.get(VFS)
    for port in host_links.configured(host, values, facts).values() if number else ():
        if port.pci and number:
            found[port.pci] = number
    return found


def vfs(host: str, values: Mapping[str, Any], facts: Facts, rails: int, layer: str, exclude: Sequence[str]) -> NodeNics:
    """The NICs of a node whose VFs pods can have, for this number of rails. Raises PlanError.

    Where the host needs one of a NIC's VFs, pods get none of them: their numbers say nothing of their addresses.
    """
    numbers = _numbers(host, values, facts)

    def against(hca: Hca, _number: int) -> Optional[str]:
        why = nics.barred(hca, facts, exclude)
        if why is not None or hca.pci is None:
            return why
        for vf in of_pf(facts, hca.pci.address):
            need = _of_host(vf, facts, exclude)
            if need:
                return f"pods get no VF of {hca.name}, because the host needs {vf.name} ({need})"
        return None if numbers.get(hca.pci.address) else f"{hca.name} has no VFs"

    found = nics.chosen(host, values, facts, rails, layer, against)
    taken = {address for addresses in found.pools.values() for address in addresses}
    found.vfs = {address: number for address, number in numbers.items() if address in taken}
    found.hcas = {
        rail: [vf.name for address in addresses for vf in of_pf(facts, address)]
        for rail, addresses in found.pools.items()
    }
    return found


def none_of(values: Mapping[str, Any]) -> Optional[Problem]:
    """The problem if the pods of a host get VFs, but ``rdma_links_vfs`` is 0."""
    if values.get(VFS) != 0:
        return None
    right = "set the number of VFs of each port, or leave it out if something else creates them"
    return wrong(VFS, 0, f"but {STRATEGY} is {strategy_of(values)}: {right}")


def usable(hosts: Sequence[InventoryHost], layer: str) -> List[int]:
    """How many VFs each usable NIC of this link layer has. A VF of a bond's slave does not go over the bond."""
    facts = [host.facts for host in hosts if host.facts is not None]
    return [
        hca.sriov.num_vfs
        for own in facts
        for movable in [{*own.available}.difference(own.lags)]
        for hca in own.hcas
        if any(port.link_layer == layer and (hca.name, port.number) in movable for port in hca.ports)
    ]


def missing(layer: str) -> Problem:
    """The problem if no NIC has VFs."""
    text = f"is not set, and no usable {layer} port has VFs for pods"
    return Problem(VFS, f"{text}: set the number for each port, such as 8")
