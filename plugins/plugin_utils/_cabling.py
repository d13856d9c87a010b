# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The cabling of a fleet, from facts, files and what the tasks of rdma_cabling have registered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check as fabric_check
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import (
    expected,
    iblinkinfo,
    ibnetdiscover,
    neighbours,
    report,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink, cut
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric, LldpAnswer, PortView
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import ports as links_ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import fabric as host_fabric
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import cabling as page
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files, _inventory, _run, _verify_inventory

Map = Mapping[str, Any]

# What the tasks of the role have registered of each host, in their order.
_ANSWERS = ("__rdma_cabling_first", "__rdma_cabling_second")
_ETHERNET = "Ethernet"
# A fabric of ten thousand ports has 40,000 ends of links.
_MOST_LINKS = 1 << 20


@dataclass
class _Read:
    """All links that hosts or files have told, and what could not be read."""

    links: List[FabricLink] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)


def _link(sent: Any) -> FabricLink:
    """What a node sent. Raises ValueError."""
    link = read.typed(FabricLink, sent)
    return replace(link, name=cut(link.name), peer=cut(link.peer))


def _fabrics(host: str, answer: Map, found: _Read) -> None:
    for fabric in answer.get("fabrics") or []:
        try:
            if len(fabric["links"]) > _MOST_LINKS:
                raise read.FactsError("links", f"has {len(fabric['links'])} entries")
            found.links += [_link(link) for link in fabric["links"]]
            if fabric["error"]:
                own = f"{fabric['hca']}/{fabric['port']}"
                found.notes.append(f"{host} could not read the fabric of {own}: {fabric['error']}")
        except (KeyError, TypeError, ValueError) as error:
            found.notes.append(f"what {host} said of its fabric cannot be used: {error}")


def _answers(context: Map, host: str) -> List[Map]:
    own = context["hostvars"][host]
    return [answer for answer in (_inventory.raw(own, name) for name in _ANSWERS) if isinstance(answer, Mapping)]


def _file(path: str) -> List[FabricLink]:
    text = _files.content(_files.path(path))
    found = ibnetdiscover.parse(text) if ibnetdiscover.is_topology(text) else iblinkinfo.parse(text)
    if not found:
        raise ValueError(
            f"rdma_cabling_fabric_files has {path}, in which there is no link of a fabric: "
            "it must be the output of ibnetdiscover or of iblinkinfo --line"
        )
    return found


def _read(context: Map, options: Map, hosts: Sequence[str]) -> _Read:
    found = _Read()
    for path in options["fabric_files"]:
        found.links += _file(path)
    for host in hosts:
        for answer in _answers(context, host):
            _fabrics(host, answer, found)
    return found


def _nodes(context: Map) -> List[HostEvidence]:
    hosts = [str(host) for host in context["ansible_play_hosts_all"]]
    return _verify_inventory.nodes(context, hosts, context["hostvars"])


def _live(context: Map) -> List[HostEvidence]:
    """The hosts that can be asked: those that have not failed, and are not just files of a node."""
    left = set(context["ansible_play_hosts"])
    nodes = [node for node in _nodes(context) if node.host in left]
    return [node for node in nodes if node.values.get("rdma_discover_root") in (None, "/")]


def first(context: Map, options: Map) -> Dict[str, Any]:
    nodes = _live(context)
    ethernet = [
        node.host for node in nodes if any(hca.has_layer(_ETHERNET) and not hca.software for hca in node.known.hcas)
    ]
    able = [] if options["fabric_files"] else [node for node in nodes if host_fabric.ports(node)]
    return {"ports": {node.host: host_fabric.ports(node) for node in able[:1]}, "lldp": ethernet}


