# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Nodes of one hardware shape as a tree: NUMA nodes, PCIe root complexes, switches, GPUs and HCAs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import GpuAffinity
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, PciFunction
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.most import MOST, cut
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# Switches above each other; each has a bus of its own, and servers have two or three.
_DEEPEST = 16


@dataclass
class DrawnPort:
    """A port of an HCA as a reader sees it; what is unknown is empty. A port in a pod counts as ``up``."""

    name: str
    up: bool
    state: str
    rate: str
    netdev: str
    mtu: str
    addresses: str

    @property
    def link(self) -> str:
        return f"{self.state}, {self.rate}" if self.rate else self.state


@dataclass
class DrawnDevice:
    """A GPU or an HCA (``kind`` ``gpu``, ``hca``); ``near`` are the HCAs a GPU should use, with their path class."""

    kind: str
    name: str
    model: str
    address: str
    near: str = ""
    ports: List[DrawnPort] = field(default_factory=list)


@dataclass
class Switch:
    """A PCIe switch by the address of its upstream port."""

    address: str
    below: List[Union[Switch, DrawnDevice]] = field(default_factory=list)


@dataclass
class Root:
    """A root complex. Its root ports are left out: they say nothing that its devices do not."""

    name: str
    below: List[Union[Switch, DrawnDevice]] = field(default_factory=list)


@dataclass
class NumaNode:
    """``number`` is ``None`` for what does not say where it is."""

    number: Optional[int]
    roots: List[Root] = field(default_factory=list)


@dataclass
class DrawnShape:
    """Nodes with one signature, drawn after ``example``, whose names and addresses are shown.

    ``paths`` are the path classes of each GPU (rows) to each of ``hcas``; ``unplaced`` are HCAs that are nowhere in
    PCIe. ``ports`` are those of the example, ``others`` the links that differ from its own, with their hosts. Of each
    kind there are MOST at most; ``left_out`` has the numbers of the others by kind.
    """

    signature: str
    groups: List[str]
    hosts: List[str]
    example: str
    numa: List[NumaNode]
    gpus: List[str]
    hcas: List[str]
    paths: List[List[str]]
    unplaced: List[str]
    ports: List[DrawnPort]
    others: List[Tuple[str, List[str]]]
    left_out: Dict[str, int] = field(default_factory=dict)
    anchor: str = ""


def _near(affinity: GpuAffinity) -> str:
    """The HCAs that the GPU should use, as in the table of ``facts``, and the path class of the farthest."""
    hcas = affinity.nearest
    if not hcas:
        return ""
    paths = [path for path in PATH_CLASSES if path in [affinity.paths.get(hca) for hca in hcas]]
    folded = fold(hcas)
    return " ".join([*paths[-1:], folded if len(folded) <= 16 else f"{len(hcas)} HCAs"])


def _hca_model(hca: Hca) -> str:
    layers = dict.fromkeys(port.link_layer for port in hca.ports if port.link_layer)
    vfs = [counted(hca.sriov.num_vfs, "VF")] if hca.sriov.num_vfs else []
    return ", ".join([*layers, *(["VF"] if hca.sriov.role == "vf" else vfs)])


def _ports(hca: Hca) -> List[DrawnPort]:
    found = []
    for port in hca.ports:
        netdev = port.netdev
        away = netdev is not None and not netdev.present
        rate = "" if port.rate_gbps is None else f"{port.rate_gbps:g} Gb/s"
        found.append(
            DrawnPort(
                name=f"{hca.name}/{port.number}",
                up=away or port.state == "ACTIVE",
                state="in a pod" if away else port.state or "state unknown",
                rate=rate if port.state == "ACTIVE" else "",
                netdev=netdev.name if netdev else "no netdev",
                mtu=str(netdev.mtu) if netdev and netdev.mtu else "",
                addresses=", ".join(cut(netdev.addresses, "addresses")) if netdev else "",
            )
        )
    return found


def _others(document: VerifyDocument, hosts: Sequence[str]) -> List[Tuple[str, List[str]]]:
    """Links of ports that are not as on the first of the hosts."""

    def links(host: str) -> Dict[str, str]:
        return {port.name: port.link for hca in document.hosts[host].known.hcas for port in _ports(hca)}

    usual = links(hosts[0])
    found: Dict[str, List[str]] = {}
    for host in hosts[1:]:
        for name, link in links(host).items():
            if link != usual.get(name):
                found.setdefault(f"{name} is {link}", []).append(host)
    return list(found.items())


