# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Examples for users: pods that request RDMA as a group's strategy has it.

In reading order: :mod:`examples`, :mod:`expected` (what a pod can expect of its NICs), :mod:`pod` (what a request adds
to one), :mod:`plain`, :mod:`operators`, :mod:`merge` (into a manifest that a user already has), :mod:`requests` (for
manifests that are rewritten). It may import :mod:`_strategies` and rooms below.
"""
