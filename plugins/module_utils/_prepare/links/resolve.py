# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which netdev a selector means on this node, and by which hardware address NetworkManager will find it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev as discover_netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port

# The first 12 of an IPoIB address's 20 octets (flags, queue pair, subnet prefix) change when the interface is made anew
# or the subnet manager says so. NetworkManager compares the port GUID alone, the last 8 (nm_utils_hwaddr_matches), so
# these stand for any.
_ANY_IPOIB = "80:00:00:00:fe:80:00:00:00:00:00:00"
_GUID = 23


@dataclass(frozen=True)
class Target:
    """The port that is meant. ``interface`` is ``None`` while its netdev is not on the host.

    ``mac`` is what the profile matches; ``None`` when the netdev is away and was never seen. ``netdev`` is its name,
    if need be the one it had when it was last here.
    """

    kind: Optional[str]
    mac: Optional[str]
    netdev: Optional[str]
    interface: Optional[Interface] = None


def profile_mac(mac: str) -> str:
    """The address as a profile has it: for IPoIB with what changes made constant."""
    return f"{_ANY_IPOIB}:{mac[-_GUID:]}" if len(mac) > _GUID else mac


def _same(left: Optional[str], right: str) -> bool:
    return left is not None and profile_mac(left) == profile_mac(right)


def is_physical(tree: Tree, name: str) -> bool:
    """Whether a device is below the netdev: no VLAN, bond, bridge or veth, and no IPoIB partition."""
    real = tree.resolve(f"{discover_netdev.CLASS}/{name}") or ""
    return "devices/virtual/" not in real + "/" and not tree.exists(f"{discover_netdev.CLASS}/{name}/parent")


def with_mac(tree: Tree, interfaces: Mapping[str, Interface], mac: str) -> Optional[Interface]:
    """The port with this address; what is stacked on a port has the same one and does not count."""
    matches = [entry for entry in interfaces.values() if _same(entry.mac, mac) and is_physical(tree, entry.name)]
    return matches[0] if matches else None


def _of(interface: Interface) -> Target:
    mac = None if interface.mac is None else profile_mac(interface.mac)
    return Target(interface.kind, mac, interface.name, interface)


def _kind(port: Optional[Port]) -> Optional[str]:
    return port.link_layer.lower() if port and port.link_layer in ("Ethernet", "InfiniBand") else None


def _mac_of_gid(port: Port) -> Optional[str]:
    """The address of a port whose netdev is away: GID 0 ends with the port GUID, or with the EUI-64 of the MAC."""
    digits = next((gid.gid for gid in port.gids if gid.index == 0), "").replace(":", "")
    if len(digits) != 32:
        return None
    octets = [digits[i : i + 2] for i in range(16, 32, 2)]
    if port.link_layer == "InfiniBand":
        return profile_mac(":".join(["00"] * 12 + octets))
    if octets[3:5] != ["ff", "fe"]:
        return None
    return ":".join([f"{int(octets[0], 16) ^ 2:02x}", *octets[1:3], *octets[5:]])


