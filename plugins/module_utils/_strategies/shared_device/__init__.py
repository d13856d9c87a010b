# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``shared_device``: every pod that asks gets all HCAs of its node.

In reading order: :mod:`strategy`, :mod:`configurations` (the plan, with all objects), :mod:`selectors`,
:mod:`objects`. It may import :mod:`_strategies.device_plugin`, :mod:`_strategies.base` and rooms below the strategies.
"""
