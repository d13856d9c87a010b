# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""NICs over time: what one look says of each, since when, and which of them are kept from new pods.

The verdicts are those of the host ring; there is no second rule here.

Files in reading order: ``figures`` (what exporters know of NICs in pods), ``nics`` (which NIC a verdict is about),
``memory`` (what is kept between two looks), ``taints`` (which device taints follow, within what a group allows),
``look`` (one look at all hosts), ``cluster`` (what the cluster has, and carrying the taints out), ``document`` (what
one run found), ``table`` and ``page`` (for people), ``metrics``.

May import rooms up to ``_provision``, ``document``, ``host`` and ``report``.
"""