def _placed(facts: Facts) -> List[Tuple[Hca, PciFunction]]:
    """HCAs with a place in PCIe. A card may have a hundred VFs, all where it is itself: its PF stands for them."""
    there = {pci.address for _hca, pci in facts.placed}
    return [(hca, pci) for hca, pci in facts.placed if hca.sriov.pf_address not in there]


def _shown(facts: Facts) -> List[Tuple[Hca, PciFunction]]:
    """Those that are drawn."""
    return sorted(_placed(facts), key=lambda pair: natural_key(pair[0].name))[:MOST]


def _devices(facts: Facts) -> List[Tuple[PciFunction, DrawnDevice]]:
    hcas = _shown(facts)
    near = {entry.gpu: _near(entry) for entry in facts.affinity}
    found = []
    for gpu in facts.gpus[:MOST]:
        model = (gpu.model or f"{gpu.pci.vendor_id}:{gpu.pci.device_id}").replace("NVIDIA ", "", 1)
        found.append((gpu.pci, DrawnDevice("gpu", f"GPU {gpu.index}", model, gpu.pci.address, near.get(gpu.index, ""))))
    for hca, pci in hcas:
        found.append((pci, DrawnDevice("hca", hca.name, _hca_model(hca), pci.address, ports=_ports(hca))))
    # Hexadecimal of fixed width, so plain order is the order of the bus.
    return sorted(found, key=lambda pair: pair[0].address)


def _numa(facts: Facts) -> List[NumaNode]:
    nodes: Dict[Optional[int], NumaNode] = {}
    roots: Dict[Tuple[Optional[int], str], Root] = {}
    switches: Dict[Tuple[Optional[int], str], Switch] = {}
    for pci, device in _devices(facts):
        number = pci.numa_node
        node = nodes.setdefault(number, NumaNode(number))
        name = pci.pcie_root or "unknown root"
        if (number, name) not in roots:
            roots[number, name] = Root(name)
            node.roots.append(roots[number, name])
        below = roots[number, name].below
        # After the root port, a switch is an upstream port and one downstream port on the way to each device.
        for address in pci.pcie_path[1:-1:2][:_DEEPEST]:
            # A device may not say where it is although its neighbour does; each then has the switch in its own drawing.
            if (number, address) not in switches:
                switches[number, address] = Switch(address)
                below.append(switches[number, address])
            below = switches[number, address].below
        below.append(device)
    return sorted(nodes.values(), key=lambda node: (node.number is None, node.number or 0))


def _shape(document: VerifyDocument, signature: str, hosts: Sequence[str]) -> DrawnShape:
    facts = document.hosts[hosts[0]].known
    hcas = [hca.name for hca, _pci in _shown(facts)]
    ports = [port for hca in facts.hcas for port in _ports(hca)]
    unplaced = [hca.name for hca in facts.hcas if not hca.pci]
    kinds = {"GPUs": len(facts.gpus), "HCAs": len(_placed(facts)), "HCAs elsewhere": len(unplaced), "ports": len(ports)}
    return DrawnShape(
        signature=signature,
        groups=sorted({document.hosts[host].group for host in hosts}, key=natural_key),
        hosts=list(hosts),
        example=hosts[0],
        numa=_numa(facts),
        gpus=[f"GPU {entry.gpu}" for entry in facts.affinity[:MOST]],
        hcas=hcas,
        paths=[[entry.paths.get(hca, "") for hca in hcas] for entry in facts.affinity[:MOST]],
        unplaced=unplaced[:MOST],
        ports=ports[:MOST],
        others=_others(document, hosts),
        left_out={kind: number - MOST for kind, number in kinds.items() if number > MOST},
    )


def shapes(document: VerifyDocument) -> List[DrawnShape]:
    """Every shape once, the most frequent first. Hosts without facts, or with neither GPU nor HCA, have none."""
    found: Dict[str, List[str]] = {}
    for host in sorted(document.hosts, key=natural_key):
        facts = document.hosts[host].known
        if facts.gpus or facts.hcas:
            found.setdefault(facts.signature, []).append(host)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), natural_key(item[1][0])))
    shapes = [_shape(document, signature, hosts) for signature, hosts in ranked]
    for number, shape in enumerate(shapes, start=1):
        shape.anchor = f"shape-{number}"
    return shapes
