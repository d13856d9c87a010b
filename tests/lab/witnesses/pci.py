# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The witnesses for PCI: ``lspci`` (configuration space) and hwloc's ``lstopo`` (topology)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional

from .claim import Claim

Answers = Dict[str, str]


@dataclass
class Function:
    """What lspci says about one PCI function."""

    address: str
    vendor_id: str = ""
    device_id: str = ""
    class_id: str = ""
    driver: Optional[str] = None
    numa_node: Optional[int] = None
    bus_range: Optional[range] = None
    link: Dict[str, float] = field(default_factory=dict)
    num_vfs: Optional[int] = None
    vf_addresses: List[str] = field(default_factory=list)
    redirects: bool = False

    @property
    def bus(self) -> int:
        """Bus number."""
        return int(self.address.split(":")[1], 16)


def parse_lspci(brief: str, verbose: str) -> Dict[str, Function]:
    """Join the answers of ``lspci -D -nn -k -vmm`` and ``lspci -D -vv``."""
    functions: Dict[str, Function] = {}
    for block in brief.strip().split("\n\n"):
        lines = dict(line.split(":\t", 1) for line in block.splitlines())
        ids = {name: re.findall(r"\[([0-9a-f]{4})\]$", lines[name])[0] for name in ("Vendor", "Device", "Class")}
        function = Function(lines["Slot"], ids["Vendor"], ids["Device"], ids["Class"], lines.get("Driver"))
        function.class_id += lines.get("ProgIf", "00")
        functions[function.address] = function
    for block in verbose.strip().split("\n\n"):
        _read_verbose(functions[block.split()[0]], block)
    return functions


def _read_verbose(function: Function, block: str) -> None:
    numa = re.search(r"NUMA node: (\d+)", block)
    function.numa_node = int(numa.group(1)) if numa else None
    bus = re.search(r"Bus: primary=\w+, secondary=(\w+), subordinate=(\w+)", block)
    function.bus_range = range(int(bus.group(1), 16), int(bus.group(2), 16) + 1) if bus else None
    for name, prefix in (("LnkCap", "max_"), ("LnkSta", "")):
        link = re.search(rf"\s{name}:.*?Speed ([\d.]+)GT/s.*?Width x(\d+)", block)
        if link:
            function.link[f"{prefix}speed_gts"] = float(link.group(1))
            function.link[f"{prefix}width"] = int(link.group(2))
    vfs = re.search(r"Number of VFs: (\d+).*?VF offset: (\d+), stride: (\d+)", block, re.DOTALL)
    if vfs:
        function.num_vfs = int(vfs.group(1))
        function.vf_addresses = [
            _shifted(function.address, int(vfs.group(2)) + n * int(vfs.group(3))) for n in range(function.num_vfs)
        ]
    control = re.search(r"ACSCtl:(.*)", block)
    function.redirects = bool(control and re.search(r"(ReqRedir|CmpltRedir|EgressCtrl)\+", control.group(1)))


def _shifted(address: str, by: int) -> str:
    """Address of the VF whose routing id lies ``by`` after the PF's (PCI Express Base Specification, 9.2.1.2)."""
    domain, bus, rest = address.split(":")
    device, function = rest.split(".")
    routing_id = (int(bus, 16) << 8 | int(device, 16) << 3 | int(function)) + by
    return f"{domain}:{routing_id >> 8:02x}:{routing_id >> 3 & 0x1F:02x}.{routing_id & 7}"


def bus_path(functions: Dict[str, Function], address: str) -> List[str]:
    """Bridges above a function by the bus numbers in their configuration space, then the function itself."""
    own = functions[address]
    above = [f for f in functions.values() if f.bus_range is not None and own.bus in f.bus_range]
    return [f.address for f in sorted(above, key=lambda f: -len(f.bus_range or ()))] + [address]


@dataclass
class Place:
    """Where lstopo puts a PCI device: bridges above it, its root complex, NUMA node, and all objects above it."""

    pcie_root: str
    pcie_path: List[str]
    numa_node: Optional[int]
    ancestors: List[ET.Element]


