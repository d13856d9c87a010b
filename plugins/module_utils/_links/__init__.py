# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The RDMA links of one host, from its variables and its facts.

In reading order: :mod:`limits`, :mod:`qos`, :mod:`addresses`, :mod:`reachability` (of rails), :mod:`ports` (which port
each rail is), :mod:`vfs`, :mod:`host_links`, which plans them all, and :mod:`coming_vfs`. It may import :mod:`_facts`
and :mod:`_values`.
"""
