# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Virtual functions (VFs) of a host's links: whether its ports can have as many as its variables say."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import vf_guids
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.addresses import MOST_RAILS
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.ports import Candidate
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vf_guids import GUIDS
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.sriov import GUID_DRIVER, more_vfs

VFS = "rdma_links_vfs"


def of_values(values: Mapping[str, Any], rails: int) -> Iterator[Problem]:
    """Problems that do not depend on the ports."""
    number = values.get(VFS)
    if number is not None and number < 0:
        yield wrong(VFS, number, "it must be the number of VFs of each link, 0 or more")
        return
    try:
        known = vf_guids.given(values, number or 0, rails)
    except PlanError as error:
        yield error.problem
        return
    if known and not number:
        yield Problem(GUIDS, f"has GUIDs for VFs, but {VFS} asks for none: set both or neither")
    elif known and values.get(LAYER) == "Ethernet":
        yield Problem(GUIDS, f"has GUIDs for VFs, but {LAYER} is Ethernet: only InfiniBand VFs have GUIDs")


def guids(values: Mapping[str, Any], rails: Mapping[int, Candidate], facts: Facts) -> Dict[int, List[str]]:
    """GUIDs of the VFs of each rail that is InfiniBand. Raises PlanError."""
    number = values.get(VFS) or 0
    known = vf_guids.given(values, number, MOST_RAILS) if number else {}
    nodes = vf_guids.nodes(facts)
    found = {rail: vf_guids.of_rail(port, number, known.get(rail), nodes) for rail, port in rails.items()}
    return {rail: texts for rail, texts in found.items() if texts}


def _of_infiniband(values: Mapping[str, Any], rail: int, port: Candidate, hca: Hca) -> Iterator[Problem]:
    number, driver = values[VFS], hca.driver or "no driver"
    if driver != GUID_DRIVER:
        right = f"but {port.name} is InfiniBand with {driver}: only {GUID_DRIVER} can set GUIDs of VFs"
        yield wrong(VFS, number, right)
    elif not guids(values, {rail: port}, Facts(hcas=[hca])):
        yield wrong(VFS, number, f"but {port.name} has no node GUID to derive those of its VFs from: set {GUIDS}")


def of_ports(values: Mapping[str, Any], rails: Mapping[int, Candidate], facts: Facts) -> Iterator[Problem]:
    """The first request that the ports of a node cannot fulfil."""
    number = values.get(VFS)
    functions = {hca.name: hca for hca in facts.hcas}
    for rail, port in rails.items() if number else []:
        hca = functions.get(port.hca)
        if hca is None or hca.pci is None or hca.sriov.role == "vf":
            continue
        found: List[Problem] = []
        if port.link_layer == "InfiniBand":
            found += _of_infiniband(values, rail, port, hca)
        elif str(rail) in map(str, values.get(GUIDS) or {}):
            text = f"has GUIDs for rail {rail}, but {port.name} is Ethernet: only InfiniBand VFs have GUIDs"
            found.append(Problem(GUIDS, text))
        if not found and number and number > hca.sriov.total_vfs:
            text = f"but {port.name} can have {hca.sriov.total_vfs} at most; "
            found.append(wrong(VFS, number, text + more_vfs(hca.pci.address, hca.pci.driver, number)))
        if found:
            yield found[0]
            return
