# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether objects do their work.

In reading order:

* ``wait.py``: watches objects until they work, or are gone.
* ``daemon_sets.py``: on which nodes a DaemonSet does not work, and why.

It may import :mod:`_provision.api`.
"""
