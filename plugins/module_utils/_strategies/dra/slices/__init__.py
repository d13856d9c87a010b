# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Devices as DRA drivers publish them.

In reading order: :mod:`model`, :mod:`taints`, :mod:`versions` (of drivers, and what changes with them),
:mod:`long_names` (of NICs that DRANET cannot publish), :mod:`predict`, :mod:`compare`. It may import
:mod:`_strategies.base` and rooms below the strategies.
"""
