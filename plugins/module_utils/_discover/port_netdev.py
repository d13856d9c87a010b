# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which netdev belongs to which port: what ``ibdev2netdev`` tells, without the tool.

In order of trust: RDMA netlink, ``parent`` (rxe), the port's GID table, then the netdevs of the port's PCI function
matched by ``dev_port``. Names prove nothing: udev renames both sides.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, pci, routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev as discover_netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.nldev import Nldev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Netdev, Port, Slave

_ARPHRD_INFINIBAND = 32


def _by_gid(port: Port) -> Optional[str]:
    # Index 0 holds the default GID of the port's own netdev; VLANs on it come later.
    return next((gid.netdev for gid in port.gids if gid.netdev), None)


def _by_mac(tree: Tree, hca: Hca) -> Optional[str]:
    """siw has no sysfs attribute for its netdev, but its first GID starts with the netdev's MAC address."""
    gid = next((gid.gid for port in hca.ports for gid in port.gids), "").replace(":", "")
    if hca.driver != "siw" or len(gid) != 32 or not gid[:12].strip("0"):
        return None
    mac = ":".join(gid[i : i + 2] for i in range(0, 12, 2))
    every = tree.names(discover_netdev.CLASS)
    names = [name for name in every if tree.text(f"{discover_netdev.CLASS}/{name}/address") == mac]
    # A VLAN or bond shares its lower netdev's MAC; the one nothing is below of is the device itself.
    names = [name for name in names if not discover_netdev.lower_netdevs(tree, name)]
    return names[0] if len(names) == 1 else None


def _by_function(tree: Tree, hca: Hca, port: Port) -> Optional[str]:
    directory = discover_netdev.CLASS
    if hca.subdevice == "sf":
        # Its own are beside it, on its auxiliary device.
        device = f"{infiniband.CLASS}/{hca.name}/device"
    elif hca.pci is not None:
        device = pci.DEVICES + "/" + hca.pci.address
    else:
        return None
    matches = []
    for name in discover_netdev.pci_netdevs(tree, device):
        is_ipoib = tree.number(directory + "/" + name + "/type") == _ARPHRD_INFINIBAND
        same_layer = port.link_layer is None or is_ipoib == (port.link_layer == "InfiniBand")
        index = discover_netdev.port_index(tree, name)
        if same_layer and (index is None or index == port.number - 1):
            matches.append(name)
    return matches[0] if matches else None


def _candidate(tree: Tree, hca: Hca, port: Port, nldev: Optional[Nldev]) -> Optional[Tuple[str, str]]:
    told = nldev.netdevs.get((hca.name, port.number)) if nldev else None
    if told:
        return told, "netlink"
    parent = tree.name(infiniband.CLASS + "/" + hca.name + "/parent") if hca.software else None
    if parent:
        return parent, "parent"
    by_gid = _by_gid(port)
    if by_gid:
        return by_gid, "gid"
    if hca.software:
        return _labelled(_by_mac(tree, hca), "mac")
    return _labelled(_by_function(tree, hca, port), "device")


def _elsewhere(tree: Tree, hca: Hca, found: Tuple[str, str], nldev: Optional[Nldev]) -> bool:
    """Whether the netdev that a GID names is in another namespace, although the host has one of the same name.

    A GID names the netdev as the pod sees it. Netlink tells of netdevs in this namespace only (not at all before Linux
    4.20), and a netdev of this port sits on its PCI function or, as a bond, on none.
    """
    name, source = found
    if source != "gid" or hca.pci is None:
        return False
    if nldev and nldev.netdevs:
        return True
    along = pci.components(tree.resolve(discover_netdev.CLASS + "/" + name) or "")
    return bool(along) and along[-1] != hca.pci.address


def _labelled(name: Optional[str], source: str) -> Optional[Tuple[str, str]]:
    return (name, source) if name else None


def address_hints(hcas: List[Hca]) -> Dict[str, str]:
    """IPv4 address -> netdev, from the IPv4-mapped GIDs of RoCE ports."""
    hints = {}
    for gid in (gid for hca in hcas for port in hca.ports for gid in port.gids):
        address = infiniband.mapped_ipv4(gid.gid)
        if address and gid.netdev:
            hints[address] = gid.netdev
    return hints


def attach(
    tree: Tree,
    hcas: List[Hca],
    nldev: Optional[Nldev],
    interfaces: Optional[Mapping[str, Interface]],
    routing: Optional[routes.Routing] = None,
) -> None:
    """Fill in every port's netdev and RoCE v2 GID index, and the place of software devices in PCIe."""
    addresses: Mapping[str, Sequence[str]]
    if interfaces is None:
        addresses = discover_netdev.addresses(tree, address_hints(hcas))
    else:
        addresses = {name: interface.addresses for name, interface in interfaces.items()}
    for hca in hcas:
        for port in hca.ports:
            found = _candidate(tree, hca, port, nldev)
            if found and _elsewhere(tree, hca, found, nldev):
                port.netdev = Netdev(name=found[0], source=found[1], present=False)
            elif found:
                port.netdev = discover_netdev.describe(tree, found[0], found[1], addresses)
                if port.netdev.bond:
                    port.netdev.slaves = _slaves(tree, port.netdev.name)
                if port.netdev.bond and hca.pci:
                    port.netdev.slave = _slave(tree, port.netdev.name, hca.pci.address)
                known = (interfaces or {}).get(port.netdev.name)
                port.netdev.max_mtu = known.max_mtu if known else None
                if known and routing:
                    own = routes.of_netdev(routing, known.index, known.addresses)
                    port.netdev.routes, port.netdev.rules = own
            port.roce_v2_gid_index = infiniband.roce_v2_gid_index(port)
        if hca.software:
            _place_software(tree, hca)


def _slaves(tree: Tree, bond: str) -> List[Slave]:
    return [Slave(name, discover_netdev.carrier(tree, name)) for name in discover_netdev.lower_netdevs(tree, bond)]


def _slave(tree: Tree, bond: str, address: str) -> Optional[str]:
    for name in discover_netdev.lower_netdevs(tree, bond):
        if pci.components(tree.resolve(discover_netdev.CLASS + "/" + name) or "")[-1:] == [address]:
            return name
    return None


def _place_software(tree: Tree, hca: Hca) -> None:
    netdev = next((port.netdev for port in hca.ports if port.netdev and port.netdev.present), None)
    along = pci.components(tree.resolve(discover_netdev.CLASS + "/" + netdev.name) or "") if netdev else []
    infiniband.settle(tree, hca, along[-1] if along else None)
