# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What tells the shared device plugin on a node which HCAs it may hand out.

The plugin's rules are read from ``pkg/resources`` and ``pkg/utils`` of k8s-rdma-shared-dev-plugin v1.5.3: it knows PCI
functions of class 02 by vendor, device, driver, link type and the name of their first netdev in alphabetical order. Of
selectors all must match, of the values of a selector one. It cannot select a port: a pod gets the whole HCA.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Netdev, PciFunction
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import IN_POD, PASSING
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

_LINK_TYPES = {"InfiniBand": "infiniband", "Ethernet": "ether"}

Selectors = Mapping[str, Sequence[str]]


@dataclass
class NodePorts:
    """The HCAs of a node that pods may share, and what keeps others away.

    ``names`` are the netdevs by which the plugin knows the chosen HCAs, ``others`` those of all other HCAs. ``in_pod``
    are HCAs that another driver has moved into a pod, ``left_out`` is a text for each HCA that is up and still cannot
    be shared. ``identities`` (vendor and device) select the chosen HCAs where they have no netdev.
    """

    hcas: List[str] = field(default_factory=list)
    names: List[str] = field(default_factory=list)
    others: List[str] = field(default_factory=list)
    link_types: List[str] = field(default_factory=list)
    identities: Optional[List[Tuple[str, str]]] = None
    in_pod: List[str] = field(default_factory=list)
    left_out: List[str] = field(default_factory=list)

    @property
    def selectable(self) -> bool:
        """Whether the plugin can be told about the chosen HCAs and no others."""
        return bool(self.names or self.identities)


def _first_netdev(hca: Hca) -> Optional[str]:
    """The netdev by which the plugin knows the HCA's PCI function."""
    return min((_own_netdev(port.netdev) for port in hca.ports if port.netdev and port.netdev.present), default=None)


def _own_netdev(netdev: Netdev) -> str:
    """A bond is on no function; what the plugin finds there is its slave."""
    return netdev.slave or netdev.name


def _netdevs(hca: Hca) -> List[str]:
    return [_own_netdev(port.netdev) for port in hca.ports if port.netdev]


def _against(hca: Hca, facts: Facts, exclude: Sequence[str]) -> Optional[str]:
    """Why pods may not have an HCA that has a usable port, ``None`` if they may."""
    if hca.pci is None or hca.software:
        return f"{hca.name} is a software device, which the device plugin cannot find"
    if hca.pci.address in exclude:
        return ""
    reasons = facts.reasons
    for port in hca.ports:
        kept = [reason.text for reason in reasons.get((hca.name, port.number), []) if reason.code not in PASSING]
        if kept:
            return f"{hca.name} is not shared because of its port {port.number}: {kept[0]}"
    return None


def ports(facts: Facts, exclude: Sequence[str], layer: Optional[str] = None) -> NodePorts:
    """What of a node pods may share. ``exclude`` are PCI addresses, ``layer`` the link layer of the group's links."""
    found = NodePorts()
    own = {hca.name for hca in facts.hcas if hca.has_layer(layer)}
    active = {entry.hca for entry in facts.usable} & own
    away = {entry.hca for entry in facts.excluded if IN_POD in {reason.code for reason in entry.reasons}} & own
    chosen: List[Tuple[Hca, PciFunction]] = []
    for hca in facts.hcas:
        why = _against(hca, facts, exclude) if hca.name in active | away else ""
        if hca.name in away and why is None:
            found.in_pod.append(hca.name)
        if hca.name in active and why is None and hca.pci:
            chosen.append((hca, hca.pci))
            continue
        found.others += _netdevs(hca)
        if hca.name in active and why:
            found.left_out.append(why)
    found.hcas = [hca.name for hca, _pci in chosen]
    layers = {port.link_layer for hca, _pci in chosen for port in hca.ports}
    found.link_types = sorted(_LINK_TYPES[layer] for layer in layers if layer in _LINK_TYPES)
    named = [_first_netdev(hca) for hca, _pci in chosen]
    if all(named):
        found.names = sorted((name for name in named if name), key=natural_key)
    else:
        found.identities = _identities(chosen, facts)
        if found.identities is None:
            bare = [hca.name for (hca, _pci), name in zip(chosen, named) if not name]
            what = f"{', '.join(bare)} cannot be told apart from HCAs that are not for pods"
            found.left_out.append(f"{what}: load ib_ipoib to give them netdevs")
            found.hcas = []
    return found


def _identities(chosen: Sequence[Tuple[Hca, PciFunction]], facts: Facts) -> Optional[List[Tuple[str, str]]]:
    """Vendor and device of the chosen HCAs, if no other HCA of the node has the same."""
    wanted = {(pci.vendor_id, pci.device_id) for _hca, pci in chosen}
    names = {hca.name for hca, _pci in chosen}
    # The plugin combines every vendor with every device.
    vendors, devices = {vendor for vendor, _device in wanted}, {device for _vendor, device in wanted}
    for hca, pci in facts.placed:
        if hca.name not in names and pci.vendor_id in vendors and pci.device_id in devices:
            return None
    return sorted(wanted)


def selectors(nodes: Sequence[NodePorts]) -> Dict[str, List[str]]:
    """The plugin's selectors for nodes that one configuration fits."""
    if all(node.names for node in nodes):
        names = {name: None for node in nodes for name in node.names}
        types = {kind: None for node in nodes for kind in node.link_types}
        return {"ifNames": sorted(names, key=natural_key), "linkTypes": sorted(types)}
    pairs = {pair for node in nodes for pair in node.identities or ()}
    return {
        "vendors": sorted({vendor for vendor, _device in pairs}),
        "deviceIDs": sorted({device for _vendor, device in pairs}),
    }


def selected(own: Selectors, facts: Facts) -> List[str]:
    """The HCAs of a node that the plugin would hand out by such selectors; what a link type rules out is among them."""
    found = []
    for hca, pci in facts.placed:
        by_name = not set(own.get("ifNames", ())).isdisjoint(_netdevs(hca))
        by_identity = pci.vendor_id in own.get("vendors", ()) and pci.device_id in own.get("deviceIDs", ())
        if by_name or by_identity:
            found.append(hca.name)
    return found


def shapes(nodes: Mapping[str, NodePorts]) -> List[List[str]]:
    """The nodes in as few parts as there have to be configurations: one, or one for each set of names.

    One configuration fits all where no node has another HCA with a name (or a vendor and device) that is chosen on
    another node.
    """
    if not nodes:
        return []
    if all(node.names for node in nodes.values()):
        wanted = {name for node in nodes.values() for name in node.names}
        if all(wanted.isdisjoint(node.others) for node in nodes.values()):
            return [list(nodes)]
    parts: Dict[Any, List[str]] = {}
    for host, node in nodes.items():
        key = tuple(sorted((kind, tuple(values)) for kind, values in selectors([node]).items()))
        parts.setdefault(key, []).append(host)
    return list(parts.values())
