# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How network devices stack on each other and which addresses they have: shared by sysfs, procfs and the GID table."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Union

from . import identity, models
from .place import Function
from .spec import Description, NetdevSpec

Interface = Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]
SELF_PID = 4711


@dataclass
class Netdev:
    name: str
    spec: NetdevSpec
    ifindex: int
    path: str
    mac: str
    address: str
    master: str = ""
    function: Function | None = None
    infiniband: bool = False

    @property
    def lowers(self) -> list[str]:
        return [*self.spec.bond, *self.spec.bridge, *([self.spec.vlan] if self.spec.vlan else [])]

    @property
    def mtu(self) -> int:
        return self.spec.mtu or (2044 if self.infiniband else 1500)

    def interfaces(self) -> list[Interface]:
        return [ipaddress.ip_interface(text) for text in self.spec.addresses]

    def link_local(self) -> ipaddress.IPv6Address | None:
        """Members of a bond or bridge have no address of their own."""
        if self.master or self.spec.state != "up":
            return None
        return (
            identity.link_local(self.mac)
            if not self.infiniband
            else ipaddress.IPv6Address(bytes(int(part, 16) for part in self.address.split(":")[4:]))
        )


def hca_mac(node: Description, hca: str, port: int) -> str:
    model = models.HCAS.get(node.hcas[hca].model)
    base = int(identity.mac(node.host, hca, model.part.vendor if model else 0x15B3).replace(":", ""), 16) + port - 1
    return ":".join(f"{base:012x}"[i : i + 2] for i in range(0, 12, 2))


def node_guid(node: Description, hca: str) -> str:
    if node.hcas[hca].above:
        # Software devices take the EUI-64 of the netdev they sit on.
        lower = node.hcas[hca].above
        mac = node.netdevs[lower].mac or identity.mac(
            node.host, lower, models.NICS[node.netdevs[lower].card].part.vendor
        )
        text = identity.link_local(mac).packed[8:].hex()
        return ":".join(text[i : i + 4] for i in range(0, 16, 4))
    return identity.guid(hca_mac(node, hca, 1))


def port_guid(node: Description, hca: str, port: int) -> str:
    return identity.guid(hca_mac(node, hca, port))


def link_layer(node: Description, hca: str, port: int) -> str:
    spec = node.hcas[hca]
    if spec.above:
        return "Ethernet"
    own = spec.ports[port - 1].link_layer
    return own or models.HCAS[node.hcas[spec.vf_of].model if spec.vf_of else spec.model].link_layer


def stack(node: Description, functions: list[Function]) -> dict[str, Netdev]:
    by_name = {function.name: function for function in functions}
    devices: dict[str, Netdev] = {}
    for index, (name, spec) in enumerate(node.netdevs.items()):
        function = by_name.get(spec.hca or name) if spec.hca or spec.card else None
        infiniband = bool(spec.hca) and link_layer(node, spec.hca, spec.port) == "InfiniBand"
        if spec.hca:
            mac = hca_mac(node, spec.hca, spec.port)
        else:
            vendor = models.NICS[spec.card].part.vendor if spec.card else 0
            mac = identity.mac(node.host, name, vendor)
        mac = spec.mac or mac
        address = identity.ipoib_address(port_guid(node, spec.hca, spec.port), 0x1000 + index) if infiniband else mac
        base = function.path if function else "sys/devices/virtual"
        devices[name] = Netdev(name, spec, index + 2, f"{base}/net/{name}", mac, address, "", function, infiniband)
    # Masters and VLANs take the address of what they sit on; a bond gives its own to all members.
    for device in devices.values():
        for lower in device.lowers:
            if not device.spec.vlan:
                devices[lower].master = device.name
    for device in sorted(devices.values(), key=lambda d: (bool(d.spec.vlan), bool(d.spec.bridge))):
        if device.lowers:
            device.mac = device.address = devices[device.lowers[0]].mac
        for member in device.spec.bond:
            devices[member].address = device.mac
    return devices


def vlans_on(devices: dict[str, Netdev], lower: str) -> list[Netdev]:
    return [device for device in devices.values() if device.spec.vlan == lower]
