# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is at the other end of each port of a host, or why that is unknown.

A port is ``dark`` where its own end says that nothing is connected. Everything else that is not seen is unknown: the
port may have its cable all the same.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import (
    FabricLink,
    LldpNeighbour,
    Neighbour,
    switch_name,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Port, Slave

SEEN, DARK, UNKNOWN = "seen", "dark", "unknown"

NO_FACTS = "no_facts"
NO_HCA = "no_hca"
ABSENT = "absent"
IN_POD = "in_pod"
NOT_UP = "not_up"
NO_GUID = "no_guid"
FABRIC_UNREAD = "fabric_unread"
NOT_IN_FABRIC = "not_in_fabric"
NO_NETDEV = "no_netdev"
LLDP_NOT_ASKED = "lldp_not_asked"
LLDP_ABSENT = "lldp_absent"
LLDP_STOPPED = "lldp_stopped"
LLDP_RIGHTS = "lldp_rights"
LLDP_UNREADABLE = "lldp_unreadable"
LLDP_SILENT = "lldp_silent"
LLDP_SEVERAL = "lldp_several"

# Why a neighbour is unknown, and where something can be done about it, what.
REASONS: Mapping[str, str] = {
    NO_FACTS: "the host has no facts",
    NO_HCA: "the facts have no HCA: it is in a pod, or its driver does not have it",
    ABSENT: "the facts lack this port, which other nodes have: it is in a pod, or its driver does not have it",
    IN_POD: "the NIC is in a pod",
    NOT_UP: "the port is not enabled, so it does not tell whether it has a cable",
    NO_GUID: "the port has no GUID by which the fabric knows it",
    FABRIC_UNREAD: "no fabric was read: install infiniband-diags, run as root, or give rdma_cabling_fabric_files",
    NOT_IN_FABRIC: "the port is up, and not in the fabric that was read",
    NO_NETDEV: "the port has no netdev",
    LLDP_NOT_ASKED: "the host was not asked for its neighbours, or did not answer",
    LLDP_ABSENT: "lldpd is not installed",
    LLDP_STOPPED: "lldpd does not run",
    LLDP_RIGHTS: "lldpcli may not ask lldpd: run as root",
    LLDP_UNREADABLE: "the answer of lldpd cannot be read",
    LLDP_SILENT: "lldpd runs and hears nobody: LLDP is off on the switch, or the NIC's firmware keeps it to itself",
    LLDP_SEVERAL: "lldpd hears several neighbours, so something that is no managed switch is in between",
}


@dataclass(frozen=True)
class LldpAnswer:
    """What lldpd of a host said; ``code`` is one of REASONS where it said nothing."""

    code: str = LLDP_NOT_ASKED
    said: str = ""
    neighbours: List[LldpNeighbour] = field(default_factory=list)


@dataclass(frozen=True)
class PortView:
    """One port of a host: its neighbour where the state is ``seen``, a code of REASONS where it is ``unknown``.

    ``name`` is that of its HCA, with the port's number where the HCA has several (``full`` always has it).
    ``slot`` is what it is compared by within its group: the same slot of other hosts should be on the same leaf.
    A port whose netdev is a bond has a cable, and so an entry, for each slave: then ``name`` and ``slot`` end with the
    slave's name, and ``slave`` is true.
    """

    host: str
    group: str
    name: str
    slot: str
    rail: Optional[int]
    state: str
    netdev: Optional[str] = None
    pci: Optional[str] = None
    reason: str = ""
    neighbour: Optional[Neighbour] = None
    full: str = ""
    slave: bool = False

    @property
    def names(self) -> List[str]:
        """All names by which people may mean it: HCA, HCA and port, netdev, PCI address or rail."""
        own = (self.full, self.pci, "" if self.rail is None else f"rail {self.rail}")
        return [name for name in (self.name, self.netdev, *(() if self.slave else own)) if name]


def port_guid(port: Port) -> Optional[str]:
    """GUID of an InfiniBand port: the lower half of its first GID (InfiniBand Architecture Specification, 4.1.1)."""
    text = next((gid.gid for gid in port.gids if gid.index == 0), None)
    try:
        return f"0x{int(ipaddress.IPv6Address(text or '')) & (1 << 64) - 1:016x}"
    except ValueError:
        return None


class Fabric:
    """The links of all fabrics that were read, each link once."""

    def __init__(self, links: Sequence[FabricLink], hosts: Mapping[str, Tuple[str, str]]) -> None:
        """``hosts`` has host and port of each port GUID that belongs to one."""
        self.hosts = hosts
        self._peer: Dict[str, Tuple[str, str, int, FabricLink]] = {}
        self.names: Dict[str, str] = {}
        ports: Dict[str, Set[int]] = {}
        self.links: List[FabricLink] = []
        seen: Set[Tuple[Tuple[str, int], Tuple[str, int]]] = set()
        for link in links:
            own, other = (link.guid, link.port), (link.peer_guid, link.peer_port)
            self.names.setdefault(link.guid, switch_name(link.name))
            self.names.setdefault(link.peer_guid, switch_name(link.peer))
            self._peer.setdefault(link.guid, (link.peer_guid, link.peer, link.peer_port, link))
            self._peer.setdefault(link.peer_guid, (link.guid, link.name, link.port, link))
            for guid, number in (own, other):
                ports.setdefault(guid, set()).add(number)
            ends = (min(own, other), max(own, other))
            if ends not in seen:
                seen.add(ends)
                self.links.append(link)
        # A port of an HCA has one cable. Sources do not all tell switches from other nodes, and this does.
        self._switches = {guid for guid, numbers in ports.items() if len(numbers) > 1 and guid not in hosts}

    @property
    def between(self) -> List[FabricLink]:
        """The links between switches."""
        return [link for link in self.links if {link.guid, link.peer_guid} <= self._switches]

    def __contains__(self, guid: str) -> bool:
        return guid in self._peer

    def neighbour(self, guid: str) -> Optional[Neighbour]:
        """Of the port of an HCA."""
        if guid not in self._peer:
            return None
        other, name, port, link = self._peer[guid]
        host = self.hosts.get(other, (None, ""))[0]
        text = f"{link.width} at {link.speed} Gb/s"
        return Neighbour(switch_name(name) or other, other, str(port), text, name, host=host)


def _physical(facts: Facts) -> Iterator[Tuple[Hca, Port]]:
    """Ports that have a cable of their own, and software ports that workloads may use."""
    available = set(facts.available)
    for hca in facts.hcas:
        for port in hca.ports:
            own = hca.sriov.role != "vf" and not hca.software and hca.subdevice is None
            if own or (hca.name, port.number) in available:
                yield hca, port


def _cables(facts: Facts, port: Port) -> List[Slave]:
    """The netdevs by whose names lldpd hears the other ends, one for each cable of an Ethernet port.

    The slaves of a bond have one each. With RoCE LAG, one HCA has them all; otherwise each has that on its function.
    """
    netdev = port.netdev
    if netdev is None:
        return []
    if not netdev.bond:
        return [Slave(netdev.name, netdev.carrier)]
    others = {
        other.netdev.slave
        for hca in facts.hcas
        for other in hca.ports
        if other.netdev and other.netdev.name == netdev.name and other.netdev.slave != netdev.slave
    }
    return [slave for slave in netdev.slaves if slave.name not in others]


def lldp_netdevs(facts: Facts) -> List[str]:
    """The netdevs on which lldpd has to listen, sorted."""
    ports = [port for _hca, port in _physical(facts) if port.link_layer == "Ethernet"]
    return sorted({cable.name for port in ports for cable in _cables(facts, port)})


def _infiniband(port: Port, fabric: Fabric, in_pod: bool) -> Tuple[str, str, Optional[Neighbour]]:
    # IBA 14.2.5.6, PortPhysicalState: a port that polls sees no other end, whatever an older file says.
    if port.state == "DOWN" and port.physical_state == "Polling":
        return DARK, "", None
    guid = port_guid(port)
    found = fabric.neighbour(guid) if guid else None
    if found:
        return SEEN, "", found
    if in_pod:
        return UNKNOWN, IN_POD, None
    if port.state == "DOWN":
        return UNKNOWN, NOT_UP, None
    if guid is None:
        return UNKNOWN, NO_GUID, None
    return UNKNOWN, NOT_IN_FABRIC if fabric.links else FABRIC_UNREAD, None


def _ethernet(
    port: Port, cable: Optional[Slave], answer: LldpAnswer, in_pod: bool
) -> Tuple[str, str, Optional[Neighbour]]:
    heard = [each for each in answer.neighbours if cable and each.netdev == cable.name]
    if len({(each.chassis, each.port) for each in heard}) > 1:
        return UNKNOWN, LLDP_SEVERAL, None
    if heard:
        each = heard[0]
        return SEEN, "", Neighbour(each.name, each.chassis, each.port, each.speed, alias=each.description)
    if in_pod:
        return UNKNOWN, IN_POD, None
    if cable is None or port.netdev is None or not port.netdev.present:
        return UNKNOWN, NO_NETDEV, None
    if cable.carrier is False:
        return DARK, "", None
    # The kernel tells no carrier of a netdev that is down.
    if cable.carrier is None:
        return UNKNOWN, NOT_UP, None
    return UNKNOWN, answer.code or LLDP_SILENT, None


def of_host(
    host: str,
    group: str,
    facts: Optional[Facts],
    rails: Mapping[str, int],
    fabric: Fabric,
    lldp: LldpAnswer,
    named: bool = False,
) -> List[PortView]:
    """The ports of a host. ``rails`` has the rail of each port that is one; ``named`` tells that the inventory says so.

    Where it does not, ports are compared by the names of their HCAs: a rail's number can depend on which ports are up.
    """
    found = []
    in_pod = set(facts.in_pod) if facts else set()
    for hca, port in _physical(facts) if facts else ():
        away = (hca.name, port.number) in in_pod or (port.netdev is not None and not port.netdev.present)
        infiniband = port.link_layer == "InfiniBand"
        cables: List[Optional[Slave]] = [] if infiniband or facts is None else [*_cables(facts, port)]
        full = f"{hca.name}/{port.number}"
        rail = rails.get(full)
        name = hca.name if len(hca.ports) == 1 else full
        for cable in cables or [None]:
            state, reason, neighbour = (
                _infiniband(port, fabric, away) if infiniband else _ethernet(port, cable, lldp, away)
            )
            view = PortView(
                host=host,
                group=group,
                name=name,
                slot=f"rail {rail}" if named and rail is not None else name,
                rail=rail,
                state=state,
                netdev=port.netdev.name if port.netdev else None,
                pci=hca.pci.address if hca.pci else None,
                reason=reason,
                neighbour=neighbour,
                full=full,
            )
            if cable and len(cables) > 1:
                own, slot = f"{view.name} {cable.name}", f"{view.slot} {cable.name}"
                view = replace(view, name=own, slot=slot, netdev=cable.name, slave=True)
            found.append(view)
    return found
