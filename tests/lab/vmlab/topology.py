# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The guests: who they are, what hangs where on their PCIe tree, and how their NICs are linked.

Every path class of ``nvidia-smi topo -m`` exists between GPU stand-in ``gpu0`` and a fabric NIC:

    0x20 (NUMA 0)  rp20 - switch - gpu0
                               +-- rail0 (igb)                PIX
                               +-- switch - rail1 (e1000e)    PXB
                   rp21 - rail2 (e1000e)                      PHB
    0x40 (NUMA 0)  rp40 - gpu1
                   rp41 - rail3 (e1000e)                      NODE
                   rp42 - rail5 (e1000e)                      NODE
    0x60 (NUMA 1)  rp60 - switch - gpu2
                               +-- rail4 (igb)                SYS
                               +-- rail6 (e1000e)             SYS

The lab gives rail5 and rail6 Soft-RoCE and nothing else: no address, no profile. They are for the collection to set up.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from .progress import LabError

MANAGEMENT = ipaddress.ip_network("10.77.0.0/24")
GATEWAY = MANAGEMENT[1]


@dataclass(frozen=True)
class Nic:
    """One fabric NIC: QEMU model, the bus it sits on, and the number that makes its MAC address and link unique."""

    role: str
    model: str
    bus: str
    number: int


@dataclass(frozen=True)
class Node:
    """One guest and the Debian suite it runs."""

    name: str
    number: int
    suite: str

    @property
    def address(self) -> str:
        """Management address."""
        return str(MANAGEMENT[10 + self.number])

    @property
    def tap(self) -> str:
        """Name of the tap in the lab's network namespace."""
        return f"tap-{self.name}"

    def mac(self, nic: int = 0) -> str:
        """MAC address of a NIC; number 0 is the management NIC."""
        return f"52:54:00:77:{nic:02x}:{self.number:02x}"


# Two distributions: what a node's configuration looks like, and what its software can do, differs on real fleets too.
NODES = (Node("node1", 1, "trixie"), Node("node2", 2, "forky"))
# As nodes of a cluster: with Linux 6.12 Soft-RoCE reaches nobody from another network namespace than the first.
CLUSTER_NODES = (Node("node1", 1, "trixie-backports"), Node("node2", 2, "forky"))

# Ports are (id, parent bus); a switch is an upstream port with downstream ports below it.
EXPANDERS = ((0x20, 0), (0x40, 0), (0x60, 1))
ROOT_PORTS = (("rp20", 0x20), ("rp21", 0x20), ("rp40", 0x40), ("rp41", 0x40), ("rp42", 0x40), ("rp60", 0x60))
SWITCHES = (
    ("up20", "rp20", ("dn20a", "dn20b", "dn20c")),
    ("up22", "dn20c", ("dn22a",)),
    ("up60", "rp60", ("dn60a", "dn60b", "dn60c")),
)
GPUS = ("dn20a", "rp40", "dn60a")
NICS = (
    Nic("rail0", "igb", "dn20b", 1),
    Nic("rail1", "e1000e", "dn22a", 2),
    Nic("rail2", "e1000e", "rp21", 3),
    Nic("rail3", "e1000e", "rp41", 4),
    Nic("rail4", "igb", "dn60b", 5),
    Nic("rail5", "e1000e", "rp42", 6),
    Nic("rail6", "e1000e", "dn60c", 7),
)


def node(name: str) -> Node:
    """Find a node by name."""
    for candidate in NODES:
        if candidate.name == name:
            return candidate
    raise LabError(f"no node {name!r}: the lab has {', '.join(n.name for n in NODES)}")


def pcie_arguments() -> list[str]:
    """QEMU arguments of the PCIe tree without NICs: root complexes, root ports, switches, GPU stand-ins."""
    argv: list[str] = []
    for bus, numa in EXPANDERS:
        argv += ["-device", f"pxb-pcie,id=pxb{bus:02x},bus=pcie.0,bus_nr={bus},numa_node={numa}"]
    for chassis, (port, bus) in enumerate(ROOT_PORTS, start=1):
        argv += ["-device", f"pcie-root-port,id={port},bus=pxb{bus:02x},chassis={chassis},slot=0"]
    chassis = len(ROOT_PORTS)
    for upstream, parent, downstream in SWITCHES:
        argv += ["-device", f"x3130-upstream,id={upstream},bus={parent}"]
        for slot, port in enumerate(downstream):
            chassis += 1
            argv += ["-device", f"xio3130-downstream,id={port},bus={upstream},chassis={chassis},slot={slot}"]
    for bus_name in GPUS:
        argv += ["-device", f"bochs-display,bus={bus_name}"]
    return argv


def fabric_arguments(guest: Node, sockets: str, nics: Sequence[Nic]) -> list[str]:
    """QEMU arguments of the fabric NICs, each linked to the same NIC of the other guest.

    The NIC hangs on a hub, not on the stream itself: a stream without its peer takes the link down, a hub never does.
    """
    first = guest.number == 1
    argv: list[str] = []
    for nic in nics:
        role = "server=on" if first else "server=off,reconnect-ms=1000"
        n = nic.number
        argv += ["-netdev", f"stream,id=wire{n},{role},addr.type=unix,addr.path={sockets}/link{n}.sock"]
        argv += ["-netdev", f"hubport,id=hubwire{n},hubid={n},netdev=wire{n}"]
        argv += ["-netdev", f"hubport,id=hubnic{n},hubid={n}"]
        argv += ["-device", f"{nic.model},bus={nic.bus},netdev=hubnic{n},mac={guest.mac(n)}"]
    return argv
