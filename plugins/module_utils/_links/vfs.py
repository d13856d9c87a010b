# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Virtual functions (VFs) of a host's links: how many its ports can have, and GUIDs for InfiniBand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, DefaultDict, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.addresses import MOST_RAILS, rail_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.ports import Candidate
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import guid
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, checked, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.sriov import GUID_DRIVER, more_vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

GUIDS = "rdma_links_vf_guids"


@dataclass
class GuidHost:
    """A host's GUIDs of VFs by rail, and of its facts those of HCAs that are no VFs, with their names."""

    name: str
    of_rails: Mapping[int, List[str]] = field(default_factory=dict)
    of_hcas: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = True


def given(values: Mapping[str, Any], number: int, rails: int) -> Dict[int, List[str]]:
    """The GUIDs that a host's variable has for ``number`` VFs of its rails. Raises PlanError."""
    found: Dict[int, List[str]] = {}
    seen: Dict[str, str] = {}
    for key, texts in (values.get(GUIDS) or {}).items():
        rail = rail_of(GUIDS, key, rails)
        at = f"{GUIDS}[{rail}]"
        if not isinstance(texts, list):
            raise PlanError(wrong(at, texts, "it must be a list with the GUIDs of all VFs"))
        if len(texts) < number:
            raise PlanError(Problem(at, f"has {counted(len(texts), 'GUID')} for {number} VFs: each VF needs its own"))
        for position, text in enumerate(texts):
            own = checked(f"{at}[{position}]", text, lambda value: guid.read(str(value)))
            other = seen.setdefault(own, f"{at}[{position}]")
            if other != f"{at}[{position}]":
                raise PlanError(wrong(f"{at}[{position}]", text, f"the same as {other}: each VF needs its own"))
            found.setdefault(rail, []).append(own)
    return {rail: known[:number] for rail, known in found.items()}


def of_rail(port: Candidate, number: int, known: Optional[List[str]], nodes: Mapping[str, str]) -> List[str]:
    """GUIDs of a rail's VFs; none on Ethernet, and while nothing is known of the port because a pod has it.

    ``known`` are those that the variable gives, ``nodes`` the node GUIDs of HCAs.
    """
    if port.link_layer not in (None, "InfiniBand"):
        return []
    node = nodes.get(port.hca, "")
    if known or port.link_layer is None or not guid.is_guid(node):
        return known or []
    return [guid.derived(node, index) for index in range(number)]


def node_guids(facts: Facts, vfs: bool = True) -> Dict[str, str]:
    """Node GUIDs of HCAs that have one, by name."""
    return {
        hca.name: hca.node_guid
        for hca in facts.hcas
        if hca.node_guid and guid.is_guid(hca.node_guid) and (vfs or hca.sriov.role != "vf")
    }


def duplicates(hosts: Iterable[GuidHost]) -> Iterator[Tuple[str, Problem]]:
    """GUIDs that are not unique in the fleet; one problem for each set of hosts, however many GUIDs it is about."""
    owners: DefaultDict[str, List[Tuple[GuidHost, str]]] = defaultdict(list)
    for host in hosts:
        for rail, texts in host.of_rails.items():
            for index, text in enumerate(texts):
                owners[text].append((host, f"VF {index} of rail {rail}"))
        for name, text in host.of_hcas.items():
            owners[guid.read(text)].append((host, name))
    told = set()
    for text, several in owners.items():
        names = tuple(dict.fromkeys(host.name for host, _what in several))
        of_vf = any(what.startswith("VF ") for _host, what in several)
        if len(several) < 2 or not of_vf or names in told or not any(host.chosen for host, _what in several):
            continue
        told.add(names)
        users = " and ".join(f"{what} of {host.name}" for host, what in several[:2])
        right = f"would be that of {users}: set {GUIDS} so that they differ in the whole fabric"
        for name in names:
            yield name, Problem(GUIDS, f"is not unique, {text} {right}")


VFS = "rdma_links_vfs"


def of_values(values: Mapping[str, Any], rails: int) -> Iterator[Problem]:
    """Problems that do not depend on the ports."""
    number = values.get(VFS)
    if number is not None and number < 0:
        yield wrong(VFS, number, "it must be the number of VFs of each link, 0 or more")
        return
    try:
        known = given(values, number or 0, rails)
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
    known = given(values, number, MOST_RAILS) if number else {}
    nodes = node_guids(facts)
    found = {rail: of_rail(port, number, known.get(rail), nodes) for rail, port in rails.items()}
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