def second(context: Map, options: Map) -> Dict[str, Any]:
    nodes = _live(context)
    links = _read(context, options, [node.host for node in nodes]).links
    known = {guid for link in links for guid in (link.guid, link.peer_guid)}
    asked = {node.host for node in nodes if any(answer.get("fabrics") for answer in _answers(context, node.host))}
    groups: Set[str] = set()
    ports: Dict[str, List[Dict[str, Any]]] = {}
    for node in [] if options["fabric_files"] else nodes:
        unread = [port for port in host_fabric.ports(node) if port["guid"] not in known]
        if unread and node.group not in groups and node.host not in asked:
            groups.add(node.group)
            ports[node.host] = unread
    return {"ports": ports, "lldp": []}


def _lldp(answers: Sequence[Map]) -> LldpAnswer:
    sent = next((answer["lldp"] for answer in answers if "lldp" in answer), None)
    try:
        return LldpAnswer() if sent is None else read.typed(LldpAnswer, sent)
    except read.FactsError as error:
        return LldpAnswer(neighbours.LLDP_UNREADABLE, str(error))


def _guids(nodes: Sequence[HostEvidence]) -> Dict[str, Tuple[str, str]]:
    every = ((node.host, hca.name, port) for node in nodes for hca in node.known.hcas for port in hca.ports)
    owned = ((neighbours.port_guid(port), host, hca) for host, hca, port in every if port.link_layer == "InfiniBand")
    return {guid: (host, hca) for guid, host, hca in owned if guid}


def _views(context: Map, nodes: Sequence[HostEvidence], fabric: Fabric, found: _Read) -> List[PortView]:
    views: List[PortView] = []
    for node in nodes:
        lldp = _lldp(_answers(context, node.host))
        if lldp.said:
            found.notes.append(f"{node.host}: {lldp.said}")
        rails = {name: rail for rail, name in node.rails.items()}
        named = bool(node.values.get(links_ports.PORTS))
        views += neighbours.of_host(node.host, node.group, node.facts, rails, fabric, lldp, named)
    return views


def _expected(context: Map, path: str, views: Sequence[PortView], found: _Read) -> Optional[expected.Expected]:
    if not path:
        return None
    text = _files.content(_files.path(path))
    if not text:
        raise ValueError(f"rdma_cabling_expected is {path}, which is no file with text in it")
    wanted = expected.read(text, map(str, context["hostvars"]), views, path)
    if not wanted.places:
        raise ValueError(f"rdma_cabling_expected is {path}, which has no row about a host of the inventory")
    if wanted.elsewhere:
        found.notes.append(f"{path} has {counted(len(wanted.elsewhere), 'host')} that the inventory lacks")
    unseen = expected.unseen_switches(wanted, [view.neighbour for view in views if view.neighbour])
    if unseen:
        found.notes.append(f"{path} names switches at which no port was found: {joined(unseen, 16)}")
    return wanted


def check(context: Map, options: Map) -> Dict[str, Any]:
    nodes = _nodes(context)
    found = _read(context, options, [node.host for node in nodes])
    fabric = Fabric(found.links, _guids(nodes))
    views = _views(context, nodes, fabric, found)
    wanted = _expected(context, options["expected"], views, found)
    silent = [node.host for node in nodes if node.facts is None]
    groups = {node.host: node.group for node in nodes if node.facts is not None}
    cabling = fabric_check.check(views, fabric, wanted, silent, groups)
    plain = {"version": state_version.FIRST, **report.plain(cabling, options["whole"]), "notes": found.notes}
    files = {}
    if options["json"]:
        files[_files.artifact(options["json"], context)] = json.dumps(plain, indent=4, sort_keys=True) + "\n"
    if options["csv"]:
        files[_files.artifact(options["csv"], context)] = expected.written(views)
    if options["html"]:
        files[_files.artifact(options["html"], context)] = page.html(cabling, found.notes, _run.collection_version())
    _files.changed(files, False)
    return {
        "text": report.text(cabling, found.notes),
        "failure": report.failure(cabling),
        "faults": [fault.line for fault in cabling.faults],
        "counts": {**plain["counts"], "faults": len(cabling.faults)},
        "paths": list(files),
    }


def part(context: Map, options: Map) -> Dict[str, Any]:
    """One part of ``cabling``, by its name. Raises ValueError."""
    return {"first": first, "second": second, "check": check}[options["part"]](context, options)
