# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which ports may carry RDMA traffic of workloads, and for each of the others every reason why not."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev as discover_netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    Excluded,
    Hca,
    Netdev,
    Port,
    Reason,
    Usable,
)

# PCI drivers of the NICs that GPU clusters use for RDMA. Drivers of server LAN ports that happen to offer RDMA
# (ice and i40e through irdma, qede) are left out on purpose: those are usually the management network.
DEFAULT_DRIVERS = ("mlx5_core", "mlx4_core", "bnxt_en", "ionic", "efa")

IN_POD = "in_pod"


def _of_device(hca: Hca, drivers: Sequence[str], allow_software: bool) -> List[Reason]:
    reasons = []
    if hca.software:
        if not allow_software:
            text = "{} is a software device ({})".format(hca.name, hca.driver or "unknown kind")
            reasons.append(Reason("software_device", text))
    elif hca.driver not in drivers:
        text = "driver {} is not one of {}".format(hca.driver or "(none)", ", ".join(drivers))
        reasons.append(Reason("driver_not_allowed", text))
    if hca.sriov.role == "vf":
        reasons.append(Reason("vf", f"virtual function of {hca.sriov.pf_address}"))
    return reasons


def _of_netdev(tree: Tree, netdev: Netdev, routes: discover_netdev.DefaultRoutes) -> List[Reason]:
    reasons = []
    if netdev.bond:
        slaves = ", ".join(discover_netdev.lower_netdevs(tree, netdev.name))
        reasons.append(Reason("bond", "{} is a bond of {}".format(netdev.name, slaves or "no netdev")))
    if netdev.master and discover_netdev.is_bond(tree, netdev.master):
        reasons.append(Reason("bond_slave", f"{netdev.name} is a slave of bond {netdev.master}"))
    if netdev.master and discover_netdev.is_bridge(tree, netdev.master):
        reasons.append(Reason("bridge_port", f"{netdev.name} is a port of bridge {netdev.master}"))
    holder = routes.needed.get(netdev.name)
    if holder:
        through = "" if holder == netdev.name else f" through {holder}"
        reasons.append(Reason("default_route", f"{netdev.name} carries the default route{through}"))
    elif not routes.complete and netdev.present:
        # Taking the management NIC for an RDMA NIC would cut the node off, so what is not known counts as one.
        text = f"the routing tables cannot be read, so {netdev.name} may carry the default route"
        reasons.append(Reason("default_route_unknown", text))
    return reasons


def _in_pod(hca: Hca, port: Port, ipoib: bool) -> List[Reason]:
    """The netdev is not in the host's network namespace.

    Every RoCE port has a netdev. An InfiniBand port works without one, so a missing one counts only where ``ipoib``
    says that other ports of the node have theirs.
    """
    if port.netdev is not None:
        if port.netdev.present:
            return []
        return [Reason(IN_POD, f"netdev {port.netdev.name} is in another network namespace (a pod's)")]
    if hca.software or not (port.link_layer == "Ethernet" or ipoib):
        return []
    return [Reason(IN_POD, "no netdev on the host: it is in a pod's network namespace or its driver is not loaded")]


def _has_ipoib(hcas: Sequence[Hca]) -> bool:
    return any(port.link_layer == "InfiniBand" and port.netdev for hca in hcas for port in hca.ports)


def _of_state(port: Port) -> List[Reason]:
    if port.state == "ACTIVE":
        return []
    detail = f", physical state {port.physical_state}" if port.physical_state else ""
    return [Reason("port_down", f"port state is {port.state or 'unknown'}{detail}")]


def select(
    tree: Tree, hcas: Sequence[Hca], drivers: Sequence[str], allow_software: bool
) -> Tuple[List[Usable], List[Excluded]]:
    """Every port of every HCA is in exactly one of the two lists."""
    usable, excluded = [], []
    routes, ipoib = discover_netdev.default_routes(tree), _has_ipoib(hcas)
    for hca in hcas:
        of_device = _of_device(hca, drivers, allow_software)
        for port in hca.ports:
            reasons = list(of_device)
            if port.netdev is not None:
                reasons += _of_netdev(tree, port.netdev, routes)
            reasons += _in_pod(hca, port, ipoib) + _of_state(port)
            if reasons:
                excluded.append(Excluded(hca=hca.name, port=port.number, reasons=reasons))
            else:
                usable.append(Usable(hca=hca.name, port=port.number))
    return usable, excluded


def assignable(usable: Sequence[Usable], excluded: Sequence[Excluded]) -> List[str]:
    """HCAs that GPUs can be assigned to: usable ones and those that only a pod keeps away at the moment.

    Counting the latter keeps the assignment the same whether or not a workload runs.
    """
    in_pod = [entry.hca for entry in excluded if all(reason.code == IN_POD for reason in entry.reasons)]
    return sorted({entry.hca for entry in usable} | set(in_pod))
