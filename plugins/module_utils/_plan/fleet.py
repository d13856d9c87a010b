# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""An overview of the fleet: a row per port, whether a group's nodes are alike, and differences from the inventory.

Pure functions of the nodes' facts (``_discover.gather``) and the inventory's intent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Counter, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, PciFunction
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import paths
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key, ranges
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

COLUMNS = ("host", "group", "hca", "port", "link_layer", "state", "rate", "netdev", "numa", "gpus", "note")


@dataclass
class NodeIntent:
    """What the inventory says a node should have; ``None`` means no opinion.

    ``hcas`` counts ports fit for workloads, ``rate_gbps`` is each such port's rate in Gb/s.
    """

    hcas: Optional[int] = None
    gpus: Optional[int] = None
    link_layer: Optional[str] = None
    rate_gbps: Optional[float] = None


@dataclass
class FleetNode:
    """One inventory host; ``rdma`` is ``None`` when it could not be reached or its facts failed.

    ``malformed`` is what is wrong with the facts it sent, if that is why, ``silence`` is why it sent none, if known.
    """

    host: str
    group: str
    rdma: Optional[Facts] = None
    intent: NodeIntent = field(default_factory=NodeIntent)
    malformed: str = ""
    silence: str = ""


@dataclass
class Shortfall:
    """One way in which a node falls short of its group's expectations; ``port`` is the name of the port concerned."""

    code: str
    text: str
    port: str = ""


@dataclass
class NodeShape:
    """Nodes of a group with one signature; ``differences`` tells how they differ from the group's largest shape.

    ``gpus`` are those of the first host, whose HCAs may have other names than those of the others.
    """

    signature: str
    hosts: List[str]
    differences: List[str] = field(default_factory=list)
    gpus: List[paths.GpuPaths] = field(default_factory=list)


@dataclass
class FleetGroup:
    """``shapes`` has the largest first; ``silent`` are the hosts without facts."""

    name: str
    hosts: List[str]
    shapes: List[NodeShape]
    silent: List[str]


@dataclass
class FleetFinding:
    """A finding, with all hosts to which it applies; ``kind`` is ``warning`` or ``intent``."""

    kind: str
    code: str
    text: str
    hosts: List[str]


@dataclass
class Fleet:
    """Rows are keyed by COLUMNS and sorted by group, host and HCA."""

    rows: List[Dict[str, str]]
    groups: List[FleetGroup]
    findings: List[FleetFinding]


def _gpus_of(rdma: Facts, hca: str) -> str:
    return ranges([str(entry.gpu) for entry in rdma.affinity if hca in entry.nearest])


def _text(value: Any) -> str:
    return "-" if value is None or value == "" else str(value)


def rows_of(node: FleetNode) -> List[Dict[str, str]]:
    """Table rows of one node, all values text; a node without facts or HCAs still has a row that says so."""
    base = dict.fromkeys(COLUMNS, "-")
    base.update(host=node.host, group=node.group, note="")
    if node.rdma is None:
        why = "malformed" if node.malformed else node.silence or "unreachable or failed"
        return [dict(base, note=f"no facts: {why}")]
    rows = []
    reasons = node.rdma.reasons
    for hca in node.rdma.hcas:
        for port in hca.ports:
            # The kernel prints a nominal rate for a port without a link.
            rate = None if port.state == "DOWN" else port.rate_gbps
            against = reasons.get((hca.name, port.number), [])
            rows.append(
                dict(
                    base,
                    hca=hca.name,
                    port=str(port.number),
                    link_layer=_text(port.link_layer),
                    state=_text(port.state),
                    rate="-" if rate is None else f"{rate:g}",
                    netdev=_text(port.netdev and port.netdev.name),
                    numa=_text(hca.pci and hca.pci.numa_node),
                    gpus=_text(_gpus_of(node.rdma, hca.name)),
                    note="excluded: " + "; ".join(reason.text for reason in against) if against else "",
                )
            )
    return rows or [dict(base, note="no RDMA device")]


def expected_ports(facts: Facts, intent: NodeIntent) -> List[Tuple[str, int]]:
    """The available ports that the expectations are about.

    Ports of another link layer, such as those of a storage network, are left out if there are enough without them.
    """
    if intent.hcas is None or intent.link_layer is None:
        return facts.available
    # The link layer of a port in a pod may be unknown.
    other = {
        (hca.name, port.number)
        for hca in facts.hcas
        for port in hca.ports
        if port.link_layer not in (None, intent.link_layer)
    }
    found = [place for place in facts.available if place not in other]
    return found if len(found) >= intent.hcas else facts.available


def rate_below_intent(port: str, rate_gbps: Optional[float], group: str, wanted_gbps: float) -> str:
    """What is said of a port that is slower than its group should be."""
    measured = "an unknown rate" if rate_gbps is None else f"{rate_gbps:g} Gb/s"
    return f"{port} runs at {measured}, group {group} should have {wanted_gbps:g} Gb/s"


