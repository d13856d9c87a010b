# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How the pods of a group reach RDMA: a folder for each strategy, and the list of them.

In reading order: :mod:`base` (what each one answers), :mod:`registry` (all of them, and questions to all together),
:mod:`none`, :mod:`in_use` (what still serves hosts), :mod:`dra`, :mod:`device_plugin` (what the others share),
:mod:`shared_device`, :mod:`host_device`, :mod:`inject`. A strategy's folder has all of it and begins at its
strategy.py. A strategy may import :mod:`base`, :mod:`device_plugin` and lower rooms, never another strategy.
"""