def _away(kind: Optional[str], mac: Optional[str], remembered: Mapping[str, Any], netdev: Optional[str]) -> Target:
    return Target(
        kind=remembered.get("kind") or kind,
        mac=remembered.get("mac") or mac,
        netdev=remembered.get("netdev") or netdev,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _by_hca(
    where: str,
    tree: Tree,
    interfaces: Mapping[str, Interface],
    hcas: Sequence[Hca],
    selector: Selector,
    remembered: Mapping[str, Any],
) -> Target:
    hca = next((entry for entry in hcas if entry.name == selector.value), None)
    if hca is None:
        if remembered.get("mac"):
            # In netns mode exclusive a pod takes the RDMA device as well.
            back = with_mac(tree, interfaces, remembered["mac"])
            return _of(back) if back else _away(None, None, remembered, None)
        names = _listed(tree.names("sys/class/infiniband"))
        raise HostError(f"{where}: hca: the node has no HCA {selector.value!r}; it has: {names}")
    port = next((entry for entry in hca.ports if entry.number == selector.port), None)
    if port is None:
        numbers = _listed([str(entry.number) for entry in hca.ports])
        raise HostError(f"{where}: port: {hca.name} has no port {selector.port}; it has: {numbers}")
    found = interfaces.get(port.netdev.name) if port.netdev and port.netdev.present else None
    if found:
        return _of(found)
    return _away(_kind(port), _mac_of_gid(port), remembered, port.netdev.name if port.netdev else None)


def _nics(tree: Tree) -> Dict[str, List[str]]:
    """PCI address of every network function and HCA that has a driver, with the netdevs it has on the host."""
    found = {}
    for address in tree.names(pci.DEVICES):
        directory = f"{pci.DEVICES}/{address}"
        if (tree.text(directory + "/class") or "")[:4] == "0x02" or tree.exists(directory + "/infiniband"):
            found[address] = discover_netdev.pci_netdevs(tree, directory) or _netdevs_below(tree, directory)
    return found


def _netdevs_below(tree: Tree, directory: str) -> List[str]:
    """virtio and auxiliary devices put one level between the PCI function and the netdev."""
    return [
        name
        for entry in tree.names(directory)
        if entry.startswith("virtio")
        for name in tree.names(f"{directory}/{entry}/net")
    ]


def _by_pci(
    where: str, tree: Tree, interfaces: Mapping[str, Interface], selector: Selector, remembered: Mapping[str, Any]
) -> Target:
    nics = _nics(tree)
    if selector.value not in nics:
        what = "is not a NIC" if tree.exists(f"{pci.DEVICES}/{selector.value}") else "does not exist"
        raise HostError(f"{where}: pci: {selector.value} {what} on this node; NICs are: {_listed(sorted(nics))}")
    names = [name for name in nics[selector.value] if name in interfaces]
    if len(names) > 1:
        raise HostError(
            f"{where}: pci: {selector.value} has several ports ({', '.join(names)}); select by hca and port, or by mac"
        )
    if names:
        return _of(interfaces[names[0]])
    if tree.target_name(f"{pci.DEVICES}/{selector.value}/driver") is None:
        raise HostError(f"{where}: pci: no driver is bound to {selector.value}, so it has no netdev")
    return _away(None, None, remembered, None)


def _by_mac(
    where: str, tree: Tree, interfaces: Mapping[str, Interface], selector: Selector, remembered: Mapping[str, Any]
) -> Target:
    found = with_mac(tree, interfaces, selector.value)
    if found:
        return _of(found)
    kind = "infiniband" if len(selector.value) > _GUID else "ethernet"
    elsewhere = any(
        not names and tree.target_name(f"{pci.DEVICES}/{address}/driver") for address, names in _nics(tree).items()
    )
    if remembered.get("mac") or elsewhere:
        return _away(kind, profile_mac(selector.value), remembered, None)
    here = [
        f"{entry.mac} ({entry.name})" for entry in interfaces.values() if entry.mac and is_physical(tree, entry.name)
    ]
    raise HostError(f"{where}: mac: no NIC has {selector.value}; the node has: {_listed(sorted(here))}")


def resolve(
    where: str,
    tree: Tree,
    interfaces: Mapping[str, Interface],
    hcas: Sequence[Hca],
    selector: Selector,
    remembered: Mapping[str, Any],
) -> Target:
    """The port a selector means.

    ``remembered`` is what an earlier run noted of it (``kind``, ``mac``, ``netdev``), for when a pod has it now.

    :raises HostError: the node has no such HCA, port, PCI function or MAC address; names those it has.
    """
    if selector.kind == "hca":
        return _by_hca(where, tree, interfaces, hcas, selector, remembered)
    if selector.kind == "pci":
        return _by_pci(where, tree, interfaces, selector, remembered)
    return _by_mac(where, tree, interfaces, selector, remembered)
