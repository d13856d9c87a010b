# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What strategies have in common whose pods request extended resources of a device plugin.

In reading order: :mod:`strategy` (their base), :mod:`groups`, :mod:`resource`, :mod:`objects` (a plugin of our own),
:mod:`network_operator` and :mod:`ofed` (NVIDIA's operator), :mod:`live` (what the cluster has). It may import
:mod:`_strategies.base` and rooms below the strategies.
"""
