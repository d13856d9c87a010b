# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A small ``/`` of a node from the description of a published PCIe topology (``tests/unit/fixtures/topologies``).

For machines that ``tests/fleet`` has no model of: any PCI id, driver and nesting of bridges. Its README has the keys.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parents[1] / "fixtures/topologies"
_LAYERS = {"IB": "InfiniBand", "ETH": "Ethernet"}
_CODES = {"DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4}
_DISTANCES = {0: "10 21", 1: "21 10"}


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CASES / f"{name}.yml").read_text())
    return found


class TopologyTree:
    """Writes one node; :meth:`subdevice` adds what belongs to an HCA that is there."""

    def __init__(self, root: Path, described: dict[str, Any]) -> None:
        self.root, self.described = root, described
        self.numbers = {"uverbs": 0, "umad": 0, "netdev": 0}
        self.netdevs: dict[str, Path] = {}
        self.routes: list[tuple[str, ipaddress.IPv4Interface]] = []
        for entry in described["roots"]:
            for below in entry["below"]:
                self._node(below, root / f"sys/devices/pci{entry['root']}", entry.get("numa", -1))
        for bond in described.get("bonds", []):
            self._bond(bond)
        self._system()

    def _write(self, path: Path, values: dict[str, Any]) -> None:
        for name, value in values.items():
            target = path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("" if value == "" else f"{value}\n")

    def _link(self, path: Path, target: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(target, path.parent))

    def _next(self, kind: str) -> int:
        self.numbers[kind] += 1
        return self.numbers[kind] - 1

    def _node(self, node: dict[str, Any], parent: Path, numa: int) -> None:
        kind = next(kind for kind in ("b", "gpu", "hca", "nic") if kind in node)
        address = node[kind]
        path = parent / address
        ids = {"b": "1000:c030", "gpu": "10de:2330", "hca": "15b3:1021", "nic": "8086:1521"}
        drivers = {"b": "pcieport", "gpu": "nvidia", "hca": "mlx5_core", "nic": "igb"}
        network = "020700" if node.get("ll") == "IB" else "020000"
        classes = {"b": "060400", "gpu": "030200", "hca": network, "nic": "020000"}
        vendor, device = node.get("id", ids[kind]).split(":")
        driver = node.get("driver", drivers[kind])
        speed, width = node.get("speed", 32.0), node.get("width", 16)
        self._write(
            path,
            {
                "vendor": f"0x{vendor}",
                "device": f"0x{device}",
                "class": f"0x{node.get('class', classes[kind])}",
                "numa_node": numa,
                "current_link_speed": f"{speed:.1f} GT/s PCIe",
                "current_link_width": width,
                "max_link_speed": f"{node.get('maxspeed', speed):.1f} GT/s PCIe",
                "max_link_width": node.get("maxwidth", width),
            },
        )
        self._link(self.root / "sys/bus/pci/devices" / address, path)
        if driver:
            (self.root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
            self._link(path / "driver", self.root / "sys/bus/pci/drivers" / driver)
        if "totalvfs" in node:
            self._write(path, {"sriov_totalvfs": node["totalvfs"], "sriov_numvfs": 0})
        for below in node.get("below", []):
            self._node(below, path, numa)
        if kind == "gpu" and driver == "nvidia":
            model = f"Model: \t\t {node.get('model', 'NVIDIA H100 80GB HBM3')}"
            self._write(self.root / "proc/driver/nvidia/gpus" / address, {"information": model})
        if node.get("name"):
            self.hca(path, node)
        elif node.get("netdev"):
            self._netdev(node["netdev"], path, node)

    def _netdev(self, name: str, parent: Path | None, node: dict[str, Any]) -> None:
        path = parent / "net" / name if parent else self.root / "sys/devices/virtual/net" / name
        index = self._next("netdev") + 1
        values = {"address": f"02:00:00:00:{index:02x}:01", "mtu": node.get("mtu", 9000), "operstate": "up"}
        values |= {"carrier": 1, "ifindex": index, "type": 32 if node.get("ll") == "IB" else 1, "dev_port": 0}
        if "phys_port_name" in node:
            values["phys_port_name"] = node["phys_port_name"]
        self._write(path, values)
        if parent:
            self._link(path / "device", parent)
        self._link(self.root / "sys/class/net" / name, path)
        self.netdevs[name] = path
        if "addr" in node and "bond" not in node:
            self.routes.append((name, ipaddress.IPv4Interface(node["addr"])))

    def _bond(self, bond: dict[str, Any]) -> None:
        self._netdev(bond["name"], None, bond)
        path = self.netdevs[bond["name"]]
        self._write(path, {"bonding/mode": "802.3ad 4"})
        for slave in bond["slaves"]:
            self._link(self.netdevs[slave] / "master", path)
            self._link(path / f"lower_{slave}", self.netdevs[slave])
            self._link(self.netdevs[slave] / f"upper_{bond['name']}", path)

    def hca(self, path: Path, node: dict[str, Any], uverbs: bool = True) -> None:
        """An RDMA device with one port, and its netdev; ``path`` is the device that it belongs to."""
        name, layer, state = node["name"], _LAYERS[node.get("ll", "IB")], node.get("state", "ACTIVE")
        directory = path / "infiniband" / name
        self._write(directory, {"node_type": "1: CA", "fw_ver": "28.39.1002", "node_guid": "0000:0000:0000:0001"})
        if node.get("psid", "MT_0000000838"):
            self._write(directory, {"board_id": node.get("psid", "MT_0000000838")})
        self._link(self.root / "sys/class/infiniband" / name, directory)
        self._link(directory / "device", path)
        port = directory / "ports/1"
        lid = "0x1" if layer == "InfiniBand" else "0x0"
        self._write(
            port,
            {
                "state": f"{_CODES[state]}: {state}",
                "phys_state": node.get("phys", "5: LinkUp" if state == "ACTIVE" else "3: Disabled"),
                "link_layer": layer,
                "rate": node.get("rate", "400 Gb/sec (4X NDR)"),
                "lid": lid,
                "sm_lid": lid,
                "pkeys/0": "0xffff",
            },
        )
        (port / "gids").mkdir()
        if node.get("netdev"):
            self._netdev(node["netdev"], path, node)
        if layer == "Ethernet" and node.get("netdev") and state == "ACTIVE":
            self._gids(port, node.get("bond", node["netdev"]), node.get("addr"))
        self._nodes(path, name, uverbs)

    def _gids(self, port: Path, netdev: str, address: str | None) -> None:
        gids = [f"fe80:0000:0000:0000:0000:00ff:fe00:{self.numbers['netdev']:04x}"]
        if address:
            digits = ipaddress.IPv4Interface(address).ip.packed.hex()
            gids.append(f"0000:0000:0000:0000:0000:ffff:{digits[:4]}:{digits[4:]}")
        for index, (gid, kind) in enumerate((gid, kind) for gid in gids for kind in ("IB/RoCE v1", "RoCE v2")):
            of_index = {f"gids/{index}": gid, f"gid_attrs/types/{index}": kind, f"gid_attrs/ndevs/{index}": netdev}
            self._write(port, of_index)

    def _nodes(self, path: Path, name: str, uverbs: bool) -> None:
        kinds = {"umad": "infiniband_mad", **({"uverbs": "infiniband_verbs"} if uverbs else {})}
        for kind, class_name in kinds.items():
            node = f"{kind}{self._next(kind)}"
            self._write(path / class_name / node, {"ibdev": name, "port": 1, "dev": f"231:{self.numbers[kind]}"})
            self._link(self.root / "sys/class" / class_name / node, path / class_name / node)
            self._write(self.root / "dev/infiniband", {node: ""})

    def subdevice(self, parent: str, name: str, auxiliary: str = "", **node: Any) -> None:
        """An RDMA device on an auxiliary device (``mlx5_core.sf.4``) of a function, or on itself without ``uverbs``."""
        path = (self.root / "sys/bus/pci/devices" / parent).resolve() / auxiliary
        self.hca(path, {"name": name, **node}, uverbs=bool(auxiliary))

    def _system(self) -> None:
        nodes = self.described.get("numa_nodes", _DISTANCES)
        for number, distances in nodes.items():
            self._write(self.root / f"sys/devices/system/node/node{number}", {"distance": distances})
        self._write(self.root / "sys/devices/system/node", {"online": ",".join(map(str, nodes))})
        rows = ["Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"]
        rows.append(f"{self.described['default']}\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0")
        for name, address in self.routes:
            to, mask = (f"{int.from_bytes(part.packed, 'little'):08X}" for part in _network(address))
            rows.append(f"{name}\t{to}\t00000000\t0001\t0\t0\t100\t{mask}\t0\t0\t0")
        local = "\n".join(f"  |-- {address.ip}\n     /32 host LOCAL" for _name, address in self.routes)
        self._write(
            self.root / "proc",
            {
                "net/route": "\n".join(rows),
                "net/ipv6_route": "",
                "net/if_inet6": "",
                "net/fib_trie": f"Main:\n{local}",
                "sys/kernel/osrelease": self.described.get("kernel", "6.8.0-60-generic"),
                "cmdline": self.described.get("cmdline", "quiet"),
            },
        )
        for module in ("rdma_cm", "rdma_ucm", "ib_uverbs", "ib_umad", "mlx5_ib", "nvidia"):
            (self.root / "sys/module" / module).mkdir(parents=True)


def _network(address: ipaddress.IPv4Interface) -> tuple[ipaddress.IPv4Address, ipaddress.IPv4Address]:
    return address.network.network_address, address.network.netmask


def write(name: str, root: Path) -> TopologyTree:
    """The node of a case."""
    return TopologyTree(root, load(name))


def lan_port(**fields: Any) -> dict[str, Any]:
    """A root complex with a port of the LAN."""
    card = {"hca": "0000:e1:00.0", "name": "roceo1", "ll": "ETH", "netdev": "eno5", "id": "15b3:1015", **fields}
    link = {name: card[name] for name in ("speed", "width") if name in card}
    return {"root": "0000:e0", "numa": 0, "below": [{"b": "0000:e0:01.0", **link, "below": [card]}]}
