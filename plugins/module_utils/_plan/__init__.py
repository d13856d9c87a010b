# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of a fleet, from all rooms before.

In reading order: :mod:`preflight`, :mod:`fleet` (an overview), :mod:`fleet_text`.
"""
