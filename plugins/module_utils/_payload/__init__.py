# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The library in a zip file: how Python loads it from the one in which Ansible sends a module, and daemons made of it.

In reading order: :mod:`sources`, :mod:`program`. It imports no other room, and runs on nodes as well.
"""
