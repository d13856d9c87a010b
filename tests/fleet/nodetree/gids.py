# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The GID table of a port, consistent with the MACs and addresses of the network devices above it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from . import identity, models
from .spec import Description
from .stack import Netdev, link_layer, port_guid, vlans_on

V1, V2 = "IB/RoCE v1", "RoCE v2"


@dataclass
class Entry:
    gid: str
    type: str
    netdev: str = ""


def gid_table(node: Description, devices: dict[str, Netdev], hca: str, port: int) -> list[Entry]:
    spec = node.hcas[hca]
    if link_layer(node, hca, port) == "InfiniBand":
        return [Entry(identity.guid_link_local(port_guid(node, hca, port)).exploded, V1)]
    owner = spec.lag or spec.above or _netdev(node, hca, port)
    if not owner:
        return []
    device = devices[owner]
    if device.master and devices[device.master].spec.bond:
        device = devices[device.master]
    if spec.model == "siw":
        # iWARP has no GIDs; the driver shows the MAC, left aligned.
        text = device.mac.replace(":", "") + "0" * 20
        return [Entry(":".join(text[i : i + 4] for i in range(0, 32, 4)), V1)]
    if spec.above:
        types = [V2]
    else:
        parent = node.hcas[spec.vf_of] if spec.vf_of else spec
        types = [V1] if models.HCAS[parent.model].part.driver == "mlx4_core" else [V1, V2]
    table: list[Entry] = []
    for current in [device, *vlans_on(devices, device.name)]:
        for gid in _gids(current):
            table += [Entry(gid, kind, current.name) for kind in types]
    return table


def _netdev(node: Description, hca: str, port: int) -> str:
    return next((name for name, spec in node.netdevs.items() if spec.hca == hca and spec.port == port), "")


def _gids(device: Netdev) -> list[str]:
    """The default GID from the MAC first, then IPv4 as ::ffff:a.b.c.d, then IPv6."""
    found = [identity.link_local(device.mac).exploded]
    addresses = [interface.ip for interface in device.interfaces()]
    for address in addresses:
        if isinstance(address, ipaddress.IPv4Address):
            # Python 3.13 writes the last part of a mapped address in dots, the kernel never does.
            found.append((b"\0" * 10 + b"\xff\xff" + address.packed).hex(":", 2))
    found += [address.exploded for address in addresses if isinstance(address, ipaddress.IPv6Address)]
    return found