@dataclass
class Topology:
    """What lstopo says: places by PCI address, PCI address by netdev or RDMA device name."""

    places: Dict[str, Place] = field(default_factory=dict)
    by_name: Dict[str, str] = field(default_factory=dict)
    numa_nodes: List[int] = field(default_factory=list)


def parse_lstopo(xml: str) -> Topology:
    """Read ``lstopo --of xml``."""
    topology = Topology()
    root = ET.fromstring(xml.split("?>", 1)[1].split(">", 1)[1])
    _visit(root, [], topology)
    topology.numa_nodes.sort()
    return topology


def _numa_of(ancestors: List[ET.Element]) -> Optional[int]:
    for element in reversed(ancestors):
        nodes = [int(o.get("os_index", "")) for o in element.findall("object") if o.get("type") == "NUMANode"]
        if len(nodes) == 1:
            return nodes[0]
    return None


def _visit(element: ET.Element, ancestors: List[ET.Element], topology: Topology) -> None:
    kind = element.get("type")
    if kind == "NUMANode":
        topology.numa_nodes.append(int(element.get("os_index", "")))
    elif kind == "PCIDev":
        _place(element, ancestors, topology)
    elif kind == "OSDev" and ancestors[-1].get("type") == "PCIDev":
        topology.by_name[element.get("name", "")] = ancestors[-1].get("pci_busid", "")
    for child in element.findall("object"):
        _visit(child, [*ancestors, element], topology)


def _place(element: ET.Element, ancestors: List[ET.Element], topology: Topology) -> None:
    bridges = [o for o in ancestors if o.get("type") == "Bridge"]
    address = element.get("pci_busid", "")
    path = [o.get("pci_busid", "") for o in bridges if o.get("pci_busid")]
    # The host bridge has no PCI address of its own, only the range of buses below it: "0000:[20-28]".
    domain, first = re.findall(r"^(\w+):\[(\w+)-", bridges[0].get("bridge_pci", ""))[0]
    topology.places[address] = Place(f"pci{domain}:{first}", [*path, address], _numa_of(ancestors), ancestors)


def path_class(one: Place, other: Place) -> str:
    """Path class by the deepest object that lstopo puts above both devices."""
    shared = [a for a, b in zip(one.ancestors, other.ancestors) if a is b]
    deepest = shared[-1]
    if deepest.get("type") == "Bridge" and deepest.get("pci_busid"):
        between = max(len(place.ancestors) - len(shared) for place in (one, other))
        return "PIX" if between <= 1 else "PXB"
    if deepest.get("type") == "Bridge":
        return "PHB"
    return "SYS" if deepest.get("type") == "Machine" else "NODE"


def function_claims(prefix: str, address: str, functions: Dict[str, Function], topology: Topology) -> Iterator[Claim]:
    """What both witnesses say about the PCI function of an HCA or GPU."""
    function, place = functions[address], topology.places[address]
    yield Claim("lstopo", f"{prefix} address", address)
    for name in ("vendor_id", "device_id", "class_id", "driver", "numa_node"):
        yield Claim("lspci", f"{prefix} {name}", getattr(function, name))
    yield Claim("lspci", f"{prefix} pcie_path", bus_path(functions, address))
    for name in ("pcie_path", "pcie_root", "numa_node"):
        yield Claim("lstopo", f"{prefix} {name}", getattr(place, name))


def sriov_claims(name: str, address: str, functions: Dict[str, Function]) -> Iterator[Claim]:
    """SR-IOV and link of an HCA's function, by its configuration space and that of its PF."""
    function = functions[address]
    for key, value in function.link.items():
        yield Claim("lspci", f"{name} {key}", value)
    owners = [f.address for f in functions.values() if address in f.vf_addresses]
    role: Any = "vf" if owners else "pf" if function.num_vfs is not None else "none"
    yield Claim("lspci", f"{name} sriov_role", role)
    yield Claim("lspci", f"{name} sriov_num_vfs", function.num_vfs or 0)
    yield Claim("lspci", f"{name} sriov_pf_address", owners[0] if owners else None)
