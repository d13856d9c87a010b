# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The exporter: a daemon on nodes that writes figures of every RDMA port, and whose each port is, for Prometheus.

In reading order: :mod:`main` (command line), :mod:`configuration`, :mod:`daemon` (the loop), :mod:`worker` (a look in a
child process, with deadlines), :mod:`look` (what a look reads, in which order); what it reads: :mod:`ports`,
:mod:`families` (names of counters), :mod:`ethtool_stats`, :mod:`namespaces`, :mod:`pods` (of the container runtime),
:mod:`claims` (of the kubelet), :mod:`kernel_faults` (in the kernel's log); what it makes of it: :mod:`owners`,
:mod:`history`, :mod:`text`, :mod:`publish`; and how others read that back: :mod:`figures`.

It runs with the standard library of Python 3.8 and may import :mod:`_discover`, :mod:`_facts` and :mod:`_values`.
"""
