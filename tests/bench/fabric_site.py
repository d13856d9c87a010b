# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A synthesised fleet with twelve wrong cables: its fabric as iblinkinfo and lldpd tell it, and the facts of its nodes.

The fabric is a rail-optimised fat tree: 25 nodes with a leaf for each of 8 rails are a unit, the leaves of one rail
have spines of their own, and two cores connect all spines. Each node has a ninth port, in a storage network. The forms
are those of the real tools (fixtures/iblinkinfo and fixtures/lldp), the facts those of the node h100-01, which is
synthesised as well (tests/fleet), with other GUIDs and one port more.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import expand

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Site

_CHECKOUT = Path(__file__).resolve().parents[2]
RAILS, UNIT = 8, 25
# From one leaf to the spines of its rail, on ports from _UP on; a spine has as many ports for twice as many leaves.
_UPLINKS, _UP, _SWITCH_PORTS = 24, 33, 64
_CORES = 2
# Ports by which a storage switch and a spine are connected to the storage core and to the cores.
_STORAGE_UP, _SPINE_UP = 60, 49
_LINE = (
    '{0} "{1:>30}" {2:>6} {3:>4}[  ] ==( {4:>3}X          {5} Gbps Active/  LinkUp)==>  {6} {7:>6} {8:>4}[  ] "{9}" ( )'
)
_DOWN = '{0} "{1:>30}" {2:>6} {3:>4}[  ] ==(                Down/ Polling)==>             [  ] "" ( )'

Guids = Mapping[tuple[str, int], str]
# Kind, host and ports, or the ends of a link between switches.
Named = tuple[str, str, frozenset[str]]


