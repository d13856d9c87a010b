# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Quality of service of Ethernet ports: DCB of their netdevs, and what sysfs, configfs and debugfs say of RoCE.

Nothing is made to be read: a directory of configfs that somebody else would have to create is left uncreated, and the
value in it unknown.
"""

from __future__ import annotations

import contextlib
import socket
from typing import List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import dcb, infiniband, netdev, netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Congestion, Qos

# drivers/infiniband/core/cma_configfs.c; debugfs of drivers/infiniband/hw/mlx5/cong.c, for root.
RDMA_CM = "sys/kernel/config/rdma_cm"
_DEBUG = "sys/kernel/debug/mlx5/{}/cc_params"
# Names of one counter: mlx5_ib and newer bnxt_re; older bnxt_re; irdma.
_CNP_SENT = ("np_cnp_sent", "np_cnp_pkts", "tx_cnp_pkts", "cnpSent")
_CNP_HANDLED = ("rp_cnp_handled", "rx_cnp_pkts", "cnpHandled")
_ECN_MARKED = ("np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd")


def _priorities(tree: Tree, directory: str) -> Optional[List[int]]:
    """Those with a 1 in a directory with a file for each."""
    values = [tree.number(f"{directory}/{priority}") for priority in range(8)]
    known = [value is not None for value in values]
    return [priority for priority, value in enumerate(values) if value == 1] if any(known) else None


def _congestion(tree: Tree, hca: Hca, name: str) -> Optional[Congestion]:
    """As NVIDIA's drivers (MLNX_OFED, DOCA) show it below the netdev, or the kernel's mlx5 in debugfs, CNPs only."""
    ecn = f"{netdev.CLASS}/{name}/ecn"
    found = Congestion(
        notify=_priorities(tree, f"{ecn}/roce_np/enable"),
        react=_priorities(tree, f"{ecn}/roce_rp/enable"),
        cnp_dscp=tree.number(f"{ecn}/roce_np/cnp_dscp"),
        cnp_priority=tree.number(f"{ecn}/roce_np/cnp_802p_prio"),
    )
    if found.cnp_dscp is None and hca.driver == "mlx5_core" and hca.pci:
        found.cnp_dscp = tree.number(f"{_DEBUG.format(hca.pci.address)}/np_cnp_dscp")
        found.cnp_priority = tree.number(f"{_DEBUG.format(hca.pci.address)}/np_cnp_prio")
    return None if found == Congestion() else found


def _counter(tree: Tree, directory: str, names: Sequence[str]) -> Optional[int]:
    values = (tree.counter(f"{directory}/{name}") for name in names)
    return next((value for value in values if value is not None), None)


def _of_port(tree: Tree, hca: Hca, port: Port, sock: Optional[socket.socket]) -> Qos:
    own = port.netdev
    name = (own.slave or own.name) if own else ""
    found = Qos(netdev=name)
    if own is None or not own.present:
        found.dcb = qos.AWAY
    elif sock:
        found = dcb.read(sock, name)
    elif tree.live:
        found.dcb = qos.REFUSED
    if own and own.present:
        found.congestion = _congestion(tree, hca, name)
    found.roce_tos = tree.number(f"{RDMA_CM}/{hca.name}/ports/{port.number}/default_roce_tos")
    counters = f"{infiniband.CLASS}/{hca.name}/ports/{port.number}/hw_counters"
    found.cnp_sent = _counter(tree, counters, _CNP_SENT)
    found.cnp_handled = _counter(tree, counters, _CNP_HANDLED)
    found.ecn_marked = _counter(tree, counters, _ECN_MARKED)
    return found


def attach(tree: Tree, hcas: Sequence[Hca]) -> None:
    """Give each Ethernet port its quality of service. The ports have their netdevs already (``port_netdev``)."""
    ports = [(hca, port) for hca in hcas for port in hca.ports if port.link_layer == "Ethernet"]
    with contextlib.ExitStack() as stack:
        sock = None
        if tree.live and ports:
            with contextlib.suppress(OSError):
                sock = stack.enter_context(netlink.open_socket(dcb.NETLINK_ROUTE))
        for hca, port in ports:
            port.qos = _of_port(tree, hca, port, sock)
