# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Verdicts about the virtual functions (VFs) of a host's rails: how many, and their MTU."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import MTU
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.model import HostEvidence


def of_node(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    """Of a host whose links have VFs; a VF that is in a pod tells nothing of its MTU."""
    wanted, mtu = node.values.get(VFS), node.values.get(MTU)
    functions = {}
    for hca, _port, name in node.ports():
        if wanted and name in rails and hca.pci:
            functions[hca.pci.address] = name
            if hca.sriov.num_vfs != wanted:
                text = f"{name} has {hca.sriov.num_vfs} VFs, {VFS} is {wanted}"
                yield node.check("vfs", "fail", name, text, "", "links", vfs=hca.sriov.num_vfs, wanted=wanted)
    for hca in node.known.hcas:
        for port in hca.ports if hca.sriov.pf_address in functions else []:
            netdev = port.netdev if port.netdev and port.netdev.present else None
            if netdev and mtu is not None and netdev.mtu not in (None, mtu):
                name = f"{hca.name}/{port.number}"
                of = functions[hca.sriov.pf_address or ""]
                text = f"{name} ({netdev.name}), a VF of {of}, has MTU {netdev.mtu}, {MTU} is {mtu}"
                yield node.check("vfs", "fail", name, text, "", "links", mtu=netdev.mtu, wanted=mtu)