def right(nodes: int) -> Site:
    """The fabric with all cables where they should be. ``nodes`` is 50, 100, 200 or 400."""
    site, units = Site(RAILS), nodes // UNIT
    for number in range(nodes):
        unit, place = divmod(number, UNIT)
        for rail in range(RAILS):
            site.cables[_host(number), rail] = (_leaf(unit, rail), place + 1)
        site.cables[_host(number), RAILS] = (f"stor-{unit + 1}", place + 1)
    spines = units // 2
    for rail in range(RAILS):
        for unit in range(units):
            for uplink in range(_UPLINKS):
                spine, index = divmod(uplink, _UPLINKS // spines)
                end = (f"spine-{rail + 1}-{spine + 1}", unit * (_UPLINKS // spines) + index + 1)
                site.uplinks.append(((_leaf(unit, rail), _UP + uplink), end, 4))
        for spine in range(spines):
            for core in range(_CORES):
                end = (f"core-{core + 1}", rail * spines + spine + 1)
                site.uplinks.append(((f"spine-{rail + 1}-{spine + 1}", _SPINE_UP + core), end, 4))
    for unit in range(units):
        site.uplinks.append(((f"stor-{unit + 1}", _STORAGE_UP), ("stor-core", unit + 1), 4))
    site.uplinks.append((("stor-core", _STORAGE_UP), ("spine-1-1", _STORAGE_UP), 4))
    return site


def _host(number: int) -> str:
    return f"h100-{number + 1:03}"


def _leaf(unit: int, rail: int) -> str:
    return f"leaf-{unit * RAILS + rail + 1}"


def wrong(nodes: int) -> tuple[Site, set[Named]]:
    """The fabric with twelve wrong cables of six kinds, on nodes all over it, and what must be named."""
    site, named = right(nodes), set()
    numbers = [index * nodes // 10 for index in range(10)]
    hosts = [_host(number) for number in numbers]
    units = [number // UNIT for number in numbers]

    def wrongly(kind: str, index: int, *ports: int) -> None:
        named.add((kind, hosts[index], frozenset(f"mlx5_{port}" for port in ports)))

    for index, (port, rail) in enumerate([(2, 5), (1, 1)]):
        site.move(hosts[index], port, _leaf(units[-1], rail))
        wrongly(check.WRONG_LEAF, index, port)
    for index, port in ((2, 0), (3, 6)):
        site.swap(hosts[index], port, port + 1)
        wrongly(check.SWAPPED, index, port, port + 1)
    for index, port in ((4, 1), (5, 3)):
        site.move(hosts[index], port, _leaf(units[index], port - 1))
        wrongly(check.SAME_LEAF, index, port)
    for index, rail in ((6, 0), (7, 4)):
        site.move(hosts[index], RAILS, _leaf(units[index], rail))
        wrongly(check.STORAGE, index, RAILS)
    for index, port in ((8, 0), (9, 7)):
        site.unplug(hosts[index], port)
        wrongly(check.MISSING, index, port)
    for index in (5, len(site.uplinks) // 2):
        own, peer, _width = site.uplinks[index]
        site.uplinks[index] = (own, peer, 1)
        named.add((check.SLOW, "", frozenset(f"{switch}/{port}" for switch, port in (own, peer))))
    return site, named


def iblinkinfo(site: Site) -> str:
    """All ports of all switches and HCAs, as ``iblinkinfo --line`` prints them."""
    hosts = {guid: (f"{host} mlx5_{port}", 1) for (host, port), guid in site.guids.items()}
    lids: dict[str, int] = {}
    lines: dict[str, dict[int, str]] = {}
    switches: dict[str, str] = {}
    for link in site.links():
        one, two = (link.guid, link.name, link.port), (link.peer_guid, link.peer, link.peer_port)
        for own, peer in ((one, two), (two, one)):
            (guid, name, port), (other, other_name, other_port) = (
                (end[0], *hosts.get(end[0], end[1:])) for end in (own, peer)
            )
            if guid not in hosts:
                switches[guid] = name
            lid, other_lid = (lids.setdefault(each, len(lids) + 1) for each in (guid, other))
            ends = (other, other_lid, other_port, other_name)
            lines.setdefault(guid, {})[port] = _LINE.format(
                guid, name, lid, port, link.width.rstrip("X"), link.speed, *ends
            )
    for guid, name in switches.items():
        for port in range(1, _SWITCH_PORTS + 1):
            lines[guid].setdefault(port, _DOWN.format(guid, name, lids[guid], port))
    return "".join(f"{lines[guid][port]}\n" for guid in sorted(lines) for port in sorted(lines[guid]))


def lldp(site: Site) -> dict[str, str]:
    """What ``lldpcli -f json0 show neighbors details`` prints on each node."""
    recorded = json.loads((_CHECKOUT / "tests/unit/fixtures/lldp/neighbours.json").read_text())
    form = json.dumps(recorded["lldp"][0]["interface"][0])
    chassis = {name: f"02:00:00:00:{index >> 8:02x}:{index & 255:02x}" for index, name in enumerate(site.switches)}
    heard: dict[str, list[Any]] = {host: [] for host in site.hosts}
    for (host, port), (switch, number) in site.cables.items():
        interface = json.loads(form)
        interface["name"] = netdev(port)
        interface["chassis"][0]["id"][0]["value"] = chassis[switch]
        interface["chassis"][0]["name"][0]["value"] = switch
        interface["port"][0]["id"][0]["value"] = f"Ethernet1/{number}"
        heard[host].append(interface)
    return {host: json.dumps({"lldp": [{"interface": interfaces}]}, indent=2) for host, interfaces in heard.items()}


def netdev(port: int) -> str:
    return f"rail{port}" if port < RAILS else "storage0"


def _node() -> dict[str, Any]:
    """Facts of h100-01 with a storage port beside its eight rails."""
    with tempfile.TemporaryDirectory() as scratch:
        expand.write(expand.load(_CHECKOUT / "tests/fleet/nodes/h100-01.yml"), Path(scratch) / "node")
        facts: dict[str, Any] = gather.gather(f"{scratch}/node")
    storage = copy.deepcopy(facts["hcas"][-1])
    storage["name"] = f"mlx5_{RAILS}"
    storage["pci"].update(address="0109:00:00.0", pcie_root="pci0109:00", pcie_path=["0109:00:00.0"])
    facts["hcas"].append(storage)
    return facts


def _ports(site: Site, guids: Guids, ethernet: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    form = json.dumps(_node())
    for host, ports in site.ports.items():
        facts = json.loads(form)
        for port in ports:
            own = facts["hcas"][port]["ports"][0]
            up, digits = (host, port) in site.cables, guids[host, port][2:]
            own["gids"][0]["gid"] = "fe80:0000:0000:0000:" + ":".join(digits[at : at + 4] for at in range(0, 16, 4))
            if not up:
                own.update(state="DOWN", physical_state="Polling")
            if ethernet:
                own["gids"][0]["type"] = "RoCE v2"
                own["link_layer"] = "Ethernet"
                own["netdev"] = {"name": netdev(port), "source": "netlink", "state": "up", "carrier": up}
        # A site excludes the storage port, and nobody can use one that is down.
        rails = [port for port in ports if port < RAILS and (host, port) in site.cables]
        facts["usable"] = [{"hca": f"mlx5_{port}", "port": 1} for port in rails]
        yield host, facts


def facts(site: Site, ethernet: bool = False, guids: Guids | None = None) -> dict[str, dict[str, Any]]:
    """Facts of each node, as rdma_facts returns them."""
    return dict(_ports(site, guids or site.guids, ethernet))
