# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which ports may carry RDMA traffic of workloads, and for each of the others every reason why not."""

from __future__ import annotations

from typing import Container, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev as discover_netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons, topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded, Reason, Usable
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Netdev, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import reason

# PCI drivers of the NICs that GPU clusters use for RDMA. Drivers of server LAN ports that happen to offer RDMA
# (ice and i40e through irdma, qede) are left out on purpose: those are usually the management network.
DEFAULT_DRIVERS = ("mlx5_core", "mlx4_core", "bnxt_en", "ionic", "efa")


def _of_device(hca: Hca, drivers: Sequence[str], allow_software: bool, nvswitch: bool) -> List[Reason]:
    found = []
    if nvswitch:
        found.append(reason(reasons.NVSWITCH_MANAGEMENT, hca=hca.name))
    if hca.software:
        if not allow_software:
            found.append(reason(reasons.SOFTWARE_DEVICE, hca=hca.name, driver=hca.driver))
    elif hca.subdevice:
        found.append(reason(reasons.SUBDEVICE, hca=hca.name, kind=hca.subdevice, parent=hca.parent))
    elif hca.pci is None:
        found.append(reason(reasons.PCI_UNKNOWN, hca=hca.name))
    elif hca.driver not in drivers:
        found.append(reason(reasons.DRIVER_NOT_ALLOWED, driver=hca.driver, allowed=list(drivers)))
    if hca.sriov.role == "vf":
        found.append(reason(reasons.VF, pf_address=hca.sriov.pf_address))
    return found


def _of_master(tree: Tree, netdev: str, master: str, kind: Optional[str]) -> List[Reason]:
    """``kind`` is the kind of the master according to the kernel, ``None`` where the kernel does not say.

    A port in a VRF is free. A switch such as Open vSwitch may carry the host's own traffic through an internal netdev,
    and the kernel does not show that this netdev needs the port.
    """
    if discover_netdev.is_bond(tree, master):
        return [reason(reasons.BOND_SLAVE, netdev=netdev, master=master)]
    if kind == "team":
        return [reason(reasons.TEAM_PORT, netdev=netdev, master=master)]
    if discover_netdev.is_bridge(tree, master) or kind not in (None, "vrf"):
        return [reason(reasons.BRIDGE_PORT, netdev=netdev, master=master)]
    return []


def _of_netdev(
    tree: Tree, netdev: Netdev, routes: discover_netdev.DefaultRoutes, interfaces: Mapping[str, Interface]
) -> List[Reason]:
    found = []
    if netdev.bond:
        found.append(reason(reasons.BOND, netdev=netdev.name, slaves=discover_netdev.lower_netdevs(tree, netdev.name)))
    if netdev.master:
        master = interfaces.get(netdev.master)
        found += _of_master(tree, netdev.name, netdev.master, master.virtual if master else None)
    holder = routes.needed.get(netdev.name)
    if holder:
        through = None if holder == netdev.name else holder
        found.append(reason(reasons.DEFAULT_ROUTE, netdev=netdev.name, through=through))
    elif not routes.complete and netdev.present:
        # Using the management NIC for RDMA would cut the node off, so an unknown NIC counts as the management NIC.
        found.append(reason(reasons.DEFAULT_ROUTE_UNKNOWN, netdev=netdev.name))
    return found


def _in_pod(hca: Hca, port: Port, ipoib: bool) -> List[Reason]:
    """The netdev is not in the host's network namespace.

    Every RoCE port has a netdev. An InfiniBand port works without one, so a missing one counts only where ``ipoib``
    says that other ports of the node have theirs.
    """
    if port.netdev is not None:
        return [] if port.netdev.present else [reason(reasons.IN_POD, netdev=port.netdev.name)]
    if hca.software or hca.subdevice or not (port.link_layer == "Ethernet" or ipoib):
        return []
    return [reason(reasons.IN_POD)]


def _has_ipoib(hcas: Sequence[Hca]) -> bool:
    return any(port.link_layer == "InfiniBand" and port.netdev for hca in hcas for port in hca.ports)


def _of_state(port: Port) -> List[Reason]:
    if port.state == "ACTIVE":
        return []
    return [reason(reasons.PORT_DOWN, state=port.state, physical_state=port.physical_state)]


def select(
    tree: Tree,
    hcas: Sequence[Hca],
    drivers: Sequence[str],
    allow_software: bool,
    nvswitch: Container[str] = (),
    interfaces: Optional[Mapping[str, Interface]] = None,
) -> Tuple[List[Usable], List[Excluded]]:
    """Every port of every HCA is in exactly one of the two lists.

    Bonds (RoCE LAG) are usable where a node has nothing else for workloads but ports of the LAN. Beside others, they
    are the network of storage or of the node.

    ``nvswitch`` names HCAs that manage NVSwitches, ``interfaces`` are those of the running kernel.
    """
    usable, excluded = [], []
    routes = discover_netdev.default_routes(tree)
    ipoib = _has_ipoib([hca for hca in hcas if hca.name not in nvswitch])
    for hca in hcas:
        of_device = _of_device(hca, drivers, allow_software, hca.name in nvswitch)
        for port in hca.ports:
            against = list(of_device)
            if port.netdev is not None:
                against += _of_netdev(tree, port.netdev, routes, interfaces or {})
            against += _of_state(port) if hca.name in nvswitch else _in_pod(hca, port, ipoib) + _of_state(port)
            if against:
                excluded.append(Excluded(hca=hca.name, port=port.number, reasons=against))
            else:
                usable.append(Usable(hca=hca.name, port=port.number))
    bonds = [entry.hca for entry in excluded if {found.code for found in entry.reasons} == {reasons.BOND}]
    others = {*(entry.hca for entry in usable), *passing(excluded)}
    lan = topology.lan({*bonds, *others}, hcas)
    if others - lan:
        return usable, excluded
    of_bonds, left = _with_bonds(excluded, lan)
    return usable + of_bonds, left


def _with_bonds(excluded: Sequence[Excluded], lan: Container[str]) -> Tuple[List[Usable], List[Excluded]]:
    usable, left = [], []
    for entry in excluded:
        against = [found for found in entry.reasons if found.code != reasons.BOND]
        if entry.hca in lan:
            left.append(entry)
        elif not against:
            usable.append(Usable(hca=entry.hca, port=entry.port))
        elif {found.code for found in against} <= reasons.PASSING:
            left.append(Excluded(hca=entry.hca, port=entry.port, reasons=against))
        else:
            left.append(entry)
    return usable, left


def assignable(usable: Sequence[Usable], excluded: Sequence[Excluded]) -> List[str]:
    """HCAs that GPUs can be assigned to: usable ones and those that only a pod keeps away at the moment.

    Counting the latter keeps the assignment the same whether or not a workload runs.
    """
    in_pod = {entry.hca for entry in excluded if entry.only_in_pod}
    return sorted({entry.hca for entry in usable} | in_pod)


def passing(excluded: Sequence[Excluded]) -> List[str]:
    """HCAs that are excluded only for the moment: their port is down or in a pod."""
    return [entry.hca for entry in excluded if {found.code for found in entry.reasons} <= reasons.PASSING]
