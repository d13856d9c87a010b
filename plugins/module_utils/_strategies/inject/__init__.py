# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``inject``: an NRI plugin gives containers the NICs beside the GPUs that they have.

In reading order: :mod:`strategy`, :mod:`hcas` (the plan), :mod:`daemon_options` (what the daemon is told on a node),
:mod:`daemon`. It may import :mod:`_strategies.device_plugin`, :mod:`_strategies.base` and rooms below the strategies.
"""
