# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The cluster ring: whether drivers run, and nodes show what they should.

Files in reading order: ``verdicts``, ``resources`` (extended resources, and owners of GPUs), ``tainted`` (GPUs and
NICs), ``ofed`` (why an operator holds back its pods), ``judge`` (all verdicts).

May import ``_inventory``, ``_kube``, ``_strategies``, ``_provision``, ``_values`` and ``document``.
"""