def against_intent(node: FleetNode) -> List[Shortfall]:
    """Everything in which a node falls short of what its group should have."""
    if node.rdma is None:
        return []
    found = []
    intent, available = node.intent, expected_ports(node.rdma, node.intent)
    if intent.hcas is not None and len(available) != intent.hcas:
        text = f"{counted(len(available), 'usable port')}, group {node.group} should have {intent.hcas}"
        found.append(Shortfall("ports_missing" if len(available) < intent.hcas else "ports_unexpected", text))
    gpus = len(node.rdma.gpus)
    if intent.gpus is not None and gpus != intent.gpus:
        text = f"{counted(gpus, 'GPU')}, group {node.group} should have {intent.gpus}"
        found.append(Shortfall("gpus_missing" if gpus < intent.gpus else "gpus_unexpected", text))
    for hca in node.rdma.hcas:
        for port in hca.ports:
            if (hca.name, port.number) not in available:
                continue
            name = f"{hca.name}/{port.number}"
            if intent.link_layer and port.link_layer != intent.link_layer:
                text = f"{name} is {_text(port.link_layer)}, group {node.group} should have {intent.link_layer}"
                found.append(Shortfall("link_layer_differs", text, name))
            rate = port.rate_gbps
            if intent.rate_gbps is not None and (rate is None or rate < intent.rate_gbps):
                text = rate_below_intent(name, rate, node.group, intent.rate_gbps)
                found.append(Shortfall("rate_below_intent", text, name))
    return found


def _where(pci: PciFunction) -> str:
    return "without NUMA node" if pci.numa_node is None else f"on NUMA node {pci.numa_node}"


def _parts(rdma: Facts) -> Counter[str]:
    """A node's hardware as countable descriptions, in the terms the signature is made of."""
    parts: Counter[str] = Counter()
    for gpu in rdma.gpus:
        name = gpu.model or f"{gpu.pci.vendor_id}:{gpu.pci.device_id}"
        parts[f"GPU {name} {_where(gpu.pci)}"] += 1
    for hca, pci in rdma.placed:
        if hca.software or hca.sriov.role == "vf":
            continue
        layers = "+".join(_text(port.link_layer) for port in hca.ports)
        name = hca.board_id or f"{pci.vendor_id}:{pci.device_id}"
        parts[f"HCA {name} ({layers}) {_where(pci)}"] += 1
    return parts


def differences(reference: Facts, other: Facts) -> List[str]:
    """How another node's hardware differs from a reference node's."""
    have, want = _parts(other), _parts(reference)
    found = [f"lacks {count} x {part}" for part, count in sorted((want - have).items())]
    found += [f"also has {count} x {part}" for part, count in sorted((have - want).items())]
    return found or ["same devices, other PCIe paths between GPUs and HCAs"]


def _group(name: str, nodes: Sequence[FleetNode]) -> FleetGroup:
    by_signature: Dict[str, List[FleetNode]] = {}
    for node in nodes:
        if node.rdma is not None:
            by_signature.setdefault(node.rdma.signature, []).append(node)
    ordered = sorted(by_signature.items(), key=lambda item: (-len(item[1]), natural_key(item[1][0].host)))
    shapes = [NodeShape(signature, [node.host for node in members]) for signature, members in ordered]
    for shape, (_signature, members) in zip(shapes, ordered):
        if members[0].rdma is not None:
            shape.gpus = paths.of_node(members[0].rdma)
    for shape, (_signature, members) in list(zip(shapes, ordered))[1:]:
        reference, other = ordered[0][1][0].rdma, members[0].rdma
        if reference is not None and other is not None:
            shape.differences = differences(reference, other)
    silent = [node.host for node in nodes if node.rdma is None]
    return FleetGroup(name, [node.host for node in nodes], shapes, silent)


def _findings(nodes: Sequence[FleetNode]) -> List[FleetFinding]:
    merged: Dict[Tuple[str, str, str], List[str]] = {}
    for node in nodes:
        for short in against_intent(node):
            merged.setdefault(("intent", short.code, short.text), []).append(node.host)
    for node in nodes:
        if node.malformed:
            text = f"the facts cannot be used: {node.malformed}"
            merged.setdefault(("warning", "facts_malformed", text), []).append(node.host)
        for warning in node.rdma.warnings if node.rdma else []:
            merged.setdefault(("warning", warning.code, warning.text), []).append(node.host)
    return [FleetFinding(kind, code, text, hosts) for (kind, code, text), hosts in merged.items()]


def fleet(nodes: Sequence[FleetNode]) -> Fleet:
    """The overview of any number of nodes."""
    ordered = sorted(nodes, key=lambda node: (natural_key(node.group), natural_key(node.host)))
    names = sorted({node.group for node in ordered}, key=natural_key)
    return Fleet(
        rows=[row for node in ordered for row in rows_of(node)],
        groups=[_group(name, [node for node in ordered if node.group == name]) for name in names],
        findings=_findings(ordered),
    )


def alike(rows: Sequence[Mapping[str, str]]) -> List[Tuple[List[str], List[Dict[str, str]]]]:
    """Hosts whose rows are equal but for the host's name, with these rows; the largest set first.

    The second and further sets hold only the rows in which they differ from the first.
    """
    by_host: Dict[str, List[Dict[str, str]]] = {}
    for row in rows:
        by_host.setdefault(row["host"], []).append({key: value for key, value in row.items() if key != "host"})
    sets: List[Tuple[List[str], List[Dict[str, str]]]] = []
    for host, own in by_host.items():
        match = next((hosts for hosts, known in sets if known == own), None)
        if match is None:
            sets.append(([host], own))
        else:
            match.append(host)
    sets.sort(key=lambda item: -len(item[0]))
    reference = sets[0][1] if sets else []
    return sets[:1] + [(hosts, [row for row in own if row not in reference]) for hosts, own in sets[1:]]
