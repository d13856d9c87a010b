# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is wrong with an inventory, found before anything is changed.

In reading order: :mod:`preflight`, :mod:`hosts`, :mod:`networks` (those that are not free), :mod:`strategies` (the
choice of one). It may import :mod:`_strategies` and rooms below, because each strategy judges its own variables.
"""
