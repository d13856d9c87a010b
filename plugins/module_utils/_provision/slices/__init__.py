# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Devices that DRA drivers publish in a cluster.

In reading order: :mod:`info` (reads them, and compares them with what is expected), :mod:`wait` (until drivers have
published), :mod:`driver_pods` (why one has not). It may import :mod:`_provision`, :mod:`_provision.api`, :mod:`_kube`
and :mod:`_strategies.dra`.
"""
