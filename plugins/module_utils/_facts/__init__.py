# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The typed model of a node: what discover found, read and written in one place.

In reading order: :mod:`model`, :mod:`qos`, :mod:`findings` (codes with their text), :mod:`reasons` and
:mod:`warnings` (the codes), :mod:`topology`, :mod:`read`, :mod:`write`. It may import :mod:`_values` only, and runs on
nodes as well.
"""
