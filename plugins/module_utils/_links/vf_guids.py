# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GUIDs of the virtual functions (VFs) of InfiniBand ports: given, or derived from the port's HCA."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, DefaultDict, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.addresses import rail_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.ports import Candidate
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import guid
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.counted import counted
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, checked, wrong

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


def nodes(facts: Facts, vfs: bool = True) -> Dict[str, str]:
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
