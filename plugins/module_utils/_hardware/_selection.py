# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which ports may carry RDMA traffic of workloads, and for each of the others every reason why not."""

from __future__ import annotations

from typing import List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._hardware import _netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._hardware._model import (
    Excluded,
    Hca,
    Netdev,
    Port,
    Reason,
    Usable,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._hardware._tree import Tree

# PCI drivers of the NICs that GPU clusters use for RDMA. Drivers of server LAN ports that happen to offer RDMA
# (ice and i40e through irdma, qede) are left out on purpose: those are usually the management network.
DEFAULT_DRIVERS = ("mlx5_core", "mlx4_core", "bnxt_en", "ionic", "efa")

IN_POD = "in_pod"


def _of_device(hca: Hca, drivers: Sequence[str], allow_software: bool) -> List[Reason]:
    reasons = []
    if hca.software:
        if not allow_software:
            text = "{0} is a software device ({1})".format(hca.name, hca.driver or "unknown kind")
            reasons.append(Reason("software_device", text))
    elif hca.driver not in drivers:
        text = "driver {0} is not one of {1}".format(hca.driver or "(none)", ", ".join(drivers))
        reasons.append(Reason("driver_not_allowed", text))
    if hca.sriov.role == "vf":
        reasons.append(Reason("vf", "virtual function of {0}".format(hca.sriov.pf_address)))
    return reasons


def _of_netdev(tree: Tree, netdev: Netdev, default_routes: Mapping[str, str]) -> List[Reason]:
    reasons = []
    if _netdev.is_bond(tree, netdev.name):
        slaves = ", ".join(_netdev.lower_netdevs(tree, netdev.name))
        reasons.append(Reason("bond", "{0} is a bond of {1}".format(netdev.name, slaves or "no netdev")))
    if netdev.master and _netdev.is_bond(tree, netdev.master):
        reasons.append(Reason("bond_slave", "{0} is a slave of bond {1}".format(netdev.name, netdev.master)))
    if netdev.master and _netdev.is_bridge(tree, netdev.master):
        reasons.append(Reason("bridge_port", "{0} is a port of bridge {1}".format(netdev.name, netdev.master)))
    holder = default_routes.get(netdev.name)
    if holder:
        through = "" if holder == netdev.name else " through {0}".format(holder)
        reasons.append(Reason("default_route", "{0} carries the default route{1}".format(netdev.name, through)))
    return reasons


def _in_pod(tree: Tree, hca: Hca, port: Port) -> List[Reason]:
    """The netdev is not in the host's network namespace.

    Every RoCE port has a netdev, and every InfiniBand port has one once ib_ipoib is loaded.
    """
    if port.netdev is not None:
        if port.netdev.present:
            return []
        return [Reason(IN_POD, "netdev {0} is in another network namespace (a pod's)".format(port.netdev.name))]
    expected = port.link_layer == "Ethernet" or tree.exists("sys/module/ib_ipoib")
    if hca.software or not expected:
        return []
    return [Reason(IN_POD, "no netdev on the host: it is in a pod's network namespace or its driver is not loaded")]


def _of_state(port: Port) -> List[Reason]:
    if port.state == "ACTIVE":
        return []
    detail = ", physical state {0}".format(port.physical_state) if port.physical_state else ""
    return [Reason("port_down", "port state is {0}{1}".format(port.state or "unknown", detail))]


def select(
    tree: Tree, hcas: Sequence[Hca], drivers: Sequence[str], allow_software: bool
) -> Tuple[List[Usable], List[Excluded]]:
    """Every port of every HCA is in exactly one of the two lists."""
    usable, excluded = [], []
    default_routes = _netdev.default_route_netdevs(tree)
    for hca in hcas:
        of_device = _of_device(hca, drivers, allow_software)
        for port in hca.ports:
            reasons = list(of_device)
            if port.netdev is not None:
                reasons += _of_netdev(tree, port.netdev, default_routes)
            reasons += _in_pod(tree, hca, port) + _of_state(port)
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
