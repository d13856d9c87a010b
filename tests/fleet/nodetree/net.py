# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""sys/class/net: devices, what they stack on, and what the bonding, bridge and IPoIB drivers add."""

from __future__ import annotations

from . import models
from .spec import Description
from .stack import Netdev
from .tree import Content, Tree

ETHERNET, INFINIBAND, LOOPBACK = 1, 32, 772
UP, LOOP, DOWN = 0x1003, 0x9, 0x1002
SLAVE, MASTER = 0x800, 0x400


def write_netdevs(node: Description, devices: dict[str, Netdev], tree: Tree) -> None:
    _write_loopback(tree)
    bonds = [device.name for device in devices.values() if device.spec.bond]
    if bonds:
        # A file among the links of sys/class/net, as the bonding driver really puts it there.
        tree.file("sys/class/net/bonding_masters", " ".join(bonds))
    for device in devices.values():
        if device.spec.in_pod:
            # sysfs shows a netdev only to its own network namespace; the directory that held it stays.
            if device.function:
                tree.directory(f"{device.function.path}/net")
            continue
        _write_device(node, device, devices, tree)


def _write_loopback(tree: Tree) -> None:
    path = "sys/devices/virtual/net/lo"
    tree.attrs(
        path,
        {
            "address": "00:00:00:00:00:00",
            "type": LOOPBACK,
            "mtu": 65536,
            "ifindex": 1,
            "iflink": 1,
            "carrier": 1,
            "operstate": "unknown",
            "flags": f"0x{LOOP:x}",
            "dev_id": "0x0",
            "dev_port": 0,
            "uevent": "INTERFACE=lo\nIFINDEX=1",
        },
    )
    tree.link(f"{path}/subsystem", "sys/class/net")
    tree.link("sys/class/net/lo", path)


def _speed(node: Description, device: Netdev, devices: dict[str, Netdev]) -> int:
    if device.spec.card:
        return models.NICS[device.spec.card].speed
    if device.spec.hca:
        hca = node.hcas[device.spec.hca]
        model = models.HCAS[node.hcas[hca.vf_of].model if hca.vf_of else hca.model]
        return int(1000 * (hca.ports[device.spec.port - 1].rate or model.rate))
    lowers = [_speed(node, devices[lower], devices) for lower in device.lowers]
    return sum(lowers) if device.spec.bond else lowers[0]


def _write_device(node: Description, device: Netdev, devices: dict[str, Netdev], tree: Tree) -> None:
    spec, path = device.spec, device.path
    flags = DOWN if spec.state == "down" else UP
    if device.master and devices[device.master].spec.bond:
        flags |= SLAVE
    lower_index = devices[spec.vlan].ifindex if spec.vlan else device.ifindex
    kind = "vlan" if spec.vlan else "bond" if spec.bond else "bridge" if spec.bridge else ""
    values: dict[str, Content] = {
        "address": device.address,
        "addr_len": 20 if device.infiniband else 6,
        "type": INFINIBAND if device.infiniband else ETHERNET,
        "mtu": device.mtu,
        "ifindex": device.ifindex,
        "iflink": lower_index,
        "flags": f"0x{flags | (MASTER if spec.bond else 0):x}",
        "operstate": "up" if spec.state == "up" else "down",
        "dev_port": spec.port - 1 if spec.hca else 0,
        # Only IPoIB still counts ports here as well.
        "dev_id": f"0x{spec.port - 1 if device.infiniband else 0:x}",
        "tx_queue_len": 256 if device.infiniband else 1000,
        "uevent": (f"DEVTYPE={kind}\n" if kind else "") + f"INTERFACE={device.name}\nIFINDEX={device.ifindex}",
    }
    # carrier, speed and duplex give EINVAL on a device that is not up.
    if spec.state != "down":
        values["carrier"] = int(spec.state == "up")
    if spec.state == "up":
        values["speed"] = _speed(node, device, devices)
        values["duplex"] = "full"
    function = device.function
    if function and function.part.driver == "mlx5_core" and function.kind != "vf" and not device.infiniband:
        values["phys_port_name"] = f"p{function.address[-1]}"
    if device.infiniband:
        values.update(mode="datagram", umcast=0, pkey="0xffff")
    tree.attrs(path, values)
    tree.attrs(f"{path}/statistics", {"rx_errors": 0, "tx_errors": 0, "rx_dropped": 0, "tx_dropped": 0})
    tree.link(f"{path}/subsystem", "sys/class/net")
    tree.link(f"sys/class/net/{device.name}", path)
    if device.function:
        tree.link(f"{path}/device", device.function.path)
    for lower in device.lowers:
        tree.link(f"{path}/lower_{lower}", devices[lower].path)
        tree.link(f"{devices[lower].path}/upper_{device.name}", path)
    if device.master:
        tree.link(f"{path}/master", devices[device.master].path)
    if spec.bond:
        _write_bond(device, devices, tree)
    if spec.bridge:
        _write_bridge(device, devices, tree)


def _write_bond(device: Netdev, devices: dict[str, Netdev], tree: Tree) -> None:
    members = device.spec.bond
    tree.attrs(
        f"{device.path}/bonding",
        {
            "slaves": " ".join(members),
            "mode": device.spec.bond_mode,
            "mii_status": "up" if device.spec.state == "up" else "down",
            "active_slave": members[0] if device.spec.bond_mode.startswith("active-backup") else "",
        },
    )
    for member in members:
        state = "up" if devices[member].spec.state == "up" else "down"
        tree.attrs(
            f"{devices[member].path}/bonding_slave",
            {
                "state": "active",
                "mii_status": state,
                "perm_hwaddr": devices[member].mac,
            },
        )


def _write_bridge(device: Netdev, devices: dict[str, Netdev], tree: Tree) -> None:
    tree.file(f"{device.path}/bridge/bridge_id", f"8000.{device.mac.replace(':', '')}")
    for member in device.spec.bridge:
        port = f"{devices[member].path}/brport"
        tree.file(f"{port}/state", 3)
        tree.link(f"{port}/bridge", device.path)
        tree.link(f"{device.path}/brif/{member}", port)
