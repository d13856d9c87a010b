# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""DRANET on the nodes of a fleet.

In reading order: :mod:`deployment`, :mod:`objects` (written, and read back), :mod:`others` (a DRANET that is not ours),
:mod:`parameters` (those of claims that DRANET decodes), :mod:`gpu_owners`, :mod:`nvsentinel`. It may import
:mod:`_strategies.dra.slices`, :mod:`_strategies.dra.attributes` and what these may.
"""
