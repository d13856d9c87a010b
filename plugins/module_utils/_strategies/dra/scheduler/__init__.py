# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the scheduler makes of claims.

In reading order: :mod:`cel` (selectors), :mod:`allocate`. It may import :mod:`_strategies.dra.slices` and what
that may.
"""
