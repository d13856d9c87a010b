# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``host_device``, and ``sriov``: a device plugin and CNI move NICs or VFs into pods.

In reading order: :mod:`strategy`, :mod:`pools` (the plan), :mod:`nics`, :mod:`vfs`, :mod:`networks`, :mod:`providers`
(who hands them out), :mod:`objects`, :mod:`programs` (Multus, whereabouts), :mod:`sriov_operator`. It may import
:mod:`_strategies.device_plugin`, :mod:`_strategies.base` and rooms below the strategies.
"""
