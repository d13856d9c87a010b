# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Virtual functions (VFs) of a host's links: whether its ports can have as many as its variables say."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.links.ports import Candidate
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.sriov import more_vfs

VFS = "rdma_links_vfs"
_LAYER = "rdma_discover_expect_link_layer"


def _infiniband(number: int, because: str) -> Problem:
    why = "VFs are made on Ethernet only, those of InfiniBand need GUIDs as well"
    return wrong(VFS, number, f"but {because} InfiniBand: {why}")


def of_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong whatever the ports are."""
    number = values.get(VFS)
    if number is not None and number < 0:
        yield wrong(VFS, number, "it must be the number of VFs of each link, 0 or more")
    elif number and values.get(_LAYER) == "InfiniBand":
        yield _infiniband(number, f"{_LAYER} is")


def of_ports(values: Mapping[str, Any], rails: Mapping[int, Candidate], facts: Facts) -> Iterator[Problem]:
    """What the ports of a node cannot do; the first of them is told."""
    number = values.get(VFS)
    functions = {hca.name: hca for hca in facts.hcas}
    for port in rails.values() if number else []:
        hca = functions.get(port.hca)
        if port.link_layer == "InfiniBand":
            yield _infiniband(number or 0, f"{port.name} is")
            return
        if hca is None or hca.pci is None or hca.sriov.role == "vf":
            continue
        if number and number > hca.sriov.total_vfs:
            text = f"but {port.name} can have {hca.sriov.total_vfs} at most; "
            yield wrong(VFS, number, text + more_vfs(hca.pci.address, hca.pci.driver, number))
            return
