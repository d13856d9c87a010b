# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How the pods of a group reach RDMA: a folder for each strategy, and the list of them.

In reading order: :mod:`base.strategy` (what each one answers), :mod:`registry` (which there are, and what is asked of
all together), :mod:`none`, :mod:`in_use`. A strategy's folder has all of it and begins at its :mod:`strategy`. What
several share is in :mod:`base` and :mod:`device_plugin`, which name none. A strategy imports these and lower rooms,
never another strategy.
"""
