# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What all strategies have in common. It names none of them.

In reading order: :mod:`strategy` (the answers), :mod:`questions` (what facts answer before a strategy is chosen),
:mod:`daemon` (a daemon that nodes need), :mod:`exclusions` (NICs that no pod may have), :mod:`labels` (nodes for which
the order of label and objects matters). It may import rooms below the strategies.
"""
