# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What hardware and state a node really has, read on the node: sysfs, PCI, netlink and /proc become typed facts.

Files in reading order: ``gather`` (the room as one call), ``tree`` (reads a file system below any root), ``pci``,
``nvswitch``, ``gpu``, ``infiniband`` (HCAs and their ports), ``netlink`` (requests and answers), ``nldev`` (RDMA
netlink), ``interfaces``, ``routes``, ``netdev``, ``port_netdev`` (which netdev is which port's), ``ethtool`` (rates
that a driver supports), ``dcb`` (Data Center Bridging), ``qos`` (how ports treat RoCE), ``system`` (kernel, IOMMU,
services), ``units`` (processes of systemd's units), ``unix_file`` (whose socket that is), ``grpc`` (calls over one),
``kernel_log`` (messages and faults in them), ``counters`` (errors of ports), ``selection`` (which ports may carry RDMA
traffic), ``warnings``.

May import ``_facts`` and ``_values``; the standard library of Python 3.8, and pyroute2 where it is installed.
"""
