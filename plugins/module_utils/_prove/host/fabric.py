# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether the links of an InfiniBand fabric run at the width and speed that both ends of each can do."""

from __future__ import annotations

import functools
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import port_guid
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence, Map
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

_WHAT = "fabric"
_CABLE = "Reseat or replace the cable, and check which speed and width are enabled on both ends (ibportstate)."
_START = "Start a subnet manager for this fabric, on a switch or with opensm on a host."
_LOOK = "See the log of the subnet manager."
# iblinkinfo's word for a port that trained and that no subnet manager has set up.
_INITIALIZE = "Initialize"

_End = Tuple[str, int]


def ports(node: HostEvidence) -> List[Dict[str, Any]]:
    """The ports of a host from which the module reads fabrics, as its options."""
    found = []
    for hca, port, _name in node.ports():
        guid = port_guid(port) if port.link_layer == "InfiniBand" and port.umad and port.umad.present else None
        if guid:
            found.append({"hca": hca.name, "port": port.number, "guid": guid})
    return found


def _once(links: Sequence[Map], seen: Set[FrozenSet[_End]]) -> Iterator[Map]:
    """Each link from one of its ends only."""
    for link in links:
        ends = frozenset([(link["guid"], link["port"]), (link["peer_guid"], link["peer_port"])])
        if ends not in seen:
            seen.add(ends)
            yield link


def _name(link: Map) -> str:
    return f"{link['name']}/{link['port']}"


def _of_fabric(node: HostEvidence, fabric: Map, seen: Set[FrozenSet[_End]]) -> Iterator[Check]:
    own = f"{fabric['hca']}/{fabric['port']}"
    if fabric["error"]:
        text = f"the links of the fabric of {own} are not known: {fabric['error']}"
        yield node.check(_WHAT, "impossible", own, text, "Install infiniband-diags on this host, and run as root.")
        return
    links = list(_once(fabric["links"], seen))
    if not links:
        return
    waiting = [link for link in links if link["state"] == _INITIALIZE]
    if len(waiting) == len(links):
        text = f"none of the {len(links)} links of the fabric of {own} is set up: there is no subnet manager"
        yield node.check(_WHAT, "fail", own, text, _START, links=len(links))
    elif waiting:
        text = f"the subnet manager has not set up {joined([_name(link) for link in waiting])}"
        yield node.check(_WHAT, "fail", own, text, _LOOK, links=[_name(link) for link in waiting])
    slow = [link for link in links if link["could"]]
    for link in slow:
        text = (
            f"{_name(link)} to {link['peer']}/{link['peer_port']} runs at {link['width']} with {link['speed']} Gb/s"
            f" on each lane, both ends support {' and '.join(link['could'])}"
        )
        yield node.check(_WHAT, "warn", _name(link), text, _CABLE, **{key: link[key] for key in ("guid", "peer_guid")})
    if not slow and not waiting:
        text = f"{len(links)} links of the fabric of {own} run at the width and speed of both their ends"
        yield node.check(_WHAT, "pass", own, text, links=len(links))


def _of_node(node: HostEvidence, seen: Set[FrozenSet[_End]]) -> Iterator[Check]:
    fabrics = (node.reached or {}).get("fabrics")
    if fabrics is None:
        yield node.check(_WHAT, "impossible", "", "the links of the fabric were not read")
    for fabric in fabrics or []:
        yield from _of_fabric(node, fabric, seen)


def of_fleet(nodes: Sequence[HostEvidence], plan: Mapping[str, Any]) -> List[Check]:
    """Verdicts on the fabrics that hosts have read; two groups in one fabric have read it twice."""
    found: List[Check] = []
    seen: Set[FrozenSet[_End]] = set()
    for node in nodes:
        if node.host not in plan or not plan[node.host].fabric_ports:
            continue
        found += node.guarded("the links of its fabric", functools.partial(_of_node, node, seen))
    return found
