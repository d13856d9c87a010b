# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The VFs that ``rdma_links_vfs`` is going to create, as facts will have them: where they are is no guess."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Collection, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, PciFunction, Sriov
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci as values_pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError


def _vfs(hca: Hca, pci: PciFunction, number: int) -> Iterator[Hca]:
    """The first ``number`` VFs of a PF, none where the node does not tell where they will be."""
    offset, stride = hca.sriov.vf_offset, hca.sriov.vf_stride
    if not offset or stride is None or (number > 1 and not stride):
        return
    for index in range(number):
        address = values_pci.shifted(pci.address, offset + index * stride)
        # The kernel is free to choose the names.
        name = f"{hca.name}v{index}"
        ports = [
            replace(port, netdev=port.netdev and replace(port.netdev, name=name, mac=None, addresses=[]), gids=[])
            for port in hca.ports
        ]
        function = replace(pci, address=address, pcie_path=[*pci.pcie_path[:-1], address])
        yield replace(hca, name=name, pci=function, sriov=Sriov("vf", pf_address=pci.address), ports=ports)


def added(facts: Facts, pfs: Collection[str], number: int) -> Facts:
    """The facts with the first ``number`` VFs of these HCAs; existing ones are as they are."""
    known = {pci.address for _hca, pci in facts.placed}
    found: List[Hca] = []
    barred: List[Excluded] = []
    for hca, pci in facts.placed:
        if hca.name not in pfs or hca.sriov.role != "pf":
            continue
        for vf in _vfs(hca, pci, number):
            if vf.pci is None or vf.pci.address in known:
                continue
            found.append(vf)
            for port in vf.ports:
                why = facts.reasons.get((hca.name, port.number), [])
                own = reasons.reason(reasons.VF, pf_address=pci.address)
                barred.append(Excluded(vf.name, port.number, [own, *why]))
    return replace(facts, hcas=[*facts.hcas, *found], excluded=[*facts.excluded, *barred]) if found else facts


def of_host(host: str, values: Mapping[str, Any], facts: Facts) -> Facts:
    """The facts of a host with those that its variables ask for."""
    number = values.get(VFS) or 0
    try:
        pfs = {port.hca for port in host_links.configured(host, values, facts).values()} if number else set()
    except PlanError:
        # For the role rdma_links to tell.
        return facts
    return added(facts, pfs, number)
