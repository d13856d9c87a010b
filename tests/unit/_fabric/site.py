# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Synthesised fabrics: leaves, spines and storage switches, and hosts with their cables, right ones at first.

The same site can be had as facts and links, or as the file from which ibsim simulates a fabric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check as fabric_check
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import neighbours
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.expected import Expected
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric, LldpAnswer, PortView
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Usable
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gid, Hca, Port

End = tuple[str, int]
_PORTS = 64


class Walked(list[PortView]):
    """Ports that count how often all of them are walked through."""

    walks = 0

    def __iter__(self) -> Iterator[PortView]:
        self.walks += 1
        return super().__iter__()


@dataclass
class Site:
    """``cables`` has the end of each host's port (counted from 0), ``uplinks`` two ends and the width of each link."""

    rails: int
    cables: dict[tuple[str, int], End] = field(default_factory=dict)
    uplinks: list[tuple[End, End, int]] = field(default_factory=list)
    missing: set[tuple[str, int]] = field(default_factory=set)

    @property
    def hosts(self) -> list[str]:
        return list(dict.fromkeys(host for host, _port in [*self.cables, *self.missing]))

    @property
    def switches(self) -> list[str]:
        return sorted({switch for switch, _port in self._ends()})

    @property
    def ports(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for host, port in sorted({*self.cables, *self.missing}):
            found.setdefault(host, []).append(port)
        return found

    @property
    def guids(self) -> dict[tuple[str, int], str]:
        """Port GUIDs that no other port has, however cables are changed."""
        ports = self.ports
        return {
            (host, port): f"0x{0x100000 + index * 64 + port + 1:016x}"
            for index, host in enumerate(sorted(ports))
            for port in ports[host]
        }

    def move(self, host: str, port: int, switch: str) -> None:
        """Put a cable into the first free port of another switch."""
        taken = {number for name, number in self._ends() if name == switch}
        self.cables[host, port] = (switch, next(number for number in range(1, _PORTS + 1) if number not in taken))

    def _ends(self) -> list[End]:
        return [*self.cables.values(), *(end for own, peer, _width in self.uplinks for end in (own, peer))]

    def swap(self, host: str, port: int, other: int, peer: str = "") -> None:
        one, two = (host, port), (peer or host, other)
        self.cables[one], self.cables[two] = self.cables[two], self.cables[one]

    def unplug(self, host: str, port: int) -> None:
        del self.cables[host, port]
        self.missing.add((host, port))

    def ibsim(self) -> str:
        """The fabric in the language of ibsim; 4 lanes of 10 Gb/s where nothing else is said."""
        text: dict[str, list[str]] = {name: [f'Switch {_PORTS} "{name}"'] for name in self.switches}
        for host, ports in self.ports.items():
            text[host] = [f'Hca {max(ports) + 1} "{host}"']
        for (host, port), (switch, number) in self.cables.items():
            text[host].append(f'[{port + 1}] "{switch}"[{number}] w=2 s=4')
            text[switch].append(f'[{number}] "{host}"[{port + 1}] w=2 s=4')
        for (own, port), (peer, number), width in self.uplinks:
            lanes = {1: 1, 4: 2}[width]
            text[own].append(f'[{port}] "{peer}"[{number}] w={lanes} s=4')
            text[peer].append(f'[{number}] "{own}"[{port}] w={lanes} s=4')
        return "\n\n".join("\n".join(lines) for lines in text.values()) + "\n"

    def links(self) -> list[FabricLink]:
        """The links, each from one end, as iblinkinfo would tell them."""
        switches = {name: f"0x{0x200000 + index:016x}" for index, name in enumerate(self.switches)}
        guids = self.guids
        found = [
            FabricLink(guids[host, port], host, port + 1, "Active", "4X", "10.0", switches[switch], switch, number)
            for (host, port), (switch, number) in self.cables.items()
        ]
        return found + [
            FabricLink(switches[own[0]], own[0], own[1], "Active", f"{width}X", "10.0", switches[peer[0]], *peer)
            for own, peer, width in self.uplinks
        ]

    def facts(self, guids: dict[tuple[str, int], str]) -> dict[str, Facts]:
        """Synthesised: an HCA for each port; the last ones, beyond the rails, are of the storage network."""
        found = {}
        for host, ports in self.ports.items():
            hcas = []
            for port in ports:
                up, digits = (host, port) in self.cables, guids[host, port][2:]
                gid = "fe80:0000:0000:0000:" + ":".join(digits[at : at + 4] for at in range(0, 16, 4))
                state, physical = ("ACTIVE", "LinkUp") if up else ("DOWN", "Polling")
                own = Port(1, state, physical, "InfiniBand", gids=[Gid(0, gid)])
                hcas.append(Hca(f"mlx5_{port}", ports=[own]))
            found[host] = Facts(hcas=hcas, usable=[Usable(f"mlx5_{port}", 1) for port in ports])
        return found

    def views(
        self,
        hosts: list[str] | None = None,
        fabric: Fabric | None = None,
        guids: dict[tuple[str, int], str] | None = None,
    ) -> list[PortView]:
        """The ports of hosts, by default of all, with their neighbours."""
        every = self.facts(guids or self.guids)
        rails = {f"mlx5_{rail}/1": rail for rail in range(self.rails)}
        fabric = fabric or Fabric(self.links(), {})
        return [
            view
            for host in hosts or self.hosts
            for view in neighbours.of_host(host, "h100", every[host], rails, fabric, LldpAnswer())
        ]

    def check(self, expected: Expected | None = None, hosts: list[str] | None = None) -> fabric_check.Cabling:
        fabric = Fabric(self.links(), {})
        return fabric_check.check(self.views(hosts, fabric), fabric, expected)


def rail_optimised(units: int, hosts: int, rails: int = 4, spines: int = 2, storage: bool = True) -> Site:
    """Units of hosts with a leaf for each rail, linked to each spine, and a storage network beside them."""
    site = Site(rails)
    for unit in range(units):
        for index in range(hosts):
            name = f"h100-{unit * hosts + index + 1:03}"
            for rail in range(rails):
                site.cables[name, rail] = (f"leaf-{unit * rails + rail + 1}", index + 1)
            if storage:
                site.cables[name, rails] = (f"stor-{unit + 1}", index + 1)
    for leaf in range(units * rails):
        for spine in range(spines):
            site.uplinks.append(((f"leaf-{leaf + 1}", 60 + spine), (f"spine-{spine + 1}", leaf + 1), 4))
    for unit in range(units if storage else 0):
        site.uplinks.append(((f"stor-{unit + 1}", 60), ("stor-core", unit + 1), 4))
    if storage:
        site.uplinks.append((("stor-core", 60), ("spine-1", 60), 4))
    return site
